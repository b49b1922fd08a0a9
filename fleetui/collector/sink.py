"""What one host's link brings, handed to the reader and the publisher."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from fleetui.collector.publisher import Publisher
from fleetui.domain.clock import Clock
from fleetui.domain.host import DaemonStatus, SshOutcome, SshState
from fleetui.domain.intent import Event
from fleetui.domain.stream import LogChunk, StreamPosition
from fleetui.domain.text import SafeText, sanitise
from fleetui.reading.probe_output import parse_probe
from fleetui.reading.reader import Reader
from fleetui.reading.status import parse_status

TOLD_STATES = frozenset(SshState) - {SshState.NONE, SshState.CONNECTING}
EVENT_LIMIT = 1000


def nothing() -> None:
    """Do nothing."""


class KeepHostKey(Protocol):
    """Stores the key a host showed at first use."""

    def __call__(self, instance_id: int, key: str) -> None:
        """Store it soon; never waits."""


class HostSink:
    """The link's sink (protocol `ssh.link.LinkSink`).

    `positions` is where each file was read up to, by path; a link that is started again goes
    on there. `changed` says that something came since it was last cleared.
    """

    def __init__(
        self,
        reader: Reader,
        publisher: Publisher,
        *,
        instance_id: int,
        positions: Iterable[StreamPosition],
        keep_host_key: KeepHostKey,
        clock: Clock,
    ) -> None:
        self.positions = {position.stream.path: position for position in positions}
        self.changed = True
        self.watched = False
        self.ssh_state = SshState.NONE
        self.has_tried = False
        """Whether a first try to connect has had an outcome."""
        self.daemon_status: DaemonStatus | None = None
        self._reader = reader
        self._publisher = publisher
        self._instance_id = instance_id
        self._keep_host_key = keep_host_key
        self._clock = clock
        self._events: list[Event] = []
        self.on_fault: Callable[[], None] = nothing
        """Called when a line of a faulty kind came that was not seen before."""

    def log_bytes(self, chunk: LogChunk, position: StreamPosition, kind: str) -> bool:
        """Queue bytes for the store and read them; refuses while too much is queued."""
        if not self._publisher.has_room(self._instance_id):
            return False
        self._publisher.add_bytes(chunk, position)
        self.positions[position.stream.path] = position
        if chunk.data:
            faults = self._reader.faults
            self._reader.feed(chunk, kind)
            if self._reader.faults != faults:
                self.on_fault()
            if self.watched:
                self._publisher.hurry()
        self.changed = True
        return True

    async def room(self) -> None:
        """Wait until bytes may be queued."""
        await self._publisher.room(self._instance_id)

    def lost(self, path: str, unread: int, at: float) -> None:
        """Say in the timeline that bytes of a log could not be had."""
        much = f"at least {unread} bytes are lost" if unread else "perhaps nothing is lost"
        text = f"{path} was moved out of reach before it was known to be read to its end: {much}"
        self._tell(Event(at=at, kind="log", text=sanitise(text), instance_id=self._instance_id))
        self.changed = True

    def probe(self, sections: Mapping[str, str], at: float) -> None:
        """Take the answers of the host's tools."""
        try:
            probe = parse_probe(sections, at)
        except Exception as unreadable:  # noqa: BLE001 - what a host prints must not cut its link
            text = f"a look at the host cannot be read: {unreadable!r}"
            self._tell(Event(at=at, kind="log", text=sanitise(text), instance_id=self._instance_id))
            self.changed = True
            return
        self._reader.observe_probe(probe)
        self.changed = True

    def status(self, body: bytes | None, error: SafeText | None, at: float) -> None:
        """Take the daemon's answer, or why there is none."""
        status = None
        if body is not None:
            try:
                status = parse_status(body, at)
            except Exception as unreadable:  # noqa: BLE001 - as above
                error = sanitise(str(unreadable) or repr(unreadable))
        if status is not None:
            self.daemon_status = status
        self._reader.observe_status(status, error, at)
        self.changed = True

    def outcome(self, outcome: SshOutcome) -> None:
        """Take the last word on the connection."""
        if outcome.state is not self.ssh_state and outcome.state in TOLD_STATES:
            words = str(outcome.state).replace("_", " ")
            where = f" at {outcome.address}" if outcome.address else ""
            detail = f": {outcome.detail}" if outcome.detail else ""
            event = Event(
                at=outcome.at,
                kind="ssh",
                text=sanitise(f"{words}{where}{detail}"),
                instance_id=self._instance_id,
            )
            self._tell(event)
        self.ssh_state = outcome.state
        self.has_tried = self.has_tried or outcome.state in TOLD_STATES
        self._reader.observe_ssh(outcome)
        self.changed = True

    def host_key(self, instance_id: int, key: str) -> None:
        """Keep the key that the host showed at first use."""
        self._keep_host_key(instance_id, key)

    def _tell(self, event: Event) -> None:
        self._events = [*self._events[-EVENT_LIMIT:], event]

    def take_events(self) -> list[Event]:
        """Return and forget the timeline entries gathered."""
        events, self._events = self._events, []
        return events
