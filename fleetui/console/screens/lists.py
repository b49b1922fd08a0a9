"""Failures grouped by signature, and activity: intents, audit, events."""

from functools import partial

from textual.app import ComposeResult

from fleetui.console import figures
from fleetui.console.columns import SEVERITY_TONES
from fleetui.console.decisions import decide
from fleetui.console.fitting import fit, wrap
from fleetui.console.inspection import Line
from fleetui.console.screens.base import FleetUIScreen
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.lines_view import LinesView
from fleetui.domain.finding_groups import FindingGroup, group_findings
from fleetui.domain.finding_record import DecisionKind, FindingState
from fleetui.domain.finding_words import history_text
from fleetui.domain.intent import IntentState
from fleetui.domain.text import SafeText

INTENT_TONES = {
    IntentState.DONE: "ok",
    IntentState.FAILED: "bad",
    IntentState.REFUSED: "warn",
    IntentState.UNKNOWN: "warn",
}


SNOOZE_SECONDS = 3600.0


class ListScreen(FleetUIScreen):
    """A screen of lines."""

    def compose(self) -> ComposeResult:
        """Lay out the bars and the lines."""
        yield LineBar(id="header")
        yield LinesView(id="lines")
        yield LineBar(id="footer")

    def on_mount(self) -> None:
        """The lines scroll."""
        super().on_mount()
        self.set_focus(self.query_one(LinesView))

    @property
    def inner_width(self) -> int:
        """The cells a line may take."""
        return self.query_one(LinesView).inner_width

    def on_lines_view_leave(self) -> None:
        """Back to where this was opened."""
        self.console_app.leave(self)

    def put(self, lines: list[Line]) -> None:
        """Show lines in what the terminal can draw."""
        plain = self.console_app.glyphs.plain
        self.query_one(LinesView).show(
            [[(plain(text), tone) for text, tone in line] for line in lines]
        )


