"""A dialog that nothing but its exact confirmation accepts. It is built anew for each use."""

import time
from typing import Literal

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import Key, Paste
from textual.widgets import Button, Static

from fleetui.console.glyphs import Glyphs
from fleetui.console.modals.dialog import Dialog

Answer = Literal["confirmed", "drain"] | None
NARROW_CELLS = 60
LEAST_BODY = 3
"""Rows for what is lost, before the blank lines of the dialog are given up for it."""


class TypedDialog(Dialog[Answer]):
    """What is asked, of what, what is lost, what will run; Cancel focused; esc, q, enter cancel.

    With nothing `wanted` a lower-case `y` accepts, so that a caps-locked key that opened it cannot
    finish it; else exactly these digits and enter. `wants` says what they are, for the line that
    asks for them, and `wrong` what wrong ones are not; `more` names keys of a dialog of one's own.
    What is lost scrolls where there is no room for all of it: how to confirm is always in sight.
    On a screen with no room even for that nothing is asked: the dialog cancels itself.
    """

    BINDINGS = [  # noqa: RUF012 - textual's own shape
        Binding("escape", "cancel", show=False),
        Binding("q", "cancel", show=False),
        Binding("down", "scroll_body(1)", show=False),
        Binding("up", "scroll_body(-1)", show=False),
    ]
    AUTO_FOCUS = "#cancel"

    def __init__(
        self,
        glyphs: Glyphs,
        *,
        title: str,
        word: str,
        target: str,
        account: str,
        loss: str,
        command: str,
        wanted: str,
        wants: str,
        wrong: str,
        more: str = "",
    ) -> None:
        super().__init__(classes="confirm")
        self.typed = ""
        self.wanted = wanted
        self._glyphs = glyphs
        self._word = word
        self._wants = wants
        self._wrong = wrong
        self._texts = {
            "dialog-title": title, "dialog-target": target, "dialog-account": f"account {account}",
            "dialog-loss": loss, "dialog-command": f"will run: {command}", "dialog-news": "",
            "dialog-more": more,
        }  # fmt: skip
        self._drawn_at = float("inf")
        self.set_class(bool(wanted), "-final")

    def compose(self) -> ComposeResult:
        """Lay the dialog out: title, target, loss, command, how to confirm, buttons."""
        with Vertical(id="dialog"):
            for name in ("dialog-title", "dialog-target"):
                yield self._static(name)
            with VerticalScroll(id="dialog-body", can_focus=False):
                for name in ("dialog-account", "dialog-loss", "dialog-command", "dialog-more"):
                    yield self._static(name)
            yield self._static("dialog-news")
            yield Static(self._content(self._ask()), id="dialog-ask")
            with Horizontal(id="dialog-buttons"):
                yield Button(Content("Cancel (esc)"), id="cancel")
                key = "enter" if self.wanted else "y"
                accept = Button(Content(f"{self._word} ({key})"), id="accept")
                accept.can_focus = False
                accept.disabled = not self.armed
                yield accept

    def _static(self, name: str) -> Static:
        static = Static(self._content(self._texts[name]), id=name)
        static.display = bool(self._texts[name])
        return static

    def on_mount(self) -> None:
        """Note when it can first be read."""
        self.call_after_refresh(self._drawn)

    def on_resize(self) -> None:
        """Let what is lost have the room that the rest leaves."""
        self.remove_class("-low")
        self.set_class(self.size.width < NARROW_CELLS, "-narrow")
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        if not self.query("#dialog-body"):
            return  # it has been answered meanwhile
        box = self.query_one("#dialog")
        body = self.query_one("#dialog-body")
        rest = [child for child in box.children if child is not body and child.display]
        taken = sum(child.outer_size.height + child.styles.margin.height for child in rest)
        room = self.size.height - taken - 2 - body.styles.margin.height
        low = self.has_class("-low")
        if room >= (1 if low else LEAST_BODY):
            body.styles.max_height = room
        elif low:
            self.action_cancel()
        else:
            self.add_class("-low")
            self.call_after_refresh(self._fit)

    def _drawn(self) -> None:
        self._drawn_at = time.monotonic()

    @property
    def is_drawn(self) -> bool:
        """Whether it has been on the screen: only keys typed after that count."""
        return self._drawn_at < float("inf")

    @property
    def armed(self) -> bool:
        """Whether the confirmation given so far is enough."""
        return self.typed == self.wanted

    def _ask(self) -> str:
        if not self.wanted:
            return f"press y to {self._word.lower()}; enter, esc or q cancels"
        return f"type {self._wants}, then enter:  {self.typed.ljust(len(self.wanted), '_')}"

    def action_scroll_body(self, lines: int) -> None:
        """Scroll what is lost, where there is no room for all of it."""
        self.query_one("#dialog-body").scroll_relative(y=lines, animate=False)

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
        self.news("a paste confirms nothing: type it")

    def on_key(self, event: Key) -> None:
        """Accept a lower-case y, or collect digits; enter acts only on exactly the right ones.

        A key that was typed before the dialog was drawn confirms nothing.
        """
        if event.time < self._drawn_at:
            event.stop()
            event.prevent_default()
        elif not self.wanted:
            if event.key == "y":
                event.stop()
                self._accept()
        elif event.key == "enter" and self.typed:
            event.stop()
            event.prevent_default()
            if self.armed:
                self._accept()
            else:
                self.type_anew("")
                self.news(f"that is not {self._wrong}")
        elif event.key == "backspace":
            event.stop()
            self.type_anew(self.typed[:-1])
        elif event.character and event.character in "0123456789":
            event.stop()
            if len(self.typed) < len(self.wanted):
                self.type_anew(self.typed + event.character)

    def _accept(self) -> None:
        if self.armed:
            self.dismiss("confirmed")

    def type_anew(self, text: str) -> None:
        """Take this for what was typed so far."""
        self.typed = text
        self.query_one("#dialog-ask", Static).update(self._content(self._ask()))
        self.query_one("#accept", Button).disabled = not self.armed

    def news(self, text: str) -> None:
        """Say what happened meanwhile."""
        news = self.query_one("#dialog-news", Static)
        news.display = bool(text)
        news.update(self._content(text))
        self.call_after_refresh(self._fit)
        self.query_one("#accept", Button).disabled = not self.armed

    def _content(self, text: str) -> Content:
        return Content("\n".join(self._glyphs.plain(line) for line in text.split("\n")))
