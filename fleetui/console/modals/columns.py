"""Choosing the fleet table's columns and their order."""

from textual.app import ComposeResult
from textual.binding import Binding

from fleetui.console.columns import BY_NAME, COLUMNS, SHOWN
from fleetui.console.glyphs import Glyphs
from fleetui.console.modals.dialog import Dialog
from fleetui.console.palette import Piece
from fleetui.console.widgets.lines_view import LinesView

ALWAYS_FIRST = "id"


class ColumnsDialog(Dialog[tuple[str, ...] | None]):
    """Dismisses with the chosen columns in order, empty for the usual ones, or `None`."""

    BINDINGS = [  # noqa: RUF012 - textual's own shape
        Binding("escape,q", "dismiss(None)", show=False),
        Binding("space", "show_or_hide", show=False),
        Binding("J,shift+down,greater_than_sign", "shift(1)", show=False),
        Binding("K,shift+up,less_than_sign", "shift(-1)", show=False),
        Binding("r", "reset", show=False),
        Binding("enter", "take", show=False),
    ]

    def __init__(self, chosen: tuple[str, ...], glyphs: Glyphs) -> None:
        super().__init__(classes="menu")
        self._glyphs = glyphs
        self._arrange(chosen or SHOWN)
        self._place = 0

    def _arrange(self, chosen: tuple[str, ...]) -> None:
        shown = [name for name in chosen if name in BY_NAME and name != ALWAYS_FIRST]
        rest = [c.name for c in COLUMNS if c.name not in shown and c.name != ALWAYS_FIRST]
        self._names = [ALWAYS_FIRST, *shown, *rest]
        self._on = {ALWAYS_FIRST, *shown}

    def compose(self) -> ComposeResult:
        """One list of lines."""
        yield LinesView(id="menu")

    def on_mount(self) -> None:
        """Show the columns."""
        view = self.query_one(LinesView)
        view.styles.height = len(self._names) + 5
        self.set_focus(view)
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        lines: list[list[Piece]] = [
            [("columns", "title bold")],
            [("space shows or hides, J K move, r the usual ones, enter keeps", "dim")],
            [],
        ]
        for name in self._names:
            on = name in self._on
            box = self._glyphs["done"] if on else self._glyphs["dot"]
            lines.append([
                (f"{box}  ", "ok" if on else "faint"),
                (BY_NAME[name].title.ljust(14), "text" if on else "dim"), (name, "faint"),
            ])  # fmt: skip
        view = self.query_one(LinesView)
        view.show(lines)
        view.set_cursor(self._place + 3)

    def on_lines_view_step(self, event: LinesView.Step) -> None:
        """Move among the columns."""
        self._place = min(max(self._place + event.step, 0), len(self._names) - 1)
        self._draw()

    def on_lines_view_chosen(self) -> None:
        """Keep what is chosen."""
        self.action_take()

    def on_lines_view_leave(self) -> None:
        """Keep what was."""
        self.dismiss(None)

    def action_show_or_hide(self) -> None:
        """Show or hide the column under the cursor; the id is always shown."""
        name = self._names[self._place]
        if name != ALWAYS_FIRST:
            self._on ^= {name}
            self._draw()

    def action_shift(self, step: int) -> None:
        """Move the column under the cursor; the id stays first."""
        here, there = self._place, self._place + step
        if here == 0 or not 1 <= there < len(self._names):
            return
        self._names[here], self._names[there] = self._names[there], self._names[here]
        self._place = there
        self._draw()

    def action_reset(self) -> None:
        """Go back to the usual columns."""
        self._arrange(SHOWN)
        self._draw()

    def action_take(self) -> None:
        """Keep what is chosen."""
        chosen = tuple(name for name in self._names if name in self._on)
        self.dismiss(() if chosen == SHOWN else chosen)
