"""Offers of the market beside what our own history says of them."""

from collections.abc import Iterable, Sequence
from typing import Any

from fleetui.domain.codec import to_builtins
from fleetui.domain.expected_cost import Basis, History, Order, RankedOffer, in_order
from fleetui.domain.machine_record import MachineRecord
from fleetui.domain.market import Found
from fleetui.domain.offer_query import OfferQuery
from fleetui.reports.figures import UNKNOWN, cut, number

_HEADER = (
    "OFFER", "MACHINE", "GPU", "RAM GB", "CORES", "$/H", "PROOFS/H", "FROM", "$/PROOF",
    "QUARTILES", "ODDS", "133 GIB STATED", "MEASURED", "WHERE",
)  # fmt: skip
_LEFT = frozenset({"GPU", "FROM", "QUARTILES", "133 GIB STATED", "MEASURED", "WHERE"})


def offers_report(
    text: str,
    query: OfferQuery,
    found: Found,
    records: Iterable[MachineRecord],
    order: Order,
    *,
    blacklisted: bool,
) -> dict[str, Any]:
    """Return the ranked offers as one object.

    `not_understood` has the fields that the query language does not know. `hidden` counts offers of
    blacklisted machines left out, `unreadable` rows that could not be read; `cut` says that there
    may be dearer ones. `work_hours` is how long a rental of ours works.
    """
    history = History(records)
    ranked = in_order([history.rank(offer) for offer in found.offers], order)
    shown = [item for item in ranked if blacklisted or item.blacklist is None]
    return {
        "query": text,
        "conditions": query.conditions,
        "not_understood": list(query.doubts),
        "order": str(order),
        "work_hours": history.work_hours,
        "hidden": len(ranked) - len(shown),
        "unreadable": found.unreadable,
        "cut": found.cut,
        "offers": [offer_report(item) for item in shown],
    }


def offer_report(item: RankedOffer) -> dict[str, Any]:
    """Return one offer with what is expected of it."""
    found: dict[str, Any] = to_builtins(item)
    return {**found.pop("offer"), **found}


def offers_text(report: dict[str, Any]) -> str:
    """Return the offers as a table, the doubts before it and what is hidden after it."""
    lines = [f"not understood: {doubt}" for doubt in report["not_understood"]]
    if report["offers"]:
        lines += _table([_HEADER, *(_cells(offer) for offer in report["offers"])])
    else:
        lines.append("no offer fits")
    if report["hidden"]:
        lines.append(f"{report['hidden']} of blacklisted machines hidden; --all shows them")
    if report["cut"]:
        lines.append("the market gives no more at once: there may be dearer ones, narrow the query")
    if report["unreadable"]:
        lines.append(f"{report['unreadable']} offers cannot be read")
    return "\n".join(lines)


def _cells(offer: dict[str, Any]) -> tuple[str, ...]:
    rate = offer["rate"]
    memory = offer.get("cpu_ram_mb")
    blacklist = offer["blacklist"]
    where = offer.get("geolocation") or UNKNOWN
    return (
        cut(str(offer["offer_id"]), 12),
        cut(str(offer.get("machine_id") or UNKNOWN), 10),
        cut(f"{offer.get('num_gpus') or UNKNOWN}x {offer.get('gpu_name') or UNKNOWN}", 24),
        number(None if memory is None else memory / 1000.0, 0, 6),
        number(offer.get("cpu_cores"), 0, 6),
        number(offer.get("price"), 3),
        number(rate and rate["proofs_per_hour"], 1),
        _basis(rate),
        number(offer["dollars_per_proof"], 5),
        _quartiles(offer["cheapest"], offer["dearest"]),
        UNKNOWN if rate is None else f"{rate['odds'] * 100:.0f}%",
        _minutes(offer["stated_download"]),
        _minutes(offer["remembered_download"]),
        where if blacklist is None else f"{where}  BLACKLISTED by {blacklist['by']}:"
        f" {blacklist['reason'] or 'no reason given'}",
    )  # fmt: skip


def _basis(rate: dict[str, Any] | None) -> str:
    if rate is None:
        return UNKNOWN
    return (
        f"itself, {rate['count']}" if rate["basis"] == Basis.MACHINE else f"kind, {rate['count']}"
    )


def _quartiles(cheapest: float | None, dearest: float | None) -> str:
    if cheapest is None or dearest is None:
        return ""
    return f"{number(cheapest, 5)}-{number(dearest, 5)}"


def _minutes(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else f"{number(seconds / 60, 0, 6)} min"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if name in _LEFT else cell.rjust(width)
            for cell, width, name in zip(row, widths, rows[0], strict=True)
        ).rstrip()
        for row in rows
    ]
