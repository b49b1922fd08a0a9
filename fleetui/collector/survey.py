"""Looks over all instances at once: who differs from its siblings, what fails on many."""

import asyncio
import contextlib
import logging

from fleetui.collector.fleet import Fleet
from fleetui.collector.publisher import Publisher
from fleetui.collector.watcher import Watcher
from fleetui.domain.clock import Clock
from fleetui.domain.finding_record import FLEET
from fleetui.reading.findings.fleet_faults import Sighting, begin_of, fleet_findings
from fleetui.reading.findings.siblings import Census, Sibling, sibling_of
from fleetui.store.interface import CollectorStore, StoreError

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
FAILED_WALKS = 2
"""So many failed walks in a row are trouble of the API."""


class Survey:
    """Compares the newest readings and publishes what concerns the fleet as a whole."""

    def __init__(self, fleet: Fleet, publisher: Publisher, clock: Clock) -> None:
        self._fleet = fleet
        self._publisher = publisher
        self._clock = clock
        self._since: dict[tuple[int, str], float] = {}

    async def run(self, store: CollectorStore) -> None:
        """Look every second until cancelled; since when things stand is taken from the store."""
        with contextlib.suppress(StoreError):
            self._since = {
                (record.instance_id, record.finding.category): record.opened_at
                for record in await store.findings()
                if record.instance_id != FLEET
            }
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                self.look()
            except Exception:
                # What breaks here must not end the collection.
                log.exception("the survey of the fleet broke")

    def look(self) -> None:
        """Compare all newest readings once."""
        watchers = [watcher for watcher in self._fleet if watcher.reading is not None]
        census = Census(_sibling(watcher) for watcher in watchers)
        for watcher in watchers:
            watcher.observe_siblings(census.differences(watcher.instance_id))
        now = self._clock.now()
        sightings = self._sightings(watchers, now)
        self._since = {(one.instance_id, one.finding.category): one.since for one in sightings}
        failing = self._fleet.failed_walks >= FAILED_WALKS
        found = fleet_findings(
            sightings,
            census,
            now=now,
            walk=self._fleet.newest_walk,
            api_failing_since=self._fleet.failing_since if failing else None,
        )
        self._publisher.pending.set_fleet_findings(found)

    def _sightings(self, watchers: list[Watcher], now: float) -> list[Sighting]:
        return [
            Sighting(
                watcher.instance_id,
                finding,
                begin_of(self._since, watcher.instance_id, finding, now),
            )
            for watcher in watchers
            if watcher.reading is not None
            for finding in watcher.reading.findings
        ]


def _sibling(watcher: Watcher) -> Sibling:
    traits = watcher.reading.traits if watcher.reading is not None else {}
    return sibling_of(watcher.instance, traits)
