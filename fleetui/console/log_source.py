"""Follows one instance's log files in the store and feeds a ring."""

from fleetui.console.figures import size
from fleetui.console.log_ring import LogRing
from fleetui.domain.stream import StreamId, StreamPosition
from fleetui.store.interface import ViewerStore

WINDOW_BYTES = 262_144
CONFIG_KIND = "config"
SWITCH_AFTER_SECONDS = 10.0
"""Real seconds of silence of the shown file before a livelier one takes its place."""


class LogSource:
    """One instance's streams: which one is shown, and how far the ring has come.

    Until the operator picks one, the stream written last is shown; another one takes its place
    only while the reader follows the end and the shown one has been silent for a while.
    """

    def __init__(self, store: ViewerStore, instance_id: int, *, speed: float = 1.0) -> None:
        self.instance_id = instance_id
        self.streams: tuple[StreamPosition, ...] = ()
        self.shown: StreamPosition | None = None
        self.ring = LogRing()
        self.start_offset = 0
        self.end_offset = 0
        self.first_offset = 0
        self.dropped = 0
        self._store = store
        self._generation = 0
        self._picked = False
        self._patience = SWITCH_AFTER_SECONDS * speed

    async def advance(self, *, following: bool = True) -> bool:
        """Look for streams and new bytes; true when the ring or the stream changed."""
        self.streams = await self._store.streams(self.instance_id)
        if self.shown is None:
            if not self.streams:
                return False
            return await self._open(self._newest())
        current = next((s for s in self.streams if s.stream == self.shown.stream), None)
        if current is None:
            return False
        if following and not self._picked and self._outrun(current):
            return await self._open(self._newest())
        if current.generation != self._generation:
            self.ring.note(f"-- the file began anew (its life no. {current.generation}) --")
            return await self._open(current, fresh=False)
        self.shown = current
        if current.offset <= self.end_offset:
            return False
        return await self._read_on(current)

    async def choose(self, step: int) -> bool:
        """Show the next (or previous) stream by its path."""
        paths = sorted(self.streams, key=lambda stream: stream.stream.path)
        if not paths or self.shown is None:
            return False
        names = [stream.stream.path for stream in paths]
        here = names.index(self.shown.stream.path) if self.shown.stream.path in names else 0
        chosen = paths[(here + step) % len(paths)]
        if chosen.stream == self.shown.stream:
            return False
        self._picked = True
        return await self._open(chosen)

    def _newest(self) -> StreamPosition:
        """Return the log written last; a configuration file only where there is no log."""
        return next((s for s in self.streams if s.kind != CONFIG_KIND), self.streams[0])

    def _outrun(self, current: StreamPosition) -> bool:
        newest = self._newest()
        if newest.stream == current.stream or newest.last_byte_at is None:
            return False
        return newest.last_byte_at - (current.last_byte_at or 0.0) > self._patience

    async def older(self) -> int:
        """Load a window of older bytes in front; returns how many lines came."""
        room = self.ring.capacity - len(self.ring)
        if self.shown is None or self.start_offset <= self.first_offset:
            return 0
        if self.ring.pushed_out or room <= 0:
            # What the ring has let go can no longer be joined to what is older still.
            return 0
        window = await self._store.log_window(
            self.shown.stream,
            generation=self._generation,
            end=self.start_offset,
            size=WINDOW_BYTES,
        )
        if window is None or not window.data:
            return 0
        data, start = window.data, window.offset
        if start > window.first_offset:
            cut = data.find(b"\n") + 1
            data, start = data[cut:], start + cut
        if data.count(b"\n") > room:
            kept = b"\n".join(data.split(b"\n")[-room - 1 :])
            data, start = kept, start + len(data) - len(kept)
        self.start_offset = start
        self.first_offset = window.first_offset
        return self.ring.prepend(data)

    async def _open(self, stream: StreamPosition, *, fresh: bool = True) -> bool:
        window = await self._store.log_window(
            stream.stream, generation=stream.generation, size=WINDOW_BYTES
        )
        if fresh:
            self.ring = LogRing()
        self.shown, self._generation = stream, stream.generation
        if window is None:
            self.start_offset = self.end_offset = self.first_offset = stream.offset
            return True
        data, self.start_offset = window.data, window.offset
        if window.offset > window.first_offset:
            # A window that starts inside a line starts at the next one.
            cut = data.find(b"\n") + 1
            data, self.start_offset = data[cut:], window.offset + cut
        self.first_offset, self.dropped = window.first_offset, window.dropped
        self.end_offset = window.offset + len(window.data)
        self.ring.feed(data)
        return True

    async def _read_on(self, stream: StreamPosition) -> bool:
        wanted = min(stream.offset - self.end_offset, WINDOW_BYTES)
        window = await self._store.log_window(
            stream.stream, generation=self._generation, size=wanted
        )
        if window is None:
            return False
        data, offset = window.data, window.offset
        if offset > self.end_offset:
            self.ring.note(f"-- {size(offset - self.end_offset)} not shown: too fast to follow --")
            cut = data.find(b"\n") + 1
            data = data[cut:]
        elif offset < self.end_offset:
            data = data[self.end_offset - offset :]
        end = window.offset + len(window.data)
        if end <= self.end_offset:
            return False
        self.end_offset, self.dropped = end, window.dropped
        self.ring.feed(data)
        return True


def stream_name(stream: StreamId) -> str:
    """Return the file's name, without its folders."""
    return stream.path.rsplit("/", 1)[-1]
