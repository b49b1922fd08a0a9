"""Which rows are shown and in what order; pure."""

from collections.abc import Callable, Iterable

import msgspec

from fleetui.console.columns import BY_NAME
from fleetui.domain.finding import Severity
from fleetui.domain.query import Query
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


def is_failure(row: FleetRow) -> bool:
    """Tell whether a row asks for an operator: failed, critical, or a warning."""
    return row.stage is Stage.FAILED or row.finding_severity in (
        Severity.CRITICAL,
        Severity.WARNING,
    )


def select(rows: Iterable[FleetRow], selection: Selection, now: float) -> list[FleetRow]:
    """Return the rows to show, in order; ties are ordered by id, unknown values go last."""
    shown = [
        row
        for row in rows
        if (not selection.failures_only or is_failure(row)) and selection.query.matches(row, now)
    ]
    shown.sort(key=lambda row: row.instance_id)
    key = BY_NAME[selection.sort].key
    known: list[tuple[float | str, FleetRow]] = []
    unknown: list[FleetRow] = []
    for row in shown:
        value = key(row)
        if value is None:
            unknown.append(row)
        else:
            known.append((value.casefold() if isinstance(value, str) else value, row))
    first: Callable[[tuple[float | str, FleetRow]], float | str] = lambda pair: pair[0]  # noqa: E731 - one typed key
    known.sort(key=first, reverse=selection.descending)
    return [row for _, row in known] + unknown
