"""A scrollable list of ready lines; the base of the inspector and of the list screens."""

from collections.abc import Iterator
from typing import Protocol

from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fleetui.console.binding import bindings_map, keymap_of
from fleetui.console.diff_output import paint_lines
from fleetui.console.palette import Piece, paint_of
from fleetui.console.widgets.plain_scrollbar import make_plain


class Lines(Protocol):
    """Lines by their number; a list, or what makes each when it is looked at."""

    def __len__(self) -> int:
        """Count them."""

    def __iter__(self) -> Iterator[list[Piece]]:
        """Go through all."""

    def __getitem__(self, number: int, /) -> list[Piece]:
        """Return one."""


class LinesView(ScrollView, can_focus=True):
    """Shows lines of pieces; repaints only when they differ."""

    DEFAULT_CSS = "LinesView { overflow-x: hidden; overflow-y: auto; }"

    class Leave(Message):
        """The operator wants back."""

    class Chosen(Message):
        """Enter was pressed."""

    class Step(Message):
        """The operator moves by one; lists with a cursor take it over by `cursor`."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def __init__(self, *, margin: int = 1, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(id=id)
        self._lines: Lines = []
        self._margin = margin
        self.cursor: int | None = None

    @property
    def inner_width(self) -> int:
        """The cells a line may take."""
        return max(self.scrollable_content_region.width - 2 * self._margin, 1)

    def show(self, lines: Lines) -> None:
        """Set the lines; the position stays."""
        if lines == self._lines:
            return
        before, self._lines = self._lines, lines
        if len(lines) != len(before):
            self.virtual_size = Size(self.size.width, len(lines))
            self.refresh()
            return
        top, height = self.scroll_offset.y, self.size.height
        shown = range(top, min(top + height, len(lines)))
        changed = [number - top for number in shown if lines[number] != before[number]]
        if not self.is_attached or not paint_lines(self, {y: self.render_line(y) for y in changed}):
            self.refresh()

    def set_cursor(self, line: int | None) -> None:
        """Put the bar on a line and bring it into view."""
        if line != self.cursor:
            self.cursor = line
            self.refresh()
        if line is None:
            return
        height, top = max(self.size.height, 1), self.scroll_offset.y
        if line < top:
            self.scroll_to(y=line, animate=False, immediate=True)
        elif line >= top + height:
            self.scroll_to(y=line - height + 1, animate=False, immediate=True)

    def action_scroll(self, lines: int) -> None:
        """Scroll by lines, or move the cursor of a list that has one."""
        if self.cursor is not None:
            self.post_message(self.Step(lines))
        else:
            self._to(self.scroll_offset.y + lines)

    def action_scroll_page(self, pages: int) -> None:
        """Scroll by pages."""
        self._to(self.scroll_offset.y + pages * max(self.size.height - 1, 1))

    def action_scroll_top(self) -> None:
        """Show the first line."""
        self._to(0)

    def action_scroll_bottom(self) -> None:
        """Show the last line."""
        self._to(len(self._lines))

    def action_choose(self) -> None:
        """Say that enter was pressed."""
        self.post_message(self.Chosen())

    def action_leave(self) -> None:
        """Say that the operator wants back."""
        self.post_message(self.Leave())

    def _to(self, top: int) -> None:
        limit = max(len(self._lines) - self.size.height, 0)
        self.scroll_to(y=min(max(top, 0), limit), animate=False, immediate=True)

    def on_mount(self) -> None:
        """Take the keys; scrollbars of whole cells."""
        self._bindings = bindings_map("lists", keymap_of(self))
        make_plain(self.vertical_scrollbar)

    def render_line(self, y: int) -> Strip:
        """Return one visible line."""
        width = self.scrollable_content_region.width
        number = self.scroll_offset.y + y
        if number >= len(self._lines):
            return paint_of(self).strip([], width)
        ground = "cursor" if number == self.cursor else ""
        line = [(" " * self._margin, "text"), *self._lines[number]]
        return paint_of(self).strip(line, width, ground)
