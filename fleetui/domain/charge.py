"""What the API says was charged, and how that compares with what was counted here."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from fleetui.domain.money import DAY_SECONDS, Spend

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
    are what it charges besides. `difference` is `charged` less `counted`. `before_us` (and
    `before_us_counted`, ours for the same) is charged for days on which we first saw an instance,
    and for instances that we never saw: the API tells sums of days only, so that nobody can say
    how much of it lies before our first look. It is in neither `charged` nor `difference`.
    """

    counted: float
    charged: float
    before_us: float = 0.0
    before_us_counted: float = 0.0
    bandwidth: float = 0.0
    other: float = 0.0

    @property
    def difference(self) -> float:
        """What was charged beyond what was counted; negative when less was."""
        return self.charged - self.counted

    def plus(self, more: "Reconciled") -> "Reconciled":
        """Add another day's, or another instance's."""
        return Reconciled(
            **{name: getattr(self, name) + getattr(more, name) for name in self.__struct_fields__}
        )


NOTHING = Reconciled(counted=0.0, charged=0.0)


def reconcile_days(
    spend: Iterable[Spend], days: Iterable[DayOfCharges], seen_since: Mapping[int, float]
) -> dict[int, Reconciled]:
    """Compare the days that charges are known of.

    `seen_since` has when each instance was first seen, in epoch seconds.
    """
    found: dict[int, Reconciled] = {}
    for day, _, book in _books(spend, days, seen_since):
        found[day] = found.get(day, NOTHING).plus(book)
    return found


def reconcile_instances(
    spend: Iterable[Spend], days: Iterable[DayOfCharges], seen_since: Mapping[int, float]
) -> dict[int | None, Reconciled]:
    """Compare instance by instance, over the days that charges are known of.

    `None` stands for what is charged for no instance.
    """
    found: dict[int | None, Reconciled] = {}
    for _, instance_id, book in _books(spend, days, seen_since):
        found[instance_id] = found.get(instance_id, NOTHING).plus(book)
    return found


def _books(
    spend: Iterable[Spend], days: Iterable[DayOfCharges], seen_since: Mapping[int, float]
) -> Iterator[tuple[int, int | None, Reconciled]]:
    """Give both books of each day and instance."""
    ours = _ours(spend)
    for day in days:
        counted = ours.get(day.day, {}) if day.whole else day.counted
        charges: dict[int | None, list[Charge]] = defaultdict(list)
        for charge in day.charges:
            charges[charge.instance_id].append(charge)
        for instance_id in {None, *counted, *charges}:
            since = None if instance_id is None else seen_since.get(instance_id)
            is_known = instance_id is None or (since is not None and since < day.day * DAY_SECONDS)
            mine = 0.0 if instance_id is None else counted.get(instance_id, 0.0)
            book = _reconciled(mine, charges.get(instance_id, ()), is_known=is_known)
            yield day.day, instance_id, book


def _ours(spend: Iterable[Spend]) -> dict[int, dict[int, float]]:
    """What was counted, by day and instance."""
    found: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for item in spend:
        found[item.day][item.instance_id] += item.dollars
    return found


def _reconciled(counted: float, charges: Iterable[Charge], *, is_known: bool) -> Reconciled:
    charged = bandwidth = other = 0.0
    for charge in charges:
        if charge.kind in COUNTED_KINDS:
            charged += charge.dollars
        elif charge.kind in BANDWIDTH_KINDS:
            bandwidth += charge.dollars
        else:
            other += charge.dollars
    if is_known:
        return Reconciled(counted=counted, charged=charged, bandwidth=bandwidth, other=other)
    return Reconciled(
        counted=0.0, charged=0.0, before_us=charged, before_us_counted=counted,
        bandwidth=bandwidth, other=other,
    )  # fmt: skip
