"""The dialogs before something is done to an instance. Each is built anew for each use."""

from typing import Literal

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Key, Paste
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from fleetui.console.acting import Target
from fleetui.console.fleet_state import FleetState
from fleetui.console.glyphs import STAGE_WORDS, Glyphs

Answer = Literal["confirmed"] | None


class ConfirmDialog(ModalScreen[Answer]):
    """What both dialogs share: the target, its loss, Cancel focused, esc and q cancel."""

    BINDINGS = [Binding("escape", "cancel", show=False), Binding("q", "cancel", show=False)]  # noqa: RUF012 - textual's own shape
    AUTO_FOCUS = "#cancel"
    title_text = ""
    accept_label = ""

    def __init__(self, target: Target, state: FleetState, glyphs: Glyphs, *, account: str) -> None:
        super().__init__(classes="confirm")
        self.target = target
        self._state = state
        self._glyphs = glyphs
        self._account = account
        self._stage = target.row.stage
        self._gone = False

    def compose(self) -> ComposeResult:
        """Lay the dialog out: title, target, loss, command, how to confirm, buttons."""
        with Vertical(id="dialog"):
            yield Static(self._content(self.title_text), id="dialog-title")
            yield Static(self._content(self.target.name), id="dialog-target")
            yield Static(self._content(f"account {self._account}"), id="dialog-account")
            yield Static(self._content("\n".join(self.target.loss)), id="dialog-loss")
            yield Static(self._content(f"will run: {self.target.command}"), id="dialog-command")
            yield Static(self._content(""), id="dialog-news")
            yield Static(self._content(self.ask()), id="dialog-ask")
            with Horizontal(id="dialog-buttons"):
                yield Button(Content("Cancel (esc)"), id="cancel")
                accept = Button(Content(self.accept_label), id="accept")
                accept.can_focus = False
                accept.disabled = not self.armed
                yield accept

    @property
    def armed(self) -> bool:
        """Whether the confirmation given so far is enough."""
        return not self._gone

    def ask(self) -> str:
        """Say how to confirm."""
        raise NotImplementedError

    def rearm(self) -> None:
        """Forget what was confirmed so far."""

    def fleet_changed(self) -> None:
        """Look whether the target is still what the operator saw."""
        row = self._state.rows.get(self.target.row.instance_id)
        if row is None:
            if not self._gone and self._state.loaded:
                self._gone = True
                self._news("the instance is gone: there is nothing left to do")
            return
        if row.stage is not self._stage:
            before, after = STAGE_WORDS[self._stage], STAGE_WORDS[row.stage]
            self._news(f"meanwhile it went from {before} to {after}: confirm anew")
            self._stage = row.stage
            self.rearm()

    def action_cancel(self) -> None:
        """Do nothing and go."""
        self.dismiss(None)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Cancel, or accept when armed."""
        event.stop()
        if event.button.id == "accept":
            self.accept()
        else:
            self.action_cancel()

    def accept(self) -> None:
        """Confirm, if the confirmation is whole."""
        if self.armed:
            self.dismiss("confirmed")

    def on_paste(self, event: Paste) -> None:
        """A paste confirms nothing."""
        event.stop()
        self._news("a paste confirms nothing: type it")

    def _news(self, text: str) -> None:
        self.query_one("#dialog-news", Static).update(self._content(text))
        self.query_one("#accept", Button).disabled = not self.armed

    def _content(self, text: str) -> Content:
        return Content(
            self._glyphs.plain(text) if text.isascii() else _plain_lines(text, self._glyphs)
        )


class RestartDialog(ConfirmDialog):
    """Restart the daemon: lower-case `y` accepts, so that a caps-locked `R` cannot finish it."""

    title_text = "Restart the proving daemon?"
    accept_label = "Restart (y)"

    def ask(self) -> str:
        """Say how to confirm."""
        return "press y to restart; enter, esc or q cancels"

    def on_key(self, event: Key) -> None:
        """Accept a lower-case y."""
        if event.key == "y":
            event.stop()
            self.accept()


class DestroyDialog(ConfirmDialog):
    """Destroy the instance: the last four digits of its id must be typed, then enter."""

    title_text = "Destroy this instance for good?"
    accept_label = "Destroy (enter)"

    def __init__(self, target: Target, state: FleetState, glyphs: Glyphs, *, account: str) -> None:
        self.typed = ""
        super().__init__(target, state, glyphs, account=account)

    @property
    def armed(self) -> bool:
        """Whether exactly the digits asked for were typed."""
        return self.typed == self.target.suffix and not self._gone

    def ask(self) -> str:
        """Say how to confirm and what was typed."""
        count = len(self.target.suffix)
        shown = self.typed.ljust(count, "_")
        return f"type the last {count} digits of the id, then enter:  {shown}"

    def rearm(self) -> None:
        """Forget the digits."""
        self._type("")

    def on_key(self, event: Key) -> None:
        """Collect digits; enter acts only on exactly the right ones."""
        if event.key == "enter" and self.typed:
            event.stop()
            event.prevent_default()
            if self.armed:
                self.accept()
            else:
                self._type("")
                self._news("these are not the last digits of its id")
        elif event.key == "backspace":
            event.stop()
            self._type(self.typed[:-1])
        elif event.character and event.character in "0123456789":
            event.stop()
            if len(self.typed) < len(self.target.suffix):
                self._type(self.typed + event.character)

    def _type(self, text: str) -> None:
        self.typed = text
        self.query_one("#dialog-ask", Static).update(self._content(self.ask()))
        self.query_one("#accept", Button).disabled = not self.armed


def _plain_lines(text: str, glyphs: Glyphs) -> str:
    return "\n".join(glyphs.plain(line) for line in text.split("\n"))
