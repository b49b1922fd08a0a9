"""From a key press to intents in the store: the dialog, the countdown, what came of them.

The dialog and its words are imported when something is asked: the first paint does without.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fleetui.console.screens.base import FleetUIScreen
from fleetui.domain.intent import Event, Intent, IntentState, Verb
from fleetui.domain.reading import FleetRow
from fleetui.domain.text import SafeText, sanitise

if TYPE_CHECKING:
    from fleetui.console.acting import Pending, Request
    from fleetui.console.app import FleetApp
    from fleetui.console.modals.confirm import ConfirmDialog
    from fleetui.console.modals.typed_dialog import Answer

STORE_DEADLINE_SECONDS = 5.0
ACTING_WORDS = {
    Verb.RESTART_DAEMON: "restarting",
    Verb.DESTROY: "destroying",
    Verb.STOP: "stopping",
    Verb.START: "starting",
    Verb.REBOOT: "rebooting",
    Verb.RECYCLE: "recycling",
    Verb.LABEL: "labelling",
    Verb.DRAIN_DESTROY: "draining",
    Verb.PROTECT: "protecting",
    Verb.UNPROTECT: "unprotecting",
    Verb.BLACKLIST: "blacklisting",
    Verb.ACCEPT_HOST_KEY: "new key",
}
"""What a row says while its intent has no answer yet."""


class IntentDesk:
    """Asks before something is done, writes intents, and says what became of them.

    A confirmed act that loses data waits `undo_seconds`, in which it can be taken back.
    """

    def __init__(self, app: "FleetApp", undo_seconds: float) -> None:
        self._app = app
        self._undo_seconds = undo_seconds
        self.pending: Pending | None = None
        self.dialog: ConfirmDialog | None = None
        """The question that is open."""
        self._watched: dict[str, Intent] = {}
        self.undone: list[Event] = []
        """What was taken back here: the collector never learnt of it."""

    def ask(self, verb: Verb, instance_ids: Sequence[int]) -> None:
        """Open the dialog on the instances as they are now; they stay its targets."""
        from fleetui.console.acting import COUNTED_DOWN  # noqa: PLC0415 - see the module

        rows = [self._app.state.rows[item] for item in instance_ids if item in self._app.state.rows]
        if self._app.read_only:
            self._app.say("read-only: nothing is done from here")
            return
        if not rows:
            self._app.say("there is no such instance any more")
            return
        if self._app.frozen:
            self._app.say("frozen: these rows may have changed; p shows them as they are, then act")
            return
        if verb in COUNTED_DOWN and self.pending is not None:
            self._app.say(
                f"another {self.pending.intents[0].verb.value} is pending: u takes it back"
            )
            return
        self._app.work(self._open(verb, rows), f"ask {verb.value}", "ask")

    async def _open(self, verb: Verb, rows: Sequence[FleetRow]) -> None:
        from fleetui.console.acting import request  # noqa: PLC0415 - see the module
        from fleetui.console.modals.confirm import ConfirmDialog  # noqa: PLC0415 - see the module

        known = None
        if len(rows) == 1:
            try:
                async with asyncio.timeout(STORE_DEADLINE_SECONDS):
                    known = await self._app.read_subject(rows[0].instance_id)
            except Exception as error:  # noqa: BLE001 - whatever it was, the operator must learn of it
                self._app.say(f"nothing was asked: {error}", severity="error")
                return
        asked = request(verb, rows, known, self._app.state.now())
        dialog = ConfirmDialog(asked, self._app.state, self._app.glyphs, account=self._app.account)
        table = self._app.fleet_screen.table
        table.pinned = True
        self.dialog = dialog

        def answered(answer: "Answer") -> None:
            table.pinned = False
            self.dialog = None
            if answer == "confirmed":
                self._confirmed(asked, dialog.live)
            else:
                self._app.say(f"{asked.words} cancelled: nothing was done")

        self._app.push_screen(dialog, answered)

    def _confirmed(self, asked: "Request", live: Sequence[int]) -> None:
        from fleetui.console.acting import (  # noqa: PLC0415 - see the module
            COUNTED_DOWN,
            Pending,
            new_intent,
        )

        now = self._app.state.now()
        intents = tuple(
            new_intent(row, asked.verb, self._app.actor, now, asked.argument)
            for row in asked.rows
            if row.instance_id in live
        )
        if asked.verb in COUNTED_DOWN and self._undo_seconds > 0:
            self.pending = Pending(intents, time.monotonic() + self._undo_seconds)
            self.advance()
        else:
            self._send(intents)

    def pending_line(self) -> str:
        """Say what is about to be done and how to stop it; empty when nothing is."""
        if self.pending is None:
            return ""
        left = max(self.pending.due - time.monotonic(), 0.0)
        intents = self.pending.intents
        what = str(intents[0].instance_id) if len(intents) == 1 else f"{len(intents)} instances"
        word = ACTING_WORDS[intents[0].verb]
        return f" {word} {what} in {left + 0.999:.0f} s: u takes it back"

    def advance(self) -> None:
        """Send what is pending once its time has come."""
        pending = self.pending
        if pending is not None and time.monotonic() >= pending.due:
            self.pending = None
            self._send(pending.intents)
        screen = self._app.screen
        if pending is not None and isinstance(screen, FleetUIScreen) and screen.is_laid_out:
            screen.draw_bars()

    def _send(self, intents: Sequence[Intent]) -> None:
        if self._app.read_only:
            self._app.say("read-only: nothing was done", severity="error")
            return
        for intent in intents:
            self._app.state.acting[intent.instance_id] = SafeText(ACTING_WORDS[intent.verb])
        self._app.work(self._write(intents), f"intend {intents[0].intent_id}", "intend")
        self._app.fleet_screen.table.update_rows({intent.instance_id for intent in intents})

    async def _write(self, intents: Sequence[Intent]) -> None:
        words = ""
        for written, intent in enumerate(intents):
            words = f"{intent.verb.value.replace('_', ' ')} {intent.instance_id}"
            try:
                async with asyncio.timeout(STORE_DEADLINE_SECONDS):
                    await self._app.store.intend(intent)
            except Exception as error:  # noqa: BLE001 - whatever it was, the operator must learn of it
                for unsent in intents[written:]:
                    self._app.state.acting.pop(unsent.instance_id, None)
                reason = str(error) or type(error).__name__
                rest = len(intents) - written - 1
                more = f" (nor for {rest} more)" if rest else ""
                self._app.say(f"{words} was not asked for{more}: {reason}", severity="error")
                return
            self._watched[intent.intent_id] = intent
        what = words if len(intents) == 1 else f"{words.rpartition(' ')[0]} of {len(intents)}"
        self._app.say(f"{what}: asked the collector")
        self._app.wake()

    def watch(self, asked: Sequence[Intent]) -> None:
        """Say later what becomes of intents that were written elsewhere."""
        self._watched |= {intent.intent_id: intent for intent in asked}

    async def look_after(self) -> None:
        """Say what became of the intents that were asked for here."""
        for intent_id, asked in list(self._watched.items()):
            intent = await self._app.store.intent(intent_id)
            if intent is None or not (intent.state.is_final or intent.state is IntentState.UNKNOWN):
                continue
            del self._watched[intent_id]
            self._app.state.acting.pop(asked.instance_id, None)
            words = (
                f"{intent.verb.value.replace('_', ' ')} {intent.instance_id}: {intent.state.value}"
            )
            if intent.result:
                words += f", {intent.result}"
            good = intent.state is IntentState.DONE
            self._app.say(words, severity="information" if good else "error")
            self._app.fleet_screen.table.update_rows({asked.instance_id})

    def take_back(self) -> None:
        """Take back what is pending."""
        if self.pending is None:
            self._app.say("nothing is pending")
            return
        intents = self.pending.intents
        self.pending = None
        what = str(intents[0].instance_id) if len(intents) == 1 else f"of {len(intents)}"
        words = f"{intents[0].verb.value} {what} taken back: nothing was done"
        self._app.say(words)
        ids = " ".join(str(intent.instance_id) for intent in intents)
        event = Event(
            at=self._app.state.now(), kind="undone", instance_id=intents[0].instance_id,
            text=sanitise(f"{self._app.actor}: {words} ({ids})"),
        )  # fmt: skip
        self.undone.append(event)
        screen = self._app.screen
        if isinstance(screen, FleetUIScreen):
            screen.draw_bars()
