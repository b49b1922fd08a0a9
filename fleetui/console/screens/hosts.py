"""Machines: what stands on each physical host, how it does, what it costs."""

from collections import defaultdict

import msgspec

from fleetui.console import figures
from fleetui.console.fitting import fit
from fleetui.console.glyphs import STAGE_WORDS
from fleetui.console.inspection import Line
from fleetui.console.screens.lists import ListScreen
from fleetui.console.widgets.lines_view import LinesView
from fleetui.domain.finding import Severity
from fleetui.domain.reading import FleetRow

HEAD_LINES = 2


class Machine(msgspec.Struct, frozen=True):
    """One machine with the instances on it now."""

    machine_id: int
    rows: tuple[FleetRow, ...]

    @property
    def worst(self) -> FleetRow | None:
        """The row with the gravest finding."""
        troubled = [row for row in self.rows if row.finding_severity]
        return min(troubled, key=lambda r: r.finding_severity.rank if r.finding_severity else 9,
                   default=None)  # fmt: skip


def machines(rows: list[FleetRow]) -> list[Machine]:
    """Group rows by machine: those with the gravest findings first, then by id."""
    groups: dict[int, list[FleetRow]] = defaultdict(list)
    for row in rows:
        if row.machine_id is not None:
            groups[row.machine_id].append(row)
    found = [Machine(key, tuple(members)) for key, members in groups.items()]

    def place(machine: Machine) -> tuple[int, int]:
        worst = machine.worst
        rank = worst.finding_severity.rank if worst and worst.finding_severity else 9
        return rank, machine.machine_id

    return sorted(found, key=place)


class HostsScreen(ListScreen):
    """Screen 5; enter shows a machine's instances in the fleet."""

    def __init__(self) -> None:
        super().__init__()
        self._machines: list[Machine] = []
        self._place = 0

    async def pull(self) -> None:
        """Draw from the rows at hand."""
        self._machines = machines(list(self.console_app.state.rows.values()))
        self._place = min(self._place, max(len(self._machines) - 1, 0))
        self._draw()

    def _draw(self) -> None:
        glyphs = self.console_app.glyphs
        title = f"{'machine':<10}{'GPU':<18}{'region':<18}{'inst':>4}  {'state':<12}{'proofs/h':>9}"
        lines: list[Line] = [
            [("hosts", "title bold"), (f"   {len(self._machines)} machines", "dim")],
            [(f"{title}{'$/h':>8}{'$/proof':>9}  finding", "title")],
        ]
        for machine in self._machines:
            row, worst = machine.rows[0], machine.worst
            rates = [r.proofs_per_hour for r in machine.rows if r.proofs_per_hour is not None]
            burn = sum(r.cost_per_hour or 0.0 for r in machine.rows)
            rate = sum(rates) if rates else None
            tone = "text"
            finding = ""
            if worst is not None and worst.finding_severity:
                tone = "bad" if worst.finding_severity is Severity.CRITICAL else "warn"
                sign = glyphs.severity(worst.finding_severity)
                finding = f"{sign} {worst.finding_category or '?'}"
            gpu = f"{row.num_gpus or '?'}x {row.gpu or '?'}"
            lines.append([
                (f"{machine.machine_id:<10}", "strong"), (fit(gpu, 17) + " ", "text"),
                (fit(row.geolocation or figures.UNKNOWN, 17) + " ", "dim"),
                (f"{len(machine.rows):>4}  ", "text"), (fit(STAGE_WORDS[row.stage], 12), "text"),
                (figures.rate(rate).rjust(9), "ok" if rate else "faint"),
                (figures.money(burn).rjust(8), "text"),
                (figures.money(burn / rate if rate else None, 3).rjust(9), "dim"),
                (f"  {finding}", tone),
            ])  # fmt: skip
        if not self._machines:
            lines.append([("no machine is known yet", "dim")])
        self.put(lines)
        self.query_one(LinesView).set_cursor(self._place + HEAD_LINES if self._machines else None)

    def on_lines_view_step(self, event: LinesView.Step) -> None:
        """Move among the machines."""
        self._place = min(max(self._place + event.step, 0), max(len(self._machines) - 1, 0))
        self._draw()

    def on_lines_view_chosen(self) -> None:
        """Show the machine's instances in the fleet."""
        if self._machines:
            machine = self._machines[self._place]
            self.app.pop_screen()
            self.console_app.fleet_screen.action_show_only(f"machine={machine.machine_id}")
