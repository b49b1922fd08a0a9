"""Machines as lines: what each did for us, what stands on it now. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from fleetui.console import figures
from fleetui.console.fitting import fit, wrap
from fleetui.console.glyphs import STAGE_WORDS, Glyphs
from fleetui.console.inspection import Line
from fleetui.console.palette import Piece
from fleetui.domain.finding import Severity
from fleetui.domain.machine_record import MachineRecord
from fleetui.domain.reading import FleetRow
from fleetui.reports.hosts import dollars_per_proof

WIDE, NARROW = 140, 100


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """One machine as one kind of card: its record, if any, and its instances of now."""

    machine_id: int
    record: MachineRecord | None = None
    rows: tuple[FleetRow, ...] = ()

    @property
    def worst(self) -> FleetRow | None:
        """The row with the gravest finding."""
        troubled = [row for row in self.rows if row.finding_severity]
        return min(
            troubled,
            key=lambda r: r.finding_severity.rank if r.finding_severity else 9,
            default=None,
        )

    @property
    def burn(self) -> float | None:
        """What its instances cost an hour, as far as they tell."""
        known = [row.cost_per_hour for row in self.rows if row.cost_per_hour is not None]
        return sum(known) if known else None

    @property
    def rate(self) -> float | None:
        """The measured proofs an hour of its instances."""
        known = [row.proofs_per_hour for row in self.rows if row.proofs_per_hour is not None]
        return sum(known) if known else None


def machines(records: Iterable[MachineRecord], rows: Iterable[FleetRow]) -> list[Machine]:
    """Put records and live rows together, by machine.

    A machine that was rented as several kinds of cards has its rows at the newest record.
    """
    living: dict[int, list[FleetRow]] = defaultdict(list)
    for row in rows:
        if row.machine_id is not None:
            living[row.machine_id].append(row)
    found = []
    for record in sorted(records, key=lambda item: item.last_seen or 0.0, reverse=True):
        rows_here = tuple(living.pop(record.machine_id, ()))
        found.append(Machine(machine_id=record.machine_id, record=record, rows=rows_here))
    found += [Machine(machine_id=key, rows=tuple(members)) for key, members in living.items()]
    return found


class Column(msgspec.Struct, frozen=True):
    """A column to sort by: its name, its words in the menu, and whether less is better."""

    name: str
    title: str
    rising: bool = False


SORTS = (
    Column("trouble", "trouble: the gravest finding of now first", rising=True),
    Column("proof", "$/proof: last price by middle benchmark", rising=True),
    Column("rate", "rate: middle benchmark"),
    Column("running", "running rate"),
    Column("price", "price an hour", rising=True),
    Column("download", "download speed"),
    Column("failures", "rentals that failed"),
    Column("seen", "last seen"),
    Column("machine", "machine id", rising=True),
)


def sorted_machines(found: Iterable[Machine], name: str) -> list[Machine]:
    """Sort by a column of `SORTS`; what is not known comes last, equals by their id."""
    column = next(item for item in SORTS if item.name == name)

    def key(machine: Machine) -> tuple[bool, float, int]:
        value = _figure(machine, name)
        if value is None:
            return True, 0.0, machine.machine_id
        return False, value if column.rising else -value, machine.machine_id

    return sorted(found, key=key)


def _figure(machine: Machine, name: str) -> float | None:
    record, worst = machine.record, machine.worst
    if name == "machine":
        return float(machine.machine_id)
    if name == "trouble":
        return float(worst.finding_severity.rank) if worst and worst.finding_severity else None
    if record is None:
        return None
    figures_of = {
        "proof": dollars_per_proof(record),
        "rate": record.median_rate,
        "running": record.running_rate,
        "price": record.price_last or None,
        "download": record.download_speed,
        "failures": float(record.failures) or None,
        "seen": record.last_seen,
    }
    return figures_of[name]


def heading(width: int) -> str:
    """Return the columns' titles."""
    past = f"{'rented':>8}" if width >= NARROW else ""
    wide = f"{'best':>7}{'last':>7}{'MB/s':>6}{'seen':>6}" if width >= WIDE else ""
    return (
        f"{'machine':<9}{'GPU':<17}{'live':>4}{past}{'bench/h':>9}{wide}"
        f"{'now/h':>7}{'$/h':>8}{'$/proof':>9}  state"
    )


