"""Sums over the fleet's rows, kept up as rows change: a change costs its own row alone. Pure."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from fleetui.domain.finding import Severity
from fleetui.domain.host import SshState
from fleetui.domain.quiet import Quiet
from fleetui.domain.reading import FleetRow

OUT_OF_SIGHT_SECONDS = 300.0
"""Real seconds without a log byte after which a row without SSH tells the past."""
_SIGHTED = frozenset({SshState.CONNECTED, SshState.CONNECTING, SshState.NONE})
_MILLIONTH = 1_000_000


def out_of_sight(row: FleetRow, now: float, speed: float) -> bool:
    """Tell whether what a row says of its work was read too long ago over a link that is lost."""
    newest = row.newest_byte_at
    if row.ssh in _SIGHTED or newest is None:
        return False
    return now - newest > OUT_OF_SIGHT_SECONDS * speed


class Totals(msgspec.Struct, frozen=True):
    """Sums over the live rows; the proof rate sums measured rates of present work only."""

    instances: int = 0
    burn: float = 0.0
    """Dollars an hour; `unpriced` rows do not tell theirs, so that it is more than this."""
    unpriced: int = 0
    proofs_per_hour: float = 0.0
    measured: int = 0


class Tally:
    """Running sums, in whole millionths so that they stay exact however often rows change."""

    def __init__(self) -> None:
        self._instances = self._burn = self._unpriced = self._proofs = self._measured = 0
        self._findings: Counter[tuple[Severity, str]] = Counter()
        self._unsure: dict[int, FleetRow] = {}
        """Measured rows that time alone may take out of sight."""

    def replace(self, old: FleetRow | None, new: FleetRow | None) -> None:
        """Take a row's change in; `None`: there was none, or it went."""
        if old is None or new is None or old.cost_per_hour != new.cost_per_hour:
            self._count_price(old, -1)
            self._count_price(new, 1)
        if old is None or new is None or old.proving_per_hour != new.proving_per_hour:
            self._count_rate(old, -1)
            self._count_rate(new, 1)
        if old is None or new is None or _finding(old) != _finding(new):
            self._count_finding(old, -1)
            self._count_finding(new, 1)
        self._instances += (new is not None) - (old is not None)
        if old is not None:
            self._unsure.pop(old.instance_id, None)
        if new is not None and new.ssh not in _SIGHTED and new.proving_per_hour is not None:
            self._unsure[new.instance_id] = new

    def totals(self, now: float, speed: float) -> Totals:
        """Return the sums; rates that were read too long ago do not count."""
        unseen = [row for row in self._unsure.values() if out_of_sight(row, now, speed)]
        proofs = self._proofs - sum(_millionths(row.proving_per_hour) for row in unseen)
        return Totals(
            instances=self._instances,
            burn=self._burn / _MILLIONTH,
            unpriced=self._unpriced,
            proofs_per_hour=proofs / _MILLIONTH,
            measured=self._measured - len(unseen),
        )

    def loud(
        self, rows: Mapping[int, FleetRow], quiet: Mapping[int, Quiet]
    ) -> Counter[tuple[Severity, str]]:
        """Count each row's worst finding that nobody has acknowledged or snoozed."""
        counts = Counter(self._findings)
        for instance_id, decided in quiet.items():
            row = rows.get(instance_id)
            if row is None:
                continue
            if (finding := _finding(row)) is not None:
                counts[finding] -= 1
            if decided.left is not None:
                counts[decided.left.severity, decided.left.category] += 1
        return +counts

    def _count_price(self, row: FleetRow | None, sign: int) -> None:
        if row is not None:
            self._burn += sign * _millionths(row.cost_per_hour)
            self._unpriced += sign * (row.cost_per_hour is None)

    def _count_rate(self, row: FleetRow | None, sign: int) -> None:
        if row is not None:
            self._proofs += sign * _millionths(row.proving_per_hour)
            self._measured += sign * (row.proving_per_hour is not None)

    def _count_finding(self, row: FleetRow | None, sign: int) -> None:
        if row is not None and (finding := _finding(row)) is not None:
            self._findings[finding] += sign


def _millionths(value: float | None) -> int:
    if value is None:
        return 0
    try:
        return round(value * _MILLIONTH)
    except (OverflowError, ValueError):
        return 0  # not a number that can be summed


def _finding(row: FleetRow) -> tuple[Severity, str] | None:
    if row.finding_severity is None:
        return None
    return row.finding_severity, row.finding_category or "?"