class FailuresScreen(ListScreen):
    """Screen 4: what is wrong, faults of the fleet first; enter goes to the line that proves it."""

    scopes = ("failures",)

    def __init__(self) -> None:
        super().__init__()
        self._groups: list[FindingGroup] = []
        self._past: dict[str, SafeText] = {}
        self._starts: list[int] = []
        self._chosen = 0

    async def pull(self) -> None:
        """Read the findings that stand, what was decided about them, and their past."""
        store, now = self.console_app.store, self.console_app.state.now()
        self._groups = group_findings(await store.findings(), now)
        for group in self._groups[:50]:
            history = await store.signature_history(group.signature)
            self._past[group.signature] = history_text(history, now)
        self._chosen = min(self._chosen, max(len(self._groups) - 1, 0))
        self._draw()

    def _draw(self) -> None:
        glyphs = self.console_app.glyphs
        view = self.query_one(LinesView)
        width = view.inner_width
        now = self.console_app.state.now()
        lines: list[Line] = [[("failures by signature", "title bold")], []]
        self._starts = []
        for group in self._groups:
            tone = SEVERITY_TONES[group.severity]
            self._starts.append(len(lines))
            last = f"  newest {figures.age(now - group.last_seen)}"
            state = "" if group.state is FindingState.OPEN else f"  {group.state}"
            led = f"  part of the fleet's {group.led_by}" if group.led_by else ""
            lines.append([
                (f"{glyphs.severity(group.severity)} {fit(group.category, 28)}", f"{tone} bold"),
                (fit(group.label, 10), "strong"), (last, "dim"), (state, "ok"), (led, "dim"),
            ])  # fmt: skip
            summary = wrap(group.newest.summary, width - 2)[: 4 if group.is_fleet else 2]
            lines += [[("  " + text, "text")] for text in summary]
            past = self._past.get(group.signature)
            if past:
                lines += [[("  " + text, "dim")] for text in wrap(past, width - 2)[:2]]
            for evidence in group.newest.evidence[:2]:
                where = evidence.source + (f":{evidence.line}" if evidence.line else "")
                lines.append([("  " + fit(where, width - 2).rstrip(), "key")])
                lines += [[("    " + t, "dim")] for t in wrap(evidence.text, width - 4)[:1]]
            ids = " ".join(str(item) for item in group.instance_ids)
            lines += [[("  " + text, "key")] for text in wrap(ids, width - 2)[:3]]
            lines += [
                [(f"  {glyphs['arrow']} " if not n else "    ", "ok"), (text, "ok")]
                for n, text in enumerate(wrap(group.newest.advice, width - 4)[:2])
            ]
            lines.append([])
        if not self._groups:
            lines.append([("nothing is wrong with any live instance", "ok")])
        self.put(lines)
        view.set_cursor(self._starts[self._chosen] if self._starts else None)

    def on_lines_view_step(self, event: LinesView.Step) -> None:
        """Move among the groups."""
        self._chosen = min(max(self._chosen + event.step, 0), max(len(self._groups) - 1, 0))
        self._draw()

    def on_lines_view_chosen(self) -> None:
        """Go to the line that proves the newest of the group."""
        if self._groups:
            group = self._groups[self._chosen]
            if group.is_fleet:
                self.action_members()
            else:
                self.console_app.show_evidence(group.newest_id, group.newest)

    async def action_acknowledge(self) -> None:
        """Say that somebody has seen the group's findings."""
        await self._decide(DecisionKind.ACKNOWLEDGE)

    async def action_snooze(self) -> None:
        """Keep the group's findings quiet for an hour."""
        await self._decide(DecisionKind.SNOOZE)

    async def _decide(self, kind: DecisionKind) -> None:
        app = self.console_app
        if app.read_only or not self._groups:
            return
        seconds = SNOOZE_SECONDS if kind is DecisionKind.SNOOZE else None
        await decide(app, self._groups[self._chosen].records, kind, seconds=seconds)
        await self.pull()

    def action_members(self) -> None:
        """Show the group's instances in the fleet."""
        if self._groups:
            category = self._groups[self._chosen].category
            self.app.pop_screen()
            self.console_app.fleet_screen.action_show_only(f"finding={category}")


class ActivityScreen(ListScreen):
    """Screen 6: who asked for what, what came of it, and what happened by itself.

    An entry is cut at the screen's edge; enter opens it whole below its line, and closes it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sections: list[tuple[str, list[Line]]] = []
        self._starts: list[int] = []
        self._chosen = 0
        self._open: Line | None = None

    async def pull(self) -> None:
        """Read intents, audit and events."""
        app = self.console_app
        clock = partial(figures.clock_time, utc=app.preferences.now.utc)
        intents: list[Line] = [
            [
                (clock(intent.created_at) + " ", "dim"),
                (intent.verb.value.replace("_", " ") + " ", "strong"),
                (f"{intent.instance_id} ", "key"),
                (intent.state.value + " ", INTENT_TONES.get(intent.state, "active")),
                (f"{intent.result or intent.reason} ", "text"), (f"by {intent.actor}", "dim"),
            ]
            for intent in await app.store.intents(limit=50)
        ]  # fmt: skip
        audit: list[Line] = [
            [
                (clock(entry.at) + " ", "dim"), (entry.event + " ", "strong"),
                (f"{entry.instance_id} " if entry.instance_id else "", "key"),
                (entry.verb.value.replace("_", " ") + " " if entry.verb else "", "text"),
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

    def on_lines_view_step(self, event: LinesView.Step) -> None:
        """Move among the entries."""
        self._chosen = min(max(self._chosen + event.step, 0), max(len(self._starts) - 1, 0))
        self._draw()

    def on_lines_view_chosen(self) -> None:
        """Open the entry whole, or close it."""
        entries = [entry for _, section in self._sections for entry in section]
        if entries:
            chosen = entries[self._chosen]
            self._open = None if self._open == chosen else chosen
            self._draw()
