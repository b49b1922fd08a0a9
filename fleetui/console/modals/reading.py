"""A text to read over what is on the screen."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding

from fleetui.console.fitting import wrap
from fleetui.console.glyphs import Glyphs
from fleetui.console.modals.dialog import Dialog
from fleetui.console.palette import Piece
from fleetui.console.widgets.lines_view import LinesView


class ReadingView(Dialog[None]):
    """Lines under a title, broken where they are too long; esc and q go back."""

    BINDINGS = [Binding("escape,q", "dismiss(None)", show=False)]  # noqa: RUF012 - textual's own shape

    def __init__(self, title: str, lines: Sequence[str], glyphs: Glyphs) -> None:
        super().__init__(classes="reading")
        self._title = title
        self._lines = lines
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        """One list of lines."""
        yield LinesView(id="reading")

    def on_mount(self) -> None:
        """The lines scroll."""
        self.set_focus(self.query_one(LinesView))

    def on_resize(self) -> None:
        """Wrap for the new width."""
        self.call_after_refresh(self._show)

    def _show(self) -> None:
        view = self.query_one(LinesView)
        width = view.inner_width - (not view.show_vertical_scrollbar)
        lines: list[list[Piece]] = [
            [(self._glyphs.plain(self._title), "title bold"), ("   esc closes", "dim")], [],
        ]  # fmt: skip
        for line in self._lines:
            text = line.lstrip()
            indent = " " * min(len(line) - len(text), width // 2)
            tone = "dim" if text.startswith("#") else "text"
            parts = wrap(self._glyphs.plain(text), width - len(indent)) or [""]
            lines += [[(indent + part, tone)] for part in parts]
        view.show(lines)

    def on_lines_view_leave(self) -> None:
        """Back."""
        self.dismiss(None)
