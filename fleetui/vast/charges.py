"""Charges of one day: rows of the wire to `Charge` (facts: vast_api.md section 5.5)."""

from collections.abc import Iterable, Mapping
from typing import Any

from fleetui.domain.charge import Charge
from fleetui.domain.money import DAY_SECONDS
from fleetui.vast.gates import number, text, whole

KINDS = frozenset({"gpu", "disk", "bwd", "bwu"})
PAGE_ROWS = 500
_MOST_DOLLARS = 1e7


def day_query(day: int, token: str | None) -> dict[str, object]:
    """Return the query for a page of one day's charges.

    One day at a time: a row over several days could not be told apart.
    """
    start = day * DAY_SECONDS
    query: dict[str, object] = {
        "select_filters": {"day": {"gte": start, "lte": start + DAY_SECONDS - 1}},
        "latest_first": False,
        "limit": PAGE_ROWS,
    }
    return query if token is None else query | {"after_token": token}


def read_charges(rows: Iterable[object]) -> tuple[list[Charge], int]:
    """Read rows; returns the charges and how many rows could not be read. Never raises.

    What the items do not explain of a row's amount counts as `other`.
    """
    charges: list[Charge] = []
    unreadable = 0
    for row in rows:
        found = _charges(row) if isinstance(row, Mapping) else None
        if found is None:
            unreadable += 1
        else:
            charges += found
    return charges, unreadable


def _charges(row: Mapping[str, Any]) -> list[Charge] | None:
    amount = _dollars(row.get("amount"))
    items = row.get("items")
    parts = [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []
    if amount is None and not parts:
        return None
    instance_id = _instance(row)
    charges = []
    for part in parts:
        dollars = _dollars(part.get("amount"))
        kind = str(text(part.get("type"), 20) or "other").lower()
        if dollars is not None:
            kind = kind if kind in KINDS else "other"
            charges.append(Charge(instance_id=instance_id, kind=kind, dollars=dollars))
    rest = 0.0 if amount is None else amount - sum(charge.dollars for charge in charges)
    if abs(rest) >= 1e-6:
        charges.append(Charge(instance_id=instance_id, kind="other", dollars=rest))
    return charges


def _instance(row: Mapping[str, Any]) -> int | None:
    kind, _, instance = str(text(row.get("source"), 60) or "").partition("-")
    return whole(instance) if kind.lower() == "instance" else None


def _dollars(value: object) -> float | None:
    """Read an amount; refunds are negative."""
    found = number(value)
    return None if found is None or abs(found) > _MOST_DOLLARS else found
