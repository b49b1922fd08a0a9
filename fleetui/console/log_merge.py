"""Several log files as one, by time; and the error lines of the whole fleet."""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence

import msgspec

from fleetui.console.line_filter import LineFilter, trouble_lines
from fleetui.console.line_shelf import Entry
from fleetui.console.log_ring import LogRing
from fleetui.console.slices import found_in_slices
from fleetui.domain.stream import StreamId, StreamPosition
from fleetui.logs.timestamps import stamp_of
from fleetui.store.interface import ViewerStore

FEED_BYTES = 65_536
STRETCH_LINES = 500
MOST_FEEDS = 64
ERROR_STREAMS = 200
ERROR_TAIL_BYTES = 16_384
"""Of each stream this much is looked through for errors when the list is opened."""

Timed = tuple[float, Entry]


class Feed(msgspec.Struct):
    """One file of a merge: what is loaded of it, and what waits for its turn in front."""

    place: int
    stream: StreamId
    generation: int
    start: int
    first: int
    end: int
    time: float
    """The time of its newest line, which lines without one inherit."""
    waiting: deque[Timed] = msgspec.field(default_factory=deque)
    open: bytes = b""


class _OfSeveralFiles:
    """What every source of lines of several files has in common."""

    @property
    def at_end(self) -> bool:
        """It always reaches the newest line."""
        return True

    @property
    def span(self) -> None:
        """Offsets of several files say nothing together."""
        return


