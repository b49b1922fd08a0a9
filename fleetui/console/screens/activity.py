"""Activity: who asked for what, what came of it, and what happened by itself."""

from functools import partial

from fleetui.console import figures
from fleetui.console.act_words import said
from fleetui.console.fitting import wrap
from fleetui.console.inspection import Line
from fleetui.console.screens.lists import ListScreen
from fleetui.console.widgets.lines_view import LinesView
from fleetui.domain.intent import Intent, IntentState, Verb

INTENT_TONES = {
    IntentState.DONE: "ok",
    IntentState.FAILED: "bad",
    IntentState.REFUSED: "warn",
    IntentState.UNKNOWN: "warn",
}


class ActivityScreen(ListScreen):
    """Screen 6. An entry is cut at the screen's edge; enter opens it whole below its line.

    `u` takes back a request that no collector has taken. Enter on a command that was run on hosts
    shows their answers again.
    """

    def __init__(self) -> None:
        super().__init__()
        self._intents: tuple[Intent, ...] = ()
        self._sections: list[tuple[str, list[Line]]] = []
        self._starts: list[int] = []
        self._chosen = 0
        self._open: Line | None = None

    async def pull(self) -> None:
        """Read intents, audit and events."""
        app = self.console_app
        clock = partial(figures.clock_time, utc=app.preferences.now.utc)
        self._intents = await app.store.intents(limit=50)
        intents: list[Line] = [
            [
                (clock(intent.created_at) + " ", "dim"), (said(intent.verb) + " ", "strong"),
                (f"{intent.instance_id} ", "key"),
                (intent.state.value + " ", INTENT_TONES.get(intent.state, "active")),
                (self._words(intent) + " ", "text"), (f"by {intent.actor}", "dim"),
            ]
            for intent in self._intents
        ]  # fmt: skip
        audit: list[Line] = [
            [
                (clock(entry.at) + " ", "dim"), (entry.event + " ", "strong"),
                (f"{entry.instance_id} " if entry.instance_id else "", "key"),
                (said(entry.verb) + " " if entry.verb else "", "text"),
                (f"{entry.detail} " if entry.detail else "", "text"),
                (f"by {entry.actor}", "dim"),
            ]
            for entry in await app.store.audit(limit=100)
        ]  # fmt: skip
        happened = [*app.acts.undone, *await app.store.events(limit=100)]
        events: list[Line] = [
            [
                (clock(event.at) + " ", "dim"), (event.kind + " ", "strong"),
                (f"{event.instance_id} " if event.instance_id else "", "key"),
                (event.text, "text"),
            ]
            for event in sorted(happened, key=lambda event: -event.at)
        ]  # fmt: skip
        self._sections = [("intents", intents), ("audit", audit), ("events", events)]
        self._draw()

    def _words(self, intent: Intent) -> str:
        """Say what came of an intent, or what it waits for and until when."""
        app = self.console_app
        given = f"({intent.argument}) " if intent.argument else ""
        if intent.state is not IntentState.REQUESTED:
            return f"{given}{intent.result or intent.reason}"
        back = "" if app.read_only else "; u takes it back"
        if app.state.lease_held:
            return f"{given}{intent.reason}: waits its turn{back}"
        left = intent.created_at + app.expiry_seconds - app.state.now()
        lapse = f"lapses in {figures.duration(left)}" if left > 0 else "has lapsed"
        return f"{given}{intent.reason}: no collector runs, {lapse}{back}"

    def _draw(self) -> None:
        view = self.query_one(LinesView)
        lines: list[Line] = []
        self._starts = []
        for title, entries in self._sections:
            lines += [[], [(title, "title bold")]] if lines else [[(title, "title bold")]]
            if not entries:
                lines.append([("none", "dim")])
            for entry in entries:
                self._starts.append(len(lines))
                lines.append(entry)
                if entry == self._open:
                    text = "".join(piece for piece, _ in entry)
                    wrapped = wrap(text, max(view.inner_width - 2, 8))
                    lines += [[("  " + part, "strong")] for part in wrapped]
        self._chosen = min(self._chosen, max(len(self._starts) - 1, 0))
        self.put(lines)
        view.set_cursor(self._starts[self._chosen] if self._starts else None)

    def _intent(self) -> Intent | None:
        """Return the intent under the cursor."""
        return self._intents[self._chosen] if self._chosen < len(self._intents) else None

    def chosen_request(self) -> Intent | None:
        """Return the request under the cursor, if it waits for a collector."""
        intent = self._intent()
        return intent if intent and intent.state is IntentState.REQUESTED else None

    def on_lines_view_step(self, event: LinesView.Step) -> None:
        """Move among the entries."""
        self._chosen = min(max(self._chosen + event.step, 0), max(len(self._starts) - 1, 0))
        self._draw()

    def on_lines_view_chosen(self) -> None:
        """Open the entry whole, or close it; show the answers to a command."""
        intent = self._intent()
        if intent is not None and intent.verb is Verb.RUN:
            self._show_answers(intent)
            return
        entries = [entry for _, section in self._sections for entry in section]
        if entries:
            chosen = entries[self._chosen]
            self._open = None if self._open == chosen else chosen
            self._draw()

    def _show_answers(self, intent: Intent) -> None:
        from fleetui.console.screens.answers import AnswersScreen  # noqa: PLC0415 - on demand only

        asked = (intent.actor, intent.argument, intent.created_at)
        together = [
            one
            for one in reversed(self._intents)
            if one.verb is Verb.RUN and (one.actor, one.argument, one.created_at) == asked
        ]
        self.app.push_screen(AnswersScreen(together))
