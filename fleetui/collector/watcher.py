"""One instance: its reader, its connection, and what changed about it."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

import msgspec

from fleetui.collector import ending
from fleetui.collector.publisher import Publisher
from fleetui.collector.sink import HostSink, KeepHostKey, nothing
from fleetui.domain.clock import Clock
from fleetui.domain.host import DaemonStatus, SshState
from fleetui.domain.instance import Instance
from fleetui.domain.intent import Event
from fleetui.domain.money import SpendTotal
from fleetui.domain.reading import FleetRow, Reading
from fleetui.domain.stage import Stage
from fleetui.domain.stream import StreamPosition
from fleetui.domain.text import SafeText, sanitise
from fleetui.profiles.model import Profile
from fleetui.reading.case import Difference
from fleetui.reading.reader import Reader
from fleetui.reading.summary import fleet_row, sample
from fleetui.ssh.link import HostLink, LinkSink

log = logging.getLogger(__name__)

REACHABLE_STATUSES = frozenset({"running"})
UNCERTAIN_STATUSES = frozenset({"", "unknown", "offline"})
"""With these a connection that exists is kept, and none is opened."""
LINK_RETRY_SECONDS = 15.0
REVIEW_SECONDS = {"fault": 0.1, "watched": 0.5, "changed": 1.0, "quiet": 5.0}
"""How often a reading is made: after a new kind of faulty line, while somebody looks, after news,
and for silence itself."""
NEVER = float("-inf")
START_QUEUED = SafeText("start queued")

MakeLink = Callable[[int, LinkSink, Mapping[str, StreamPosition]], HostLink]


class Watcher:
    """Everything the collector holds of one instance: reader, link, newest reading and row."""

    def __init__(
        self,
        instance: Instance,
        *,
        profile: Profile,
        clock: Clock,
        publisher: Publisher,
        make_link: MakeLink,
        keep_host_key: KeepHostKey,
        positions: Iterable[StreamPosition] = (),
        earlier: Reading | None = None,
    ) -> None:
        self.instance = instance
        self.instance_id = instance.instance_id
        self.reader = Reader(profile, instance.instance_id)
        self.link: HostLink | None = None
        self.row_seen_at: float | None = None
        self.watched = False
        self.ready = True
        """Whether the reader knows the stored past; until then nothing new is concluded."""
        self._clock = clock
        self._publisher = publisher
        self._make_link = make_link
        self.sink = HostSink(
            self.reader,
            publisher,
            instance_id=instance.instance_id,
            positions=positions,
            keep_host_key=keep_host_key,
            clock=clock,
        )
        self._link_task: asyncio.Task[None] | None = None
        self._group: asyncio.TaskGroup | None = None
        self._acting: SafeText | None = None
        self._spent: SpendTotal | None = None
        self._protected = False
        self._reviewed_at = NEVER
        self._row: FleetRow | None = None
        self._reading = earlier
        self._machine_record: SafeText | None = None
        self._faults = 0
        self.on_fault: Callable[[], None] = nothing
        """Called when a review is due that cannot wait."""
        self.sink.on_fault = self._alarm

    # What comes from the API.

    def observe(self, instance: Instance, at: float, spent: SpendTotal | None) -> None:
        """Take a fresh inventory row and what it cost so far; addresses go to the link."""
        self._spent = spent
        self.instance = instance
        self.row_seen_at = at
        if self.ready:
            self.reader.observe_row(instance, at)
        self.sink.changed = True
        if self.link is not None:
            self.link.set_addresses(instance.ssh_addresses)

    def caught_up(self) -> None:
        """Go on from the stored past: the newest row is read after it, and the link may start."""
        self.ready = True
        self.reader.observe_row(self.instance, self.row_seen_at or 0.0)
        self.sink.changed = True
        if self._group is not None:
            self.follow(self._group)

    @property
    def wants_link(self) -> bool:
        """Whether there should be a connection, as far as the API knows."""
        status = str(self.instance.actual_status or "").lower()
        if status in REACHABLE_STATUSES:
            return True
        return self.link is not None and status in UNCERTAIN_STATUSES

    def follow(self, group: asyncio.TaskGroup) -> None:
        """Start the link in `group` when it is wanted and end it when it is not."""
        self._group = group
        if not self.ready:
            return
        if self.wants_link and self._link_task is None:
            self.link = self._make_link(self.instance_id, self.sink, dict(self.sink.positions))
            self.link.set_addresses(self.instance.ssh_addresses)
            self.link.set_watched(self.watched)
            name = f"link-{self.instance_id}"
            self._link_task = group.create_task(self._keep_link(self.link), name=name)
        elif not self.wants_link and self._link_task is not None:
            self.unfollow()

    def unfollow(self) -> None:
        """End the link."""
        if self._link_task is not None:
            self._link_task.cancel()
        self._link_task = None
        self.link = None

    def reconnect(self) -> None:
        """End the link and start it anew, from where it was."""
        self.unfollow()
        if self._group is not None:
            self.follow(self._group)

    async def _keep_link(self, link: HostLink) -> None:
        while True:
            running = asyncio.create_task(link.run(), name=f"host-{self.instance_id}")
            try:
                await asyncio.wait({running})
                self._say_broken(running)
            finally:
                await ending.end(running)
            await asyncio.sleep(LINK_RETRY_SECONDS)

    def _say_broken(self, running: asyncio.Task[None]) -> None:
        """Tell that a link ended by itself: one host must never end the others' collection."""
        error = None if running.cancelled() else running.exception()
        log.error("the link of instance %d broke", self.instance_id, exc_info=error)
        text = f"the connection's keeper broke ({type(error).__name__}); starting it again"
        self._publisher.pending.add_events([self._event("collector", text)])

    def set_watched(self, watched: bool) -> None:  # noqa: FBT001 - one obvious argument
        """Say whether somebody looks at it."""
        if watched != self.watched:
            self.watched = self.sink.watched = watched
            if self.link is not None:
                self.link.set_watched(watched)

    def set_protected(self, *, on: bool) -> None:
        """Say whether nothing may be done to it."""
        self._protected = on
        self.sink.changed = True

    @property
    def acting(self) -> bool:
        """Whether an intent on it is under way."""
        return self._acting is not None

    def _alarm(self) -> None:
        """Have a new kind of fault looked into: the host's tools often tell what is behind it."""
        if self.ready:
            self.on_fault()
            if self.link is not None:
                self.link.look()

    def set_acting(self, word: str | None) -> None:
        """Name the intent under way, or none."""
        self._acting = sanitise(word) if word else None
        self.sink.changed = True
        self._reviewed_at = NEVER

    # What is concluded.

    @property
    def connected(self) -> bool:
        """Whether the connection stands."""
        return self.sink.ssh_state is SshState.CONNECTED and self.link is not None

    @property
    def awaits_first_try(self) -> bool:
        """Whether a connection is wanted of which nothing has been heard yet."""
        return not self.sink.has_tried and (not self.ready or self.wants_link)

    @property
    def daemon_status(self) -> DaemonStatus | None:
        """The daemon's newest answer, with the time it was read."""
        return self.sink.daemon_status

    @property
    def newest_reading(self) -> Reading | None:
        """The newest reading; `None` while the stored past is still read."""
        return self._reading if self.ready else None

    @property
    def stage(self) -> Stage | None:
        """The stage of the newest reading."""
        return self._reading.stage if self._reading is not None else None

    @property
    def reading(self) -> Reading | None:
        """The newest reading."""
        return self._reading

    def set_machine_record(self, text: SafeText) -> None:
        """Take in what earlier instances left in memory of the machine."""
        self._machine_record = text
        self.sink.changed = True

    def observe_siblings(self, differences: tuple[Difference, ...]) -> None:
        """Take in what it differs from the rest of the fleet."""
        if self.reader.observe_siblings(differences):
            self.sink.changed = True

    def review(self, loop_time: float, stretch: float = 1.0) -> None:
        """Make and queue a reading and a row when one is due.

        `stretch` lengthens the pace of what nobody looks at, for large fleets.
        """
        if self.reader.faults != self._faults:
            patience = REVIEW_SECONDS["fault"]
        elif self.watched:
            patience = REVIEW_SECONDS["watched"]
        else:
            patience = REVIEW_SECONDS["changed" if self.sink.changed else "quiet"] * stretch
        if not self.ready or loop_time - self._reviewed_at < patience:
            return
        self._reviewed_at = loop_time
        self.sink.changed = False
        self._faults = self.reader.faults
        self.conclude()

    def conclude(self) -> None:
        """Make and queue a reading and a row now."""
        reading = self.reader.reading(self._clock.now())
        pending = self._publisher.pending
        pending.add_events(self._news(self._reading, reading))
        pending.add_events(self.sink.take_events())
        self._reading = reading
        pending.add_readings([reading])
        acting = self._acting
        if acting is None and self.instance.is_start_queued:
            acting = START_QUEUED
        row = fleet_row(
            self.instance,
            reading,
            row_seen_at=self.row_seen_at or 0.0,
            acting=acting,
            spent=self._spent,
            protected=self._protected,
        )
        if self._machine_record is not None:
            row = msgspec.structs.replace(row, machine_record=self._machine_record)
        if row != self._row:
            self._row = row
            pending.add_rows([row])

    def take_sample(self) -> None:
        """Queue a chart point from the newest reading."""
        if self._reading is not None and self.ready:
            self._publisher.pending.add_samples(
                [sample(self.instance, self._reading, at=self._clock.now())]
            )

    def gone(self) -> None:
        """End the link and queue the last reading and row."""
        self.unfollow()
        if self.ready:
            self.reader.gone(self._clock.now())
            self.conclude()
        elif self._reading is not None:
            last = msgspec.structs.replace(self._reading, stage=Stage.GONE, at=self._clock.now())
            self._publisher.pending.add_readings([last])
        self._publisher.pending.add_gone(self.instance_id)

    def _news(self, before: Reading | None, after: Reading) -> list[Event]:
        if before is None:
            return []
        events = []
        if before.stage is not after.stage:
            events.append(self._event("stage", f"{before.stage} -> {after.stage}"))
        known = {finding.category for finding in before.findings}
        present = {finding.category for finding in after.findings}
        events += [
            self._event("finding", f"{finding.category}: {finding.summary}")
            for finding in after.findings
            if finding.category not in known
        ]
        events += [
            self._event("finding", f"{category} is no longer seen")
            for category in sorted(known - present)
        ]
        return events

    def _event(self, kind: str, text: str) -> Event:
        return Event(
            at=self._clock.now(), kind=kind, text=sanitise(text), instance_id=self.instance_id
        )