class MergedSource(_OfSeveralFiles):
    """The lines of several files in the order of their times.

    What was drawn stays where it is: a line that comes late stands where it came.
    """

    def __init__(self, store: ViewerStore, streams: Sequence[tuple[StreamId, str]]) -> None:
        self.tags = [tag for _, tag in streams[:MOST_FEEDS]]
        self.left_out = max(len(streams) - MOST_FEEDS, 0)
        self.keep: LineFilter | None = None
        self.ring = LogRing()
        self._streams = [stream for stream, _ in streams[:MOST_FEEDS]]
        self._store = store
        self._feeds: list[Feed] = []

    async def advance(self, *, following: bool = True) -> bool:
        """Take in what came since; true when the ring changed."""
        del following
        if not self._feeds:
            await self._open()
            return bool(len(self.ring))
        newest = {item.stream: item for item in await self._store.positions()}
        fresh: list[Timed] = []
        for feed in self._feeds:
            position = newest.get(feed.stream)
            if position is not None:
                fresh += await self._read_on(feed, position)
        await _append(self.ring, fresh)
        return bool(fresh)

    async def older(self) -> int:
        """Load older lines in front; returns how many came."""
        for _ in range(len(self._feeds) + 8):
            open_feeds = [feed for feed in self._feeds if feed.start > feed.first]
            if not open_feeds:
                return self._release(float("-inf"))
            latest = max(open_feeds, key=_front)
            await self._load_front(latest)
            open_feeds = [feed for feed in self._feeds if feed.start > feed.first]
            came = self._release(max(map(_front, open_feeds), default=float("-inf")))
            if came:
                return came
        return 0

    async def newer(self) -> int:
        """There is nothing behind the newest line."""
        return 0

    async def to_end(self) -> None:
        """The newest lines are always there."""

    async def to_start(self) -> None:
        """Load one more stretch of older lines."""
        await self.older()

    async def to_time(self, at: float) -> int | None:
        """Load back to a time; returns the number of the first line from then on."""
        for _ in range(64):
            number = await found_in_slices(_first_from(self.ring, at))
            if number is None or number > self.ring.first or not await self.older():
                return number
        return self.ring.first

    async def set_keep(self, keep: LineFilter | None, near: int | None) -> None:
        """Show only the lines that pass."""
        del near
        self.keep = keep
        self._feeds = []
        await self._open()

    async def find(self, wanted: LineFilter, offset: int, direction: int) -> int | None:
        """Look further back; returns the number of a match."""
        del offset
        while direction < 0:
            before = self.ring.first
            if not await self.older():
                return None
            found = await found_in_slices(self.ring.find(wanted, before - 1, -1))
            if found is not None:
                return found
        return None

    async def _open(self) -> None:
        self.ring = LogRing(keep=self.keep)
        newest = {item.stream: item for item in await self._store.positions()}
        for place, stream in enumerate(self._streams):
            position = newest.get(stream)
            if position is None:
                continue
            offset = position.offset
            feed = Feed(place, stream, position.generation, offset, 0, offset, 0.0)
            await self._load_front(feed)
            feed.time = feed.waiting[-1][0] if feed.waiting else position.last_byte_at or 0.0
            self._feeds.append(feed)
        open_feeds = [feed for feed in self._feeds if feed.start > feed.first]
        self._release(max(map(_front, open_feeds), default=float("-inf")))

    async def _load_front(self, feed: Feed) -> None:
        window = await self._store.log_window(
            feed.stream, generation=feed.generation, end=feed.start, size=FEED_BYTES
        )
        if window is None or not window.data:
            feed.first = feed.start
            return
        data, start = window.data, window.offset
        if start > window.first_offset:
            cut = data.find(b"\n") + 1
            data, start = data[cut:], start + cut
        if start == feed.end and not data:
            feed.first = feed.start
            return
        if feed.start == feed.end and not data.endswith(b"\n"):
            # The newest line is not whole yet: it is taken when it is.
            cut = data.rfind(b"\n") + 1
            feed.open, data = data[cut:], data[:cut]
        feed.first = window.first_offset
        feed.waiting.extendleft(reversed(_timed(data, start, feed.place, feed.time or None)))
        feed.start = start

    def _release(self, bound: float) -> int:
        """Put waiting lines from a time on in front of the ring."""
        ready: list[Timed] = []
        for feed in self._feeds:
            while feed.waiting and feed.waiting[-1][0] >= bound:
                ready.append(feed.waiting.pop())
        ready.sort(key=lambda item: (item[0], item[1][2], item[1][1]))
        keep = self.keep
        return self.ring.prepend_entries(
            entry for _, entry in ready if keep is None or keep.matches(entry[0])
        )

    async def _read_on(self, feed: Feed, position: StreamPosition) -> list[Timed]:
        if position.generation != feed.generation:
            feed.generation, feed.end, feed.open = position.generation, 0, b""
        if position.offset <= feed.end:
            return []
        wanted = min(position.offset - feed.end, 4 * FEED_BYTES)
        window = await self._store.log_window(
            feed.stream, generation=feed.generation, end=position.offset, size=wanted
        )
        if window is None or not window.data:
            return []
        start, data = window.offset, window.data
        if start > feed.end:
            cut = data.find(b"\n") + 1
            start, data, feed.open = start + cut, data[cut:], b""
        feed.end = window.offset + len(window.data)
        start, data = start - len(feed.open), feed.open + data
        cut = data.rfind(b"\n") + 1
        feed.open, data = data[cut:], data[:cut]
        lines = _timed(data, start, feed.place, feed.time)
        if lines:
            feed.time = lines[-1][0]
        return lines


def _first_from(ring: LogRing, at: float) -> Iterator[int | None]:
    """Look for the first line from a time on; yields `None` after each stretch without one."""
    for number in range(ring.first, ring.end):
        stamp = stamp_of(ring.line(number), at)
        if stamp is not None and stamp >= at:
            yield number
            return
        if number % STRETCH_LINES == 0:
            yield None


async def _append(ring: LogRing, lines: Sequence[Timed]) -> None:
    """Append lines by their times, in slices."""
    for place, (_, (raw, offset, source)) in enumerate(sorted(lines, key=lambda item: item[0]), 1):
        ring.append(raw, offset, source)
        if place % STRETCH_LINES == 0:
            await asyncio.sleep(0)