def machine_line(machine: Machine, width: int, glyphs: Glyphs, now: float) -> Line:
    """Return a machine's line; `bench/h` is the middle of its benchmarks."""
    record, rate = machine.record, machine.rate
    gpu = _gpu(machine)
    line: Line = [
        (fit(str(machine.machine_id), 8) + " ", "strong"),
        (fit(gpu, 16) + " ", "text"),
        (f"{len(machine.rows) or '':>4}", "text"),
        *([_rented(record)] if width >= NARROW else []),
        (figures.rate(record.median_rate if record else None).rjust(9), "text"),
    ]
    if width >= WIDE:
        speed = record.download_speed if record else None
        seen = record.last_seen if record else None
        line += [
            (figures.rate(record.best_rate if record else None).rjust(7), "dim"),
            (figures.rate(record.last_rate if record else None).rjust(7), "dim"),
            (figures.whole(None if speed is None else speed / 1e6).rjust(6), "dim"),
            (figures.age(None if seen is None else now - seen).rjust(6), "dim"),
        ]
    price = machine.burn if machine.burn is not None else (record.price_last if record else None)
    each = dollars_per_proof(record) if record else None
    if machine.burn is not None and rate:
        each = machine.burn / rate
    return [
        *line,
        (figures.rate(rate).rjust(7), "ok" if rate else "faint"),
        (figures.money(price).rjust(8), "text" if machine.rows else "dim"),
        (figures.money(each, 4).rjust(9), "dim"),
        *_state(machine, glyphs),
    ]


def _rented(record: MachineRecord | None) -> Piece:
    """How often it was rented, and how many of these rentals failed."""
    if record is None:
        return f"{figures.UNKNOWN:>8}", "dim"
    if not record.failures:
        return f"{record.rentals:>8}", "dim"
    return f"{record.rentals}-{record.failures}".rjust(8), "warn"


def _gpu(machine: Machine) -> str:
    record = machine.record
    if machine.rows:
        row = machine.rows[0]
        return f"{row.num_gpus or '?'}x {row.gpu or '?'}"
    if record is None or record.gpu_name is None:
        return figures.UNKNOWN
    return f"{record.num_gpus or '?'}x {record.gpu_name}"


def _state(machine: Machine, glyphs: Glyphs) -> Line:
    record, worst = machine.record, machine.worst
    pieces: Line = []
    if record is not None and record.blacklist is not None:
        pieces.append(("  BLACKLISTED", "bad bold"))
    if worst is not None and worst.finding_severity:
        tone = "bad" if worst.finding_severity is Severity.CRITICAL else "warn"
        sign = glyphs.severity(worst.finding_severity)
        pieces.append((f"  {sign} {worst.finding_category or '?'}", tone))
    elif machine.rows:
        pieces.append((f"  {STAGE_WORDS[machine.rows[0].stage]}", "text"))
    else:
        pieces.append(("  not rented now", "faint"))
    past = len(record.findings) if record is not None else 0
    if past:
        pieces.append((f"  {past} past fault{'s' * (past > 1)}", "dim"))
    return pieces


def record_lines(machine: Machine, width: int, *, utc: bool) -> list[Line]:
    """Return what is remembered of a machine, for below its line."""
    record = machine.record
    if record is None:
        return [[("  no record yet", "dim")]]
    place = record.geolocation or figures.UNKNOWN
    ram = figures.UNKNOWN if record.cpu_ram_gb is None else f"{record.cpu_ram_gb:.0f} GB"
    lines: list[Line] = [
        [
            (
                (
                    f"  {place}, host {record.host_id or '?'}, {ram} RAM, first seen"
                    f" {figures.date_time(record.first_seen, utc=utc)},"
                    f" {record.rented_hours:.1f} h rented"
                ),
                "dim",
            )
        ],
        [
            (
                (
                    f"  price ${figures.money(record.price_least, 3)} to"
                    f" ${figures.money(record.price_most, 3)}, last"
                    f" ${figures.money(record.price_last, 3)} an hour{_changes(record, utc=utc)}"
                ),
                "text",
            )
        ],
        [
            ("  benchmarks " + (_list(record.rates) or "none"), "text"),
            (
                "   running " + (_list([run.proofs_per_hour for run in record.running]) or "none"),
                "text",
            ),
        ],
    ]
    if mark := record.blacklist:
        text = f"blacklisted by {mark.by} {figures.date_time(mark.at, utc=utc)}: {mark.reason}"
        lines += [[("  " + part, "bad")] for part in wrap(text, width - 2)[:3]]
    for finding in record.findings[:8]:
        tone = "bad" if finding.severity is Severity.CRITICAL else "warn"
        text = f" x{finding.occurrences}, last {figures.date_time(finding.last_seen, utc=utc)}"
        lines.append([(f"  {finding.category}", tone), (text, "dim")])
        lines += [[("    " + part, "text")] for part in wrap(finding.summary, width - 4)[:2]]
    return lines


def _changes(record: MachineRecord, *, utc: bool) -> str:
    """Say the newest changes of the price."""
    changes = record.prices[-5:]
    if len(changes) < 2:
        return ""
    said = (
        f"{figures.date_time(point.at, utc=utc)[5:16]} ${figures.money(point.price, 3)}"
        for point in changes
    )
    return ": " + ", ".join(said)


def _list(values: Sequence[float], most: int = 8) -> str:
    shown = " ".join(figures.rate(value) for value in values[-most:])
    return f"… {shown}" if len(values) > most else shown
