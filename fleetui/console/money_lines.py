"""The money report as lines. Pure."""

from typing import Any

from fleetui.console import figures
from fleetui.console.fitting import fit
from fleetui.console.glyphs import STAGE_WORDS, Glyphs
from fleetui.console.inspection import Line
from fleetui.domain.stage import Stage
from fleetui.reports.figures import days

_STAGE_TONES = {"running": "ok", "failed": "bad", "stopped": "warn"}
MOST_DAYS = 14


def money_lines(report: dict[str, Any], width: int, glyphs: Glyphs) -> list[Line]:
    """Draw what burns, what each stage, day and instance cost, and the API's own book."""
    lines = _totals(report)
    lines += [[], [("what it went into", "title bold")]]
    lines += [_stage(item, width, glyphs) for item in report["by_stage"]] or [_nothing()]
    newest = report["by_day"][-MOST_DAYS:]
    lines += [
        [],
        [
            (
                (
                    f"{'day (UTC)':<11}{'$':>8}{'proofs':>7}{'$/proof':>9}{'charged':>9}"
                    f"{'counted':>9}{'diff':>8}{'before us':>10}{'as of':>6}"
                ),
                "title",
            )
        ],
    ]
    lines += [_day(item) for item in reversed(newest)] or [_nothing()]
    lines += [
        [],
        [
            (
                (
                    f"{'instance':<10}{'GPU':<13}{'stage':<11}{'$':>8}{'overhead':>9}"
                    f"{'$/proof':>9}{'proofs/h':>9}{'even at':>8}"
                ),
                "title",
            )
        ],
    ]
    lines += [_instance(item) for item in report["by_instance"]] or [_nothing()]
    return lines


def _totals(report: dict[str, Any]) -> list[Line]:
    least, most = ("≥", "≤") if report["burn_unknown"] else ("", "")
    sign = "≥" if report["unpriced_hours"] else ""
    hours = report["hours_left"]
    left = figures.UNKNOWN if hours is None else figures.duration(hours * 3600.0)
    low = hours is not None and hours < 24
    return [
        [
            (f"burn {least}${figures.money(report['burn'])}/h", "strong"),
            (
                (
                    f"   idle ${figures.money(report['idle_burn'])}/h"
                    f" ({len(report['idle'])} failed or stopped)"
                ),
                "warn" if report["idle"] else "dim",
            ),
            (
                f"   balance ${figures.money(report['balance'])}, {most}{left} left",
                "bad" if low else "text",
            ),
        ],
        [
            (f"{days(report['days'])}: {sign}${figures.money(report['spent'])}", "strong"),
            (
                (
                    f" for {figures.count(report['proofs'])} proofs,"
                    f" {sign}${figures.money(report['dollars_per_proof'], 4)} a proof"
                ),
                "text",
            ),
            *_unseen(report["unseen_dollars"]),
        ],
        *_unpriced(report["unpriced_hours"]),
        *_charges(report["charges"]),
    ]


def _unseen(dollars: float | None) -> Line:
    return [(f"   ${figures.money(dollars)} of it while nobody looked", "dim")] if dollars else []


def _unpriced(hours: float) -> list[Line]:
    text = f"{hours:.1f} h without a known price are not in the sums (≥)"
    return [[(text, "warn")]] if hours else []


def _charges(charges: dict[str, Any] | None) -> list[Line]:
    if charges is None:
        return [[("the API's charges are not known: they need a key with billing_read", "dim")]]
    difference = charges["difference"]
    as_of = f" as of {_as_of(charges)} UTC" if charges["as_of"] is not None else ""
    return [
        [
            (f"the API's book, {days(charges['days'])}{as_of}, for GPU and disk", "text"),
            (f"; bandwidth ${figures.money(charges['bandwidth'])}", "dim"),
        ],
        [
            (
                (
                    f"charged ${figures.money(charges['charged'])} less counted"
                    f" ${figures.money(charges['counted'])}: "
                ),
                "text",
            ),
            (f"difference ${figures.money(difference)}", "warn" if abs(difference) >= 1 else "ok"),
        ],
        [
            (
                (
                    f"not compared: ${figures.money(charges['before_us'])} of the days on which an"
                    " instance was first seen"
                ),
                "dim",
            )
        ],
    ]


def _stage(item: dict[str, Any], width: int, glyphs: Glyphs) -> Line:
    share = item["share"] or 0.0
    room = max(min(width - 45, 40), 0)
    bar = ("#" if glyphs.ascii_only else "█") * round(share * room)
    tone = _STAGE_TONES.get(item["stage"], "busy")
    return [
        (fit(STAGE_WORDS[Stage(item["stage"])], 14), tone),
        (f"${_sum(item, 'dollars')}".rjust(10), "text"),
        (f"{item['hours']:.1f} h".rjust(10), "dim"),
        (f"{share:.0%}".rjust(6) + "  ", "text"),
        (bar, tone),
    ]


def _day(item: dict[str, Any]) -> Line:
    return [
        (f"{item['day']:<11}", "dim"),
        (_sum(item, "dollars").rjust(8), "text"),
        (figures.count(item["proofs"]).rjust(7), "text"),
        (_sum(item, "dollars_per_proof", 4).rjust(9), "strong"),
        (figures.money(item["charged"]).rjust(9), "dim"),
        (figures.money(item["counted"]).rjust(9), "dim"),
        (figures.money(item["difference"]).rjust(8), "dim"),
        (figures.money(item["before_us"]).rjust(10), "dim"),
        (_as_of(item).rjust(6), "dim"),
    ]


def _as_of(item: dict[str, Any]) -> str:
    """Until when a day that goes on was compared."""
    return "" if item["as_of"] is None else figures.clock_time(item["as_of"], utc=True)[:5]


def _sum(item: dict[str, Any], name: str, digits: int = 2) -> str:
    """A sum of an item, with `≥` where some of its time had no known price."""
    sign = "≥" if item["unpriced_hours"] and item[name] is not None else ""
    return sign + figures.money(item[name], digits)


def _instance(item: dict[str, Any]) -> Line:
    margin = item["margin"]
    tone = "dim" if margin is None else "ok" if margin >= 0 else "bad"
    rate = figures.rate(item["proofs_per_hour"])
    # The sign says it without colour.
    sign = "" if margin is None else " <" if margin < 0 else " >"
    return [
        (f"{item['instance_id']:<10}", "strong"),
        (fit(item["gpu"] or figures.UNKNOWN, 12), "text"),
        (" ", "text"),
        (fit(STAGE_WORDS[Stage(item["stage"])], 11), "text"),
        (_sum(item, "dollars").rjust(8), "text"),
        (_sum(item, "overhead_dollars").rjust(9), "dim"),
        (_sum(item, "dollars_per_proof", 4).rjust(9), "strong"),
        (f"{rate}{sign}".rjust(9), tone),
        (figures.rate(item["break_even_rate"]).rjust(8), "dim"),
    ]


def _nothing() -> Line:
    return [("nothing yet", "dim")]
