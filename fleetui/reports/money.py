"""The fleet's money: what it burns, what it cost by day, stage and instance, what a proof cost."""

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, TypeVar

from fleetui.domain.charge import Reconciled, reconcile_days, reconcile_instances
from fleetui.domain.money import Spend, hours_left
from fleetui.domain.policy import Policy
from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage
from fleetui.store.interface import ViewerStore

_Key = TypeVar("_Key")
DAY_SECONDS = 86_400
EARNING = frozenset({Stage.RUNNING})
IDLE = frozenset({Stage.FAILED, Stage.STOPPED})
"""Stages that are paid for and lead to nothing by themselves."""
TABLES = ("instances", "days", "stages")


async def money_report(store: ViewerStore, policy: Policy, now: float, days: int) -> dict[str, Any]:
    """Gather the money of the last `days` days (UTC), the present one included.

    Dollars throughout. `burn` is what the live instances cost an hour now (`burn_unknown` of them
    do not tell), `idle_burn` that of the failed and stopped ones. `proofs` are measured rates over
    the time they were measured in. A break-even rate is the proofs an hour at which a proof costs
    what the owner's policy allows. `charges` compares with the API's own book, on the days that
    are known of it; `None` until any is. What is not known is `None`, never 0.
    """
    first = int(now // DAY_SECONDS) - days + 1
    view = await store.fleet()
    spend = await store.spend(first)
    proofs = await store.proofs(first)
    book = await store.charges(first)
    rows = {row.instance_id: row for row in view.rows}
    burn = _sum(row.cost_per_hour for row in view.rows)
    balance = view.health.balance if view.health else None
    by_day, by_instance = reconcile_days(spend, book), reconcile_instances(spend, book)
    idle = [row for row in view.rows if row.stage in IDLE]
    total = sum(item.dollars for item in spend)
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
        "proofs": round(made, 1),
        "dollars_per_proof": _per_proof(total, made),
        "unseen_dollars": _dollars(
            sum(item.dollars * item.unseen_seconds / item.seconds for item in spend if item.seconds)
        ),
        "by_stage": _stages(spend, total),
        "by_day": _days(spend, proofs, by_day),
        "by_instance": _instances(spend, proofs, rows, by_instance, policy),
        "charges": _charges(by_day, by_instance),
    }


def _stages(spend: Iterable[Spend], total: float) -> list[dict[str, Any]]:
    dollars, seconds = _sums(spend, lambda item: item.stage)
    return [
        {
            "stage": str(stage),
            "dollars": _dollars(dollars[stage]),
            "hours": round(seconds[stage] / 3600.0, 2),
            "share": round(dollars[stage] / total, 4) if total else None,
        }
        for stage in Stage
        if stage in dollars
    ]


def _days(
    spend: Sequence[Spend],
    proofs: Mapping[tuple[int, int], float],
    books: Mapping[int, Reconciled],
) -> list[dict[str, Any]]:
    dollars, _ = _sums(spend, lambda item: item.day)
    earning, _ = _sums((item for item in spend if item.stage in EARNING), lambda item: item.day)
    made: dict[int, float] = defaultdict(float)
    for (_, day), count in proofs.items():
        made[day] += count
    days = sorted({*dollars, *made, *books})
    return [
        {
            "day": _date(day),
            "dollars": _dollars(dollars.get(day)),
            "proving_dollars": _dollars(earning.get(day, 0.0)),
            "proofs": round(made[day], 1) if day in made else None,
            "dollars_per_proof": _per_proof(dollars.get(day), made.get(day)),
            **_book(books.get(day)),
        }
        for day in days
    ]


