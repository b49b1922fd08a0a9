"""A bounded stretch of raw log lines with numbers that never change. Pure."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from fleetui.console.line_filter import LineFilter
from fleetui.console.line_shelf import SHELF_LINES, Entry, Shelf

LINE_LIMIT_BYTES = 65_536


class LogRing:
    """At most `capacity` lines in their order; a line is what stands between two line feeds.

    Numbers count from the first line ever fed; lines put in front get lower, even negative
    ones. What is fed at one end pushes lines out at the other. Of a line that is overwritten by
    carriage returns the last text is kept. The last, unfinished line is a line as well and is
    replaced as it grows. With `keep` only the lines it accepts are taken in.

    All but the newest lines stand in shelves: an object for each line would take as much memory
    again as its bytes.
    """

    def __init__(
        self,
        capacity: int = 100_000,
        *,
        keep: LineFilter | None = None,
        shelf_lines: int = SHELF_LINES,
    ) -> None:
        self.capacity = capacity
        self.first = 0
        self.changed_from = 0
        """The lowest number whose line may differ since this was last read."""
        self._keep = keep
        self._shelf_lines = shelf_lines
        self._shelves: list[Shelf] = []
        self._loose: list[Entry] = []
        self._loose_first = 0
        self._open = b""
        self._open_at = 0
        self._next_offset = 0
        self._is_open = False

    def __len__(self) -> int:
        return self.end - self.first

    @property
    def end(self) -> int:
        """The number after the newest line."""
        return self._loose_first + len(self._loose)

    def line(self, number: int) -> bytes:
        """Return a line's bytes; empty outside the ring."""
        entry = self.entry(number)
        return entry[0] if entry else b""

    def entry(self, number: int) -> Entry | None:
        """Return a line with its offset and source; `None` outside the ring."""
        if not self.first <= number < self.end:
            return None
        if number >= self._loose_first:
            return self._loose[number - self._loose_first]
        return self._shelf_of(number).entry(number)

    def number_at(self, offset: int) -> int:
        """Return the number of the line that holds a byte offset (of a single file)."""
        low, high = self.first, self.end
        while low < high:
            middle = (low + high) // 2
            entry = self.entry(middle)
            if entry is not None and entry[1] <= offset:
                low = middle + 1
            else:
                high = middle
        return max(low - 1, self.first)

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
        whole, keep = self._open + data, self._keep
        parts = whole.split(b"\n")
        self._open = parts.pop()[-LINE_LIMIT_BYTES:]
        pushed = False
        if keep is None or keep.may_match(whole):
            offset = start
            for part in parts:
                pushed |= self.append(part, offset)
                offset += len(part) + 1
        self._open_at = start + sum(map(len, parts)) + len(parts)
        if self._open and (keep is None or keep.matches(self._open)):
            pushed |= self.append(self._open, self._open_at)
            self._is_open = True
        oldest = self.entry(self.first)
        return oldest[1] if pushed and oldest else None

    def note(self, text: str) -> None:
        """Append a line of our own, which ends an unfinished one."""
        self._open, self._is_open = b"", False
        self._push((b"\x00" + text.encode(), self._next_offset, 0))

    def append(self, raw: bytes, offset: int, source: int = 0) -> bool:
        """Append a whole line if it is to be kept; true when another was pushed out for it."""
        line = _last_text(raw)
        if self._keep is not None and not self._keep.matches(line):
            return False
        return self._push((line, offset, source))

    def prepend(self, data: bytes, offset: int = 0) -> int:
        """Put older bytes in front; returns how many lines they were.

        The bytes must end where a line ends.
        """
        raws = data.split(b"\n")
        if raws and not raws[-1]:
            raws.pop()
        keep = self._keep
        if keep is not None and not keep.may_match(data):
            return 0
        entries: list[Entry] = []
        for raw in raws:
            line = _last_text(raw)
            if keep is None or keep.matches(line):
                entries.append((line, offset, 0))
            offset += len(raw) + 1
        return self.prepend_entries(entries)

    def prepend_entries(self, entries: Iterable[Entry]) -> int:
        """Put older lines in front (given in order); returns how many they were."""
        entries = list(entries)
        self._clear_front()
        begin = self.first - len(entries)
        shelves = [
            Shelf(begin + place, entries[place : place + self._shelf_lines])
            for place in range(0, len(entries), self._shelf_lines)
        ]
        self._shelves[:0] = shelves
        self.first = begin
        return len(entries)

    def trim_end(self) -> int | None:
        """Let go of what is over the capacity at the end; returns the first offset let go."""
        end = self.first + self.capacity
        entry = self.entry(end)
        if entry is None:
            return None
        while self._loose_first > end:
            shelf = self._shelves.pop()
            self._loose, self._loose_first = shelf.entries(shelf.first), shelf.first
        del self._loose[end - self._loose_first :]
        self._open, self._is_open = b"", False
        self.changed_from = min(self.changed_from, self.end)
        return entry[1]

    def find(self, wanted: LineFilter, start: int, direction: int) -> Iterator[int | None]:
        """Look for the nearest line from `start` on that is wanted.

        Yields `None` after each stretch without one, and at last, when there is one, its number.
        """
        number = max(start, self.first) if direction > 0 else min(start, self.end - 1)
        while (number := max(number, self.first) if direction > 0 else number) < self.end:
            if number < self.first:
                return
            if number >= self._loose_first:
                low, high, text = max(self._loose_first, self.first), self.end, None
            else:
                shelf = self._shelf_of(number)
                low, high, text = max(shelf.first, self.first), shelf.end, shelf.text
            last = high if direction > 0 else low - 1
            if text is None or wanted.may_match(text):
                for candidate in range(number, last, direction):
                    if wanted.matches(self.line(candidate)):
                        yield candidate
                        return
            number = last
            yield None

    def _shelf_of(self, number: int) -> Shelf:
        return self._shelves[bisect_right(self._shelves, number, key=_first_of) - 1]

    def _push(self, entry: Entry) -> bool:
        if len(self._loose) >= self._shelf_lines:
            # What is unfinished was taken back before anything is put behind it.
            self._clear_front()
            self._shelves.append(Shelf(self._loose_first, self._loose))
            self._loose_first += len(self._loose)
            self._loose = []
        self._loose.append(entry)
        if len(self) <= self.capacity:
            return False
        self.first += 1
        if self._shelves and self._shelves[0].end <= self.first:
            del self._shelves[0]
        return True

    def _clear_front(self) -> None:
        """Let go of the lines before the first one, which their shelf still holds."""
        if self._shelves:
            shelf = self._shelves[0]
            if shelf.first < self.first:
                self._shelves[0] = Shelf(self.first, shelf.entries(self.first))
        elif self._loose_first < self.first:
            del self._loose[: self.first - self._loose_first]
            self._loose_first = self.first

    def _pop_open(self) -> None:
        self._loose.pop()
        self._is_open = False
        self.changed_from = min(self.changed_from, self.end)


def _first_of(shelf: Shelf) -> int:
    return shelf.first


def _last_text(line: bytes) -> bytes:
    if b"\r" in line:
        texts = [text for text in line.split(b"\r") if text.strip()]
        line = texts[-1] if texts else b""
    return line[:LINE_LIMIT_BYTES]
