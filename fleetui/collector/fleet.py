"""The watchers of all instances, following the inventory."""

import asyncio
import contextlib
import gc
import logging
from collections.abc import Callable, Iterator, Mapping

from fleetui.collector.health import HealthBoard, Part
from fleetui.collector.publisher import Publisher
from fleetui.collector.resume import Resumed, refeed
from fleetui.collector.spending import SpendMeter
from fleetui.collector.standing_book import StandingBook
from fleetui.collector.watcher import Watcher
from fleetui.domain.clock import Clock
from fleetui.domain.instance import Instance, Walk, WalkOutcome
from fleetui.domain.intent import Event
from fleetui.domain.reading import Reading
from fleetui.domain.stream import StreamPosition
from fleetui.store.interface import CollectorStore, StoreError
from fleetui.vast.client import WalkResult

log = logging.getLogger(__name__)

REVIEW_TICK_SECONDS = 0.25
WATCHES_TICK_SECONDS = 0.5
CONNECT_STORM_SECONDS = 60.0
BREATH_WATCHERS = 8
UNSTRETCHED_FLEET = 150
"""A reading costs about 1 ms: beyond so many instances each one's turn comes less often."""

MakeWatcher = Callable[[Instance, tuple[StreamPosition, ...], Reading | None], Watcher]


