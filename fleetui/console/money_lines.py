"""The money report as lines. Pure."""

from typing import Any

from fleetui.console import figures
from fleetui.console.fitting import fit
from fleetui.console.glyphs import STAGE_WORDS, Glyphs
from fleetui.console.inspection import Line
from fleetui.domain.stage import Stage

_STAGE_TONES = {"running": "ok", "failed": "bad", "stopped": "warn"}
MOST_DAYS = 14


def money_lines(report: dict[str, Any], width: int, glyphs: Glyphs) -> list[Line]:
    """Draw what burns, what each stage, day and instance cost, and the API's own book."""
    lines = _totals(report)
    lines += [[], [("what it went into", "title bold")]]
    lines += [_stage(item, width, glyphs) for item in report["by_stage"]] or [_nothing()]
    days = report["by_day"][-MOST_DAYS:]
    lines += [
        [],
        [
            (
                (
                    f"{'day (UTC)':<12}{'$':>9}{'proofs':>9}{'$/proof':>9}"
                    f"{'charged':>10}{'difference':>12}"
                ),
                "title",
            )
        ],
    ]
    lines += [_day(item) for item in reversed(days)] or [_nothing()]
    lines += [
        [],
        [
            (
                (
                    f"{'instance':<10}{'GPU':<17}{'stage':<12}{'$':>8}{'overhead':>10}"
                    f"{'$/proof':>9}{'proofs/h':>10}{'even at':>9}"
                ),
                "title",
            )
        ],
    ]
    lines += [_instance(item) for item in report["by_instance"]] or [_nothing()]
    return lines


def _totals(report: dict[str, Any]) -> list[Line]:
    least, most = ("≥", "≤") if report["burn_unknown"] else ("", "")
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
            (f"{report['days']} days: ${figures.money(report['spent'])}", "strong"),
            (
                (
                    f" for {figures.rate(report['proofs'])} proofs,"
                    f" ${figures.money(report['dollars_per_proof'], 4)} a proof"
                ),
                "text",
            ),
            *_unseen(report["unseen_dollars"]),
        ],
        _charges(report["charges"]),
    ]


def _unseen(dollars: float | None) -> Line:
    return [(f"   ${figures.money(dollars)} of it while nobody looked", "dim")] if dollars else []


def _charges(charges: dict[str, Any] | None) -> Line:
    if charges is None:
        return [("the API's charges are not known: they need a key with billing_read", "dim")]
    difference = charges["difference"]
    return [
        (
            (
                f"the API's book, {charges['days']} days: ${figures.money(charges['charged'])}"
                f" for GPU and disk, counted here ${figures.money(charges['counted'])}, "
            ),
            "text",
        ),
        (f"difference ${figures.money(difference)}", "warn" if abs(difference) >= 1 else "ok"),
        (f"; bandwidth ${figures.money(charges['bandwidth'])}", "dim"),
    ]


def _stage(item: dict[str, Any], width: int, glyphs: Glyphs) -> Line:
    share = item["share"] or 0.0
    room = max(min(width - 45, 40), 0)
    bar = ("#" if glyphs.ascii_only else "█") * round(share * room)
    tone = _STAGE_TONES.get(item["stage"], "busy")
    return [
        (fit(STAGE_WORDS[Stage(item["stage"])], 14), tone),
        (f"${figures.money(item['dollars'])}".rjust(10), "text"),
        (f"{item['hours']:.1f} h".rjust(10), "dim"),
        (f"{share:.0%}".rjust(6) + "  ", "text"),
        (bar, tone),
    ]


def _day(item: dict[str, Any]) -> Line:
    return [
        (f"{item['day']:<12}", "dim"),
        (figures.money(item["dollars"]).rjust(9), "text"),
        (figures.rate(item["proofs"]).rjust(9), "text"),
        (figures.money(item["dollars_per_proof"], 4).rjust(9), "strong"),
        (figures.money(item["charged"]).rjust(10), "dim"),
        (figures.money(item["difference"]).rjust(12), "dim"),
    ]


def _instance(item: dict[str, Any]) -> Line:
    margin = item["margin"]
    tone = "dim" if margin is None else "ok" if margin >= 0 else "bad"
    rate = figures.rate(item["proofs_per_hour"])
    # The sign says it without colour.
    sign = "" if margin is None else " <" if margin < 0 else " >"
    return [
        (f"{item['instance_id']:<10}", "strong"),
        (fit(item["gpu"] or figures.UNKNOWN, 16), "text"),
        (" ", "text"),
        (fit(STAGE_WORDS[Stage(item["stage"])], 12), "text"),
        (figures.money(item["dollars"]).rjust(8), "text"),
        (figures.money(item["overhead_dollars"]).rjust(10), "dim"),
        (figures.money(item["dollars_per_proof"], 4).rjust(9), "strong"),
        (f"{rate}{sign}".rjust(10), tone),
        (figures.rate(item["break_even_rate"]).rjust(9), "dim"),
    ]


def _nothing() -> Line:
    return [("nothing yet", "dim")]
