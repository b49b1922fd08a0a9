"""The fleet's money: what it burns, what it cost by day, stage and instance, what a proof cost."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import reduce
from typing import Any, Generic, TypeVar

from fleetui.domain.charge import NOTHING, Reconciled, reconcile_days, reconcile_instances
from fleetui.domain.money import DAY_SECONDS, Spend, hours_left
from fleetui.domain.policy import Policy
from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage
from fleetui.store.interface import ViewerStore

_Key = TypeVar("_Key")
EARNING = frozenset({Stage.RUNNING})
IDLE = frozenset({Stage.FAILED, Stage.STOPPED})
"""Stages that are paid for and lead to nothing by themselves."""


async def money_report(store: ViewerStore, policy: Policy, now: float, days: int) -> dict[str, Any]:
    """Gather the money of the last `days` days (UTC), the present one included.

    Dollars throughout. Of `unpriced_hours` no row told the cost: where there are some, sums beside
    them are the least it can have been, and `None` where there is nothing else. `burn` is what the
    live instances cost an hour now (`burn_unknown` of them do not tell), `idle_burn` that of the
    failed and stopped ones. `proofs` are measured rates over the time they were measured in. A
    break-even rate is the proofs an hour at which a proof costs what the owner's policy allows.
    `charges` compares with the API's own book, on the days that are known of it; `None` until any
    is. There `before_us` is charged for days on which an instance was first seen, or for instances
    never seen: it is in neither `charged` nor `difference`; `as_of` is the epoch time of a look at
    a day that went on. What is not known is `None`, never 0.
    """
    first = int(now // DAY_SECONDS) - days + 1
    view = await store.fleet()
    spend = await store.spend(first)
    proofs = await store.proofs(first)
    book = await store.charges(first)
    rows = {row.instance_id: row for row in view.rows}
    burn = _sum(row.cost_per_hour for row in view.rows)
    balance = view.health.balance if view.health else None
    seen = {key: total.since for key, total in (await store.spend_totals()).items()}
    by_day = reconcile_days(spend, book, seen)
    by_instance = reconcile_instances(spend, book, seen)
    as_of = {day.day: day.read_at for day in book if not day.whole}
    idle = [row for row in view.rows if row.stage in IDLE]
    sums = _Sums(spend, lambda _: None)
    total = sums.dollars(None) if spend else 0.0
    made = sum(proofs.values())
    return {
        "now": now,
        "days": days,
        "burn": burn,
        "burn_unknown": sum(row.cost_per_hour is None for row in view.rows),
        "idle_burn": _sum(row.cost_per_hour for row in idle),
        "idle": [row.instance_id for row in idle],
        "balance": balance,
        "hours_left": hours_left(balance, burn),
        "spent": _dollars(total),
        "unpriced_hours": sums.unpriced_hours(None),
        "proofs": round(made, 1),
        "dollars_per_proof": _per_proof(total, made),
        "unseen_dollars": _dollars(
            sum(item.dollars * item.unseen_seconds / item.seconds for item in spend if item.seconds)
        ),
        "by_stage": _stages(spend, total),
        "by_day": _days(spend, proofs, by_day, as_of),
        "by_instance": _instances(spend, proofs, rows, by_instance, policy),
        "charges": _charges(by_day, by_instance, max(as_of.values(), default=None)),
    }


def _stages(spend: Iterable[Spend], total: float | None) -> list[dict[str, Any]]:
    sums = _Sums(spend, lambda item: item.stage)
    return [
        {
            "stage": str(stage),
            "dollars": _dollars(dollars := sums.dollars(stage)),
            "hours": sums.hours(stage),
            "unpriced_hours": sums.unpriced_hours(stage),
            "share": round(dollars / total, 4) if total and dollars is not None else None,
        }
        for stage in Stage
        if stage in sums
    ]


def _days(
    spend: Sequence[Spend],
    proofs: Mapping[tuple[int, int], float],
    books: Mapping[int, Reconciled],
    as_of: Mapping[int, float],
) -> list[dict[str, Any]]:
    sums = _Sums(spend, lambda item: item.day)
    earning = _Sums((item for item in spend if item.stage in EARNING), lambda item: item.day)
    made: dict[int, float] = defaultdict(float)
    for (_, day), count in proofs.items():
        made[day] += count
    return [
        {
            "day": _date(day),
            "dollars": _dollars(sums.dollars(day)),
            "unpriced_hours": sums.unpriced_hours(day),
            "proving_dollars": _dollars(earning.dollars(day) if day in earning else 0.0),
            "proofs": round(made[day], 1) if day in made else None,
            "dollars_per_proof": _per_proof(sums.dollars(day), made.get(day)),
            **_book(books.get(day)),
            "as_of": as_of.get(day),
        }
        for day in sorted({*sums, *made, *books})
    ]


def _instances(
    spend: Sequence[Spend],
    proofs: Mapping[tuple[int, int], float],
    rows: Mapping[int, FleetRow],
    books: Mapping[int | None, Reconciled],
    policy: Policy,
) -> list[dict[str, Any]]:
    sums = _Sums(spend, lambda item: item.instance_id)
    other = _Sums(
        (item for item in spend if item.stage not in EARNING), lambda item: item.instance_id
    )
    machines = {item.instance_id: item.machine_id for item in spend}
    made: dict[int, float] = defaultdict(float)
    for (instance_id, _), count in proofs.items():
        made[instance_id] += count
    found = []
    for instance_id in sorted({*sums, *rows}, key=lambda one: (-(sums.dollars(one) or 0.0), one)):
        row = rows.get(instance_id)
        cost = row.cost_per_hour if row else None
        rate = row.proofs_per_hour if row else None
        even = break_even(cost, policy.dearest(row.instance_id, row.label)) if row else None
        dollars = sums.dollars(instance_id)
        none_beside = 0.0 if instance_id in sums else None
        found.append({
            "instance_id": instance_id,
            "machine_id": row.machine_id if row else machines.get(instance_id),
            "label": row.label if row else None,
            "gpu": row.gpu if row else None,
            "stage": str(row.stage if row else Stage.GONE),
            "dollars": _dollars(dollars),
            "hours": sums.hours(instance_id),
            "unpriced_hours": sums.unpriced_hours(instance_id),
            "overhead_dollars": _dollars(
                other.dollars(instance_id) if instance_id in other else none_beside
            ),
            "proofs": round(made[instance_id], 1) if instance_id in made else None,
            "dollars_per_proof": _per_proof(dollars, made.get(instance_id)),
            "cost_per_hour": cost,
            "proofs_per_hour": rate,
            "break_even_rate": None if even is None else round(even, 2),
            "margin": None if even is None or rate is None else round(rate - even, 2),
            **_book(books.get(instance_id)),
        })  # fmt: skip
    return found


def break_even(cost_per_hour: float | None, dearest: float) -> float | None:
    """Return the proofs an hour at which a proof costs `dearest` dollars."""
    return None if cost_per_hour is None else cost_per_hour / dearest


def _charges(
    by_day: Mapping[int, Reconciled],
    by_instance: Mapping[int | None, Reconciled],
    as_of: float | None,
) -> dict[str, Any] | None:
    if not by_day:
        return None
    total = reduce(Reconciled.plus, by_day.values())
    elsewhere = by_instance.get(None, NOTHING)
    return {
        "days": len(by_day),
        **_book(total),
        "other": _dollars(total.other),
        "for_no_instance": _dollars(elsewhere.charged + elsewhere.bandwidth + elsewhere.other),
        "as_of": as_of,
    }


def _book(book: Reconciled | None) -> dict[str, Any]:
    counted = None if book is None else _dollars(book.counted)
    charged = None if book is None else _dollars(book.charged)
    both = counted is not None and charged is not None
    return {
        "counted": counted,
        "charged": charged,
        # Of the rounded ones, so that a row subtracts as it stands.
        "difference": _dollars((charged or 0.0) - (counted or 0.0)) if both else None,
        "before_us": None if book is None else _dollars(book.before_us),
        "before_us_counted": None if book is None else _dollars(book.before_us_counted),
        "bandwidth": None if book is None else _dollars(book.bandwidth),
    }


class _Sums(Generic[_Key]):
    """Money and time added up by a key of the entries."""

    def __init__(self, spend: Iterable[Spend], key: Callable[[Spend], _Key]) -> None:
        self._dollars: dict[_Key, float] = defaultdict(float)
        self._seconds: dict[_Key, float] = defaultdict(float)
        self._unpriced: dict[_Key, float] = defaultdict(float)
        for item in spend:
            of = key(item)
            self._dollars[of] += item.dollars
            self._seconds[of] += item.seconds
            self._unpriced[of] += item.unpriced_seconds

    def __iter__(self) -> Iterator[_Key]:
        return iter(self._dollars)

    def __contains__(self, of: object) -> bool:
        return of in self._dollars

    def dollars(self, of: _Key) -> float | None:
        """Return the least that was spent; `None` where no price was ever known."""
        if of not in self._dollars or 0 < self._seconds[of] <= self._unpriced[of]:
            return None
        return self._dollars[of]

    def hours(self, of: _Key) -> float:
        """Return how long was paid for."""
        return round(self._seconds.get(of, 0.0) / 3600.0, 2)

    def unpriced_hours(self, of: _Key) -> float:
        """Return of how long no price is known; a little of it is never 0."""
        seconds = self._unpriced.get(of, 0.0)
        return max(round(seconds / 3600.0, 2), 0.01) if seconds else 0.0


def _date(day: int) -> str:
    return (date(1970, 1, 1) + timedelta(days=day)).isoformat()


def _per_proof(dollars: float | None, proofs: float | None) -> float | None:
    return None if dollars is None or not proofs else round(dollars / proofs, 6)


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _dollars(sum(known)) if known else None


def _dollars(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
