"""The fleet in one JSON object, and as text: what the screen shows, printed."""

from collections import Counter
from typing import Any

import msgspec

from fleetui.domain.codec import to_builtins
from fleetui.domain.finding import Finding
from fleetui.domain.finding_record import FindingState
from fleetui.domain.money import hours_left
from fleetui.domain.rate import RateSource
from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage
from fleetui.reading.fleet_rates import fleet_rates, gpu_rates, trend
from fleetui.reading.peers import Peers
from fleetui.store.interface import FleetView, LogMissing, ViewerStore

_WINDOW_WORDS = {900.0: "15 min", 3600.0: "1 h", 86400.0: "24 h"}
_SOURCE_WORDS = {
    RateSource.BENCHMARK: "of the benchmark",
    RateSource.STATUS: "by the daemon's own count",
}
_USUAL_WINDOW = 3600.0


async def fleet_report(store: ViewerStore) -> dict[str, Any]:
    """Gather the fleet's state.

    Keys: `instances` (live ones), `by_stage`, `findings` (one object a finding, the worst
    first), `proofs_per_hour` (sum of the measured ones, `None` when none was), `log_bytes`,
    `walks` (complete ones), `ssh_connected`.
    """
    return await _report_of(await store.fleet(), store, float("inf"))


async def _report_of(view: FleetView, store: ViewerStore, now: float) -> dict[str, Any]:
    states = {
        (record.instance_id, record.finding.signature): record.state(now)
        for record in await store.findings()
    }
    findings = [
        (reading.instance_id, finding)
        for reading in await store.readings()
        for finding in reading.findings
    ]
    findings.sort(key=lambda pair: (pair[1].severity.rank, pair[0]))
    health = view.health
    return {
        "instances": len(view.rows),
        "by_stage": dict(Counter(str(row.stage) for row in _in_stage_order(view.rows))),
        "findings": [
            {
                **_finding(instance_id, finding),
                "state": str(states.get((instance_id, finding.signature), FindingState.OPEN)),
            }
            for instance_id, finding in findings
        ],
        "proofs_per_hour": fleet_rate(view.rows),
        "log_bytes": health.log_bytes if health else 0,
        "walks": health.walks_complete if health else 0,
        "ssh_connected": health.ssh_connected if health else 0,
    }


async def status_report(store: ViewerStore, now: float) -> dict[str, Any]:
    """Gather `fleet_report` with each row, the ages, and what the collector says of itself.

    `rates` has the measured rates over several windows, of the fleet and each GPU type; a row has
    its `trend` and its place among its `peers` beside its figures, where they can be told, and what
    is not stored of its logs as `log_missing` (`None`: nothing); the sum over all instances, gone
    ones too, is there under the same name.
    """
    view = await store.fleet()
    report = await _report_of(view, store, now)
    report["now"] = now
    burn = _sum([row.cost_per_hour for row in view.rows])
    balance = view.health.balance if view.health else None
    report["cost_per_hour"] = burn
    report["cost_unknown"] = sum(row.cost_per_hour is None for row in view.rows)
    report["spent"] = _sum([row.spent for row in view.rows])
    report["balance"] = balance
    report["hours_left"] = hours_left(balance, burn)
    report["api_age_seconds"] = _age(view, now)
    report["collector"] = {
        "running": view.lease_held,
        "health": to_builtins(view.health) if view.health else None,
    }
    report["last_walk"] = to_builtins(view.last_walk) if view.last_walk else None
    report["rates"] = {
        "fleet": to_builtins(fleet_rates(view.rows)),
        "gpus": to_builtins(gpu_rates(view.rows)),
    }
    peers = Peers(view.rows, now)
    missing = await store.log_missing()
    report["rows"] = [_row(row, peers, missing.get(row.instance_id)) for row in view.rows]
    report["log_missing"] = {
        name: sum(getattr(item, name) for item in missing.values())
        for name in LogMissing.__struct_fields__
    }
    return report


def _row(row: FleetRow, peers: Peers, missing: LogMissing | None) -> dict[str, Any]:
    place = peers.place_of(row)
    return {
        **to_builtins(row),
        "trend": trend(row.counted),
        "peers": None if place is None else place.words,
        "log_missing": None if missing is None else msgspec.to_builtins(missing),
    }


def fleet_rate(rows: tuple[FleetRow, ...]) -> float | None:
    """Sum the measured proof rates of the instances that prove now; benchmarks do not earn."""
    return _sum([row.proving_per_hour for row in rows if row.stage is Stage.RUNNING])


def report_text(report: dict[str, Any]) -> str:
    """Draw a fleet report as plain lines: totals, stages, one line a finding."""
    stages = ", ".join(f"{count} {stage}" for stage, count in report["by_stage"].items())
    lines = [
        f"{report['instances']} instances: {stages}",
        f"{_number(report['proofs_per_hour'], 1)} proofs/h",
    ]
    lines += [
        f"{item['instance']:>9} {item['severity']}: {item['summary']}"
        for item in report["findings"]
    ]
    return "\n".join(lines)


