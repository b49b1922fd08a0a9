"""What stands on which line of the fleet table: rows, groups, and marks on them. Pure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

import msgspec

from fleetui.console.glyphs import STAGE_WORDS
from fleetui.console.ordering import loud_severity
from fleetui.domain.finding import Severity
from fleetui.domain.quiet import Quiet
from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage

UNKNOWN_GROUP = "not known"

GROUPINGS: dict[str, Callable[[FleetRow], str | None]] = {
    "stage": lambda row: STAGE_WORDS[row.stage],
    "gpu": lambda row: f"{row.num_gpus or '?'}x {row.gpu}" if row.gpu else None,
    "machine": lambda row: str(row.machine_id) if row.machine_id is not None else None,
    "region": lambda row: row.geolocation,
    "finding": lambda row: row.finding_category or "no finding",
}
"""What rows can be grouped by, and the group a row is in."""

_STAGE_PLACES = {STAGE_WORDS[stage]: place for place, stage in enumerate(Stage)}


class Group(msgspec.Struct, frozen=True):
    """The line above a group's rows: its name and what its rows sum up to."""

    title: str
    count: int
    burn: float
    proofs_per_hour: float | None
    critical: int
    warnings: int


Line = int | Group
"""An instance's id, or the head of a group."""


def arrange(rows: Sequence[FleetRow], grouping: str, quiet: Mapping[int, Quiet]) -> list[Line]:
    """Return the lines for rows that are in order already; groups keep that order inside."""
    key = GROUPINGS.get(grouping)
    if key is None:
        return [row.instance_id for row in rows]
    members: dict[str, list[FleetRow]] = defaultdict(list)
    for row in rows:
        members[key(row) or UNKNOWN_GROUP].append(row)
    lines: list[Line] = []
    for title in sorted(members, key=lambda title: _group_place(grouping, title)):
        lines.append(_head(title, members[title], quiet))
        lines += [row.instance_id for row in members[title]]
    return lines


def arrange_still(
    lines: Sequence[Line], rows: Sequence[FleetRow], grouping: str, quiet: Mapping[int, Quiet]
) -> list[Line]:
    """Return the lines as they stand, without rows that went, with new ones at the end.

    While somebody reads, nothing jumps: a row keeps its place (and its group) though it would
    stand elsewhere by now. The heads' sums are those of the rows below them.
    """
    by_id = {row.instance_id: row for row in rows}
    kept: list[Line] = []
    below: dict[str, list[FleetRow]] = defaultdict(list)
    title = ""
    seen: set[int] = set()
    for line in lines:
        if isinstance(line, Group):
            title = line.title
            kept.append(line)
        elif line in by_id:
            kept.append(line)
            seen.add(line)
            below[title].append(by_id[line])
    fresh = [row for row in rows if row.instance_id not in seen]
    if grouping not in GROUPINGS:
        return [*kept, *(row.instance_id for row in fresh)]
    refreshed: list[Line] = []
    for line in kept:
        if not isinstance(line, Group):
            refreshed.append(line)
        elif below[line.title]:
            refreshed.append(_head(line.title, below[line.title], quiet))
    return [*refreshed, *(arrange(fresh, grouping, quiet) if fresh else [])]


def _group_place(grouping: str, title: str) -> tuple[int, str]:
    if title == UNKNOWN_GROUP:
        return (1_000_000, "")
    if grouping == "stage":
        return (_STAGE_PLACES.get(title, 999), title)
    return (0, title.casefold())


def _head(title: str, rows: Sequence[FleetRow], quiet: Mapping[int, Quiet]) -> Group:
    severities = Counter(loud_severity(row, quiet) for row in rows)
    rates = [row.proving_per_hour for row in rows if row.proving_per_hour is not None]
    return Group(
        title=title,
        count=len(rows),
        burn=sum(row.cost_per_hour or 0.0 for row in rows),
        proofs_per_hour=sum(rates) if rates else None,
        critical=severities[Severity.CRITICAL],
        warnings=severities[Severity.WARNING],
    )


class Marks:
    """Instances that the operator marked. Only live ones count, on every use."""

    def __init__(self) -> None:
        self.ids: set[int] = set()
        self._anchor: int | None = None

    def live(self, rows: Mapping[int, FleetRow], order: Sequence[int]) -> list[int]:
        """Return the marked instances that still exist, the visible ones first and in order."""
        if not self.ids:
            return []
        self.ids &= rows.keys()
        visible = [item for item in order if item in self.ids]
        return [*visible, *sorted(self.ids.difference(visible))]

    def toggle(self, instance_id: int) -> None:
        """Mark or unmark one; a range starts there."""
        self.ids ^= {instance_id}
        self._anchor = instance_id

    def extend(self, order: Sequence[int], instance_id: int) -> int:
        """Mark everything from the last mark to an instance; returns how many were new."""
        if instance_id not in order:
            return 0
        if self._anchor is None or self._anchor not in order:
            self._anchor = instance_id
        first, last = sorted((order.index(self._anchor), order.index(instance_id)))
        return self.add(order[first : last + 1], anchor=instance_id)

    def add(self, ids: Sequence[int], *, anchor: int | None = None) -> int:
        """Mark several; returns how many were new."""
        before = len(self.ids)
        self.ids.update(ids)
        self._anchor = anchor if anchor is not None else self._anchor
        return len(self.ids) - before

    def invert(self, order: Sequence[int]) -> None:
        """Turn the marks of the visible rows round."""
        self.ids ^= set(order)

    def clear(self) -> bool:
        """Forget all marks; false when there were none."""
        had = bool(self.ids)
        self.ids.clear()
        self._anchor = None
        return had
