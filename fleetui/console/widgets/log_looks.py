"""How the log pane draws its lines, which it marks, and what it copies and saves."""

from fleetui.console.log_source import stream_name
from fleetui.console.widgets.log_pane_parts import LogPaneParts
from fleetui.console.widgets.log_view import GUTTERS, TAG_CELLS


class LogLooks(LogPaneParts):
    """Wrap, gutters, marks, copies."""

    def action_wrap(self) -> None:
        """Wrap long lines, or cut them."""
        self.view.wrap = not self.view.wrap
        self.view.left = 0
        self.view.forget()
        self.view.settle()

    def action_gutter(self) -> None:
        """Times off, short, full."""
        place = GUTTERS.index(self.view.times)
        self.view.times = GUTTERS[(place + 1) % len(GUTTERS)]
        self.view.forget()

    def action_tags(self) -> None:
        """Names of a merge's sources off, short, full."""
        widths = list(TAG_CELLS)
        self.view.tag_width = widths[(widths.index(self.view.tag_width) + 1) % len(widths)]
        self.view.forget()

    def action_raw(self) -> None:
        """Show lines as they are, or made readable."""
        self.view.raw = not self.view.raw
        self.view.forget()

    def action_bookmark(self) -> None:
        """Drop or take up a mark on the line."""
        chosen = self.view.chosen
        if chosen is not None:
            self.view.bookmarks ^= {chosen}
            self.view.forget()

    def action_next_bookmark(self) -> None:
        """Go to the next mark, round the end."""
        marks = sorted(mark for mark in self.view.bookmarks if mark >= self.view.ring.first)
        if not marks:
            self.post_message(self.Said("no marks: m drops one"))
            return
        here = self.view.mark if self.view.mark is not None else self.view.ring.first - 1
        self._reveal(next((mark for mark in marks if mark > here), marks[0]))

    def action_copy(self) -> None:
        """Copy the marked line, else the last visible one."""
        chosen = self.view.chosen
        if chosen is not None:
            self.post_message(self.Copy(self.view.text_of(chosen)))

    def action_copy_screen(self) -> None:
        """Copy the visible lines."""
        self.post_message(self.Copy(self.plain()))

    def plain(self) -> str:
        """Return the visible lines, each whole, without gutters."""
        return "\n".join(self.view.text_of(number) for number in self.view.visible_lines)

    def saved(self) -> tuple[str, str]:
        """Return a file name and the loaded lines as they are drawn."""
        ring = self.view.ring
        file = self.file
        name = "lines.log"
        if file is not None and file.shown is not None:
            name = f"{file.instance_id}-{stream_name(file.shown.stream).replace('/', '_')}"
            name = name if "." in name else name + ".log"
        lines = [self.view.text_of(number) for number in range(ring.first, ring.end)]
        return name, "\n".join(lines) + "\n"
