"""The keys, from the registry."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from fleetui.console.actions import SCOPES, actions, key_word
from fleetui.console.fitting import fit
from fleetui.console.glyphs import Glyphs
from fleetui.console.palette import Piece
from fleetui.console.widgets.lines_view import LinesView

LEGEND = (
    ("filter", "words, field=value, field~part, field<number, !not, field=? unknown"),
    ("fields", "id label gpu gpus stage in progress eta rate min cost proof util temp age"),
    ("", "finding severity ssh status geo machine attempt acting"),
)


class HelpScreen(ModalScreen[None]):
    """Every key that is bound, and nothing else."""

    BINDINGS = [  # noqa: RUF012 - textual's own shape
        Binding("q", "close", show=False),
        Binding("escape", "close", show=False),
        Binding("question_mark", "close", show=False),
        Binding("f1", "close", show=False),
    ]

    def __init__(self, glyphs: Glyphs, *, read_only: bool) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._read_only = read_only

    def compose(self) -> ComposeResult:
        """One list of lines."""
        yield LinesView(id="help")

    def on_mount(self) -> None:
        """Show the keys."""
        view = self.query_one(LinesView)
        view.focus()
        view.show(self._lines())

    def _lines(self) -> list[list[Piece]]:
        lines: list[list[Piece]] = [[("keys", "title bold"), ("   j k scroll, esc closes", "dim")]]
        if self._read_only:
            lines.append([("read-only: keys that act do not exist here", "warn")])
        for scope, title in SCOPES.items():
            lines += [[], [(title, "title bold")]]
            for action in actions(scope, read_only=self._read_only):
                keys = "  ".join(
                    key_word(key, ascii_only=self._glyphs.ascii_only) for key in action.keys
                )
                tone = "warn bold" if action.dangerous else "key"
                lines.append([(fit(keys, 22), tone), (self._glyphs.plain(action.title), "text")])
        lines += [[], [("Filter", "title bold")]]
        lines += [[(fit(name, 22), "key"), (text, "text")] for name, text in LEGEND]
        return lines

    def action_close(self) -> None:
        """Back."""
        self.dismiss(None)

    def on_lines_view_leave(self) -> None:
        """Back."""
        self.dismiss(None)

    def fleet_changed(self) -> None:
        """Nothing here depends on the fleet."""
