"""A short list to choose one thing from, by its letter or by the cursor."""

from collections.abc import Sequence

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding
from textual.events import Key

from fleetui.console.glyphs import Glyphs
from fleetui.console.modals.dialog import Dialog
from fleetui.console.palette import Piece
from fleetui.console.widgets.lines_view import LinesView


class Choice(msgspec.Struct, frozen=True):
    """One line of a menu: the value it stands for, its words, and what is said beside them."""

    value: str
    title: str
    note: str = ""


def letters(choices: Sequence[Choice]) -> list[str]:
    """Give each choice a letter: the first of its title that is still free, else any."""
    taken: set[str] = set("jkqz")
    result = []
    for choice in choices:
        candidates = [c for c in choice.title.casefold() if c.isascii() and c.isalnum()]
        spare = [c for c in "abcdefghilmnoprstuvwxyz0123456789" if c not in taken]
        letter = next((c for c in [*candidates, *spare] if c not in taken), "")
        taken.add(letter)
        result.append(letter)
    return result


class Menu(Dialog[str | None]):
    """Dismisses with the chosen value, or `None`."""

    BINDINGS = [  # noqa: RUF012 - textual's own shape
        Binding("escape,q", "dismiss(None)", show=False),
        Binding("enter", "take", show=False),
    ]

    def __init__(
        self, title: str, choices: Sequence[Choice], glyphs: Glyphs, *, current: str = ""
    ) -> None:
        super().__init__(classes="menu")
        self._title = title
        self._choices = list(choices)
        self._letters = letters(choices)
        self._glyphs = glyphs
        values = [choice.value for choice in choices]
        self._place = values.index(current) if current in values else 0

    def compose(self) -> ComposeResult:
        """One list of lines."""
        yield LinesView(id="menu")

    def on_mount(self) -> None:
        """Show the choices."""
        view = self.query_one(LinesView)
        view.styles.height = len(self._choices) + 4
        self.set_focus(view)
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        lines: list[list[Piece]] = [[(self._glyphs.plain(self._title), "title bold")], []]
        wide = max(len(choice.title) for choice in self._choices) + 2
        for letter, choice in zip(self._letters, self._choices, strict=True):
            lines.append([
                (f"{letter or ' '}  ", "key bold"), (choice.title.ljust(wide), "text"),
                (self._glyphs.plain(choice.note), "dim"),
            ])  # fmt: skip
        view = self.query_one(LinesView)
        view.show(lines)
        view.set_cursor(self._place + 2)

    def on_lines_view_step(self, event: LinesView.Step) -> None:
        """Move among the choices."""
        self._place = min(max(self._place + event.step, 0), len(self._choices) - 1)
        self._draw()

    def on_lines_view_chosen(self) -> None:
        """Take the line under the cursor."""
        self.action_take()

    def on_lines_view_leave(self) -> None:
        """Choose nothing."""
        self.dismiss(None)

    def action_take(self) -> None:
        """Take the line under the cursor."""
        self.dismiss(self._choices[self._place].value)

    def on_key(self, event: Key) -> None:
        """A letter takes its line at once."""
        if event.character and event.character in self._letters:
            event.stop()
            event.prevent_default()
            self.dismiss(self._choices[self._letters.index(event.character)].value)