def status_text(report: dict[str, Any]) -> str:
    """Draw a status report as plain lines, one an instance."""
    # Rows whose cost is not known make the sum a lower bound.
    at_least, at_most = ("≥", "≤") if report["cost_unknown"] else ("", "")
    head = (
        f"{report['instances']} instances · {_number(report['proofs_per_hour'], 1)} proofs/h"
        f" · {at_least}${_number(report['cost_per_hour'], 2)}/h"
        f" · balance ${_number(report['balance'], 2)},"
        f" {at_most}{_number(report['hours_left'], 0)} h left · SSH {report['ssh_connected']}"
        f" · API {_seconds(report['api_age_seconds'])} old"
        f" · collector {'running' if report['collector']['running'] else 'NOT running'}"
    )
    groups = {"fleet": report["rates"]["fleet"], **report["rates"]["gpus"]}
    rates = [
        f"{_column(name, 20)} {', '.join(_rate_words(rate, report['now']) for rate in several)}"
        for name, several in groups.items()
        if several
    ]
    quiet = {
        (item["instance"], item["category"]): item["state"]
        for item in report["findings"]
        if item["state"] != FindingState.OPEN
    }
    return "\n".join(
        [head, *rates, *(_row_line(row, quiet, report["now"]) for row in report["rows"])]
    )


def _rate_words(rate: dict[str, Any], now: float) -> str:
    window = rate["window_seconds"]
    words = "since start" if window is None else f"in {_WINDOW_WORDS[window]}"
    age = now - rate["oldest_at"]
    old = f", {age:.0f} s old" if age >= 60 else ""
    part = "" if rate["measured"] == rate["proving"] else f" ({rate['measured']}/{rate['proving']})"
    return f"{rate['proofs_per_hour']:.1f}/h {words}{part}{old}"


def _rate_note(row: dict[str, Any], now: float) -> str:
    """Say of what a row's rate is where it is not of proofs completed in the last hour."""
    source = row.get("rate_source")
    if source is None:
        return ""
    notes = [_SOURCE_WORDS[source]] if source in _SOURCE_WORDS else []
    window = row.get("rate_window")
    if window and abs(window - _USUAL_WINDOW) >= 60:
        notes.append(f"over {_duration(window)}")
    age = now - row["rate_at"]
    if age >= 60:
        notes.append(f"{_duration(age)} old")
    return f"(rate {', '.join(notes)})" if notes else ""


def _duration(seconds: float) -> str:
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"


def _row_line(row: dict[str, Any], quiet: dict[tuple[int, str], str], now: float) -> str:
    finding = row.get("finding_category")
    state = quiet.get((row["instance_id"], finding or ""))
    severity = row.get("finding_severity")
    return " ".join(
        (
            f"{row['instance_id']:>9}",
            _column(row.get("label") or "-", 14),
            _column(f"{row.get('num_gpus') or '?'}x {row.get('gpu') or '?'}", 20),
            _column(row.get("acting") or row["stage"], 14),
            _column(row.get("progress_text") or "", 18),
            f"{_number(row.get('proofs_per_hour'), 1):>6}/h",
            f"${_number(row.get('cost_per_hour'), 3):>6}/h",
            f"${_number(row.get('spent'), 2):>6} spent",
            _rate_note(row, now),
            f"{row['trend']:+.0%}" if row["trend"] else "",
            row["peers"] or "",
            f"{severity}: {finding}" + (f" ({state})" if state else "") if finding else "",
            "[machine has a record]" if row.get("machine_record") else "",
            f"[{lost}]" if (lost := _lost_words(row["log_missing"])) else "",
        )
    ).rstrip()


def _lost_words(missing: dict[str, int] | None) -> str:
    if missing is None or not missing["lost_files"]:
        return ""
    count, much = missing["lost_files"], missing["lost_bytes"]
    files = f"{count} log file{'s' * (count > 1)}"
    if much:
        return f"at least {much} bytes of {files} lost unread"
    return f"{files} moved away, perhaps not read to the end"


def _column(text: str, width: int) -> str:
    """Fill or cut a text to a width, saying with an ellipsis that it was cut."""
    return f"{text if len(text) <= width else text[: width - 1] + '…':<{width}}"


def _finding(instance_id: int, finding: Finding) -> dict[str, Any]:
    return {
        "instance": instance_id,
        "category": finding.category,
        "severity": str(finding.severity),
        "summary": finding.summary,
        "evidence": [
            {"source": item.source, "line": item.line, "text": item.text}
            for item in finding.evidence
        ],
    }


def _in_stage_order(rows: tuple[FleetRow, ...]) -> list[FleetRow]:
    order = list(Stage)
    return sorted(rows, key=lambda row: order.index(row.stage))


def _age(view: FleetView, now: float) -> float | None:
    walk = view.last_complete_walk
    return None if walk is None else max(now - walk.ended_at, 0.0)


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known), 4) if known else None


def _number(value: float | None, digits: int) -> str:
    return "?" if value is None else f"{value:.{digits}f}"


def _seconds(value: float | None) -> str:
    return "never read" if value is None else f"{value:.0f} s"
