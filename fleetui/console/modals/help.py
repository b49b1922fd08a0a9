"""The keys, from the registry."""

from textual.app import ComposeResult
from textual.binding import Binding

from fleetui.console.action import key_word
from fleetui.console.actions import SCOPES
from fleetui.console.fitting import fit, wrap
from fleetui.console.glyphs import Glyphs
from fleetui.console.keymap import Keymap
from fleetui.console.modals.dialog import Dialog
from fleetui.console.palette import Piece
from fleetui.console.widgets.lines_view import LinesView
from fleetui.domain.query import FIELDS
from fleetui.domain.role import Role

LEGEND = (
    ("words", "looked for in id, label, GPU, stage, place and finding; quotes keep blanks"),
    ("field=value", "equal; field~part contains; field<5 field>=5 compare; field=? not known"),
    ("!term", "the term does not hold"),
    ("log>5m", "the newest log byte is older than five minutes (age is the same field)"),
    ("in>1h", "longer than an hour in its stage"),
    ("rate<min", "proofs/h below the minimum of its GPUs"),
    ("fields", " ".join(FIELDS)),
)
SIGNS = (
    ("57.3/29.0", "proofs/h: the measured rate, and the minimum for its GPUs"),
    ("<24.2/29.0", "the rate is below that minimum"),
    ("running?", "SSH is lost: what the row says was so when the newest log byte came"),
    ("5m!", "under log: the newest byte is so old, and SSH is lost"),
    ("P", "behind an id: protected, every act on it is refused"),
    ("#2", "behind a stage: its second try"),
    ("≥ ≤", "at least, at most: some instance does not tell its price"),
)
KEY_CELLS = 22


class HelpScreen(Dialog[None]):
    """Every key that is bound, and nothing else."""

    BINDINGS = [  # noqa: RUF012 - textual's own shape
        Binding("q", "close", show=False),
        Binding("escape", "close", show=False),
        Binding("question_mark", "close", show=False),
        Binding("f1", "close", show=False),
    ]

    def __init__(self, glyphs: Glyphs, keymap: Keymap) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        """One list of lines."""
        yield LinesView(id="help")

    def on_mount(self) -> None:
        """Show the keys."""
        self.set_focus(self.query_one(LinesView))

    def on_resize(self) -> None:
        """Wrap for the new width."""
        self.call_after_refresh(self._show)

    def _show(self) -> None:
        view = self.query_one(LinesView)
        # The scrollbar comes only with the lines: its cell is kept free for it.
        view.show(self._lines(view.inner_width - (not view.show_vertical_scrollbar)))

    def _lines(self, width: int) -> list[list[Piece]]:
        lines: list[list[Piece]] = [[("keys", "title bold"), ("   j k scroll, esc closes", "dim")]]
        if self._keymap.role is Role.VIEWER:
            lines.append([("read-only: keys that act do not exist here", "warn")])
        elif self._keymap.withheld:
            words = f"role {self._keymap.role}: keys that lose data do not exist here"
            lines.append([(words, "warn")])
        for scope, title in SCOPES.items():
            lines += [[], [(title, "title bold")]]
            for action in self._keymap.actions(scope):
                if not action.keys:
                    continue
                keys = "  ".join(
                    key_word(key, ascii_only=self._glyphs.ascii_only) for key in action.keys
                )
                tone = "warn bold" if action.dangerous else "key"
                lines += self._entry(keys, tone, action.title, width)
        lines += [[], [("Signs in the table", "title bold")]]
        for name, text in SIGNS:
            lines += self._entry(self._glyphs.plain(name), "key", text, width)
        lines += [[], [("Filter", "title bold")]]
        for name, text in LEGEND:
            lines += self._entry(name, "key", text, width)
        return lines

    def _entry(self, name: str, tone: str, text: str, width: int) -> list[list[Piece]]:
        left = min(KEY_CELLS, width // 2)
        parts = wrap(self._glyphs.plain(text), max(width - left, 1))
        return [
            [(fit("" if number else name, left), tone), (part, "text")]
            for number, part in enumerate(parts)
        ]

    def action_close(self) -> None:
        """Back."""
        self.dismiss(None)

    def on_lines_view_leave(self) -> None:
        """Back."""
        self.dismiss(None)

    def fleet_changed(self) -> None:
        """Nothing here depends on the fleet."""
