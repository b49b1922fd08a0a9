"""Failures grouped by signature, and what the owner's rules propose."""

from textual.app import ComposeResult

from fleetui.console import figures
from fleetui.console.action import key_word
from fleetui.console.columns import SEVERITY_TONES
from fleetui.console.decisions import decide
from fleetui.console.fitting import clip, fit, wrap
from fleetui.console.inspection import Line
from fleetui.console.proposal_lines import observed_lines, proposal_lines
from fleetui.console.screens.base import FleetUIScreen
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.lines_view import LinesView
from fleetui.domain.finding_groups import FindingGroup, group_findings
from fleetui.domain.finding_record import DecisionKind, FindingState
from fleetui.domain.finding_words import history_text
from fleetui.domain.intent import Verb
from fleetui.domain.policy import Proposal, open_proposals
from fleetui.domain.text import SafeText, sanitise

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
        plain, view = self.console_app.glyphs.plain, self.query_one(LinesView)
        # The margin at the right may be used up, but not by what a scrollbar will cover.
        width = view.size.width - 1 - (len(lines) > view.size.height)
        view.show([[(plain(text), tone) for text, tone in clip(line, width)] for line in lines])


class FailuresScreen(ListScreen):
    """Screen 4: what rules ask for, then what is wrong, faults of the fleet first.

    Enter goes to the line that proves a fault, or to the page of a proposal's instance.
    """

    scopes = ("failures",)
    shown_by = "show_failures"

    def __init__(self) -> None:
        super().__init__()
        self._proposals: tuple[Proposal, ...] = ()
        self._observed: list[Proposal] = []
        self._groups: list[FindingGroup] = []
        self._past: dict[str, SafeText] = {}
        self._starts: list[int] = []
        self._chosen = 0

    async def pull(self) -> None:
        """Read the findings that stand, what was decided about them, and their past."""
        store, now = self.console_app.store, self.console_app.state.now()
        proposals = await store.proposals()
        self._proposals = open_proposals(proposals)
        self._observed = [one for one in proposals if one not in self._proposals]
        self._groups = group_findings(await store.findings(), now)
        for group in self._groups[:50]:
            history = await store.signature_history(group.signature)
            self._past[group.signature] = history_text(history, now)
        self._move(0)

    def _move(self, step: int) -> None:
        last = len(self._proposals) + len(self._groups) - 1
        self._chosen = min(max(self._chosen + step, 0), max(last, 0))
        self._draw()

    @property
    def _proposal(self) -> Proposal | None:
        """The proposal under the cursor."""
        return self._proposals[self._chosen] if self._chosen < len(self._proposals) else None

    @property
    def _group(self) -> FindingGroup | None:
        """The group under the cursor."""
        place = self._chosen - len(self._proposals)
        return self._groups[place] if 0 <= place < len(self._groups) else None

    def _draw(self) -> None:
        glyphs = self.console_app.glyphs
        view = self.query_one(LinesView)
        width = view.inner_width
        now = self.console_app.state.now()
        self._starts = []
        lines = self._asked_for(width, now)
        lines += [[("failures by signature", "title bold")], []]
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
            summary = wrap(group.newest.summary, width - 2, 4 if group.is_fleet else 2)
            lines += [[("  " + text, "text")] for text in summary]
            past = self._past.get(group.signature)
            if past:
                lines += [[("  " + text, "dim")] for text in wrap(past, width - 2, 2)]
            for evidence in group.newest.evidence[:2]:
                where = evidence.source + (f":{evidence.line}" if evidence.line else "")
                lines.append([("  " + fit(where, width - 2).rstrip(), "key")])
                lines += [[("    " + t, "dim")] for t in wrap(evidence.text, width - 4, 1)]
            ids = " ".join(str(item) for item in group.instance_ids)
            lines += [[("  " + text, "key")] for text in wrap(ids, width - 2, 3)]
            lines += [
                [(f"  {glyphs['arrow']} " if not n else "    ", "ok"), (text, "ok")]
                for n, text in enumerate(wrap(group.newest.advice, width - 4, 2))
            ]
            lines.append([])
        if not self._groups:
            lines += [[("nothing is wrong with any live instance", "ok")], []]
        lines += observed_lines(self._observed, width)
        self.put(lines)
        view.set_cursor(self._starts[self._chosen] if self._starts else None)

    def _asked_for(self, width: int, now: float) -> list[Line]:
        if not self._proposals:
            return []
        app = self.console_app
        accepts = [a for a in app.keymap.actions("failures") if a.id == "failures.accept"]
        key = key_word(accepts[0].keys[0]) if accepts else ""
        lines: list[Line] = [[("your rules propose", "title bold")], []]
        for proposal in self._proposals:
            row = app.state.rows.get(proposal.instance_id or 0)
            self._starts.append(len(lines))
            lines += proposal_lines(
                proposal, row.label or "" if row else "gone",
                now=now, width=width, glyphs=app.glyphs, key=key,
            )  # fmt: skip
        return lines

    def on_lines_view_step(self, event: LinesView.Step) -> None:
        """Move among the proposals and groups."""
        self._move(event.step)

    def on_lines_view_chosen(self) -> None:
        """Go to the line that proves the newest of the group, or to a proposal's instance."""
        group, proposal = self._group, self._proposal
        if proposal is not None and proposal.instance_id is not None:
            self.console_app.show_instance(proposal.instance_id)
        elif group is not None and group.is_fleet:
            self.action_members()
        elif group is not None:
            self.console_app.show_evidence(group.newest_id, group.newest)

    def action_accept(self) -> None:
        """Ask, in the usual dialog, before a proposal is carried out."""
        proposal = self._proposal
        if proposal is None or proposal.verb is None or proposal.instance_id is None:
            self.console_app.say("no proposal is chosen")
            return
        why = sanitise(proposal.why, 300)
        argument = why if proposal.verb is Verb.BLACKLIST else ""
        self.console_app.acts.ask(
            proposal.verb, [proposal.instance_id], argument=argument, reason=why
        )

    async def action_acknowledge(self) -> None:
        """Say that somebody has seen the group's findings."""
        await self._decide(DecisionKind.ACKNOWLEDGE)

    async def action_snooze(self) -> None:
        """Keep the group's findings quiet for an hour."""
        await self._decide(DecisionKind.SNOOZE)

    async def _decide(self, kind: DecisionKind) -> None:
        app, group = self.console_app, self._group
        if app.read_only or group is None:
            return
        seconds = SNOOZE_SECONDS if kind is DecisionKind.SNOOZE else None
        await decide(app, group.records, kind, seconds=seconds)
        await self.pull()

    def action_members(self) -> None:
        """Show the group's instances in the fleet."""
        group, proposal = self._group, self._proposal
        if proposal is not None:
            self.console_app.leave(self)
            self.console_app.fleet_screen.action_go(str(proposal.instance_id))
        elif group is not None:
            self.console_app.leave(self)
            self.console_app.fleet_screen.action_show_only(f"finding={group.category}")
