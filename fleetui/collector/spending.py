"""Adds up what instances cost, from one inventory row to the next. Pure."""

from collections.abc import Mapping

import msgspec

from fleetui.domain.instance import Instance
from fleetui.domain.money import Spend, SpendTotal
from fleetui.domain.stage import Stage

DAY_SECONDS = 86_400.0
UNSEEN_SECONDS = 900.0
"""Rows further apart than this were not seen in between."""


class SpendMeter:
    """Between two rows an instance costs what the earlier one says (facts: vast_api.md R9).

    When that one does not tell, what was known last counts.

    `earlier` gives the last stored row of each live instance and when it was seen, `totals` what
    was counted of them before.
    """

    def __init__(
        self,
        earlier: Mapping[int, tuple[float, Instance]],
        totals: Mapping[int, SpendTotal],
    ) -> None:
        self._last = dict(earlier)
        self._totals = dict(totals)
        self._costs: dict[int, float] = {}
        """The last known cost of each, for rows that do not tell."""

    def observe(self, instance: Instance, stage: Stage | None, at: float) -> tuple[Spend, ...]:
        """Take a row seen at `at`; returns what was spent since the one before, by day."""
        known = self._costs.get(instance.instance_id)
        if instance.cost_per_hour is not None:
            self._costs[instance.instance_id] = instance.cost_per_hour
        last = self._last.get(instance.instance_id)
        self._last[instance.instance_id] = at, instance
        self._totals.setdefault(instance.instance_id, SpendTotal(since=at, dollars=0.0))
        if last is None or last[0] >= at:
            return ()
        since, row = last
        if row.cost_per_hour is None:
            row = msgspec.structs.replace(row, cost_per_hour=known)
        spent = tuple(_parts(row, stage or Stage.LOADING, since, at))
        total = self._totals[instance.instance_id]
        dollars = total.dollars + sum(part.dollars for part in spent)
        self._totals[instance.instance_id] = SpendTotal(since=total.since, dollars=dollars)
        return spent

    def total(self, instance_id: int) -> SpendTotal | None:
        """Return what an instance has cost since it was first seen."""
        return self._totals.get(instance_id)

    def forget(self, instance_id: int) -> None:
        """Drop an instance that is gone: nothing more is paid for it."""
        self._last.pop(instance_id, None)
        self._costs.pop(instance_id, None)
        self._totals.pop(instance_id, None)


def _parts(row: Instance, stage: Stage, since: float, until: float) -> list[Spend]:
    """Split a stretch of time at the days' ends; a row without a cost counts time only."""
    unseen = until - since > UNSEEN_SECONDS
    parts = []
    while since < until:
        day = int(since // DAY_SECONDS)
        end = min(until, (day + 1) * DAY_SECONDS)
        seconds = end - since
        parts.append(
            Spend(
                instance_id=row.instance_id,
                machine_id=row.machine_id,
                day=day,
                stage=stage,
                began_at=since,
                seconds=seconds,
                unseen_seconds=seconds if unseen else 0.0,
                dollars=(row.cost_per_hour or 0.0) * seconds / 3600.0,
            )
        )
        since = end
    return parts
