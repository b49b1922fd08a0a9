"""Acknowledging and snoozing findings: what the operator decides is written to the store."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fleetui.domain.finding_record import DecisionKind, FindingDecision, FindingRecord

if TYPE_CHECKING:
    from fleetui.console.app import FleetApp


async def decide(
    app: "FleetApp",
    records: Iterable[FindingRecord],
    kind: DecisionKind,
    *,
    seconds: float | None = None,
) -> int:
    """Write a decision about each finding; a snooze lasts `seconds`. Returns how many it were.

    Raises:
        StoreError: the store takes nothing.
    """
    now, count = app.state.now(), 0
    for record in records:
        decision = FindingDecision(
            kind=kind,
            actor=app.actor,
            at=now,
            finding_id=record.finding_id,
            until=None if seconds is None else now + seconds,
        )
        await app.store.decide(decision)
        count += 1
    await app.loops.read_decisions()
    return count
