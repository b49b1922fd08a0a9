"""Tells of a machine's record when an instance comes to run on it."""

import asyncio
import logging
from collections.abc import Iterable

from fleetui.collector.publisher import Publisher
from fleetui.collector.watcher import Watcher
from fleetui.domain.clock import Clock
from fleetui.domain.finding_words import marks_text
from fleetui.domain.intent import Event
from fleetui.domain.text import sanitise
from fleetui.store.interface import CollectorStore, StoreError

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0


class MachineMemory:
    """Asks the store once about each instance's machine."""

    def __init__(self, fleet: Iterable[Watcher], publisher: Publisher, clock: Clock) -> None:
        self._fleet = fleet
        self._publisher = publisher
        self._clock = clock
        self._asked: set[tuple[int, int]] = set()

    async def run(self, store: CollectorStore) -> None:
        """Ask for every instance that appears, until cancelled; resumed ones are no news."""
        resumed = {watcher.instance_id for watcher in self._fleet}
        while True:
            try:
                for watcher in self._fleet:
                    await self._ask(store, watcher, is_new=watcher.instance_id not in resumed)
            except StoreError as error:
                log.warning("cannot read the machines' records: %s", error)
            await asyncio.sleep(LOOK_SECONDS)

    async def _ask(self, store: CollectorStore, watcher: Watcher, *, is_new: bool) -> None:
        machine_id = watcher.instance.machine_id
        if machine_id is None or (watcher.instance_id, machine_id) in self._asked:
            return
        marks = await store.machine_marks(machine_id)
        self._asked.add((watcher.instance_id, machine_id))
        others = tuple(mark for mark in marks if mark.is_of_another(watcher.instance_id))
        if not others:
            return
        text = marks_text(others, self._clock.now())
        watcher.set_machine_record(text)
        if is_new:
            event = Event(
                at=self._clock.now(),
                kind="machine",
                text=sanitise(f"machine {machine_id} has a record: {text}"),
                instance_id=watcher.instance_id,
            )
            self._publisher.pending.add_events([event])
