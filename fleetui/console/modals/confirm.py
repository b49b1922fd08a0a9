"""The dialog before something is done to instances."""

from textual.binding import Binding

from fleetui.console.act_words import ACTS
from fleetui.console.acting import REASON, Request
from fleetui.console.fleet_state import FleetState
from fleetui.console.glyphs import STAGE_WORDS, Glyphs
from fleetui.console.modals.reading import ReadingView
from fleetui.console.modals.typed_dialog import TypedDialog

TITLES = {verb: (words.question, words.button) for verb, words in ACTS.items()}
"""Verb to the question and the word on the button."""


class ConfirmDialog(TypedDialog):
    """The targets as they were seen; it says what becomes of them meanwhile.

    What can be made good again is accepted by a `y`. For many targets their count must be typed,
    for what is final the last four digits of the id. `d` asks for a drain in place of a destroy,
    `v` shows the script that would run.
    """

    BINDINGS = [  # noqa: RUF012 - textual's own shape
        Binding("d", "drain", show=False),
        Binding("v", "show_script", show=False),
    ]

    def __init__(
        self, request: Request, state: FleetState, glyphs: Glyphs, *, account: str
    ) -> None:
        title, word = TITLES[request.verb]
        many, wanted = len(request.rows) > 1, request.typed
        loss = list(request.loss)
        if request.reason != REASON:
            loss.insert(0, f"because {request.reason}")
        keys = ["d lets it end its proofs before (drain)"] if request.can_drain else []
        keys += ["v shows the script"] if request.script else []
        super().__init__(
            glyphs,
            title=title,
            word=word,
            target=request.name,
            account=account,
            loss="\n".join(loss),
            command=request.command,
            wanted=wanted,
            wants=f"the number of instances ({wanted})"
            if many
            else f"the last {len(wanted)} digits of the id",
            wrong="their number" if many else "how its id ends",
            more="; ".join(keys),
        )
        self.request = request
        self._state = state
        self._stages = {row.instance_id: row.stage for row in request.rows}
        self._gone: set[int] = set()

    @property
    def armed(self) -> bool:
        """Whether the confirmation given so far is enough, for targets that exist."""
        return super().armed and bool(self.live)

    @property
    def live(self) -> list[int]:
        """The targets that still exist."""
        return [item for item in self._stages if item not in self._gone]

    def action_drain(self) -> None:
        """Ask for a drain instead."""
        if self.request.can_drain:
            self.dismiss("drain")

    def action_show_script(self) -> None:
        """Show all that would run on the host."""
        if self.request.script:
            lines = self.request.script.split("\n")
            title = f"what {self.request.words} runs"
            self.app.push_screen(ReadingView(title, lines, self._glyphs))

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
                    self.news(f"{name} is gone: {rest}")
            elif row.stage is not stage:
                before, after = STAGE_WORDS[stage], STAGE_WORDS[row.stage]
                it = "it" if one else name
                self.news(f"meanwhile {it} went from {before} to {after}: confirm anew")
                self._stages[instance_id] = row.stage
                self.type_anew("")
