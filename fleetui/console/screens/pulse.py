"""Charts of the fleet's proofs and cost, and its stages, rates, failures and downloads."""

import asyncio
from collections import Counter, deque
from collections.abc import Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Vertical

from fleetui.console import figures
from fleetui.console.fitting import clip, fit
from fleetui.console.glyphs import STAGE_TONES, STAGE_WORDS
from fleetui.console.inspection import Line
from fleetui.console.pulse_figures import (
    download_speed,
    failures_over_time,
    moments,
    stages_over_time,
)
from fleetui.console.screens.base import FleetUIScreen
from fleetui.console.widgets.chart import Chart
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.lines_view import LinesView
from fleetui.domain.finding import Severity
from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage
from fleetui.reading.fleet_rates import GroupRate, fleet_rates, gpu_rates

WINDOWS = (("1 h", 1.0), ("6 h", 6.0), ("24 h", 24.0), ("7 d", 168.0))
GPU_LINES = 5
FEW_GPU_LINES = 2
FIXED_CELLS = 43
"""What the columns of the GPU types take beside the name."""
WINDOW_CELLS = 11
SPARK_POINTS = 32
HISTORY_SECONDS = 30.0
"""Real seconds between two readings of what went before."""
LEAST_HEIGHT = 14
"""Rows of the screen for each chart, the figures included."""
LINES_SHARE = 0.45
"""How much of the screen the figures may take from the charts."""


