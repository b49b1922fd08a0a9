"""Which rows are shown and in what order; pure."""

from collections.abc import Callable, Iterable, Mapping

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


def standing(
    row: FleetRow, selection: Selection, quiet: Mapping[int, Quiet]
) -> tuple[bool, float | str | None]:
    """Return what decides whether a row is shown (but for the filter) and where it stands."""
    shown = not selection.failures_only or is_failure(row, quiet)
    if selection.sort == DEFAULT_SORT:
        severity = loud_severity(row, quiet)
        heard = 8.0 if row.finding_severity is not None else 9.0
        return shown, heard if severity is None else float(severity.rank)
    value = BY_NAME[selection.sort].key(row)
    return shown, value.casefold() if isinstance(value, str) else value


def select(
    rows: Iterable[FleetRow], selection: Selection, now: float, quiet: Mapping[int, Quiet]
) -> list[FleetRow]:
    """Return the rows to show, in order; ties are ordered by id, unknown values go last.

    By finding, those that are acknowledged or snoozed stand behind all that are not.
    """
    known: list[tuple[float | str, FleetRow]] = []
    unknown: list[FleetRow] = []
    terms = bool(selection.query.terms)
    for row in sorted(rows, key=lambda row: row.instance_id):
        shown, value = standing(row, selection, quiet)
        if not shown or (terms and not selection.query.matches(row, now)):
            continue
        if value is None:
            unknown.append(row)
        else:
            known.append((value, row))
    first: Callable[[tuple[float | str, FleetRow]], float | str] = lambda pair: pair[0]  # noqa: E731 - one typed key
    known.sort(key=first, reverse=selection.descending)
    return [row for _, row in known] + unknown
