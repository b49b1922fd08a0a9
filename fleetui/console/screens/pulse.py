"""Charts of the fleet's proofs and cost per hour, and how many instances are in each stage."""

from collections import Counter

from textual.app import ComposeResult
from textual.containers import Vertical

from fleetui.console.glyphs import STAGE_TONES, STAGE_WORDS
from fleetui.console.palette import Piece
from fleetui.console.screens.base import FleetUIScreen
from fleetui.console.widgets.chart import Chart
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.lines_view import LinesView
from fleetui.domain.stage import Stage

HOURS = 24.0


class PulseScreen(FleetUIScreen):
    """Screen 2."""

    def __init__(self, *, ascii_only: bool) -> None:
        super().__init__()
        self.proofs = Chart("fleet proofs/h, 24 h", ascii_only=ascii_only, id="proofs")
        self.cost = Chart("fleet $/h, 24 h", tone="active", ascii_only=ascii_only, id="cost")

    def compose(self) -> ComposeResult:
        """Lay out the bars, the stages and the charts."""
        yield LineBar(id="header")
        yield LinesView(id="stages")
        with Vertical(id="pulse-charts"):
            yield self.proofs
            yield self.cost
        yield LineBar(id="footer")

    def on_mount(self) -> None:
        """Keys go to the list."""
        self.query_one(LinesView).focus()

    async def pull(self) -> None:
        """Read the fleet's sums."""
        now = self.console_app.state.now()
        samples = await self.console_app.store.fleet_samples(now - HOURS * 3600, HOURS * 3600 / 480)
        totals = self.console_app.state.totals()
        self.proofs.set_points(
            [(sample.at, sample.proofs_per_hour) for sample in samples],
            totals.proofs_per_hour if totals.measured else None,
        )
        self.cost.set_points(
            [(sample.at, sample.cost_per_hour) for sample in samples],
            totals.burn if totals.instances else None,
        )

    def fleet_changed(self, changed: set[int]) -> None:
        """Draw counts and charts."""
        super().fleet_changed(changed)
        app = self.console_app
        counts = Counter(row.stage for row in app.state.rows.values())
        view = self.query_one(LinesView)
        line: list[Piece] = []
        lines: list[list[Piece]] = [[]]
        used = 0
        for stage in Stage:
            if not counts[stage]:
                continue
            word = f"{app.glyphs.stage(stage)} {STAGE_WORDS[stage]} "
            length = len(word) + 6
            if used + length > view.inner_width:
                lines.append(line)
                line, used = [], 0
            line += [
                (word, STAGE_TONES.get(stage, "busy")),
                (f"{counts[stage]}".ljust(6), "strong"),
            ]
            used += length
        lines.append(line)
        view.show(lines)
        self.proofs.advance()
        self.cost.advance()

    def on_lines_view_leave(self) -> None:
        """Back to the fleet."""
        self.app.pop_screen()
