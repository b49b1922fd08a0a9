"""Adds up what instances cost, from one inventory row to the next. No input or output but a log."""

import logging
from collections.abc import Callable, Mapping

import msgspec

from fleetui.domain.instance import Instance
from fleetui.domain.money import DAY_SECONDS, Spend, SpendTotal
from fleetui.domain.stage import Stage

log = logging.getLogger(__name__)

UNSEEN_SECONDS = 900.0
"""Rows further apart than this were not seen in between."""
MOST_SECONDS = 7 * DAY_SECONDS
"""The longest stretch between two collectors that is counted: beyond it a wrong clock is likelier
than a fleet that was left alone."""
CLOCK_SLACK_SECONDS = 300.0
"""So far the clock may run from the steady one; further, it was set."""


class SpendMeter:
    """Between two rows an instance costs what the earlier one says (facts: vast_api.md R9).

    When that one does not tell, what was known last counts; time of which no row told counts as
    unpriced. `earlier` gives the last stored row of each live instance and when it was seen,
    `totals` what was counted of them before. `steady` tells the seconds since some moment, whatever
    the clock is set to (`speed` of the fleet's to each): a clock that was set forward within this
    run is not followed, one that was set back is, so that nothing is booked on a day to come.
    Without it the clock is believed.
    """

    def __init__(
        self,
        earlier: Mapping[int, tuple[float, Instance]],
        totals: Mapping[int, SpendTotal],
        *,
        steady: Callable[[], float] | None = None,
        speed: float = 1.0,
    ) -> None:
        self._last = dict(earlier)
        self._totals = dict(totals)
        self._costs: dict[int, float] = {}
        """The last known cost of each, for rows that do not tell."""
        self._steady = steady
        self._speed = speed
        self._ahead: float | None = None
        """The time that counts, less the steady one."""
        self._distrusts = False

    def observe(self, instance: Instance, stage: Stage | None, at: float) -> tuple[Spend, ...]:
        """Take a row seen at `at`; returns what was spent since the one before, by day."""
        at = self._believed(at)
        known = self._costs.get(instance.instance_id)
        if instance.cost_per_hour is not None:
            self._costs[instance.instance_id] = instance.cost_per_hour
        last = self._last.get(instance.instance_id)
        self._last[instance.instance_id] = at, instance
        self._totals.setdefault(instance.instance_id, SpendTotal(since=at, dollars=None))
        if last is None or last[0] >= at:
            return ()
        since, row = last
        if at - since > MOST_SECONDS:
            log.warning(
                "instance %d was last seen %.0f days ago: only the last %.0f are counted",
                instance.instance_id, (at - since) / DAY_SECONDS, MOST_SECONDS / DAY_SECONDS,
            )  # fmt: skip
            since = at - MOST_SECONDS
        if row.cost_per_hour is None:
            row = msgspec.structs.replace(row, cost_per_hour=known)
        spent = tuple(_parts(row, stage or Stage.LOADING, since, at))
        self._totals[instance.instance_id] = _added(self._totals[instance.instance_id], spent)
        return spent

    def _believed(self, at: float) -> float:
        """Return the time that a row is counted at."""
        if self._steady is None:
            return at
        steady = self._steady() * self._speed
        slack = CLOCK_SLACK_SECONDS * self._speed
        if self._ahead is not None and at > self._ahead + steady + slack:
            if not self._distrusts:
                days = (at - self._ahead - steady) / DAY_SECONDS
                log.warning("the clock was set forward by %.2f days: money goes on without", days)
            self._distrusts = True
            return self._ahead + steady
        self._distrusts = False
        self._ahead = at - steady
        return at

    def total(self, instance_id: int) -> SpendTotal | None:
        """Return what an instance has cost since it was first seen."""
        return self._totals.get(instance_id)

    def forget(self, instance_id: int) -> None:
        """Drop an instance that is gone: nothing more is paid for it."""
        self._last.pop(instance_id, None)
        self._costs.pop(instance_id, None)
        self._totals.pop(instance_id, None)


def _added(total: SpendTotal, spent: tuple[Spend, ...]) -> SpendTotal:
    priced = [part.dollars for part in spent if part.seconds > part.unpriced_seconds]
    dollars = (total.dollars or 0.0) + sum(priced)
    return SpendTotal(
        since=total.since,
        dollars=dollars if priced or total.dollars is not None else None,
        unpriced_seconds=total.unpriced_seconds + sum(part.unpriced_seconds for part in spent),
    )


def _parts(row: Instance, stage: Stage, since: float, until: float) -> list[Spend]:
    """Split a stretch of time at the days' ends."""
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
                unpriced_seconds=seconds if row.cost_per_hour is None else 0.0,
            )
        )
        since = end
    return parts
