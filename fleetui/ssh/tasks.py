"""The three jobs of a live connection. Each keeps its own channel going until cancelled."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn, Protocol

import asyncssh

from fleetui.domain.clock import Clock
from fleetui.domain.stream import LogChunk, StreamPosition
from fleetui.domain.text import SafeText, sanitise
from fleetui.ssh.backoff import Backoff
from fleetui.ssh.channel import ByteStream, running
from fleetui.ssh.complaints import Complaints
from fleetui.ssh.follow import Positions, Rewritten
from fleetui.ssh.frames import Beat, BeyondFrame, Frame, FrameError, FrameParser, LostFrame
from fleetui.ssh.probe import ProbeError, ProbeParser
from fleetui.ssh.scripts import REPEATED_BYTES, follow_command, follow_order, probe_command
from fleetui.ssh.settings import FollowPlan, SshSettings
from fleetui.ssh.status import StatusDoor, StatusError
from fleetui.ssh.watch import Watch

log = logging.getLogger(__name__)

_SILENT_BEATS = 3
_SLACK_SECONDS = 15.0
_CHANNEL_RETRY_SECONDS = 1.0
_CHANNEL_RETRY_LIMIT = 60.0
_STEADY_SECONDS = 30.0
"""A channel that lasted so long is no reason for a longer pause before the next."""
_HUNG_LOOKS = 3
"""So many scripts of looks may still run on the host; sshd allows ten sessions (`MaxSessions`)."""
_LOST_LIMIT = 1000
"""Most files that are said to be lost on one channel; each is an entry in the timeline."""

TakeProbe = Callable[[Mapping[str, str], float], None]
TakeStatus = Callable[[bytes | None, SafeText | None, float], None]


class LogSink(Protocol):
    """The part of `ssh.link.LinkSink` that takes logs."""

    def log_bytes(self, chunk: LogChunk, position: StreamPosition, kind: str) -> bool:
        """Take new bytes and the position after them: both, or neither and return false.

        They are offered again after `room`. `chunk.data` is empty when only the position has
        news (see `ssh.follow.Delivery`).
        """

    async def room(self) -> None:
        """Wait until it is worth offering again; nothing more is read from the host meanwhile."""

    def lost(self, path: str, unread: int, at: float) -> None:
        """Take that a file was moved out of reach, with at least `unread` bytes not read."""


@dataclass(frozen=True)
class Service:
    """What the jobs of one connection share. `jitter` returns 0 to 1."""

    connection: asyncssh.SSHClientConnection
    settings: SshSettings
    plan: FollowPlan
    watch: Watch
    clock: Clock
    jitter: Callable[[], float]

    def backoff(self) -> Backoff:
        """Return the pauses between tries of one channel."""
        return Backoff(_CHANNEL_RETRY_SECONDS, _CHANNEL_RETRY_LIMIT, jitter=self.jitter)

    async def first_pause(self) -> None:
        """Wait for the first look, which is now while somebody looks."""
        if not self.watch.watched:
            seconds = self.settings.first_look_seconds * self.jitter()
            await self.watch.after(self.watch.count, seconds)

    async def pause(self, seen: int, normal: float, watched: float) -> None:
        """Wait for the next turn: `watched` seconds while somebody looks, or until that changes.

        `seen` is `watch.count` as it was before this turn.
        """
        seconds = watched if self.watch.watched else normal
        # Hosts that came back together must not be asked together for ever.
        await self.watch.after(seen, seconds * (0.9 + 0.2 * self.jitter()))


class Following:
    """Follows the plan's streams; `complaints` hear why that does not work, when it does not."""

    def __init__(
        self,
        service: Service,
        positions: Positions,
        sink: LogSink,
        complaints: Complaints,
    ) -> None:
        self._service = service
        self._positions = positions
        self._sink = sink
        self._complaints = complaints
        self._backoff = service.backoff()
        # The old script lives on until its order is carried out: a file that is rewritten again and
        # again must not use up the sessions the host allows.
        self._rewrites = Backoff(
            service.settings.follow_interval_seconds,
            service.settings.beat_seconds * 2,
            jitter=service.jitter,
        )
        self.longest_frame = service.settings.chunk_bytes + REPEATED_BYTES

    async def run(self) -> NoReturn:
        """Keep the channel going."""
        while True:
            try:
                await self._follow()
            except Rewritten as rewritten:
                log.info("%s was rewritten; it is read from its start", rewritten)
                await asyncio.sleep(self._rewrites.next())
            except (FrameError, TimeoutError, OSError, asyncssh.Error) as error:
                self._complaints.say("logs", f"logs cannot be followed: {error!s:.200}")
                await asyncio.sleep(self._backoff.next())

    async def _follow(self) -> NoReturn:
        service = self._service
        settings = service.settings
        silence = settings.beat_seconds * _SILENT_BEATS + _SLACK_SECONDS
        known = self._positions.known(settings.max_files)
        async with running(
            service.connection,
            follow_command(settings, service.plan, known),
            silence_seconds=silence,
        ) as stream:
            del known
            frames = _Frames(self, stream, silence)
            stream.taker = frames.take
            frames.order()
            while True:
                try:
                    data = await stream.read()
                except TimeoutError as error:
                    raise FrameError(f"no sign of life for {silence:g} s") from error
                if data == b"":
                    words = sanitise(bytes(stream.errors[-300:]), 200)
                    raise FrameError(f"the script ended ({stream.exit_status}) {words}")
                while not frames.take(data or b""):
                    if frames.failure is not None:
                        raise frames.failure
                    await self._sink.room()
                    data = b""

    def order(self, stream: ByteStream) -> None:
        """Ask the host to look on for a while."""
        service = self._service
        stream.send(follow_order(service.settings, watched=service.watch.watched))

    def beat(self, *, steady: bool, beyond: int, refused: int) -> None:
        """Take that an order was carried out, on a channel that has lasted when it is `steady`.

        `beyond` files are too many, and `refused` have names that cannot be shown.
        """
        if steady:
            self._backoff.reset()
        names = f"{refused} files with unprintable names are not followed"
        self._complaints.say("names", names if refused else None)
        most = self._service.settings.max_files
        more = f"{beyond} files are not followed: at most {most} are at a time"
        self._complaints.say("beyond", more if beyond else None)

    def deliver(self, frame: Frame) -> bool:
        """Give a frame's news to the sink; false when that has no room: nothing happened.

        Raises:
            Rewritten, FrameError: see `Positions.take`.
        """
        at = self._service.clock.now()
        before = self._positions.of(frame)
        delivery = self._positions.take(frame, at)
        self._complaints.say("logs", None)
        if self._positions.is_full:
            most = self._positions.most_paths
            self._complaints.say("paths", f"more than {most} files: the rest is not followed")
        taken = delivery is None
        if delivery is not None:
            try:
                taken = self._sink.log_bytes(delivery.chunk, delivery.position, delivery.kind)
            finally:
                if not taken:
                    self._positions.restore(delivery.position.stream.path, before)
        if taken and isinstance(frame, LostFrame):
            self._sink.lost(frame.path, frame.unread, at)
        return taken


