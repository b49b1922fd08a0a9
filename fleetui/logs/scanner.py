"""The hot path: raw chunks to the few lines that matter.

Everything a chunk holds is searched for raw tokens first; only lines with one are cut out and
decoded. Line numbers, offsets and inherited times stay exact whatever the split, as with
`SegmentDecoder`, which is the plain form of the same thing.
"""

import msgspec

from fleetui.domain.text import SafeText
from fleetui.logs.decoder import SEGMENT_LIMIT
from fleetui.logs.matcher import KindMatcher, Match
from fleetui.logs.strip import is_blank, strip_line
from fleetui.logs.timestamps import stamp_of

_HEAD = 96
"""A time stands within this many bytes of a line's start."""

_NEWLINE = 10


class Hit(msgspec.Struct, frozen=True):
    """A redraw of a line that obeys rules.

    `offset` is the first byte of the physical line, `position` that of the redraw. `stamp` is
    its own time, `inherited` the last time seen before it in the stream when it has none.
    """

    line: int
    offset: int
    position: int
    text: SafeText
    matches: list[Match]
    stamp: float | None
    inherited: float | None


class Tail(msgspec.Struct, frozen=True):
    """The last redraw that shows anything."""

    line: int
    offset: int
    raw: bytes


class Scanner:
    """Reads one generation of one stream."""

    def __init__(self, matcher: KindMatcher, *, offset: int = 0, line: int = 1) -> None:
        self._matcher = matcher
        self._line = line
        self._line_offset = offset
        self._base = offset
        self._held = b""
        self._dropped = 0
        self._redrawn = False
        self._tail: Tail | None = None
        self.first_stamp: float | None = None
        self.last_stamp: float | None = None

    @property
    def lines(self) -> int:
        """How many physical lines have begun."""
        return self._line - 1 + (1 if self._held or self._redrawn else 0)

    @property
    def tail(self) -> Tail | None:
        """The last redraw that shows anything, finished or not."""
        held = self._held.rstrip(b"\r")
        if held and not is_blank(held):
            return Tail(self._line, self._line_offset, held[:SEGMENT_LIMIT])
        return self._tail

    def feed(self, data: bytes, at: float) -> list[Hit]:
        """Take the next bytes, which arrived at `at`; return the hits they complete."""
        if self._dropped:
            data = self._skip_overlong(data)
        held = self._held + data
        end = max(held.rfind(b"\n"), held.rfind(b"\r", 0, max(len(held) - 1, 0))) + 1
        self._held = held[end:]
        found = self._scan(held[:end], at) if end else []
        over = len(self._held) - SEGMENT_LIMIT
        if over > 0 and not self._held.endswith(b"\r"):
            self._held = self._held[:SEGMENT_LIMIT]
            self._dropped += over
        return found

    def skip(self, length: int) -> None:
        """Leave out bytes before the first line; only before anything was fed."""
        self._base += length
        self._line_offset += length

    def finish(self, at: float) -> list[Hit]:
        """End the unfinished last line, as when the file was replaced or is read whole."""
        return self.feed(b"\n", at) if self._held else []

    def _skip_overlong(self, data: bytes) -> bytes:
        """Drop what belongs to a redraw that is over the limit; return the rest."""
        ends = [place for place in (data.find(b"\n"), data.find(b"\r")) if place >= 0]
        stop = min(ends, default=len(data))
        self._dropped += stop
        return data[stop:]

    def _scan(self, block: bytes, at: float) -> list[Hit]:
        found: list[Hit] = []
        has_return = b"\r" in block
        line_start = line_end = done = counted = stamped = 0
        # What was dropped from the first redraw lies behind its kept head.
        dropped, self._dropped = self._dropped, 0
        for position in self._matcher.candidates(block):
            if position < done:
                continue
            newline = block.rfind(b"\n", done, position)
            line_start = newline + 1 if newline >= 0 else line_start
            start = line_start
            if position >= line_end:
                line_end = block.find(b"\n", position)
                line_end = len(block) if line_end < 0 else line_end
            end = line_end
            if has_return:
                start = max(block.rfind(b"\r", done, position) + 1, line_start)
                cut = block.find(b"\r", position, end)
                end = end if cut < 0 else cut
            done = end
            raw = block[start : min(end, start + SEGMENT_LIMIT)]
            text = strip_line(raw)
            matches = self._matcher.match(text)
            if not matches:
                continue
            self._line += block.count(b"\n", counted, start)
            counted = start
            stamp = stamp_of(raw[:_HEAD], None)
            if stamp is None or self.first_stamp is None:
                self._stamp_between(block, stamped, start, at, has_return=has_return)
                stamp = stamp_of(raw[:_HEAD], at)
            stamped = end
            found.append(
                Hit(
                    line=self._line,
                    offset=self._base + dropped + line_start if line_start else self._line_offset,
                    position=self._base + start + (dropped if start else 0),
                    text=text,
                    matches=matches,
                    stamp=stamp,
                    inherited=self.last_stamp if stamp is None else None,
                )
            )
            if stamp is not None:
                self._see(stamp)
        self._stamp_between(block, stamped, len(block), at, has_return=has_return)
        self._line += block.count(b"\n", counted)
        self._base += dropped
        self._remember_tail(block, has_return=has_return)
        last = block.rfind(b"\n")
        if last >= 0:
            self._line_offset = self._base + last + 1
        self._redrawn = not block.endswith(b"\n")
        self._base += len(block)
        return found

    def _stamp_between(
        self, block: bytes, low: int, high: int, at: float, *, has_return: bool
    ) -> None:
        """See the last stamped redraw in `block[low:high]`, and the first of the stream."""
        if self.first_stamp is None:
            for line in block[low:high].splitlines():
                stamp = stamp_of(line[:_HEAD], at)
                if stamp is not None:
                    self._see(stamp)
                    break
            else:
                return
        end, line_start = high, high
        while end > low:
            end -= 1
            if end < line_start:
                line_start = max(block.rfind(b"\n", low, end) + 1, low)
            start = line_start
            if has_return:
                start = max(start, block.rfind(b"\r", line_start, end) + 1)
            stamp = stamp_of(block[start : min(end, start + _HEAD)], at)
            if stamp is not None:
                self._see(stamp)
                return
            end = start

    def _see(self, stamp: float) -> None:
        self.last_stamp = stamp
        if self.first_stamp is None:
            self.first_stamp = stamp

    def _remember_tail(self, block: bytes, *, has_return: bool) -> None:
        end = line_start = len(block)
        line = self._line
        while end > 0:
            end -= 1
            if block[end] == _NEWLINE:
                line -= 1
            if end < line_start:
                # Sought once a line: one line may have thousands of redraws.
                line_start = block.rfind(b"\n", 0, end) + 1
            start = line_start
            if has_return:
                start = max(start, block.rfind(b"\r", line_start, end) + 1)
            if not is_blank(block[start:end]):
                offset = self._base + line_start if line_start else self._line_offset
                self._tail = Tail(line, offset, block[start:end][:SEGMENT_LIMIT])
                return
            end = start