class PulseScreen(FleetUIScreen):
    """Screen 2: stages and GPU types in figures, proofs, cost and $/proof as charts."""

    scopes = ("pulse",)
    shown_by = "show_pulse"

    def __init__(self, *, ascii_only: bool) -> None:
        super().__init__()
        self._window = 2
        self._read_at = float("-inf")
        self._stages: dict[Stage, list[float | None]] = {}
        self._failures: list[float | None] = []
        self._speeds: deque[float | None] = deque(maxlen=SPARK_POINTS)
        self._speed = (0.0, 0)
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

    def on_resize(self) -> None:
        """As many charts as there is room for: a low one cannot be drawn."""
        height = self.size.height
        self.cost.display = height >= LEAST_HEIGHT * 2
        self.proof.display = height >= LEAST_HEIGHT * 3
        super().on_resize()

    def action_window(self) -> None:
        """Draw over the next span of time."""
        self._window = (self._window + 1) % len(WINDOWS)
        self._read_at = float("-inf")
        self.console_app.wake()

    async def pull(self) -> None:
        """Read the fleet's sums."""
        app = self.console_app
        name, hours = WINDOWS[self._window]
        now, utc = app.state.now(), app.preferences.now.utc
        samples = await app.store.fleet_samples(now - hours * 3600, hours * 3600 / 480)
        await self._read_history(now - hours * 3600, now)
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

    async def _read_history(self, since: float, now: float) -> None:
        """Read what stages, failures and downloads were, at most every half minute."""
        app = self.console_app
        if now - self._read_at < HISTORY_SECONDS * app.state.speed:
            return
        self._read_at = now
        times = moments(since, now, SPARK_POINTS)
        readings = await app.store.readings()
        records = await app.store.findings(resolved=True)
        self._stages = await asyncio.to_thread(stages_over_time, readings, times)
        self._failures = failures_over_time(records, times)
        self._speed = download_speed(readings)
        self._speeds.append(self._speed[0])

    def fleet_changed(self, changed: set[int]) -> None:
        """Draw figures and charts."""
        super().fleet_changed(changed)
        glyphs, rows = self.console_app.glyphs, list(self.console_app.state.rows.values())
        view = self.query_one(LinesView)
        over = f"hosts by stage, trouble, downloads over {WINDOWS[self._window][0]}"
        course: list[Line] = [[], [(over, "dim")], *self._over_time(rows)]
        lines = [*self._rates(rows), [], *self._gpus(rows), *course]
        view.styles.height = min(len(lines), max(int(self.size.height * LINES_SHARE), 4))
        cut = [clip(line, view.inner_width) for line in lines]
        view.show([[(glyphs.plain(text), tone) for text, tone in line] for line in cut])
        for chart in (self.proofs, self.cost, self.proof):
            chart.advance()

    def _rates(self, rows: Sequence[FleetRow]) -> list[Line]:
        """Return what the instances that prove now reach together, by window."""
        line: Line = [("proofs/h counted over", "title bold")]
        for rate in fleet_rates(rows):
            line += [
                (f"   {_window(rate)} ", "dim"), (figures.rate(rate.proofs_per_hour), "ok bold"),
                (f" ({rate.measured} of {rate.proving} hosts)", "faint"),
            ]  # fmt: skip
        if len(line) == 1:
            line = [("proofs have not been counted yet", "dim")]
        return [line]

    def _gpus(self, rows: Sequence[FleetRow]) -> list[Line]:
        """Return a line for each of the most frequent GPU types: count, cost, rates by window."""
        groups: dict[str, list[FleetRow]] = {}
        for row in rows:
            groups.setdefault(str(row.gpu or "GPU not known"), []).append(row)
        counted = gpu_rates(rows)
        windows = list(dict.fromkeys(_window(r) for rates in counted.values() for r in rates))
        most = sorted(groups.items(), key=lambda item: -len(item[1]))
        shown = GPU_LINES if self.size.height >= LEAST_HEIGHT * 2 else FEW_GPU_LINES
        gpu_width = max([12, *(min(cell_len(gpu), 24) for gpu, _ in most[:shown])])
        room = self.query_one(LinesView).inner_width - gpu_width - FIXED_CELLS
        windows = windows[: max(room // WINDOW_CELLS, 0)]
        titles = f"{'hosts':>7}{'failed':>8}{'proofs/h':>10}{'$/h':>9}{'$/proof':>9}"
        lines: list[Line] = [[
            (fit("GPU", gpu_width) + titles, "dim"),
            *((window.rjust(WINDOW_CELLS), "dim") for window in windows),
        ]]  # fmt: skip
        for gpu, members in most[:shown]:
            rates = [row.proving_per_hour for row in members if row.proving_per_hour is not None]
            burn = sum(row.cost_per_hour or 0.0 for row in members)
            each = burn / sum(rates) if sum(rates) else None
            failed = sum(row.stage is Stage.FAILED for row in members)
            by_window = {_window(rate): rate.proofs_per_hour for rate in counted.get(gpu, ())}
            lines.append([
                (fit(gpu, gpu_width), "text"), (f"{len(members):>7}", "strong"),
                (f"{failed or '':>8}", "bad"),
                (figures.rate(sum(rates) if rates else None).rjust(10), "ok"),
                (figures.money(burn).rjust(9), "text"), (figures.money(each, 3).rjust(9), "text"),
                *((figures.rate(by_window.get(w)).rjust(WINDOW_CELLS), "ok") for w in windows),
            ])  # fmt: skip
        if len(most) > shown:
            others = sum(len(members) for _, members in most[shown:])
            word = "type" if len(most) == shown + 1 else "types"
            hosts = "host" if others == 1 else "hosts"
            lines.append([(f"{others} {hosts} of {len(most) - shown} more {word}", "dim")])
        return lines

    def _over_time(self, rows: Sequence[FleetRow]) -> list[Line]:
        """Return stages, failures and downloads with their course over the window."""
        glyphs = self.console_app.glyphs
        counts = Counter(row.stage for row in rows)
        entries = [
            self._entry(
                f"{glyphs.stage(stage)} {STAGE_WORDS[stage]}",
                counts[stage],
                self._stages.get(stage, []),
                STAGE_TONES.get(stage, "busy"),
            )
            for stage in Stage
            if counts[stage] or stage in self._stages
        ]
        severities = self.console_app.state.severities()
        failures = severities[Severity.CRITICAL] + severities[Severity.WARNING]
        entries.append(
            self._entry(f"{glyphs['critical']} findings", failures, self._failures, "bad")
        )
        speed, loading = self._speed
        entries.append([
            *self._entry(f"{glyphs['down']} download", loading, list(self._speeds), "busy"),
            (f"{figures.size(speed)}/s", "text"),
        ])  # fmt: skip
        width = 20 + SPARK_POINTS + 3
        across = max(self.query_one(LinesView).inner_width // width, 1)
        return [
            [piece for entry in entries[start : start + across] for piece in entry]
            for start in range(0, len(entries), across)
        ]

    def _entry(self, word: str, count: int, values: list[float | None], tone: str) -> Line:
        spark = self.console_app.glyphs.sparkline(values, SPARK_POINTS)
        return [
            (word.ljust(12), tone), (f"{count}".rjust(6) + "  ", "strong"),
            (spark.rjust(SPARK_POINTS) + "   ", tone),
        ]  # fmt: skip

    def on_lines_view_leave(self) -> None:
        """Back to where this was opened."""
        self.console_app.leave(self)


def _window(rate: GroupRate) -> str:
    seconds = rate.window_seconds
    if seconds is None:
        return "whole run"
    return f"{seconds / 3600:.0f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min"
