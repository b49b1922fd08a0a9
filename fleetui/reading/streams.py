"""One log file of an instance over its generations: chunks to hits with their times."""

import re

import msgspec

from fleetui.domain.stream import LogChunk
from fleetui.logs.matcher import KindMatcher
from fleetui.logs.scanner import Hit, Scanner
from fleetui.logs.strip import strip_line
from fleetui.reading.case import StreamTail

_HEAD = 256
_END = re.compile(rb"[\r\n]")
_QUIET_SECONDS = 2.0
"""A file that gave nothing for so long was read to its end: what comes next is new. That is but a
guess, for where nobody knows how long the file was."""


class Arrival(msgspec.Struct, frozen=True):
    """A hit with the best known time of its writing.

    `is_guess` says that the time is that of arrival, as nothing in the file tells it.
    """

    hit: Hit
    generation: int
    at: float
    arrived: float
    is_guess: bool


class StreamReader:
    """Reads one file; drops overlaps, notes gaps, starts anew with each generation."""

    def __init__(self, path: str, kind: str, matcher: KindMatcher) -> None:
        self.path = path
        self.kind = kind
        self._matcher = matcher
        self._scanner = Scanner(matcher)
        self.generation = 0
        self.head = b""
        self.bytes = 0
        self.gaps = 0
        self.grown_at: float | None = None
        self._next = 0
        self._read_from = 0
        self._is_partial = False
        self._is_followed = False
        self._is_at_end = False
        self._is_live = False
        self._stamp_before: float | None = None
        self._first_stamp: float | None = None
        """The first time of this generation, where it stood before a gap."""

    @property
    def is_followed(self) -> bool:
        """Whether what came last is new: the file had been read to its end before."""
        return self._is_followed

    @property
    def is_live(self) -> bool:
        """Whether what came last was just written: it is new, and all that is new has come."""
        return self._is_live

    @property
    def first_stamp(self) -> float | None:
        """The first time that a line of this generation carried."""
        return self._scanner.first_stamp if self._first_stamp is None else self._first_stamp

    @property
    def last_stamp(self) -> float | None:
        """The newest time that a line of this generation carried."""
        return self._scanner.last_stamp

    @property
    def known_since(self) -> float | None:
        """Since when all was read, by the host's clock; `None` for ever."""
        if not self._read_from:
            return None
        first = self._scanner.first_stamp
        return self.grown_at if first is None else first

    @property
    def new_stamp(self) -> float | None:
        """The newest time, where what came last has changed it."""
        newest = self._scanner.last_stamp
        return None if newest == self._stamp_before else newest

    def feed(self, chunk: LogChunk, skew: float | None = None) -> list[Arrival]:
        """Take a chunk; an older generation and bytes that were seen are dropped.

        `skew` is how far the host's clock seems to be behind ours, in seconds.
        """
        if chunk.generation < self.generation or not chunk.data:
            return []
        arrivals: list[Arrival] = []
        if chunk.generation > self.generation:
            arrivals = self.finish(chunk.at)
            self._begin(chunk)
        data = chunk.data
        if chunk.offset < self._next:
            data = data[self._next - chunk.offset :]
        elif chunk.offset > self._next:
            arrivals += self.finish(chunk.at)
            self._restart(chunk.offset)
            self.gaps += 1
        if not data:
            return arrivals
        self._next += len(data)
        self.bytes += len(data)
        self._follow(chunk)
        if self.grown_at != chunk.at:
            self._stamp_before = self._scanner.last_stamp
        self.grown_at = chunk.at
        if len(self.head) < _HEAD and self._next - len(data) == len(self.head):
            self.head += data[: _HEAD - len(self.head)]
        if self._is_partial:
            data = self._skip_partial(data)
        return arrivals + self._timed(self._scanner.feed(data, chunk.at), chunk.at, skew)

    def finish(self, at: float) -> list[Arrival]:
        """End the unfinished last line."""
        return self._timed(self._scanner.finish(at), at)

    def tail(self) -> StreamTail | None:
        """The end of the file as it stands; `None` before its first byte."""
        if not self.generation:
            return None
        tail = self._scanner.tail
        return StreamTail(
            source=self.path,
            kind=self.kind,
            generation=self.generation,
            last_line=tail.line if tail else 0,
            last_offset=tail.offset if tail else self._next,
            last_text=strip_line(tail.raw if tail else b""),
            lines=self._scanner.lines,
            read_from=self._read_from,
            grown_at=self.grown_at,
        )

    def _begin(self, chunk: LogChunk) -> None:
        self.generation = chunk.generation
        self.head = b""
        self._is_followed = self._is_at_end = self._is_live = False
        self._next = chunk.offset
        self._restart(chunk.offset)
        self._first_stamp = None

    def _follow(self, chunk: LogChunk) -> None:
        if chunk.behind is not None:
            self._is_followed = self._is_at_end
            self._is_at_end = chunk.behind == 0
            self._is_live = self._is_followed and self._is_at_end
        elif self.grown_at is not None and chunk.at - self.grown_at > _QUIET_SECONDS:
            self._is_followed = self._is_live = True

    def _restart(self, offset: int) -> None:
        """Go on at an offset whose line is not known; half a line proves nothing."""
        line = self._scanner.lines + 1 if offset > self._next else 1
        stamp = self._scanner.last_stamp if offset > self._next else None
        self._first_stamp = self.first_stamp
        self._next = self._read_from = offset
        self._is_partial = offset > 0
        self._scanner = Scanner(self._matcher, offset=offset, line=line)
        if stamp is not None:
            self._scanner.last_stamp = stamp

    def _skip_partial(self, data: bytes) -> bytes:
        # A redraw is whole after any return, of a bar whose line may last for minutes.
        end = _END.search(data)
        skipped = len(data) if end is None else end.end()
        self._scanner.skip(skipped)
        self._is_partial = end is None
        return data[skipped:]

    def _timed(self, hits: list[Hit], arrived: float, skew: float | None = None) -> list[Arrival]:
        return [
            Arrival(
                hit,
                self.generation,
                arrived if at is None else at,
                arrived,
                is_guess=at is None,
            )
            for hit in hits
            for at in (self._time_of(hit, arrived, skew),)
        ]

    def _time_of(self, hit: Hit, arrived: float, skew: float | None) -> float | None:
        """The line's own time, else the best that is known.

        That is the last time before it, or, where the file is being followed and no line that
        came with it had a time, its arrival by the host's clock.
        """
        if hit.stamp is not None:
            return hit.stamp
        inherited = hit.inherited
        if inherited is None or not self._is_followed or inherited != self._stamp_before:
            return inherited
        return max(inherited, arrived - (skew or 0.0))
