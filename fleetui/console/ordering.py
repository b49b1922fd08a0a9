"""Which rows are shown and in what order; pure."""

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter, itemgetter

import msgspec

from fleetui.console.columns import BY_NAME
from fleetui.domain.finding import Severity
from fleetui.domain.query import Query
from fleetui.domain.quiet import Quiet
from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage

DEFAULT_SORT = "finding"


class Selection(msgspec.Struct, frozen=True):
    """The operator's filter and order."""

    query: Query = Query()
    failures_only: bool = False
    sort: str = DEFAULT_SORT
    descending: bool = False
    group: str = ""


def loud_severity(row: FleetRow, quiet: Mapping[int, Quiet]) -> Severity | None:
    """Return a row's worst severity that nobody has acknowledged or snoozed."""
    decided = quiet.get(row.instance_id)
    if decided is None:
        return row.finding_severity
    return None if decided.left is None else decided.left.severity


def is_failure(row: FleetRow, quiet: Mapping[int, Quiet]) -> bool:
    """Tell whether a row asks for an operator: critical, a warning, or failed and not heard of."""
    severity = loud_severity(row, quiet)
    if severity in (Severity.CRITICAL, Severity.WARNING):
        return True
    return row.stage is Stage.FAILED and row.instance_id not in quiet


Standing = tuple[bool, float | str | None]
"""Whether a row is shown (but for the filter), and what it is ordered by."""


def standing(selection: Selection, quiet: Mapping[int, Quiet]) -> Callable[[FleetRow], Standing]:
    """Return what tells whether a row is shown (but for the filter) and where it stands."""
    if selection.sort == DEFAULT_SORT:
        if selection.failures_only:
            return lambda row: (is_failure(row, quiet), _gravity(row, quiet))
        return lambda row: (True, _gravity(row, quiet))
    key = BY_NAME[selection.sort].key

    def by_column(row: FleetRow) -> Standing:
        value = key(row)
        shown = not selection.failures_only or is_failure(row, quiet)
        return shown, value.casefold() if isinstance(value, str) else value

    return by_column


_HEARD, _WELL = 8.0, 9.0
_RANKS = {severity: float(severity.rank) for severity in Severity}


def _gravity(row: FleetRow, quiet: Mapping[int, Quiet]) -> float:
    worst = row.finding_severity
    if worst is None and not quiet:
        return _WELL
    loud = loud_severity(row, quiet)
    if loud is None:
        return _WELL if worst is None else _HEARD
    return _RANKS[loud]


def select(
    rows: Iterable[FleetRow], selection: Selection, now: float, quiet: Mapping[int, Quiet]
) -> list[FleetRow]:
    """Return the rows to show, in order; ties are ordered by id, unknown values go last.

    By finding, those that are acknowledged or snoozed stand behind all that are not.
    """
    known: list[tuple[float | str, FleetRow]] = []
    unknown: list[FleetRow] = []
    terms = bool(selection.query.terms)
    standing_of = standing(selection, quiet)
    for row in sorted(rows, key=attrgetter("instance_id")):
        shown, value = standing_of(row)
        if not shown or (terms and not selection.query.matches(row, now)):
            continue
        if value is None:
            unknown.append(row)
        else:
            known.append((value, row))
    known.sort(key=itemgetter(0), reverse=selection.descending)
    return [row for _, row in known] + unknown
