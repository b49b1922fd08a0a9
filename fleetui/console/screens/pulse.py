"""Charts of the fleet's proofs and cost per hour, and how many instances are in each stage."""

from collections import Counter

from textual.app import ComposeResult
from textual.containers import Vertical

from fleetui.console import figures
from fleetui.console.glyphs import STAGE_TONES, STAGE_WORDS
from fleetui.console.palette import Piece
from fleetui.console.screens.base import FleetUIScreen
from fleetui.console.widgets.chart import Chart
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.lines_view import LinesView
from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage

WINDOWS = (("1 h", 1.0), ("6 h", 6.0), ("24 h", 24.0), ("7 d", 168.0))
GPU_LINES = 5


class PulseScreen(FleetUIScreen):
    """Screen 2: stages and GPU types in figures, proofs, cost and $/proof as charts."""

    scopes = ("pulse",)

    def __init__(self, *, ascii_only: bool) -> None:
        super().__init__()
        self._window = 2
        self.proofs = Chart("fleet proofs/h", ascii_only=ascii_only, id="proofs")
        self.cost = Chart("fleet $/h", tone="active", ascii_only=ascii_only, id="cost")
        self.proof = Chart("$/proof", tone="busy", ascii_only=ascii_only, id="proof", digits=3)

    def compose(self) -> ComposeResult:
        """Lay out the bars, the figures and the charts."""
        yield LineBar(id="header")
        yield LinesView(id="stages")
        with Vertical(id="pulse-charts"):
            yield self.proofs
            yield self.cost
            yield self.proof
        yield LineBar(id="footer")

    def on_mount(self) -> None:
        """Keys go to the list."""
        super().on_mount()
        self.set_focus(self.query_one(LinesView))

    def action_window(self) -> None:
        """Draw over the next span of time."""
        self._window = (self._window + 1) % len(WINDOWS)
        self.console_app.wake()

    async def pull(self) -> None:
        """Read the fleet's sums."""
        app = self.console_app
        name, hours = WINDOWS[self._window]
        now, utc = app.state.now(), app.preferences.now.utc
        samples = await app.store.fleet_samples(now - hours * 3600, hours * 3600 / 480)
        totals = app.state.totals()
        for chart in (self.proofs, self.cost, self.proof):
            chart.set_window(name)
        rate = totals.proofs_per_hour if totals.measured else None
        self.proofs.set_points([(s.at, s.proofs_per_hour) for s in samples], rate, utc=utc)
        burn = totals.burn if totals.instances else None
        self.cost.set_points([(s.at, s.cost_per_hour) for s in samples], burn, utc=utc)
        each = burn / rate if burn is not None and rate else None
        self.proof.set_points(
            [
                (s.at, s.cost_per_hour / s.proofs_per_hour)
                for s in samples
                if s.cost_per_hour is not None and s.proofs_per_hour
            ],
            each,
            utc=utc,
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
        view.show(lines + self._gpus())
        for chart in (self.proofs, self.cost, self.proof):
            chart.advance()

    def _gpus(self) -> list[list[Piece]]:
        """Return a line for each of the most frequent GPU types: count, rate, cost."""
        app = self.console_app
        groups: dict[str, list[FleetRow]] = {}
        for row in app.state.rows.values():
            groups.setdefault(row.gpu or "not known", []).append(row)
        lines: list[list[Piece]] = []
        for gpu, rows in sorted(groups.items(), key=lambda item: -len(item[1]))[:GPU_LINES]:
            rates = [row.proofs_per_hour for row in rows if row.proofs_per_hour is not None]
            burn = sum(row.cost_per_hour or 0.0 for row in rows)
            rate = sum(rates) if rates else None
            each = burn / rate if rate else None
            failed = sum(row.stage is Stage.FAILED for row in rows)
            lines.append([
                (app.glyphs.plain(gpu).ljust(18), "text"), (f"{len(rows)}".rjust(4), "strong"),
                (app.glyphs.plain(figures.rate(rate)).rjust(9), "ok"), (" proofs/h", "dim"),
                (f"{figures.money(burn)}".rjust(9), "text"), (" $/h", "dim"),
                (app.glyphs.plain(figures.money(each, 3)).rjust(8), "text"), (" $/proof", "dim"),
                (f"  {failed} failed" if failed else "", "bad"),
            ])  # fmt: skip
        return lines

    def on_lines_view_leave(self) -> None:
        """Back to where this was opened."""
        self.console_app.leave(self)