def _instances(
    spend: Sequence[Spend],
    proofs: Mapping[tuple[int, int], float],
    rows: Mapping[int, FleetRow],
    books: Mapping[int | None, Reconciled],
    policy: Policy,
) -> list[dict[str, Any]]:
    dollars, seconds = _sums(spend, lambda item: item.instance_id)
    earning, _ = _sums(
        (item for item in spend if item.stage in EARNING), lambda item: item.instance_id
    )
    machines = {item.instance_id: item.machine_id for item in spend}
    made: dict[int, float] = defaultdict(float)
    for (instance_id, _), count in proofs.items():
        made[instance_id] += count
    found = []
    for instance_id in sorted({*dollars, *rows}, key=lambda item: (-dollars.get(item, 0.0), item)):
        row = rows.get(instance_id)
        cost = row.cost_per_hour if row else None
        rate = row.proofs_per_hour if row else None
        even = break_even(cost, policy.dearest(row.instance_id, row.label)) if row else None
        found.append({
            "instance_id": instance_id,
            "machine_id": row.machine_id if row else machines.get(instance_id),
            "label": row.label if row else None,
            "gpu": row.gpu if row else None,
            "stage": str(row.stage if row else Stage.GONE),
            "dollars": _dollars(dollars.get(instance_id)),
            "hours": round(seconds.get(instance_id, 0.0) / 3600.0, 2),
            "overhead_dollars": _dollars(
                dollars.get(instance_id, 0.0) - earning.get(instance_id, 0.0)
            ),
            "proofs": round(made[instance_id], 1) if instance_id in made else None,
            "dollars_per_proof": _per_proof(dollars.get(instance_id), made.get(instance_id)),
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
    by_day: Mapping[int, Reconciled], by_instance: Mapping[int | None, Reconciled]
) -> dict[str, Any] | None:
    if not by_day:
        return None
    books = by_day.values()
    elsewhere = by_instance.get(None)
    return {
        "days": len(by_day),
        "counted": _dollars(sum(book.counted for book in books)),
        "charged": _dollars(sum(book.charged for book in books)),
        "difference": _dollars(sum(book.difference for book in books)),
        "bandwidth": _dollars(sum(book.bandwidth for book in books)),
        "other": _dollars(sum(book.other for book in books)),
        "for_no_instance": _dollars(
            0.0 if elsewhere is None else elsewhere.charged + elsewhere.bandwidth + elsewhere.other
        ),
    }


def _book(book: Reconciled | None) -> dict[str, Any]:
    return {
        "charged": None if book is None else _dollars(book.charged),
        "bandwidth": None if book is None else _dollars(book.bandwidth),
        "difference": None if book is None else _dollars(book.difference),
    }


def money_text(report: dict[str, Any], *, most_instances: int = 20) -> str:
    """Draw a money report as plain lines."""
    least, most = ("≥", "≤") if report["burn_unknown"] else ("", "")
    lines = [
        (
            f"burn {least}${_n(report['burn'], 2)}/h, of it idle ${_n(report['idle_burn'], 2)}/h"
            f" ({len(report['idle'])} failed or stopped)"
        ),
        f"balance ${_n(report['balance'], 2)}, {most}{_n(report['hours_left'], 0)} h left",
        (
            f"{report['days']} days: ${_n(report['spent'], 2)} for"
            f" {_n(report['proofs'], 0)} proofs, ${_n(report['dollars_per_proof'], 4)} a proof"
        ),
        "",
        f"{'stage':<15}{'$':>10}{'hours':>10}{'share':>8}",
    ]
    lines += [
        f"{item['stage']:<15}{_n(item['dollars'], 2):>10}{_n(item['hours'], 1):>10}"
        f"{_share(item['share']):>8}"
        for item in report["by_stage"]
    ]
    lines += ["", f"{'day':<15}{'$':>10}{'proofs':>10}{'$/proof':>10}{'charged':>10}{'diff':>9}"]
    lines += [
        f"{item['day']:<15}{_n(item['dollars'], 2):>10}{_n(item['proofs'], 0):>10}"
        f"{_n(item['dollars_per_proof'], 4):>10}{_n(item['charged'], 2):>10}"
        f"{_n(item['difference'], 2):>9}"
        for item in report["by_day"]
    ]
    lines += [
        "",
        (
            f"{'instance':<12}{'machine':>9} {'gpu':<14}{'stage':<14}{'$':>9}{'overhead':>10}"
            f"{'proofs':>8}{'$/proof':>9}{'rate':>8}{'even at':>9}"
        ),
    ]
    lines += [
        f"{item['instance_id']:<12}{item['machine_id'] or '?':>9} {(item['gpu'] or '?'):<14.13}"
        f"{item['stage']:<14}{_n(item['dollars'], 2):>9}{_n(item['overhead_dollars'], 2):>10}"
        f"{_n(item['proofs'], 0):>8}{_n(item['dollars_per_proof'], 4):>9}"
        f"{_n(item['proofs_per_hour'], 1):>8}{_n(item['break_even_rate'], 1):>9}"
        for item in report["by_instance"][:most_instances]
    ]
    left = len(report["by_instance"]) - most_instances
    if left > 0:
        lines.append(f"and {left} more: --json or --csv instances has all")
    lines += ["", _charges_text(report["charges"])]
    return "\n".join(lines)


def _charges_text(charges: dict[str, Any] | None) -> str:
    if charges is None:
        return "the API's charges are not known: they need a key with billing_read"
    return (
        f"by the API's book ({charges['days']} days): ${_n(charges['charged'], 2)} for GPU and"
        f" disk against ${_n(charges['counted'], 2)} counted here, difference"
        f" ${_n(charges['difference'], 2)}; besides ${_n(charges['bandwidth'], 2)} for bandwidth,"
        f" ${_n(charges['other'], 2)} for other things"
    )


def money_csv(report: dict[str, Any], table: str) -> str:
    """Draw one of `TABLES` as CSV with a heading; what is not known is left empty."""
    rows = report[f"by_{table.removesuffix('s')}"]
    out = io.StringIO()
    if rows:
        writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    """A spreadsheet takes text that begins like this for a formula."""
    return (
        f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@")) else value
    )


def _sums(
    spend: Iterable[Spend], key: Callable[[Spend], _Key]
) -> tuple[dict[_Key, float], dict[_Key, float]]:
    dollars: dict[_Key, float] = defaultdict(float)
    seconds: dict[_Key, float] = defaultdict(float)
    for item in spend:
        dollars[key(item)] += item.dollars
        seconds[key(item)] += item.seconds
    return dollars, seconds


def _date(day: int) -> str:
    return (date(1970, 1, 1) + timedelta(days=day)).isoformat()


def _per_proof(dollars: float | None, proofs: float | None) -> float | None:
    return None if dollars is None or not proofs else round(dollars / proofs, 6)


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _dollars(sum(known)) if known else None


def _dollars(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _n(value: float | None, digits: int) -> str:
    return "?" if value is None else f"{value:.{digits}f}"


def _share(value: float | None) -> str:
    return "?" if value is None else f"{value:.0%}"