class _Frames:
    """The frames of one channel, each delivered in its turn as the bytes come.

    One order is out at a time: a host that says it has carried out another one speaks nonsense.
    `failure` is why nothing more can be taken; it is for the task that reads the channel.
    """

    def __init__(self, following: Following, stream: ByteStream, silence: float) -> None:
        self._following = following
        self._stream = stream
        self._silence = silence
        self._parser = FrameParser(length_limit=following.longest_frame)
        self._waiting: list[Frame] = []
        self._clock = asyncio.get_running_loop().time
        self._newest = self._started = self._clock()
        self._ordered = False
        self._lost = 0
        self._beyond = 0
        self.failure: Exception | None = None

    def order(self) -> None:
        """Ask the host to look on for a while."""
        self._following.order(self._stream)
        self._ordered = True

    def take(self, data: bytes) -> bool:
        """Take bytes and deliver; false when frames wait for room, or after a failure."""
        try:
            if data:
                self._parse(data)
            while self._waiting:
                frame = self._waiting[0]
                if not self._following.deliver(frame):
                    return False
                del self._waiting[0]
                if isinstance(frame, Beat):
                    # Only now: a host is not asked on while its bytes are not taken.
                    self.order()
                    self._following.beat(
                        steady=self._clock() - self._started > _STEADY_SECONDS,
                        beyond=self._beyond,
                        refused=self._parser.refused,
                    )
        except Exception as error:  # noqa: BLE001 - raised again by the task, not in asyncssh
            self.failure = error
        return self.failure is None

    def _parse(self, data: bytes) -> None:
        frames = self._parser.feed(data)
        for frame in frames:
            if isinstance(frame, Beat):
                if not self._ordered:
                    raise FrameError("the host has carried out what it was not asked for")
                self._ordered = False
            elif isinstance(frame, LostFrame):
                self._lost += 1
                if self._lost > _LOST_LIMIT:
                    raise FrameError(f"more than {_LOST_LIMIT} files are lost")
            elif isinstance(frame, BeyondFrame):
                self._beyond = frame.count
        self._waiting.extend(frames)
        now = self._clock()
        if frames or not self._parser.mid_frame:
            self._newest = now
        elif now - self._newest > self._silence:
            # A file cut in the instant of its read leaves a frame short.
            raise FrameError(f"a frame has no end for {self._silence:g} s")


