"""The log view: line API over a ring; only visible lines are parsed and coloured."""

import time

from rich.segment import Segment
from textual.events import Click
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from fleetui.console import figures
from fleetui.console.fitting import fit
from fleetui.console.glyphs import Glyphs
from fleetui.console.line_filter import LineFilter
from fleetui.console.line_words import is_trouble
from fleetui.console.log_reading import readable
from fleetui.console.log_ring import LogRing
from fleetui.console.palette import Piece, paint_of
from fleetui.console.sgr import pieces_of
from fleetui.console.widgets.line_parts import highlighted, window, without_time
from fleetui.logs.timestamps import stamp_of

CACHED_LINES = 600
GUTTERS = ("off", "short", "full")
TAG_CELLS = {"off": 0, "short": 9, "full": 21}
LOOK_BACK_LINES = 50
"""How far before a line without a time its time is looked for."""


class LogView(Widget, can_focus=True):
    """Shows a ring of lines. While `follow` is off, new lines never move what is read.

    The place is a line's number (`top`) and, when long lines are wrapped, how many of its rows
    are scrolled out (`_skip`). The rightmost column shows where in all that is stored one is.
    """

    DEFAULT_CSS = "LogView { height: 1fr; }"

    def __init__(self, glyphs: Glyphs, *, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(id=id)
        self._glyphs = glyphs
        self.ring = LogRing()
        self.tags: list[str] = []
        self.span: tuple[int, int] | None = None
        self.follow = True
        self.mark: int | None = None
        self.bookmarks: set[int] = set()
        self.search: LineFilter | None = None
        self.left = 0
        self.wrap = False
        self.raw = False
        self.times = "off"
        self.tag_width = "short"
        self.utc = False
        self.waiting = ""
        self._top = 0
        self._skip = 0
        self._cache: dict[int, list[Strip]] = {}
        self._rows: list[tuple[int, int]] | None = None
        self._thumb_of: tuple[list[tuple[int, int]], tuple[int, int]] | None = None

    # -- where one is ------------------------------------------------------------------------

    @property
    def page(self) -> int:
        """How many rows are visible at once."""
        return max(self.size.height, 1)

    @property
    def top_line(self) -> int:
        """The number of the first visible line."""
        return max(self._top, self.ring.first)

    @property
    def visible_lines(self) -> list[int]:
        """The numbers of the visible lines."""
        return list(dict.fromkeys(number for number, _ in self._layout()))

    @property
    def unseen(self) -> int:
        """How many lines lie below the visible ones."""
        rows = self._layout()
        return max(self.ring.end - (rows[-1][0] + 1), 0) if rows else 0

    @property
    def chosen(self) -> int | None:
        """The line that is meant by what is done to one: the marked, else the last visible."""
        if self.mark is not None and self.ring.entry(self.mark) is not None:
            return self.mark
        rows = self._layout()
        return rows[-1][0] if rows else None

    def show(self, ring: LogRing, *, at: int | None = None) -> None:
        """Show another ring: at its end and following, or marked at a line."""
        self.ring = ring
        self.mark, self.bookmarks = None, set()
        self.forget()
        if at is None:
            self.follow, self.left = True, 0
            self._to_end()
        else:
            self.reveal(at)

    def grown(self) -> None:
        """Take in what the ring got since; the reader's lines stay where they are."""
        ring = self.ring
        if ring.changed_from < ring.end:
            self._cache = {k: v for k, v in self._cache.items() if k < ring.changed_from}
        ring.changed_from = ring.end
        self._rows = None
        if self.follow:
            self._to_end()
        self._top = min(max(self._top, ring.first), max(ring.end - 1, ring.first))
        self.refresh()

    def settle(self) -> None:
        """Be at the end while following; sizes may have changed since the last lines came."""
        if self.follow:
            before = (self._top, self._skip)
            self._to_end()
            if (self._top, self._skip) != before:
                self.refresh()

    def forget(self) -> None:
        """Draw every line anew."""
        self._cache.clear()
        self._rows = None
        self.refresh()

    # -- moving ------------------------------------------------------------------------------

    def scroll_lines(self, rows: int) -> None:
        """Move by rows; upwards ends the following, to the end begins it again."""
        end = self._end_place()
        if rows < 0:
            self.follow = False
            self._up(-rows)
        else:
            self._down(rows)
            if (self._top, self._skip) >= end:
                self._top, self._skip = end
                self.follow = True
        self._moved()

    def go_top(self) -> None:
        """Show the oldest loaded line."""
        self._top, self._skip = self.ring.first, 0
        self.follow = (self._top, 0) >= self._end_place()
        self._moved()

    def go_end(self) -> None:
        """Show the newest line and follow."""
        self.follow = True
        self._to_end()
        self._moved()

    def shift(self, cells: int) -> None:
        """Scroll sideways; the position stays as new lines come."""
        left = 0 if self.wrap else max(self.left + cells, 0)
        if left != self.left:
            self.left = left
            self.forget()

    def reveal(self, number: int) -> None:
        """Mark a line and bring it into view, a third down the screen."""
        if self.mark is not None:
            self._cache.pop(self.mark, None)
        self.mark = number
        self._cache.pop(number, None)
        self.follow = False
        self._top, self._skip = number, 0
        self._rows = None
        self._up(self.page // 3)
        end = self._end_place()
        self._top, self._skip = min((self._top, self._skip), end)
        self._moved()

    def _up(self, rows: int) -> None:
        first = self.ring.first
        if not self.wrap:
            self._top = max(self.top_line - rows, first)
            return
        self._top = self.top_line
        while rows > 0:
            if self._skip >= rows:
                self._skip -= rows
                return
            rows -= self._skip
            self._skip = 0
            if self._top <= first:
                return
            self._top -= 1
            self._skip = self._height(self._top)

    def _down(self, rows: int) -> None:
        last = self.ring.end - 1
        if not self.wrap:
            self._top = min(self.top_line + rows, max(last, self.ring.first))
            return
        while rows > 0 and self._top <= last:
            left = self._height(self._top) - self._skip
            if left > rows:
                self._skip += rows
                return
            rows -= left
            self._top, self._skip = self._top + 1, 0

    def _end_place(self) -> tuple[int, int]:
        """Return the place at which the newest line is the last one visible."""
        first, end = self.ring.first, self.ring.end
        if not self.wrap:
            return max(end - self.page, first), 0
        rows, number = 0, end
        while number > first and rows < self.page:
            number -= 1
            rows += self._height(number)
        return number, max(rows - self.page, 0)

    def _to_end(self) -> None:
        place = self._end_place()
        if place != (self._top, self._skip):
            self._top, self._skip = place
        self._rows = None

    def _moved(self) -> None:
        self._rows = None
        self.refresh()

    def _layout(self) -> list[tuple[int, int]]:
        """Return line number and row within the line for each visible row."""
        if self._rows is None:
            rows: list[tuple[int, int]] = []
            number, part = self.top_line, self._skip
            while len(rows) < self.page and number < self.ring.end:
                height = self._height(number) if self.wrap else 1
                rows += [(number, row) for row in range(part, height)]
                number, part = number + 1, 0
            self._rows = rows[: self.page]
        return self._rows

    def _height(self, number: int) -> int:
        return len(self._strips(number)) if self.wrap else 1

    # -- search ------------------------------------------------------------------------------

    def set_search(self, wanted: LineFilter | None) -> None:
        """Highlight what is looked for in every visible line; `None`: nothing."""
        self.search = wanted
        self.forget()

    def text_of(self, number: int) -> str:
        """Return a line as it is drawn, without gutter and tag."""
        return "".join(text for text, _ in self._body(self.ring.line(number)))

    def time_of(self, number: int) -> float | None:
        """Return a line's time, or that of the nearest line before it that has one."""
        reference = time.time()
        for back in range(LOOK_BACK_LINES):
            stamp = stamp_of(self.ring.line(number - back), reference)
            if stamp is not None:
                return stamp
        return None

    # -- painting ----------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """Return one visible row."""
        paint, width = paint_of(self), self.size.width
        rows = self._layout()
        if y < len(rows):
            number, part = rows[y]
            strips = self._strips(number)
            line = strips[part] if part < len(strips) else paint.strip([], width - 1)
        elif y == 0 and self.waiting:
            line = paint.strip([(" " + self.waiting, "dim")], width - 1)
        else:
            line = paint.strip([], width - 1)
        return Strip([*line, self._bar(y)], width)

    def _bar(self, y: int) -> Segment:
        paint = paint_of(self)
        begin, end = self._thumb()
        if end - begin >= self.page:
            return Segment(" ", paint.style("text"))
        inside = begin <= y < end
        return Segment(
            self._glyphs["cursor" if inside else "wall"], paint.style("dim" if inside else "line")
        )

    def _thumb(self) -> tuple[int, int]:
        """Return the rows of the position mark within all that is stored."""
        rows = self._layout()
        if self._thumb_of is not None and self._thumb_of[0] is rows:
            return self._thumb_of[1]
        self._thumb_of = rows, self._thumb_rows(rows)
        return self._thumb_of[1]

    def _thumb_rows(self, rows: list[tuple[int, int]]) -> tuple[int, int]:
        if not rows:
            return 0, self.page
        first, last = self.ring.entry(rows[0][0]), self.ring.entry(rows[-1][0])
        if self.span is not None and first and last:
            low, high = self.span
            begin, end = first[1] - low, last[1] - low + len(last[0]) + 1
            whole = max(high - low, 1)
        else:
            begin, end = rows[0][0] - self.ring.first, rows[-1][0] - self.ring.first + 1
            whole = max(len(self.ring), 1)
        start = int(begin / whole * self.page)
        stop = max(int(end / whole * self.page + 0.999), start + 1)
        return min(start, self.page - 1), stop

    def _strips(self, number: int) -> list[Strip]:
        found = self._cache.get(number)
        if found is None:
            if len(self._cache) > CACHED_LINES:
                self._cache.clear()
            found = self._cache[number] = self._draw(number)
        return found

    def _body(self, line: bytes) -> list[Piece]:
        pieces = pieces_of(line) if self.raw else readable(line)
        return [(self._glyphs.plain(text), tone) for text, tone in pieces]

    def _draw(self, number: int) -> list[Strip]:
        paint, width = paint_of(self), max(self.size.width - 1, 1)
        entry = self.ring.entry(number)
        line = entry[0] if entry else b""
        ground = "here" if number == self.mark else ""
        trouble = is_trouble(line)
        pieces = self._body(line)
        if self.times != "off" and not self.raw:
            pieces = without_time(pieces)
        if trouble:
            pieces = [(text, "bad" if tone == "text" else tone) for text, tone in pieces]
        segments = paint.segments(pieces, ground)
        if self.search is not None:
            segments = highlighted(segments, self.search, paint.style("strong", "match"))
        head = paint.segments(self._head(number, entry[2] if entry else 0, trouble), ground)
        used = sum(segment.cell_length for segment in head)
        room, blank = max(width - used, 1), paint.style("text", ground)
        if not self.wrap:
            return [Strip([*head, *window(segments, self.left, room, blank)], used + room)]
        length = max(sum(segment.cell_length for segment in segments), 1)
        indent = [Segment(" " * used, blank)] if used else []
        rows = [window(segments, start, room, blank) for start in range(0, length, room)]
        return [
            Strip([*(indent if place else head), *row], used + room)
            for place, row in enumerate(rows)
        ]

    def _head(self, number: int, source: int, trouble: bool) -> list[Piece]:  # noqa: FBT001 - drawn
        sign = "critical" if trouble else "mark" if number in self.bookmarks else ""
        pieces: list[Piece] = [
            ((self._glyphs[sign] if sign else " ") + " ", "bad" if trouble else "key")
        ]
        if self.times != "off":
            at = self.time_of(number)
            form = figures.clock_time if self.times == "short" else figures.date_time
            text = form(at, utc=self.utc)
            pieces.append((fit(text, 8 if self.times == "short" else 19) + " ", "dim"))
        room = TAG_CELLS[self.tag_width]
        if self.tags and room:
            tag = self.tags[source] if source < len(self.tags) else "?"
            tone = ("active", "busy", "ok", "key")[source % 4]
            text = self._glyphs.plain(tag)
            if len(text) >= room:
                # Names of a fleet differ at their ends.
                text = self._glyphs["more"] + text[2 - room :]
            pieces.append((fit(text, room - 1) + " ", tone))
        return pieces

    # -- events ------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Keep the end in view while following."""
        self.forget()
        self.call_after_refresh(self.settle)

    def on_mouse_scroll_up(self) -> None:
        """The wheel upwards is reading: stop following."""
        self.scroll_lines(-3)

    def on_mouse_scroll_down(self) -> None:
        """The wheel downwards."""
        self.scroll_lines(3)

    def on_click(self, event: Click) -> None:
        """Mark the clicked line."""
        rows = self._layout()
        if event.y < len(rows):
            for number in {rows[event.y][0], self.mark}:
                if number is not None:
                    self._cache.pop(number, None)
            self.mark = rows[event.y][0]
            self.refresh(Region(0, 0, *self.size))
