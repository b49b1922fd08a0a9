"""A bounded ring of raw log lines with numbers that never change. Pure."""

import re
from bisect import bisect_left, bisect_right
from collections import deque

_TROUBLE = re.compile(
    rb"\b(?:error|fatal|panic(?:ked)?|critical|traceback|failed|failure|broken pipe|out of memory"
    rb"|oom-kill|killed|segfault|cannot|refused)\b",
    re.IGNORECASE,
)
_NO_TROUBLE = re.compile(rb"\b(?:0 (?:errors|failed)|failed[=:] ?0)\b", re.IGNORECASE)
LINE_LIMIT_BYTES = 65_536


def is_trouble(line: bytes) -> bool:
    """Tell whether a line speaks of an error."""
    return bool(_TROUBLE.search(line)) and not _NO_TROUBLE.search(line)


class LogRing:
    """The last `capacity` lines fed in; a line is what stands between two line feeds.

    Numbers count from the first line ever fed; lines put in front get lower, even negative
    ones. Of a line that is overwritten by carriage returns the last text is kept. The last,
    unfinished line is a line as well and is replaced as it grows.
    """

    def __init__(self, capacity: int = 50_000) -> None:
        self.capacity = capacity
        self.first = 0
        self.pushed_out = 0
        self.changed_from = 0
        """The lowest number whose line may differ since this was last read."""
        self._lines: deque[bytes] = deque()
        self._open = b""
        self._is_open = False
        self._troubles: list[int] = []

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def end(self) -> int:
        """The number after the newest line."""
        return self.first + len(self._lines)

    def line(self, number: int) -> bytes:
        """Return a line's bytes; empty outside the ring."""
        index = number - self.first
        return self._lines[index] if 0 <= index < len(self._lines) else b""

    def feed(self, data: bytes) -> None:
        """Append bytes that follow those fed before."""
        if not data:
            return
        if self._is_open:
            self._pop_open()
        parts = (self._open + data).split(b"\n")
        self._open = parts.pop()[-LINE_LIMIT_BYTES:]
        for part in parts:
            self._append(part)
        if self._open:
            self._append(self._open)
            self._is_open = True

    def note(self, text: str) -> None:
        """Append a line of our own, which ends an unfinished one."""
        self._open, self._is_open = b"", False
        self._append(b"\x00" + text.encode())

    def prepend(self, data: bytes) -> int:
        """Put older bytes in front; returns how many lines they were.

        The bytes must end where a line ends; the ring may grow over its capacity by them until
        newer lines push them out.
        """
        lines = data.split(b"\n")
        if lines and not lines[-1]:
            lines.pop()
        lines = lines[-max(self.capacity - len(self._lines), 0) :] if lines else []
        for line in reversed(lines):
            self._lines.appendleft(_last_text(line))
        self.first -= len(lines)
        troubles = [self.first + i for i, line in enumerate(lines) if is_trouble(line)]
        self._troubles = troubles + self._troubles
        return len(lines)

    def next_trouble(self, number: int, direction: int) -> int | None:
        """Return the nearest line after (or before) `number` that speaks of an error."""
        start = bisect_left(self._troubles, self.first)
        if direction > 0:
            index = max(bisect_right(self._troubles, number), start)
            return self._troubles[index] if index < len(self._troubles) else None
        index = bisect_left(self._troubles, number) - 1
        return self._troubles[index] if index >= start else None

    def _append(self, raw: bytes) -> None:
        line = _last_text(raw)
        number = self.end
        self._lines.append(line)
        if is_trouble(line):
            self._troubles.append(number)
        if len(self._lines) > self.capacity:
            self._lines.popleft()
            self.first += 1
            self.pushed_out += 1
            if len(self._troubles) > 1024 and self._troubles[512] < self.first:
                del self._troubles[:512]

    def _pop_open(self) -> None:
        self._lines.pop()
        self._is_open = False
        self.changed_from = min(self.changed_from, self.end)
        if self._troubles and self._troubles[-1] >= self.end:
            self._troubles.pop()


def _last_text(line: bytes) -> bytes:
    if b"\r" in line:
        texts = [text for text in line.split(b"\r") if text.strip()]
        line = texts[-1] if texts else b""
    return line[:LINE_LIMIT_BYTES]
