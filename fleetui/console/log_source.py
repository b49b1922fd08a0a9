"""One instance's log files in the store: a window of one of them, moved as it is read."""

import asyncio

from fleetui.console.figures import size
from fleetui.console.line_filter import LineFilter
from fleetui.console.log_cut import first_match, from_line_start, lost_words, whole_lines
from fleetui.console.log_ring import LogRing
from fleetui.domain.stream import StreamId, StreamPosition
from fleetui.logs.timestamps import stamp_of
from fleetui.store.interface import LogWindow, ViewerStore

WINDOW_BYTES = 262_144
FOLLOWED_WINDOWS = 2
"""How far behind the newest byte a follower may be before the rest is skipped and said."""
SCAN_BYTES = 1_048_576
CONFIG_KIND = "config"
SWITCH_AFTER_SECONDS = 10.0
"""Real seconds of silence of the shown file before a livelier one takes its place."""


class LogSource:
    """One instance's streams: which one is shown, and the part of it that is loaded.

    Until the operator picks one, the stream written last is shown; another one takes its place
    only while the reader follows the end and the shown one has been silent for a while.
    """

    def __init__(self, store: ViewerStore, instance_id: int, *, speed: float = 1.0) -> None:
        self.instance_id = instance_id
        self.streams: tuple[StreamPosition, ...] = ()
        self.shown: StreamPosition | None = None
        self.keep: LineFilter | None = None
        self.tags: list[str] = []
        self.ring = LogRing()
        self.start_offset = 0
        self.end_offset = 0
        self.first_offset = 0
        self.dropped = 0
        self.lost = ""
        """What was lost after the loaded life of the file; empty when nothing was."""
        self.gives_up = False
        """Whether bytes that are not stored cannot be had, so that older lives come instead."""
        self._store = store
        self._front_generation = 0
        self._generation = 0
        self._picked = False
        self._patience = SWITCH_AFTER_SECONDS * speed

    @property
    def at_end(self) -> bool:
        """Whether the ring reaches the newest line."""
        shown = self.shown
        return shown is None or (
            shown.generation == self._generation and self.end_offset >= shown.offset
        )

    @property
    def left_out(self) -> int:
        """How many bytes before the loaded ones are not stored, though the host may have them."""
        shown = self.shown
        is_newest = shown is not None and self._front_generation == shown.generation
        return self.first_offset if is_newest and not self.gives_up else 0

    @property
    def span(self) -> tuple[int, int] | None:
        """The first and the last stored offset."""
        return None if self.shown is None else (self.first_offset, self.shown.offset)

    async def advance(self, *, following: bool = True) -> bool:
        """Look for streams and new bytes; true when the ring or the stream changed."""
        was_at_end = self.at_end
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
        if not was_at_end:
            # Somebody reads further back: what is new waits until they come to it.
            self.shown = current
            return False
        if current.generation != self._generation:
            await self._note_new_life(current.generation)
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
        return await self.pick(paths[(here + step) % len(paths)].stream.path)

    async def pick(self, path: str) -> bool:
        """Show the stream of a path from now on; false when there is none or it is shown."""
        if not self.streams:
            self.streams = await self._store.streams(self.instance_id)
        chosen = next((s for s in self.streams if s.stream.path == path), None)
        if chosen is None or (self.shown is not None and chosen.stream == self.shown.stream):
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

    # -- moving the window ---------------------------------------------------------------------

    async def older(self) -> int:
        """Load older lines in front, of an earlier life of the file where this one begins.

        With a filter it goes on until some lines passed, or much was looked through. At bytes that
        are `left_out` it stops.
        """
        looked, came = 0, 0
        while self.shown is not None and came == 0 and looked < 8 * SCAN_BYTES:
            generation, end = self._front_generation, self.start_offset
            window = await self._window(end=end, generation=generation)
            if window is None:
                break
            self.first_offset = window.first_offset
            data, start = from_line_start(window)
            if not data:
                if self.left_out or not await self._to_earlier_life():
                    break
                continue
            looked += len(data)
            self.start_offset, self.first_offset = start, window.first_offset
            came = self.ring.prepend(data, start)
        self._let_go_of_the_end()
        return came

    async def _to_earlier_life(self) -> bool:
        if self.shown is None or self._front_generation <= 1:
            return False
        window = await self._window(generation=self._front_generation - 1, size=1)
        if window is None:
            return False
        self._front_generation -= 1
        self.start_offset, self.first_offset = window.end_offset, window.first_offset
        lost = f"; {lost} between them" if (lost := lost_words(window)) else ""
        note = f"-- below: life no. {self._front_generation + 1} of the file{lost} --"
        self.ring.prepend_entries([(b"\x00" + note.encode(), 0, 0)])
        return True

    def _let_go_of_the_end(self) -> None:
        offset = self.ring.trim_end()
        if offset is not None:
            self.end_offset, self._generation = offset, self._front_generation

    async def newer(self) -> int:
        """Load what follows the ring; returns how many lines came."""
        shown = self.shown
        if shown is None or self.at_end:
            return 0
        before, first = self.ring.end, self.ring.first
        for _ in range(32):
            window = await self._window(
                generation=self._generation, end=self.end_offset + WINDOW_BYTES
            )
            if window is None:
                break
            skipped = self.end_offset - window.offset
            data = window.data[max(skipped, 0) :]
            offset = max(window.offset, self.end_offset)
            data = whole_lines(data, window)
            if not data and self._generation < shown.generation:
                await self._note_new_life(self._generation + 1)
                self._generation += 1
                self.end_offset = 0
                continue
            if not data:
                break
            self._fed(self.ring.feed(data, offset))
            self.end_offset = offset + len(data)
            if self.ring.end > before or self.ring.first > first:
                break
        return self.ring.end - before

    async def _note_new_life(self, life: int) -> None:
        """Say in the lines that the file began anew, and what of it was lost before."""
        before = await self._window(generation=self._generation, size=0)
        lost = f"; {lost} before" if before and (lost := lost_words(before)) else ""
        self.ring.note(f"-- the file began anew (its life no. {life}){lost} --")

    async def to_end(self) -> None:
        """Show the newest lines."""
        if self.shown is not None and not self.at_end:
            await self._open(self.shown)

    async def to_start(self) -> None:
        """Show the oldest lines that are stored of this life of the file."""
        if self.shown is not None and self.start_offset > self.first_offset:
            await self.to_offset(self.first_offset, self._front_generation)

    async def to_offset(self, offset: int, generation: int | None = None) -> int | None:
        """Show what stands round a byte; returns the number of its line."""
        shown = self.shown
        if shown is None:
            return None
        life = generation or self._front_generation
        window = await self._window(generation=life, end=offset + WINDOW_BYTES // 2)
        if window is None:
            return None
        self.ring = self._new_ring()
        self._place(window, life)
        return self.ring.number_at(offset) if len(self.ring) else None

    async def to_previous_life(self) -> int | None:
        """Show the end of the life before the loaded one; returns the number of its last line."""
        if self.shown is None or self._generation <= 1:
            return None
        life = self._generation - 1
        window = await self._window(generation=life, size=1)
        if window is None or not window.end_offset:
            return None
        return await self.to_offset(max(window.end_offset - 1, 0), life)

    async def to_time(self, at: float) -> int | None:
        """Show the lines from a time on; returns the number of the first."""
        if self.shown is None:
            return None
        place = await self._store.log_at(self.shown.stream, at)
        if place is None:
            return None
        generation, offset = place
        number = await self.to_offset(offset, generation)
        if number is None:
            return None
        for candidate in range(number, self.ring.end):
            stamp = stamp_of(self.ring.line(candidate), at)
            if stamp is not None and stamp >= at:
                return candidate
        return number

    async def set_keep(self, keep: LineFilter | None, near: int | None) -> None:
        """Show only the lines that pass, near an offset; the ring becomes another one."""
        self.keep = keep
        if self.shown is None:
            self.ring = self._new_ring()
        elif near is None:
            await self._open(self.shown)
        else:
            await self.to_offset(near)
        if len(self.ring) < 200:
            await self.older()

    async def find(self, wanted: LineFilter, offset: int, direction: int) -> int | None:
        """Look through the stored lines beyond an offset; shows a match and returns its number."""
        generation = self._generation if direction > 0 else self._front_generation
        place = offset
        while self.shown is not None:
            end = place + SCAN_BYTES if direction > 0 else place
            window = await self._window(generation=generation, end=end, size=SCAN_BYTES)
            if window is None or not window.data:
                return None
            data, start = from_line_start(window)
            if direction > 0:
                data, start = data[max(place - start, 0) :], max(place, start)
                cut = data.rfind(b"\n") + 1
                data = data[: cut or len(data)]
            if not data:
                return None
            found = await asyncio.to_thread(first_match, data, wanted, direction)
            if found is not None:
                return await self.to_offset(start + found, generation)
            place = start + len(data) if direction > 0 else start
            if direction > 0 and place >= window.end_offset:
                return None
            if direction < 0 and start <= window.first_offset:
                return None
        return None

    # -- reading the store -----------------------------------------------------------------------

    def _new_ring(self) -> LogRing:
        return LogRing(keep=self.keep)

    async def _window(
        self, *, generation: int, end: int | None = None, size: int = WINDOW_BYTES
    ) -> LogWindow | None:
        assert self.shown is not None  # noqa: S101 - asked for by every caller
        return await self._store.log_window(
            self.shown.stream, generation=generation, end=end, size=size
        )

    async def _open(self, stream: StreamPosition, *, fresh: bool = True) -> bool:
        self.shown = stream
        window = await self._window(generation=stream.generation)
        if fresh:
            self.ring = self._new_ring()
            self._front_generation = stream.generation
        self._generation = stream.generation
        if window is None:
            self.end_offset = stream.offset
            if fresh:
                self.start_offset = self.first_offset = stream.offset
            return True
        self._place(window, stream.generation, fresh=fresh)
        return True

    def _place(self, window: LogWindow, generation: int, *, fresh: bool = True) -> None:
        data, start = from_line_start(window)
        if fresh:
            self.start_offset, self.first_offset = start, window.first_offset
            self._front_generation = generation
        self._generation = generation
        self._count_missing(window)
        data = whole_lines(data, window)
        self.end_offset = start + len(data)
        self._fed(self.ring.feed(data, start))

    def _count_missing(self, window: LogWindow) -> None:
        self.dropped, self.lost = window.dropped, lost_words(window)

    def _fed(self, oldest: int | None) -> None:
        if oldest is not None:
            self.start_offset, self._front_generation = oldest, self._generation

    async def _read_on(self, stream: StreamPosition) -> bool:
        changed = False
        behind = stream.offset - self.end_offset
        if behind > FOLLOWED_WINDOWS * WINDOW_BYTES:
            skipped = behind - WINDOW_BYTES
            self.ring.note(f"-- {size(skipped)} not shown: too fast to follow --")
            self.end_offset += skipped
            window = await self._window(generation=self._generation, end=stream.offset)
            if window is not None:
                cut = window.data.find(b"\n") + 1
                self._fed(self.ring.feed(window.data[cut:], window.offset + cut))
                self.end_offset = window.offset + len(window.data)
            return True
        while self.end_offset < stream.offset:
            end = min(self.end_offset + WINDOW_BYTES, stream.offset)
            window = await self._window(
                generation=self._generation, end=end, size=end - self.end_offset
            )
            if window is None or window.offset + len(window.data) <= self.end_offset:
                break
            offset, data = window.offset, window.data
            if offset > self.end_offset:
                missing = size(offset - self.end_offset)
                self.ring.note(f"-- {missing} are not stored --")
            self._fed(self.ring.feed(data, offset))
            self.end_offset = offset + len(data)
            self._count_missing(window)
            changed = True
        return changed


def stream_name(stream: StreamId) -> str:
    """Return the file's name, without its folders."""
    return stream.path.rsplit("/", 1)[-1]
