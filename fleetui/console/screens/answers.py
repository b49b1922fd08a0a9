"""What hosts answered to one command: equal answers together, the odd ones by what differs."""

import asyncio
from collections.abc import Sequence

from fleetui.console.fitting import fit, wrap
from fleetui.console.inspection import Line
from fleetui.console.screens.lists import ListScreen
from fleetui.console.widgets.lines_view import LinesView
from fleetui.domain.answer import Answer, AnswerGroup
from fleetui.domain.intent import Intent, IntentState, Verb
from fleetui.reports.answers import Comparison, comparison, text

SHOWN_LINES = 12
BAR_CELLS = 20


class AnswersScreen(ListScreen):
    """Grows while hosts answer. The cursor is on a group; `asked` are its `run` intents."""

    scopes = ("answers",)

    def __init__(self, asked: Sequence[Intent]) -> None:
        super().__init__()
        self._intents = {intent.intent_id: intent for intent in asked}
        self._answers: tuple[Answer, ...] = ()
        self._numbers = True
        self._whole = False
        self._starts: list[int] = []
        self._members: list[tuple[int, ...]] = []
        """The instances of each thing that the cursor can be on."""
        self._chosen = 0

    def targets(self) -> list[int]:
        """Those that were asked."""
        return [intent.instance_id for intent in self._intents.values()]

    @property
    def _open(self) -> list[Intent]:
        ended = (IntentState.UNKNOWN, *(state for state in IntentState if state.is_final))
        return [intent for intent in self._intents.values() if intent.state not in ended]

    async def pull(self) -> None:
        """Read how the commands went that had not ended yet, and the answers."""
        store = self.console_app.store
        waiting = self._open
        if waiting:
            found = await asyncio.gather(*(store.intent(one.intent_id) for one in waiting))
            self._intents |= {intent.intent_id: intent for intent in found if intent is not None}
        if waiting or not self._answers:
            self._answers = await store.answers(list(self._intents))
        self._draw()

    def _comparison(self) -> Comparison:
        intents = list(self._intents.values())
        command = str(intents[0].argument or "")
        return comparison(command, intents, self._answers, numbers=self._numbers)

    def saved(self) -> tuple[str, str]:
        """Return all answers, compared, as text."""
        found = self._comparison()
        return "answers.txt", f"$ {found.command}\n{text(found)}\n"

    def _draw(self) -> None:
        found, width, glyphs = self._comparison(), self.inner_width, self.console_app.glyphs
        view = self.query_one(LinesView)
        self._starts, self._members = [], []
        lines: list[Line] = [[("$ ", "dim"), (found.command, "title bold")], self._progress(), []]
        for place, group in enumerate(found.groups):
            self._begin(lines, group.instance_ids)
            lines += self._group(group, width, usual=place == 0)
        waiting = {intent.intent_id for intent in self._open}
        silent = [one for one in found.unanswered if one.intent_id not in waiting]
        for intent in silent:
            self._begin(lines, (intent.instance_id,))
            lines.append([(f"{glyphs['failed']} no answer: ", "bad bold"), *self._names([intent])])
            words = f"{intent.state}: {intent.result or 'no reason given'}"
            lines += [[("    " + part, "text")] for part in wrap(words, width - 4, 3)]
        if not self._numbers:
            lines += [[], [("numbers tell no difference: n lets them", "dim")]]
        self._chosen = min(self._chosen, max(len(self._starts) - 1, 0))
        self.put(lines)
        view.set_cursor(self._starts[self._chosen] if self._starts else None)

    def _begin(self, lines: list[Line], members: Sequence[int]) -> None:
        self._starts.append(len(lines))
        self._members.append(tuple(members))

    def _progress(self) -> Line:
        asked, waiting = len(self._intents), len(self._open)
        done, rest = self.console_app.glyphs.bar((asked - waiting) / asked, BAR_CELLS)
        if not waiting:
            hosts = "host" if asked == 1 else "hosts"
            return [(f"{len(self._answers)} of {asked} {hosts} answered", "dim")]
        line: Line = [(done, "busy"), (rest, "faint"), (f" {asked - waiting} of {asked}", "strong")]
        if not self.console_app.state.lease_held:
            line.append(("  no collector runs to do it; u takes it back", "warn"))
        return line

    def _group(self, group: AnswerGroup, width: int, *, usual: bool) -> list[Line]:
        glyphs, answer = self.console_app.glyphs, group.answer
        count = len(group.answers)
        good = answer.exit_status == 0 and not answer.cut
        end = "cut off" if answer.cut else f"exit status {answer.exit_status}"
        same = "differs" if count == 1 else "differ"
        said = ("answered" if count == 1 else "answered the same") if usual else same
        sign = glyphs["running"] if usual and good else glyphs["warning"]
        tone = "ok" if usual and good else "warn"
        hosts = "host" if count == 1 else "hosts"
        head: Line = [(f"{sign} {count} {hosts} {said}", f"{tone} bold")]
        if not good:
            head.append((f", {end}", "bad"))
        lines = [[*head, (": ", "dim"), *self._names(group.answers)]]
        differs = not usual and not self._whole
        shown = group.difference if differs else (*answer.lines, *answer.errors)
        most = len(shown) if self._whole else SHOWN_LINES
        tones = {"+": "active", "-": "dim"} if differs else {}
        lines += [
            [("    " + fit(line, width - 4).rstrip(), tones.get(line[:1], "text"))]
            for line in shown[:most]
        ]
        if len(shown) > most:
            lines.append([(f"    and {len(shown) - most} more lines: w shows all", "dim")])
        if not shown:
            lines.append([("    nothing written", "dim")])
        return [*lines, []]

    def _names(self, items: Sequence[Answer] | Sequence[Intent]) -> Line:
        rows = self.console_app.state.rows
        words = []
        for item in items:
            row = rows.get(item.instance_id)
            label = f" ({row.label})" if row and row.label and len(items) <= 3 else ""
            words.append(f"{item.instance_id}{label}")
        return [(" ".join(words), "key")]

    def on_lines_view_step(self, event: LinesView.Step) -> None:
        """Move among the groups."""
        self._chosen = min(max(self._chosen + event.step, 0), max(len(self._starts) - 1, 0))
        self._draw()

    def on_lines_view_chosen(self) -> None:
        """Show whole answers, or what differs."""
        self.action_whole()

    def action_whole(self) -> None:
        """Show whole answers, or what differs."""
        self._whole = not self._whole
        self._draw()

    def action_numbers(self) -> None:
        """Let numbers tell a difference, or not."""
        self._numbers = not self._numbers
        self._draw()

    def action_mark(self) -> None:
        """Mark the group's instances in the fleet, and no others."""
        if not self._members:
            return
        app, members = self.console_app, self._members[self._chosen]
        app.action_show_fleet()
        app.fleet_screen.mark_only(members)

    def action_run(self, command: str) -> None:
        """Run another command on the same instances; without one, ask for it."""
        self.console_app.acts.ask(Verb.RUN, self.targets(), argument=command)
