"""From a key press to intents in the store: the dialog, the countdown, what came of them.

The dialog and its words are imported when something is asked: the first paint does without.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from fleetui.console.act_words import ACTS, said
from fleetui.console.screens.base import FleetUIScreen
from fleetui.domain.intent import Event, Intent, IntentState, Verb, Withdrawal
from fleetui.domain.reading import FleetRow
from fleetui.domain.role import Role
from fleetui.domain.text import SafeText, sanitise

if TYPE_CHECKING:
    from fleetui.console.acting import Known, Pending, Request
    from fleetui.console.app import FleetApp
    from fleetui.console.modals.confirm import ConfirmDialog
    from fleetui.console.modals.typed_dialog import Answer

STORE_DEADLINE_SECONDS = 5.0
LONGEST_COMMAND = 1000


class IntentDesk:
    """Asks before something is done, writes intents, and says what became of them.

    A confirmed act that loses data waits `undo_seconds`, in which it can be taken back.
    """

    def __init__(
        self,
        app: "FleetApp",
        undo_seconds: float,
        script_of: Callable[[Verb], Awaitable[str]] | None = None,
    ) -> None:
        self._app = app
        self._undo_seconds = undo_seconds
        self._script_of = script_of
        self.pending: Pending | None = None
        self.dialog: ConfirmDialog | None = None
        """The question that is open."""
        self._watched: dict[str, Intent] = {}
        self.ran: deque[str] = deque(maxlen=20)
        """The commands that were run from here, the newest first."""
        self.undone: list[Event] = []
        """What was taken back here: the collector never learnt of it."""

    def may(self, verb: Verb) -> bool:
        """Tell whether this console's role may ask for it; says so when it may not."""
        role = self._app.role
        if role.covers(verb.needs):
            return True
        why = f"the role {role} may not {said(verb)}: it needs {verb.needs}"
        if self._app.read_only:
            why = "read-only: nothing is done from here"
        self._app.say(why)
        return False

    def ask(
        self,
        verb: Verb,
        instance_ids: Sequence[int],
        *,
        argument: str = "",
        reason: SafeText | None = None,
    ) -> None:
        """Open the dialog on the instances as they are now; they stay its targets."""
        rows = self._rows(verb, instance_ids)
        if not rows:
            return
        if verb.takes_argument and not argument:
            self._app.commands.open(text=f"{verb.value} ")
            return
        if verb is Verb.RUN:
            self.run(argument, instance_ids)
            return
        if verb.loses_data and self.pending is not None:
            self._app.say(
                f"another {said(self.pending.intents[0].verb)} is pending: u takes it back"
            )
            return
        words = sanitise(argument, 200) if argument else None
        self._app.work(self._open(verb, rows, words, reason), f"ask {verb.value}", "ask")

    def _rows(self, verb: Verb, instance_ids: Sequence[int]) -> list[FleetRow]:
        """Return the rows that may be acted on now; says why there are none."""
        app = self._app
        if not self.may(verb):
            return []
        if verb not in ACTS and verb is not Verb.RUN:
            app.say(f"{said(verb)} is not to be had here")
            return []
        known = [app.state.rows[item] for item in instance_ids if item in app.state.rows]
        rows = [row for row in known if verb.spares_instance or not row.protected]
        if not known:
            app.say("there is no such instance any more")
        elif app.frozen:
            app.say("frozen: these rows may have changed; p shows them as they are, then act")
            return []
        elif len(rows) < len(known):
            kept = " ".join(str(row.instance_id) for row in known if row.protected)
            app.say(f"protected, and left out: {kept}", severity="error")
        return rows

    async def _open(
        self,
        verb: Verb,
        rows: Sequence[FleetRow],
        argument: SafeText | None,
        reason: SafeText | None,
    ) -> None:
        from fleetui.console.acting import request  # noqa: PLC0415 - see the module
        from fleetui.console.modals.confirm import ConfirmDialog  # noqa: PLC0415 - see the module

        try:
            async with asyncio.timeout(STORE_DEADLINE_SECONDS):
                known = await self._known(verb, rows)
        except Exception as error:  # noqa: BLE001 - whatever it was, the operator must learn of it
            self._app.say(f"nothing was asked: {error}", severity="error")
            return
        now = self._app.state.now()
        asked = request(verb, rows, known, now, argument=argument, reason=reason)
        dialog = ConfirmDialog(asked, self._app.state, self._app.glyphs, account=self._app.account)
        table = self._app.fleet_screen.table
        table.pinned = True
        self.dialog = dialog

        def answered(answer: "Answer") -> None:
            table.pinned = False
            self.dialog = None
            if answer == "confirmed":
                self._confirmed(asked, dialog.live)
            elif answer == "drain":
                self.ask(Verb.DRAIN_DESTROY, dialog.live, reason=reason)
            else:
                self._app.say(f"{asked.words} cancelled: nothing was done")

        self._app.push_screen(dialog, answered)

    async def _known(self, verb: Verb, rows: Sequence[FleetRow]) -> "Known":
        from fleetui.console.acting import Known  # noqa: PLC0415 - see the module

        script = await self._script_of(verb) if self._script_of is not None else ""
        if len(rows) > 1:
            return Known(script=script)
        instance_id = rows[0].instance_id
        return Known(
            subject=await self._app.read_subject(instance_id),
            missing=(await self._app.store.log_missing()).get(instance_id),
            script=script,
        )

    def _confirmed(self, asked: "Request", live: Sequence[int]) -> None:
        from fleetui.console.acting import Pending  # noqa: PLC0415 - see the module

        app, now = self._app, self._app.state.now()
        intents = tuple(
            asked.intent(row, app.actor, app.role, now)
            for row in asked.rows
            if row.instance_id in live
        )
        if asked.verb.loses_data and self._undo_seconds > 0:
            self.pending = Pending(intents, time.monotonic() + self._undo_seconds)
            self.advance()
        else:
            self._send(intents)

    def run(self, text: str, instance_ids: Sequence[int]) -> None:
        """Run a command that only looks on the instances, and show how the answers compare."""
        from fleetui.console.acting import Request  # noqa: PLC0415 - see the module
        from fleetui.domain.command import CommandRefusedError, parse_command  # noqa: PLC0415

        rows = self._rows(Verb.RUN, instance_ids)
        if not rows:
            return
        try:
            parse_command(text)
        except CommandRefusedError as error:
            self._app.commands.open(text=f"run {text}", notice=f"not run: {error}")
            return
        if text in self.ran:
            self.ran.remove(text)
        self.ran.appendleft(text)
        app, now = self._app, self._app.state.now()
        asked = Request(verb=Verb.RUN, rows=tuple(rows), argument=sanitise(text, LONGEST_COMMAND))
        intents = [asked.intent(row, app.actor, app.role, now) for row in rows]
        app.work(self._run(intents), f"run {intents[0].intent_id}", "run")

    async def _run(self, intents: Sequence[Intent]) -> None:
        from fleetui.console.screens.answers import AnswersScreen  # noqa: PLC0415 - see the module

        asked = await self._write(intents)
        if asked:
            self._app.push_screen(AnswersScreen(asked))

    def pending_line(self) -> str:
        """Say what is about to be done and how to stop it; empty when nothing is."""
        if self.pending is None:
            return ""
        left = max(self.pending.due - time.monotonic(), 0.0)
        intents = self.pending.intents
        what = str(intents[0].instance_id) if len(intents) == 1 else f"{len(intents)} instances"
        word = ACTS[intents[0].verb].doing
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
        if not all(self.may(intent.verb) for intent in intents):
            return
        for intent in intents:
            self._app.state.acting[intent.instance_id] = SafeText(ACTS[intent.verb].doing)
        self._app.work(self._ask_for(intents), f"intend {intents[0].intent_id}", "intend")
        self._app.fleet_screen.table.update_rows({intent.instance_id for intent in intents})

    async def _ask_for(self, intents: Sequence[Intent]) -> None:
        written = await self._write(intents)
        for unsent in intents[len(written) :]:
            self._app.state.acting.pop(unsent.instance_id, None)
        self.watch(written)
        if len(written) == len(intents):
            what = said(intents[0].verb)
            what += f" {intents[0].instance_id}" if len(intents) == 1 else f" of {len(intents)}"
            waits = "" if self._app.state.lease_held else ", but none runs"
            self._app.say(f"{what}: asked the collector{waits}")

    async def _write(self, intents: Sequence[Intent]) -> list[Intent]:
        """Write intents; returns those that the store took, and says why it took no more."""
        for written, intent in enumerate(intents):
            try:
                async with asyncio.timeout(STORE_DEADLINE_SECONDS):
                    await self._app.store.intend(intent)
            except Exception as error:  # noqa: BLE001 - whatever it was, the operator must learn of it
                reason = str(error) or type(error).__name__
                rest = len(intents) - written - 1
                more = f" (nor for {rest} more)" if rest else ""
                words = f"{said(intent.verb)} {intent.instance_id} was not asked for{more}"
                self._app.say(f"{words}: {reason}", severity="error")
                return list(intents[:written])
        self._app.wake()
        return list(intents)

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
            words = f"{said(intent.verb)} {intent.instance_id}: {intent.state.value}"
            if intent.result:
                words += f", {intent.result}"
            good = intent.state is IntentState.DONE
            self._app.say(words, severity="information" if good else "error")
            self._app.fleet_screen.table.update_rows({asked.instance_id})

    def take_back(self) -> None:
        """Take back what is pending, else the requests that no collector has taken.

        These are the one that the screen shows as chosen, or those on its targets.
        """
        if self.pending is None:
            screen = self._app.screen
            chosen = screen.chosen_request() if isinstance(screen, FleetUIScreen) else None
            ids = screen.targets() if isinstance(screen, FleetUIScreen) and not chosen else []
            self._app.work(self._withdraw(chosen, ids), "withdraw", "withdraw")
            return
        intents = self.pending.intents
        self.pending = None
        what = str(intents[0].instance_id) if len(intents) == 1 else f"of {len(intents)}"
        words = f"{said(intents[0].verb)} {what} taken back: nothing was done"
        self._app.say(words)
        named = " ".join(str(intent.instance_id) for intent in intents)
        event = Event(
            at=self._app.state.now(), kind="undone", instance_id=intents[0].instance_id,
            text=sanitise(f"{self._app.actor}: {words} ({named})"),
        )  # fmt: skip
        self.undone.append(event)
        screen = self._app.screen
        if isinstance(screen, FleetUIScreen):
            screen.draw_bars()

    async def _withdraw(self, chosen: Intent | None, instance_ids: Sequence[int]) -> None:
        from fleetui.reports import act  # noqa: PLC0415 - on demand only

        app = self._app
        if not app.role.covers(Role.OPERATOR):
            app.say("read-only: nothing is done from here")
            return
        try:
            async with asyncio.timeout(STORE_DEADLINE_SECONDS):
                if chosen is not None:
                    at = app.state.now()
                    await app.store.withdraw(Withdrawal(chosen.intent_id, app.actor, at))
                    taken = [chosen]
                else:
                    taken = list(
                        await act.withdraw(
                            app.store, instance_ids, clock=app.state.clock, actor=app.actor
                        )
                    )
        except Exception as error:  # noqa: BLE001 - whatever it was, the operator must learn of it
            app.say(f"not taken back: {error}", severity="error")
            return
        if not taken:
            on = f" on {' '.join(map(str, instance_ids[:3]))}" if instance_ids else ""
            app.say(f"nothing is pending, and no request waits{on}")
            return
        for intent in taken:
            self._watched.pop(intent.intent_id, None)
            app.state.acting.pop(intent.instance_id, None)
        what = " ".join(f"{said(one.verb)} {one.instance_id}" for one in taken[:4])
        app.say(f"{what} taken back: nothing was done")
        app.fleet_screen.table.update_rows({intent.instance_id for intent in taken})
        app.wake()
