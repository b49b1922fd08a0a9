"""The fleet's findings grouped by their signature, what concerns the whole fleet first. Pure."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from fleetui.domain.finding import Finding, Severity
from fleetui.domain.finding_record import FLEET, FindingRecord, FindingState
from fleetui.domain.text import SafeText

_STATE_ORDER = list(FindingState)


class FindingGroup(msgspec.Struct, frozen=True, kw_only=True):
    """One fault and the instances that have it; `newest` is its latest wording.

    `state` is open while any of the records is. `is_fleet` marks a fault of the fleet as a
    whole; the groups that it explains carry its category in `led_by`.
    """

    category: str
    signature: str
    severity: Severity
    state: FindingState
    newest: Finding
    instance_ids: tuple[int, ...]
    records: tuple[FindingRecord, ...]
    first_seen: float
    last_seen: float
    is_fleet: bool = False
    led_by: str | None = None

    @property
    def newest_id(self) -> int:
        """The instance of the latest wording; 0 is the fleet."""
        return max(self.records, key=lambda record: record.last_seen).instance_id

    @property
    def label(self) -> SafeText:
        """How many hosts have it, in words."""
        count = len(self.instance_ids)
        return SafeText("fleet" if not count else f"{count} host" + ("s" if count > 1 else ""))


def group_findings(
    records: Iterable[FindingRecord], now: float, *, with_info: bool = False
) -> list[FindingGroup]:
    """Group records: faults of the fleet first, then what still asks for somebody, the worst first.

    A single finding that a fault of the fleet explains comes after all others.
    """
    chosen = [
        record
        for record in records
        if with_info or record.finding.severity is not Severity.INFO or record.instance_id == FLEET
    ]
    leaders = {
        (record.finding.category, instance_id): record.finding.category
        for record in chosen
        if record.instance_id == FLEET and record.resolved_at is None
        for instance_id in record.instance_ids
    }
    members: dict[tuple[bool, str], list[FindingRecord]] = defaultdict(list)
    for record in chosen:
        members[record.instance_id == FLEET, record.finding.signature].append(record)
    groups = [
        _group(signature, group, now, leaders, is_fleet=is_fleet)
        for (is_fleet, signature), group in members.items()
    ]
    return sorted(groups, key=_order)


def _group(
    signature: str,
    records: list[FindingRecord],
    now: float,
    leaders: dict[tuple[str, int], str],
    *,
    is_fleet: bool,
) -> FindingGroup:
    newest = max(records, key=lambda record: record.last_seen)
    category = newest.finding.category
    led = {leaders.get((category, record.instance_id)) for record in records}
    own = {record.instance_id for record in records} - {FLEET}
    return FindingGroup(
        category=category,
        signature=signature,
        severity=min((r.finding.severity for r in records), key=lambda severity: severity.rank),
        state=min((record.state(now) for record in records), key=_STATE_ORDER.index),
        newest=newest.finding,
        instance_ids=tuple(sorted(own | {item for r in records for item in r.instance_ids})),
        records=tuple(records),
        first_seen=min(record.first_seen for record in records),
        last_seen=max(record.last_seen for record in records),
        is_fleet=is_fleet,
        led_by=next(iter(led)) if len(led) == 1 and not is_fleet else None,
    )


def _order(group: FindingGroup) -> tuple[object, ...]:
    return (
        _STATE_ORDER.index(group.state),
        not group.is_fleet,
        group.led_by is not None,
        group.severity.rank,
        -len(group.instance_ids),
        group.category,
        group.signature,
    )
