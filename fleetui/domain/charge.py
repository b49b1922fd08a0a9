"""What the API says was charged, and how that compares with what was counted here."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from fleetui.domain.money import Spend

COUNTED_KINDS = frozenset({"gpu", "disk"})
"""Kinds that an instance's cost per hour covers; bandwidth is charged by the byte besides."""
BANDWIDTH_KINDS = frozenset({"bwd", "bwu"})


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """US dollars of one kind for one instance on one day.

    `kind` is `gpu`, `disk`, `bwd`, `bwu` (bandwidth down and up) or `other`; `instance_id` is
    `None` for what is charged for something else than an instance (facts: vast_api.md 5.5).
    """

    instance_id: int | None
    kind: str
    dollars: float


class DayOfCharges(msgspec.Struct, frozen=True, kw_only=True):
    """All charges of one day (UTC, counted from the epoch), as read at `read_at` (epoch seconds).

    `whole`: the day was over when they were read; else `counted` has what was counted here until
    then, by instance.
    """

    day: int
    read_at: float
    charges: tuple[Charge, ...]
    whole: bool = False
    counted: dict[int, float] = {}


class Reconciled(msgspec.Struct, frozen=True, kw_only=True):
    """One day's or one instance's money by both books, in US dollars.

    `counted` is ours (GPU and disk), `charged` the API's for the same, `bandwidth` and `other`
    are what it charges besides. `difference` is `charged` less `counted`.
    """

    counted: float
    charged: float
    bandwidth: float = 0.0
    other: float = 0.0

    @property
    def difference(self) -> float:
        """What was charged beyond what was counted; negative when less was."""
        return self.charged - self.counted


def reconcile_days(spend: Iterable[Spend], days: Iterable[DayOfCharges]) -> dict[int, Reconciled]:
    """Compare the days that charges are known of."""
    ours = _ours(spend)
    return {day.day: _reconciled(sum(_counted(day, ours).values()), day.charges) for day in days}


def reconcile_instances(
    spend: Iterable[Spend], days: Iterable[DayOfCharges]
) -> dict[int | None, Reconciled]:
    """Compare instance by instance, over the days that charges are known of.

    `None` stands for what is charged for no instance.
    """
    ours = _ours(spend)
    counted: dict[int | None, float] = defaultdict(float)
    charges: dict[int | None, list[Charge]] = defaultdict(list)
    for day in days:
        for instance_id, dollars in _counted(day, ours).items():
            counted[instance_id] += dollars
        for charge in day.charges:
            charges[charge.instance_id].append(charge)
    return {
        instance_id: _reconciled(counted.get(instance_id, 0.0), charges.get(instance_id, ()))
        for instance_id in [*counted, *(item for item in charges if item not in counted)]
    }


def _ours(spend: Iterable[Spend]) -> dict[int, dict[int, float]]:
    """What was counted, by day and instance."""
    found: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for item in spend:
        found[item.day][item.instance_id] += item.dollars
    return found


def _counted(day: DayOfCharges, ours: Mapping[int, Mapping[int, float]]) -> Mapping[int, float]:
    return ours.get(day.day, {}) if day.whole else day.counted


def _reconciled(counted: float, charges: Iterable[Charge]) -> Reconciled:
    charged = bandwidth = other = 0.0
    for charge in charges:
        if charge.kind in COUNTED_KINDS:
            charged += charge.dollars
        elif charge.kind in BANDWIDTH_KINDS:
            bandwidth += charge.dollars
        else:
            other += charge.dollars
    return Reconciled(counted=counted, charged=charged, bandwidth=bandwidth, other=other)
