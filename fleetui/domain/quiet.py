"""Findings that somebody has decided to hear no more of, instance by instance. Pure."""

from collections.abc import Iterable

import msgspec

from fleetui.domain.finding import Finding
from fleetui.domain.finding_record import FindingRecord, FindingState

_QUIET = frozenset({FindingState.ACKNOWLEDGED, FindingState.SNOOZED})


class Quiet(msgspec.Struct, frozen=True):
    """What was decided about an instance's findings, and the worst that is still open."""

    state: FindingState
    left: Finding | None = None


def quiet_instances(records: Iterable[FindingRecord], now: float) -> dict[int, Quiet]:
    """Return the instances of which a finding is acknowledged or snoozed at `now`."""
    decided: dict[int, FindingState] = {}
    left: dict[int, Finding] = {}
    for record in records:
        state = record.state(now)
        if state in _QUIET:
            decided.setdefault(record.instance_id, state)
        elif state is FindingState.OPEN:
            worst = left.get(record.instance_id)
            if worst is None or record.finding.severity.rank < worst.severity.rank:
                left[record.instance_id] = record.finding
    return {item: Quiet(state, left.get(item)) for item, state in decided.items()}