class Fleet:
    """Creates, feeds, reviews and ends watchers. Links run in `group`."""

    def __init__(
        self,
        group: asyncio.TaskGroup,
        make_watcher: MakeWatcher,
        *,
        publisher: Publisher,
        clock: Clock,
        health: HealthBoard,
        meter: SpendMeter,
        standing: StandingBook,
        sample_interval_seconds: float,
    ) -> None:
        self._group = group
        self._make_watcher = make_watcher
        self._publisher = publisher
        self._clock = clock
        self._health = health
        self._meter = meter
        self._standing = standing
        self._sample_interval = sample_interval_seconds
        self._watchers: dict[int, Watcher] = {}
        self._departed: dict[int, tuple[StreamPosition, ...]] = {}
        self._alarm = asyncio.Event()
        self.newest_walk: Walk | None = None
        self.failed_walks = 0
        """Failed ones since the last complete one; `failing_since` is the first one's begin."""
        self.failing_since: float | None = None

    def __iter__(self) -> Iterator[Watcher]:
        return iter(tuple(self._watchers.values()))

    def get(self, instance_id: int) -> Watcher | None:
        """Return the watcher of a live instance."""
        return self._watchers.get(instance_id)

    def resume(self, resumed: Resumed) -> None:
        """Make the watchers of the stored instances; `catch_up` has them read their past."""
        self._departed = dict(resumed.departed)
        for remain in resumed.remains:
            watcher = self._watcher(remain.instance, remain.positions, remain.reading)
            total = self._meter.total(remain.instance.instance_id)
            watcher.observe(remain.instance, remain.row_seen_at, total)
            watcher.ready = False
            self._watchers[remain.instance.instance_id] = watcher

    async def catch_up(self, store: CollectorStore, resumed: Resumed) -> None:
        """Read the stored bytes of one instance after the other; its link starts after that.

        Walks and acts go on meanwhile: with a large store this takes minutes.
        """
        for remain in resumed.remains:
            watcher = self._watchers.get(remain.instance.instance_id)
            if watcher is None:
                continue
            with self._spared(watcher.instance_id):
                read = await refeed(store, watcher.reader, remain.positions)
                log.info("instance %d: read %d stored bytes", watcher.instance_id, read)
            watcher.caught_up()

    def on_walk(self, result: WalkResult, events: tuple[Event, ...]) -> None:
        """Take a walk. A failed one changes no row: they stay, with their age."""
        pending = self._publisher.pending
        pending.set_walk(result.walk)
        self.newest_walk = result.walk
        if result.walk.outcome is WalkOutcome.COMPLETE:
            self.failed_walks, self.failing_since = 0, None
        else:
            self.failed_walks += 1
            self.failing_since = self.failing_since or result.walk.started_at
        pending.add_events(events)
        if result.walk.outcome is not WalkOutcome.COMPLETE:
            return
        pending.add_instances(result.instances)
        for instance in result.instances:
            with self._spared(instance.instance_id):
                self._observe(instance, result.walk.ended_at)

    def _watcher(
        self, instance: Instance, positions: tuple[StreamPosition, ...], reading: Reading | None
    ) -> Watcher:
        watcher = self._make_watcher(instance, positions, reading)
        protected = self._standing.protection(instance.instance_id) is not None
        watcher.set_protected(on=protected)
        watcher.on_fault = self._alarm.set
        return watcher

    def _observe(self, instance: Instance, at: float) -> None:
        watcher = self._watchers.get(instance.instance_id)
        if watcher is None:
            positions = self._departed.pop(instance.instance_id, ())
            watcher = self._watcher(instance, positions, None)
            self._watchers[instance.instance_id] = watcher
        spent = self._meter.observe(instance, watcher.stage, at)
        self._publisher.pending.add_spend(spent)
        watcher.observe(instance, at, self._meter.total(instance.instance_id))
        watcher.follow(self._group)

    def on_gone(self, proof: Event) -> None:
        """End an instance whose absence is proven; what is stored of it stays."""
        self._publisher.pending.add_events([proof])
        instance_id = proof.instance_id
        assert instance_id is not None  # noqa: S101 - the inventory's events are about one
        self._meter.forget(instance_id)
        watcher = self._watchers.pop(instance_id, None)
        if watcher is None:
            self._publisher.pending.add_gone(instance_id)
            return
        self._departed[instance_id] = tuple(watcher.sink.positions.values())
        with self._spared(instance_id):
            watcher.gone()

    async def review(self) -> None:
        """Make readings and samples as they fall due, until cancelled."""
        loop = asyncio.get_running_loop()
        sampled_at = self._clock.now()
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REVIEW_TICK_SECONDS):
                    await self._alarm.wait()
            alarmed = self._alarm.is_set()
            self._alarm.clear()
            now = self._clock.now()
            sample_due = now - sampled_at >= self._sample_interval
            if sample_due:
                sampled_at = now
            stretch = max(1.0, len(self._watchers) / UNSTRETCHED_FLEET)
            for number, watcher in enumerate(self):
                with self._spared(watcher.instance_id):
                    watcher.review(loop.time(), stretch)
                    if sample_due:
                        watcher.take_sample()
                if number % BREATH_WATCHERS == BREATH_WATCHERS - 1:
                    await asyncio.sleep(0)
            if alarmed:
                self._publisher.hurry()
            self._count()

    async def heed_viewers(self, store: CollectorStore) -> None:
        """Look closer at what somebody looks at, until cancelled."""
        while True:
            try:
                shown: Mapping[int, str] = await store.watched(self._clock.now())
            except StoreError as error:
                log.warning("cannot read who watches: %s", error)
            else:
                for watcher in self:
                    watcher.set_watched(watcher.acting or watcher.instance_id in shown)
            await asyncio.sleep(WATCHES_TICK_SECONDS)

    async def settle_memory(self) -> None:
        """After the storm of first connections, spare the collector the long-lived objects."""
        loop = asyncio.get_running_loop()
        end = loop.time() + CONNECT_STORM_SECONDS
        while loop.time() < end:
            await asyncio.sleep(1.0)
            wanted = [watcher for watcher in self if watcher.link is not None]
            if wanted and all(watcher.connected for watcher in wanted):
                break
        gc.collect()
        gc.freeze()

    @contextlib.contextmanager
    def _spared(self, instance_id: int) -> Iterator[None]:
        """Keep what breaks over one instance from ending the collection of all others."""
        try:
            yield
        except Exception as error:
            log.exception("instance %d", instance_id)
            text = f"cannot read instance {instance_id}: {type(error).__name__}"
            self._health.trouble(Part.INTERNAL, text)

    def _count(self) -> None:
        self._health.instances = len(self._watchers)
        self._health.ssh_wanted = sum(watcher.link is not None for watcher in self)
        self._health.ssh_connected = sum(watcher.connected for watcher in self)