def _front(feed: Feed) -> float:
    """Return the time from which on a feed is loaded."""
    return feed.waiting[0][0] if feed.waiting else feed.time


def _timed(data: bytes, offset: int, place: int, reference: float | None) -> list[Timed]:
    """Split into lines with their times; lines without one have that of the line before."""
    lines: list[Timed] = []
    time: float | None = None
    for raw in data.split(b"\n"):
        stamp = stamp_of(raw, reference)
        if stamp is not None:
            if time is None:
                lines = [(stamp, entry) for _, entry in lines]
            time = stamp
        if raw:
            known = time if time is not None else reference or 0.0
            # Never backwards within one file, whatever its clock did.
            known = max(known, lines[-1][0]) if lines else known
            lines.append((known, (raw.rsplit(b"\r", 1)[-1] or raw, offset, place)))
        offset += len(raw) + 1
    return lines


class ErrorsSource(_OfSeveralFiles):
    """The lines of the whole fleet that speak of an error, as they come."""

    def __init__(self, store: ViewerStore, names: dict[int, str]) -> None:
        self.tags: list[str] = []
        self.keep: LineFilter | None = None
        self.ring = LogRing()
        self.streams: list[StreamId] = []
        self._store = store
        self._names = names
        self._places: dict[StreamId, int] = {}
        self._ends: dict[StreamId, tuple[int, int]] = {}
        self._opened = False
        self._trouble = trouble_lines()

    async def advance(self, *, following: bool = True) -> bool:
        """Look through what every stream got since."""
        del following
        fresh: list[Timed] = []
        positions = await self._store.positions()
        for position in positions if self._opened else positions[:ERROR_STREAMS]:
            stream = position.stream
            before = self._ends.get(stream)
            place = (position.generation, position.offset)
            if before == place:
                continue
            start = before[1] if before and before[0] == position.generation else 0
            if before is None:
                start = max(position.offset - ERROR_TAIL_BYTES, 0)
            fresh += await self._errors(position, start)
            self._ends[stream] = place
        for position in positions[ERROR_STREAMS:] if not self._opened else ():
            self._ends[position.stream] = (position.generation, position.offset)
        self._opened = True
        await _append(self.ring, fresh)
        return bool(fresh)

    async def _errors(self, position: StreamPosition, start: int) -> list[Timed]:
        size = min(position.offset - start, 4 * FEED_BYTES)
        if size <= 0:
            return []
        window = await self._store.log_window(
            position.stream, generation=position.generation, end=position.offset, size=size
        )
        if window is None or not self._trouble.may_match(window.data):
            return []
        place = self._places.get(position.stream)
        if place is None:
            place = self._places[position.stream] = len(self.tags)
            name = self._names.get(position.stream.instance_id, str(position.stream.instance_id))
            self.tags.append(name)
            self.streams.append(position.stream)
        lines = _timed(window.data, window.offset, place, position.last_byte_at)
        return [item for item in lines if self._trouble.matches(item[1][0])]

    async def older(self) -> int:
        """Further back each host's own log has them."""
        return 0

    async def newer(self) -> int:
        """There is nothing behind the newest line."""
        return 0

    async def to_end(self) -> None:
        """The newest lines are always there."""

    async def to_start(self) -> None:
        """The oldest lines looked through are always there."""

    async def to_time(self, at: float) -> int | None:
        """Return the number of the first line from a time on."""
        return await found_in_slices(_first_from(self.ring, at))

    async def set_keep(self, keep: LineFilter | None, near: int | None) -> None:
        """Show only the lines that pass, and look through the ends of the files again."""
        del near
        self.keep = keep
        self.ring = LogRing(keep=keep)
        self._ends.clear()
        self._opened = False
        await self.advance()

    async def find(self, wanted: LineFilter, offset: int, direction: int) -> int | None:
        """Nothing is stored beyond what is shown."""
        del wanted, offset, direction
        return None
