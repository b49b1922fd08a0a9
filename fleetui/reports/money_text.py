"""The money report as plain lines and as CSV."""

import csv
import io
import time
from typing import Any

from fleetui.reports.figures import at_least, count, cut, days, number

_BOOK = ("counted", "charged", "difference", "before_us", "before_us_counted", "bandwidth")
TABLES = {
    "instances": (
        "instance_id", "machine_id", "label", "gpu", "stage", "dollars", "hours", "unpriced_hours",
        "overhead_dollars", "proofs", "dollars_per_proof", "cost_per_hour", "proofs_per_hour",
        "break_even_rate", "margin", *_BOOK,
    ),
    "days": (
        "day", "dollars", "unpriced_hours", "proving_dollars", "proofs", "dollars_per_proof",
        *_BOOK, "as_of",
    ),
    "stages": ("stage", "dollars", "hours", "unpriced_hours", "share"),
}  # fmt: skip
"""The report's tables and their columns."""


def money_text(report: dict[str, Any], *, most_instances: int = 20) -> str:
    """Draw a money report as plain lines; `≥` is before a sum that lacks what is not known."""
    least, most = ("≥", "≤") if report["burn_unknown"] else ("", "")
    open_end = report["unpriced_hours"] > 0
    sign = "≥" if open_end else ""
    lines = [
        (
            f"burn {least}${number(report['burn'], 2)}/h, of it idle"
            f" ${number(report['idle_burn'], 2)}/h ({len(report['idle'])} failed or stopped)"
        ),
        f"balance ${number(report['balance'], 2)}, {most}{number(report['hours_left'], 0)} h left",
        (
            f"{days(report['days'])}: {sign}${number(report['spent'], 2)} for"
            f" {count(report['proofs'])} proofs,"
            f" {sign}${number(report['dollars_per_proof'], 4)} a proof"
        ),
    ]
    if open_end:
        lines.append(f"{report['unpriced_hours']:.1f} h without a known price are not in the sums")
    lines += ["", f"{'stage':<15}{'$':>10}{'hours':>10}{'share':>8}"]
    lines += [
        f"{item['stage']:<15}{_sum(item, 'dollars', 2, 10)}{number(item['hours'], 1):>10}"
        f"{_share(item['share']):>8}"
        for item in report["by_stage"]
    ]
    lines += [
        "",
        (
            f"{'day':<12}{'$':>9}{'proofs':>8}{'$/proof':>10}{'charged':>10}{'counted':>10}"
            f"{'diff':>9}{'before us':>11}  as of (UTC)"
        ),
    ]
    lines += [_day(item) for item in report["by_day"]]
    lines += [
        "",
        (
            f"{'instance':<12}{'machine':>9} {'gpu':<14}{'stage':<14}{'$':>9}{'overhead':>10}"
            f"{'proofs':>8}{'$/proof':>9}{'rate':>8}{'even at':>9}"
        ),
    ]
    lines += [_instance(item) for item in report["by_instance"][:most_instances]]
    left = len(report["by_instance"]) - most_instances
    if left > 0:
        lines.append(f"and {left} more: --json or --csv instances has all")
    lines += ["", charges_text(report["charges"])]
    return "\n".join(lines)


def _sum(item: dict[str, Any], name: str, digits: int, cells: int) -> str:
    """Draw a sum of an item right in its column."""
    text = at_least(item[name], digits, open_end=item["unpriced_hours"] > 0, cells=cells - 1)
    return text.rjust(cells)


def _day(item: dict[str, Any]) -> str:
    as_of = "" if item["as_of"] is None else time.strftime("  %H:%M", time.gmtime(item["as_of"]))
    return (
        f"{item['day']:<12}{_sum(item, 'dollars', 2, 9)}{count(item['proofs'], 7):>8}"
        f"{_sum(item, 'dollars_per_proof', 4, 10)}{number(item['charged'], 2):>10}"
        f"{number(item['counted'], 2):>10}{number(item['difference'], 2, 8):>9}"
        f"{number(item['before_us'], 2):>11}{as_of}"
    )


def _instance(item: dict[str, Any]) -> str:
    return (
        f"{item['instance_id']:<12}{item['machine_id'] or '?':>9} {cut(item['gpu'] or '?', 13):<14}"
        f"{item['stage']:<14}{_sum(item, 'dollars', 2, 9)}{_sum(item, 'overhead_dollars', 2, 10)}"
        f"{count(item['proofs'], 7):>8}{_sum(item, 'dollars_per_proof', 4, 9)}"
        f"{number(item['proofs_per_hour'], 1, 7):>8}{number(item['break_even_rate'], 1, 8):>9}"
    )


def charges_text(charges: dict[str, Any] | None) -> str:
    """Say how the API's book compares."""
    if charges is None:
        return "the API's charges are not known: they need a key with billing_read"
    as_of = ""
    if charges["as_of"] is not None:
        as_of = time.strftime(", as of %H:%M UTC", time.gmtime(charges["as_of"]))
    return (
        f"by the API's book ({days(charges['days'])}{as_of}): charged"
        f" ${number(charges['charged'], 2)} for GPU and disk less ${number(charges['counted'], 2)}"
        f" counted here is a difference of ${number(charges['difference'], 2)}\n"
        f"not compared: ${number(charges['before_us'], 2)} charged for days on which an instance"
        f" was first seen, or for unseen ones (counted: ${number(charges['before_us_counted'], 2)})"
        f"; besides ${number(charges['bandwidth'], 2)} for bandwidth,"
        f" ${number(charges['other'], 2)} for other things"
    )


def money_csv(report: dict[str, Any], table: str) -> str:
    """Draw one of `TABLES` as CSV with a heading; what is not known is left empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=TABLES[table], lineterminator="\n")
    writer.writeheader()
    for row in report[f"by_{table.removesuffix('s')}"]:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return out.getvalue()


def _cell(value: object) -> object:
    """A spreadsheet takes text that begins like this for a formula."""
    return (
        f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@")) else value
    )


def _share(value: float | None) -> str:
    return "?" if value is None else f"{value:.0%}"
