"""A bounded stretch of raw log lines with numbers that never change. Pure."""

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable

_TROUBLE = re.compile(
    rb"\b(?:error|fatal|panic(?:ked)?|critical|traceback|failed|failure|broken pipe|out of memory"
    rb"|oom-kill|killed|segfault|cannot|refused)\b",
    re.IGNORECASE,
)
_NO_TROUBLE = re.compile(rb"\b(?:0 (?:errors|failed)|failed[=:] ?0)\b", re.IGNORECASE)
_WARNING = re.compile(rb"\b(?:warn(?:ing)?|deprecated|retry(?:ing)?|timed? ?out)\b", re.IGNORECASE)
LINE_LIMIT_BYTES = 65_536

Entry = tuple[bytes, int, int]
"""A line's bytes, the offset of its first byte in its file, and which source it is of."""
Keep = Callable[[bytes], bool]


_COLOURS = re.compile(rb"\x1b\[[0-9;:]*m")


def plain_bytes(raw: bytes) -> bytes:
    """Return a line without its colours."""
    return _COLOURS.sub(b"", raw) if b"\x1b" in raw else raw


def is_trouble(line: bytes) -> bool:
    """Tell whether a line speaks of an error."""
    line = plain_bytes(line)
    return bool(_TROUBLE.search(line)) and not _NO_TROUBLE.search(line)


def is_warning(line: bytes) -> bool:
    """Tell whether a line warns."""
    return bool(_WARNING.search(plain_bytes(line)))


class LogRing:
    """At most `capacity` lines in their order; a line is what stands between two line feeds.

    Numbers count from the first line ever fed; lines put in front get lower, even negative
    ones. What is fed at one end pushes lines out at the other. Of a line that is overwritten by
    carriage returns the last text is kept. The last, unfinished line is a line as well and is
    replaced as it grows. With `keep` only the lines it accepts are taken in.
    """

    def __init__(self, capacity: int = 100_000, *, keep: Keep | None = None) -> None:
        self.capacity = capacity
        self.first = 0
        self.changed_from = 0
        """The lowest number whose line may differ since this was last read."""
        self._keep = keep
        self._entries: deque[Entry] = deque()
        self._open = b""
        self._open_at = 0
        self._next_offset = 0
        self._is_open = False
        self._troubles: list[int] = []

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def end(self) -> int:
        """The number after the newest line."""
        return self.first + len(self._entries)

    def line(self, number: int) -> bytes:
        """Return a line's bytes; empty outside the ring."""
        entry = self.entry(number)
        return entry[0] if entry else b""

    def entry(self, number: int) -> Entry | None:
        """Return a line with its offset and source; `None` outside the ring."""
        index = number - self.first
        return self._entries[index] if 0 <= index < len(self._entries) else None

    def number_at(self, offset: int) -> int:
        """Return the number of the line that holds a byte offset (of a single file)."""
        low, high = 0, len(self._entries)
        while low < high:
            middle = (low + high) // 2
            if self._entries[middle][1] <= offset:
                low = middle + 1
            else:
                high = middle
        return self.first + max(low - 1, 0)

    def feed(self, data: bytes, offset: int | None = None) -> int | None:
        """Append bytes; by default they follow those fed before.

        Returns the offset of the oldest line left when some were pushed out, else `None`.
        """
        if not data:
            return None
        if offset is not None and offset != self._next_offset:
            self._next_offset = offset
            self._open = b""
            self._is_open = False
        if self._is_open:
            self._pop_open()
        start = self._open_at if self._open else self._next_offset
        self._next_offset += len(data)
        parts = (self._open + data).split(b"\n")
        self._open = parts.pop()[-LINE_LIMIT_BYTES:]
        pushed = False
        for part in parts:
            pushed |= self.append(part, start)
            start += len(part) + 1
        self._open_at = start
        if self._open and (self._keep is None or self._keep(self._open)):
            pushed |= self.append(self._open, start)
            self._is_open = True
        return self._entries[0][1] if pushed and self._entries else None

    def note(self, text: str) -> None:
        """Append a line of our own, which ends an unfinished one."""
        self._open, self._is_open = b"", False
        self._push((b"\x00" + text.encode(), self._next_offset, 0))

    def append(self, raw: bytes, offset: int, source: int = 0) -> bool:
        """Append a whole line if it is to be kept; true when another was pushed out for it."""
        line = _last_text(raw)
        if self._keep is not None and not self._keep(line):
            return False
        return self._push((line, offset, source))

    def prepend(self, data: bytes, offset: int = 0) -> int:
        """Put older bytes in front; returns how many lines they were.

        The bytes must end where a line ends.
        """
        raws = data.split(b"\n")
        if raws and not raws[-1]:
            raws.pop()
        entries: list[Entry] = []
        for raw in raws:
            line = _last_text(raw)
            if self._keep is None or self._keep(line):
                entries.append((line, offset, 0))
            offset += len(raw) + 1
        return self.prepend_entries(entries)

    def prepend_entries(self, entries: Iterable[Entry]) -> int:
        """Put older lines in front (given in order); returns how many they were."""
        entries = list(entries)
        self._entries.extendleft(reversed(entries))
        self.first -= len(entries)
        troubles = [self.first + i for i, entry in enumerate(entries) if is_trouble(entry[0])]
        self._troubles = troubles + self._troubles
        return len(entries)

    def trim_end(self) -> int | None:
        """Let go of what is over the capacity at the end; returns the first offset let go."""
        offset = None
        while len(self._entries) > self.capacity:
            offset = self._entries.pop()[1]
        if offset is not None:
            self._open, self._is_open = b"", False
            del self._troubles[bisect_left(self._troubles, self.end) :]
            self.changed_from = min(self.changed_from, self.end)
        return offset

    def next_trouble(self, number: int, direction: int) -> int | None:
        """Return the nearest line after (or before) `number` that speaks of an error."""
        start = bisect_left(self._troubles, self.first)
        if direction > 0:
            index = max(bisect_right(self._troubles, number), start)
            return self._troubles[index] if index < len(self._troubles) else None
        index = bisect_left(self._troubles, number) - 1
        return self._troubles[index] if index >= start else None

    def find(self, wanted: Keep, start: int, direction: int) -> int | None:
        """Return the nearest line from `start` on that is wanted."""
        end = self.end if direction > 0 else self.first - 1
        start = max(start, self.first) if direction > 0 else min(start, self.end - 1)
        for number in range(start, end, direction):
            if wanted(self.line(number)):
                return number
        return None

    def _push(self, entry: Entry) -> bool:
        self._entries.append(entry)
        if is_trouble(entry[0]):
            self._troubles.append(self.end - 1)
        if len(self._entries) <= self.capacity:
            return False
        self._entries.popleft()
        self.first += 1
        if len(self._troubles) > 1024 and self._troubles[512] < self.first:
            del self._troubles[:512]
        return True

    def _pop_open(self) -> None:
        self._entries.pop()
        self._is_open = False
        self.changed_from = min(self.changed_from, self.end)
        if self._troubles and self._troubles[-1] >= self.end:
            self._troubles.pop()


def _last_text(line: bytes) -> bytes:
    if b"\r" in line:
        texts = [text for text in line.split(b"\r") if text.strip()]
        line = texts[-1] if texts else b""
    return line[:LINE_LIMIT_BYTES]