class Probing:
    """Looks at the host again and again, more often while it is watched.

    A script that hangs on the host keeps one of the sessions that the logs and orders need as
    well: while too many do, no look is made. `complaints` hear why there are none.
    """

    def __init__(self, service: Service, take: TakeProbe, complaints: Complaints) -> None:
        self._service = service
        self._take = take
        self._complaints = complaints
        self._backoff = service.backoff()
        self._left: list[ByteStream] = []

    async def run(self) -> NoReturn:
        """Keep the channel going."""
        await self._service.first_pause()
        while True:
            self._left = [stream for stream in self._left if not stream.ended]
            if len(self._left) >= _HUNG_LOOKS:
                text = f"looks wait: {len(self._left)} earlier ones still hang on the host"
                self._complaints.say("looks", text)
                await asyncio.sleep(self._backoff.next())
                continue
            parser = ProbeParser()
            try:
                await self._probe(parser)
            except (ProbeError, TimeoutError, OSError, asyncssh.Error) as error:
                reason = sanitise(str(error) or "no answer in time", 200)
                log.info("a look at the host did not work: %s", reason)
                self._complaints.say("looks", f"looks do not work: {reason}")
                if unfinished := parser.unfinished(reason):
                    self._take(unfinished, self._service.clock.now())
                await asyncio.sleep(self._backoff.next())

    async def _probe(self, parser: ProbeParser) -> NoReturn:
        service = self._service
        settings = service.settings
        # No name for the script here: it would be kept as long as the channel.
        async with running(service.connection, probe_command(settings, service.plan)) as stream:
            self._left.append(stream)
            while True:
                seen = service.watch.count
                stream.send(b"look\n")
                async with asyncio.timeout(settings.look_seconds):
                    look = await self._look(stream, parser)
                self._take(look, service.clock.now())
                self._backoff.reset()
                self._complaints.say("looks", None)
                await service.pause(
                    seen, settings.probe_interval_seconds, settings.watched_probe_seconds
                )

    @staticmethod
    async def _look(stream: ByteStream, parser: ProbeParser) -> dict[str, str]:
        while True:
            data = await stream.read()
            if not data:
                raise ProbeError(f"the script ended ({stream.exit_status})")
            if looks := parser.feed(data):
                return looks[-1]


class StatusPolling:
    """Asks the daemon for its status again and again, more often while it is watched."""

    def __init__(self, service: Service, port: int, take: TakeStatus) -> None:
        self._service = service
        self._door = StatusDoor(service.connection, port)
        self._take = take

    async def run(self) -> NoReturn:
        """Keep asking."""
        service = self._service
        await service.first_pause()
        settings = service.settings
        while True:
            seen = service.watch.count
            await self._ask()
            await service.pause(
                seen, settings.status_interval_seconds, settings.watched_status_seconds
            )

    async def _ask(self) -> None:
        clock = self._service.clock
        try:
            body = await self._door.ask()
        except StatusError as error:
            self._take(None, error.text, clock.now())
        except (OSError, asyncssh.Error) as error:
            self._take(None, sanitise(f"/status cannot be reached: {error}", 200), clock.now())
        else:
            self._take(body, None, clock.now())
