"""The dialog before something is done to instances. It is built anew for each use."""

import time
from typing import Literal

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Key, Paste
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from fleetui.console.acting import Request
from fleetui.console.fleet_state import FleetState
from fleetui.console.glyphs import STAGE_WORDS, Glyphs
from fleetui.domain.intent import Verb

Answer = Literal["confirmed"] | None

TITLES = {
    Verb.RESTART_DAEMON: ("Restart the proving daemon?", "Restart"),
    Verb.DESTROY: ("Destroy for good?", "Destroy"),
    Verb.ACCEPT_HOST_KEY: ("Accept the changed host key?", "Accept"),
    Verb.STOP: ("Stop?", "Stop"),
    Verb.START: ("Start?", "Start"),
    Verb.REBOOT: ("Reboot?", "Reboot"),
    Verb.DRAIN_DESTROY: ("Destroy for good after the proofs in flight?", "Drain"),
    Verb.PROTECT: ("Protect from every act?", "Protect"),
    Verb.UNPROTECT: ("Allow acts again?", "Unprotect"),
    Verb.BLACKLIST: ("Never rent its machine again?", "Blacklist"),
    Verb.RECYCLE: ("Recycle, losing the container's data?", "Recycle"),
}
"""Verb to the question and the word on the button."""


class ConfirmDialog(ModalScreen[Answer]):
    """The targets, what is lost, what will run; Cancel focused; esc, q and enter cancel.

    What can be made good again is accepted by a lower-case `y`, so that a caps-locked `R`
    cannot finish it. For many targets their count must be typed, for what is final the last
    four digits of the id; then enter.
    """

    BINDINGS = [Binding("escape", "cancel", show=False), Binding("q", "cancel", show=False)]  # noqa: RUF012 - textual's own shape
    AUTO_FOCUS = "#cancel"

    def __init__(
        self, request: Request, state: FleetState, glyphs: Glyphs, *, account: str
    ) -> None:
        super().__init__(classes="confirm")
        self.request = request
        self.typed = ""
        self._state = state
        self._glyphs = glyphs
        self._account = account
        self._stages = {row.instance_id: row.stage for row in request.rows}
        self._gone: set[int] = set()
        self._drawn_at = float("inf")
        self.set_class(bool(request.typed), "-final")

    def compose(self) -> ComposeResult:
        """Lay the dialog out: title, target, loss, command, how to confirm, buttons."""
        request = self.request
        title, word = TITLES[request.verb]
        with Vertical(id="dialog"):
            yield Static(self._content(title), id="dialog-title")
            yield Static(self._content(request.name), id="dialog-target")
            yield Static(self._content(f"account {self._account}"), id="dialog-account")
            yield Static(self._content("\n".join(filter(None, request.loss))), id="dialog-loss")
            yield Static(self._content(f"will run: {request.command}"), id="dialog-command")
            yield Static(self._content(""), id="dialog-news")
            yield Static(self._content(self._ask()), id="dialog-ask")
            with Horizontal(id="dialog-buttons"):
                yield Button(Content("Cancel (esc)"), id="cancel")
                key = "enter" if request.typed else "y"
                accept = Button(Content(f"{word} ({key})"), id="accept")
                accept.can_focus = False
                accept.disabled = not self.armed
                yield accept

    def on_mount(self) -> None:
        """Note when it can first be read."""
        self.call_after_refresh(self._drawn)

    def _drawn(self) -> None:
        self._drawn_at = time.monotonic()

    @property
    def is_drawn(self) -> bool:
        """Whether it has been on the screen: only keys typed after that count."""
        return self._drawn_at < float("inf")

    @property
    def armed(self) -> bool:
        """Whether the confirmation given so far is enough."""
        return self.typed == self.request.typed and len(self._gone) < len(self.request.rows)

    @property
    def live(self) -> list[int]:
        """The targets that still exist."""
        return [item for item in self._stages if item not in self._gone]

    def _ask(self) -> str:
        wanted = self.request.typed
        if not wanted:
            word = TITLES[self.request.verb][1].lower()
            return f"press y to {word}; enter, esc or q cancels"
        shown = self.typed.ljust(len(wanted), "_")
        if len(self.request.rows) > 1:
            return f"type the number of instances ({wanted}), then enter:  {shown}"
        return f"type the last {len(wanted)} digits of the id, then enter:  {shown}"

    def fleet_changed(self) -> None:
        """Look whether the targets are still what the operator saw."""
        for instance_id, stage in list(self._stages.items()):
            if instance_id in self._gone:
                continue
            row = self._state.rows.get(instance_id)
            one = len(self._stages) == 1
            name = "the instance" if one else str(instance_id)
            if row is None:
                if self._state.loaded:
                    self._gone.add(instance_id)
                    left = len(self.live)
                    rest = f"{left} are left" if left else "there is nothing left to do"
                    self._news(f"{name} is gone: {rest}")
            elif row.stage is not stage:
                before, after = STAGE_WORDS[stage], STAGE_WORDS[row.stage]
                it = "it" if one else name
                self._news(f"meanwhile {it} went from {before} to {after}: confirm anew")
                self._stages[instance_id] = row.stage
                self._type("")

    def action_cancel(self) -> None:
        """Do nothing and go."""
        self.dismiss(None)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Cancel, or accept when armed."""
        event.stop()
        if event.button.id == "accept":
            self._accept()
        else:
            self.action_cancel()

    def on_paste(self, event: Paste) -> None:
        """A paste confirms nothing."""
        event.stop()
        self._news("a paste confirms nothing: type it")

    def on_key(self, event: Key) -> None:
        """Accept a lower-case y, or collect digits; enter acts only on exactly the right ones.

        A key that was typed before the dialog was drawn confirms nothing.
        """
        if event.time < self._drawn_at:
            event.stop()
            event.prevent_default()
        elif not self.request.typed:
            if event.key == "y":
                event.stop()
                self._accept()
        elif event.key == "enter" and self.typed:
            event.stop()
            event.prevent_default()
            if self.armed:
                self._accept()
            else:
                self._type("")
                many = len(self.request.rows) > 1
                self._news("that is not " + ("their number" if many else "how its id ends"))
        elif event.key == "backspace":
            event.stop()
            self._type(self.typed[:-1])
        elif event.character and event.character in "0123456789":
            event.stop()
            if len(self.typed) < len(self.request.typed):
                self._type(self.typed + event.character)

    def _accept(self) -> None:
        if self.armed:
            self.dismiss("confirmed")

    def _type(self, text: str) -> None:
        self.typed = text
        self.query_one("#dialog-ask", Static).update(self._content(self._ask()))
        self.query_one("#accept", Button).disabled = not self.armed

    def _news(self, text: str) -> None:
        self.query_one("#dialog-news", Static).update(self._content(text))
        self.query_one("#accept", Button).disabled = not self.armed

    def _content(self, text: str) -> Content:
        return Content("\n".join(self._glyphs.plain(line) for line in text.split("\n")))
