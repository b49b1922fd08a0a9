r"""Bytes to lines, exact over any split of the bytes.

A *physical line* ends with a line feed. A carriage return inside it starts the next *redraw* of
the same line, as progress bars do; `\r\n` is one line end. Decoding works on whole redraws, so
neither a split UTF-8 character nor a split escape sequence can be seen from outside.
"""

import re
from dataclasses import dataclass

from fleetui.domain.text import SafeText
from fleetui.logs.strip import is_blank, strip_line

SEGMENT_LIMIT = 64 * 1024
"""Longest redraw kept, in bytes; what comes after it is counted and left out."""

_TERMINATOR = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Segment:
    """One redraw of a physical line.

    `line` counts from 1, `offset` is the first byte of the physical line, `index` counts the
    redraws from 0, `cut` is how many bytes of it were left out.
    """

    line: int
    offset: int
    index: int
    raw: bytes
    cut: int
    ends_line: bool

    @property
    def text(self) -> SafeText:
        """The redraw as safe text."""
        return strip_line(self.raw)


@dataclass(frozen=True, slots=True)
class Line:
    """One physical line as it stands at its end.

    `text` is the last redraw that shows anything, `updates` how many redraws came before it,
    `cut` how many bytes were left out for length.
    """

    number: int
    offset: int
    text: SafeText
    updates: int = 0
    cut: int = 0


class SegmentDecoder:
    """Splits a stream into redraws; the result never depends on how the bytes were cut."""

    def __init__(self, *, offset: int = 0, line: int = 1, limit: int = SEGMENT_LIMIT) -> None:
        self._limit = limit
        self._line = line
        self._line_offset = offset
        self._position = offset
        self._index = 0
        self._held = b""
        self._cut = 0
        self._open_return = False

    def feed(self, data: bytes) -> list[Segment]:
        """Take the next bytes; return the redraws they complete."""
        segments: list[Segment] = []
        if not data:
            return segments
        start = 0
        if self._open_return:
            self._open_return = False
            joined = data[:1] == b"\n"
            start = 1 if joined else 0
            segments.append(self._end(self._position + start, ends_line=joined))
        for match in _TERMINATOR.finditer(data, start):
            if match.group() == b"\r" and match.end() == len(data):
                # Only the next byte tells whether this return ends the line.
                self._hold(data[start : match.start()])
                self._open_return = True
                self._position += len(data)
                return segments
            self._hold(data[start : match.start()])
            start = match.end()
            ends_line = match.group() != b"\r"
            segments.append(self._end(self._position + start, ends_line=ends_line))
        self._hold(data[start:])
        self._position += len(data)
        return segments

    def pending(self) -> Segment | None:
        """Return the redraw that has not ended yet, or `None` when there is nothing of it."""
        if not self._held and not self._index and not self._open_return:
            return None
        return Segment(
            self._line, self._line_offset, self._index, self._held, self._cut, ends_line=False
        )

    def _hold(self, part: bytes) -> None:
        room = self._limit - len(self._held)
        if len(part) > room:
            self._cut += len(part) - max(room, 0)
            part = part[: max(room, 0)]
        self._held += part

    def _end(self, position: int, *, ends_line: bool) -> Segment:
        segment = Segment(
            self._line, self._line_offset, self._index, self._held, self._cut, ends_line
        )
        self._held = b""
        self._cut = 0
        if ends_line:
            self._line += 1
            self._line_offset = position
            self._index = 0
        else:
            self._index += 1
        return segment


class LineDecoder:
    """Bytes to physical lines, for display and for whole files."""

    def __init__(self, *, offset: int = 0, line: int = 1, limit: int = SEGMENT_LIMIT) -> None:
        self._segments = SegmentDecoder(offset=offset, line=line, limit=limit)
        self._shown: Segment | None = None
        self._cut = 0

    def feed(self, data: bytes) -> list[Line]:
        """Take the next bytes; return the physical lines they complete."""
        lines: list[Line] = []
        for segment in self._segments.feed(data):
            self._show(segment)
            if segment.ends_line:
                lines.append(self._line(segment))
                self._shown = None
                self._cut = 0
        return lines

    def pending(self) -> Line | None:
        """Return the unfinished last line as it stands, without ending it."""
        segment = self._segments.pending()
        if segment is None:
            return None
        shown = self._shown
        if shown is None or not is_blank(segment.raw):
            shown = segment
        return Line(
            segment.line, segment.offset, shown.text, segment.index, self._cut + segment.cut
        )

    def _show(self, segment: Segment) -> None:
        self._cut += segment.cut
        if self._shown is None or not is_blank(segment.raw):
            self._shown = segment

    def _line(self, last: Segment) -> Line:
        shown = self._shown or last
        return Line(last.line, last.offset, shown.text, last.index, self._cut)
