"""The command line and palette: every action of the registry by its word, with completion."""

from collections.abc import Sequence

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input

from fleetui.console.action import Action, key_word
from fleetui.console.commands import Candidate, Values, candidates
from fleetui.console.fitting import clip, fit, wrap
from fleetui.console.glyphs import Glyphs
from fleetui.console.modals.dialog import Dialog
from fleetui.console.palette import Piece
from fleetui.console.widgets.lines_view import LinesView

SHOWN = 12
TEXT_CELLS = 30


class Command(msgspec.Struct, frozen=True):
    """What was chosen: an action and its argument (empty: none)."""

    action: Action
    argument: str = ""


class CommandLine(Dialog[Command | None]):
    """Dismisses with what is to be run. Enter runs the line under the cursor."""

    BINDINGS = [  # noqa: RUF012 - textual's own shape
        Binding("escape", "dismiss(None)", show=False),
        Binding("tab", "complete", show=False, priority=True),
        Binding("down,ctrl+n", "step(1)", show=False, priority=True),
        Binding("up,ctrl+p", "step(-1)", show=False, priority=True),
    ]

    def __init__(
        self,
        actions: Sequence[Action],
        values: Values,
        glyphs: Glyphs,
        *,
        text: str = "",
        notice: str = "",
    ) -> None:
        """Open with `text` typed already and, until it is changed, `notice`: what was wrong."""
        super().__init__(classes="command")
        self._actions = actions
        self._values = values
        self._glyphs = glyphs
        self._text = text
        self._notice = notice
        self._found: list[Candidate] = []
        self._place = 0

    def compose(self) -> ComposeResult:
        """The list above, the line below."""
        with Vertical(id="command"):
            yield LinesView(id="candidates")
            yield Input(
                self._text, placeholder="a command or words of one; tab completes",
                id="command-line", classes="prompt -open", compact=True, select_on_focus=False,
            )  # fmt: skip

    @property
    def text(self) -> str:
        """What has been typed."""
        return self.query_one(Input).value

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one(LinesView).can_focus = False
        self.set_focus(self.query_one(Input))
        self.call_after_refresh(self._look)

    def on_resize(self) -> None:
        """Draw for the new width."""
        self.call_after_refresh(self._draw)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Offer what the text may mean."""
        event.stop()
        self._look()

    def _look(self) -> None:
        if self.text != self._text:
            self._notice = ""
        self._found = candidates(self.text, self._actions, self._values)
        self._place = 0
        self._draw()

    def _draw(self) -> None:
        view = self.query_one(LinesView)
        notice = wrap(self._glyphs.plain(self._notice), view.inner_width) if self._notice else []
        view.styles.height = min(max(len(self._found), 1), SHOWN) + len(notice)
        width = view.size.width - 1 - (len(self._found) > SHOWN)
        lines: list[list[Piece]] = []
        for candidate in self._found:
            action = candidate.action
            keys = "  ".join(
                key_word(key, ascii_only=self._glyphs.ascii_only) for key in action.keys[:2]
            )
            more = " …" if action.argument and not candidate.argument else ""
            tone = "warn bold" if action.dangerous else "strong"
            if candidate.argument and len(candidate.text) > TEXT_CELLS:
                lines.append([(candidate.text, tone)])
                continue
            line: list[Piece] = [
                (fit(candidate.text + more, TEXT_CELLS), tone),
                (fit(keys, 12), "key"), (action.title, "dim"),
            ]  # fmt: skip
            lines.append(line)
        plain = self._glyphs.plain
        lines = [[(plain(t), tone) for t, tone in clip(line, width)] for line in lines]
        found = bool(lines)
        lines = lines or [[("no such command", "warn")]]
        view.show([*([(text, "bad bold")] for text in notice), *lines])
        view.set_cursor(self._place + len(notice) if found else None)

    def action_step(self, step: int) -> None:
        """Move among the lines."""
        self._place = min(max(self._place + step, 0), max(len(self._found) - 1, 0))
        self._draw()

    def action_complete(self) -> None:
        """Write the line under the cursor out."""
        if self._found:
            candidate = self._found[self._place]
            open_end = candidate.action.argument and not candidate.argument
            self._write(candidate.text + (" " if open_end else ""))

    def _write(self, text: str) -> None:
        line = self.query_one(Input)
        line.value = text
        line.cursor_position = len(text)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Run the line under the cursor; one that needs an argument asks for it."""
        event.stop()
        if not self._found:
            return
        chosen = self._found[self._place]
        if chosen.action.argument and not chosen.argument and not chosen.action.keys:
            self._write(chosen.text + " ")
            return
        self.dismiss(Command(chosen.action, chosen.argument))
