"""The log view: line API over a ring; only visible lines are parsed and coloured."""

from itertools import pairwise

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fleetui.console.glyphs import Glyphs
from fleetui.console.log_ring import LogRing, is_trouble
from fleetui.console.palette import paint_of
from fleetui.console.sgr import pieces_of
from fleetui.console.widgets.plain_scrollbar import make_plain
from fleetui.domain.text import sanitise

CACHED_LINES = 600


class LogView(ScrollView, can_focus=True):
    """Shows a ring of lines. While `follow` is off, new lines never move what is read."""

    DEFAULT_CSS = "LogView { overflow-x: hidden; overflow-y: auto; }"

    def __init__(self, glyphs: Glyphs, *, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(id=id)
        self._glyphs = glyphs
        self.ring = LogRing()
        self.follow = True
        self.mark: int | None = None
        self.search = ""
        self.left = 0
        self.waiting = ""
        self._seen_first = 0
        self._seen_end = 0
        self._cache: dict[tuple[int, int, int], Strip] = {}

    @property
    def page(self) -> int:
        """How many lines are visible at once."""
        return max(self.scrollable_content_region.height, 1)

    @property
    def top(self) -> int:
        """The number of the first visible line."""
        return self.ring.first + self.scroll_offset.y

    @property
    def unseen(self) -> int:
        """How many lines lie below the visible ones."""
        return max(self.ring.end - (self.top + self.page), 0)

    def show(self, ring: LogRing) -> None:
        """Show another ring, at its end and following."""
        self.ring = ring
        self.follow, self.mark, self.left = True, None, 0
        self._cache.clear()
        self._seen_first, self._seen_end = ring.first, ring.end
        self.virtual_size = Size(self.size.width, len(ring))
        self._to_end()
        self.refresh()

    def grown(self) -> None:
        """Take in what the ring got since; the reader's lines stay where they are."""
        ring = self.ring
        if ring.changed_from < self._seen_end:
            self._cache = {k: v for k, v in self._cache.items() if k[0] < ring.changed_from}
        ring.changed_from = ring.end
        if (ring.first, ring.end) == (self._seen_first, self._seen_end):
            self.refresh()
            return
        shifted = ring.first - self._seen_first
        top = self.scroll_offset.y
        visible_end = self._seen_first + top + self.page
        grew_inside = self._seen_end < visible_end
        self._seen_first, self._seen_end = ring.first, ring.end
        self.virtual_size = Size(self.size.width, len(ring))
        if self.follow:
            self._to_end()
            self.refresh()
        elif shifted:
            self._to(top - shifted)
            if top < shifted:
                self.refresh()
        elif grew_inside:
            self.refresh()

    def scroll_lines(self, lines: int) -> None:
        """Move by lines; upwards ends the following, to the end begins it again."""
        top = self.scroll_offset.y + lines
        limit = max(len(self.ring) - self.page, 0)
        self.follow = top >= limit
        self._to(top)

    def go_top(self) -> None:
        """Show the oldest line there is."""
        self.follow = len(self.ring) <= self.page
        self._to(0)

    def go_end(self) -> None:
        """Show the newest line and follow."""
        self.follow = True
        self._to_end()

    def shift(self, cells: int) -> None:
        """Scroll sideways; the position stays as new lines come."""
        left = max(self.left + cells, 0)
        if left != self.left:
            self.left = left
            self._cache.clear()
            self.refresh()

    def reveal(self, number: int) -> None:
        """Mark a line and bring it into view, a third down the screen."""
        self.mark = number
        self.follow = False
        self._cache.clear()
        self._to(number - self.ring.first - self.page // 3)
        self.refresh()

    def set_search(self, text: str) -> None:
        """Highlight a text in every visible line; empty: none."""
        self.search = text.casefold()
        self._cache.clear()
        self.refresh()

    def find(self, start: int, direction: int) -> int | None:
        """Return the nearest line from `start` on that contains the searched text."""
        wanted = self.search.encode()
        if not wanted:
            return None
        end = self.ring.end if direction > 0 else self.ring.first - 1
        for number in range(start, end, direction):
            line = self.ring.line(number)
            if b"\x1b" in line or not line.isascii():
                text = str(sanitise(line)).casefold()
                if self.search in text:
                    return number
            elif wanted in line.lower():
                return number
        return None

    def on_mount(self) -> None:
        """Scrollbars of whole cells."""
        make_plain(self.vertical_scrollbar)

    def render_line(self, y: int) -> Strip:
        """Return one visible line."""
        width = self.scrollable_content_region.width
        number = self.top + y
        if number >= self.ring.end:
            if y == 0 and not len(self.ring) and self.waiting:
                return paint_of(self).strip([(" " + self.waiting, "dim")], width)
            return paint_of(self).strip([], width)
        key = (number, width, self.left)
        cached = self._cache.get(key)
        if cached is None:
            if len(self._cache) > CACHED_LINES:
                self._cache.clear()
            cached = self._cache[key] = self._strip(number, width)
        return cached

    def _strip(self, number: int, width: int) -> Strip:
        line = self.ring.line(number)
        ground = "here" if number == self.mark else ""
        trouble = is_trouble(line)
        head = self._glyphs["critical"] if trouble else " "
        pieces = pieces_of(line)
        if trouble:
            pieces = [(text, "bad" if tone == "text" else tone) for text, tone in pieces]
        pieces = [(self._glyphs.plain(text), tone) for text, tone in pieces]
        segments = paint_of(self).segments(pieces, ground)
        if self.search:
            segments = _highlight(segments, self.search, paint_of(self).style("strong", "match"))
        body = Strip(segments).crop(self.left, self.left + width - 2)
        gutter = paint_of(self).segments([(head + " ", "bad")], ground)
        return Strip([*gutter, *body]).adjust_cell_length(
            width, paint_of(self).style("text", ground)
        )

    def _to_end(self) -> None:
        self._to(len(self.ring))

    def _to(self, top: int) -> None:
        limit = max(len(self.ring) - self.page, 0)
        self.scroll_to(y=min(max(top, 0), limit), animate=False, immediate=True)

    def on_resize(self) -> None:
        """Keep the end in view while following."""
        self.virtual_size = Size(self.size.width, len(self.ring))
        self.call_after_refresh(self.settle)
        self.refresh(Region(0, 0, *self.size))

    def settle(self) -> None:
        """Be at the end while following; sizes may have changed since the last lines came."""
        if self.follow and self.scroll_offset.y != max(len(self.ring) - self.page, 0):
            self._to_end()
            self.refresh()

    def on_mouse_scroll_up(self) -> None:
        """The wheel upwards is reading: stop following."""
        self.follow = False


def _highlight(segments: list[Segment], wanted: str, style_of_match: Style) -> list[Segment]:
    plain = "".join(segment.text for segment in segments).casefold()
    starts = []
    at = plain.find(wanted)
    while at >= 0:
        starts.append(at)
        at = plain.find(wanted, at + len(wanted))
    if not starts:
        return segments
    result: list[Segment] = []
    position = 0
    spans = [(start, start + len(wanted)) for start in starts]
    for segment in segments:
        cuts = sorted(
            {0, len(segment.text)}
            | {min(max(edge - position, 0), len(segment.text)) for span in spans for edge in span}
        )
        for begin, end in pairwise(cuts):
            inside = any(a <= position + begin < b for a, b in spans)
            style = style_of_match if inside else segment.style
            result.append(Segment(segment.text[begin:end], style))
        position += len(segment.text)
    return result
