"""`fleetui findings`, `ack` and `snooze`: what is wrong in the fleet, and who has seen it."""

import re
from typing import Any

from msgspec.structs import replace

from fleetui.domain.clock import Clock
from fleetui.domain.codec import to_builtins
from fleetui.domain.finding import Severity
from fleetui.domain.finding_groups import FindingGroup, group_findings
from fleetui.domain.finding_record import (
    DecisionKind,
    FindingDecision,
    FindingRecord,
    SignatureHistory,
)
from fleetui.domain.finding_words import age_words, history_text
from fleetui.domain.text import sanitise
from fleetui.store.interface import ViewerStore

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
LONGEST_SNOOZE = 30 * 86_400.0
_SHOWN_HOSTS = 12


class DecisionError(ValueError):
    """What was asked for cannot be decided; the text says why."""


async def findings_report(
    store: ViewerStore, now: float, *, resolved: bool = False, with_info: bool = False
) -> list[dict[str, Any]]:
    """Gather the fleet's findings by signature, each with its records and its history.

    Faults of the fleet come first (`fleet` true); a group that one of them explains names it in
    `led_by`. Times are epoch seconds of the fleet.
    """
    records = await store.findings(resolved=resolved)
    groups = group_findings(records, now, with_info=with_info)
    return [_group(group, await store.signature_history(group.signature), now) for group in groups]


def findings_text(report: list[dict[str, Any]], now: float) -> str:
    """Draw the report as plain lines."""
    if not report:
        return "nothing is wrong with any live instance"
    lines: list[str] = []
    for group in report:
        hosts = group["instance_ids"]
        many = "fleet" if group["fleet"] else f"{len(hosts)} host" + "s" * (len(hosts) > 1)
        led = f"  (part of the fleet's {group['led_by']})" if group["led_by"] else ""
        since, last = (age_words(now - group[name]) for name in ("first_seen", "last_seen"))
        lines += [
            f"{group['severity'].upper():8} {group['category']}  {many}  {group['state']}{led}",
            f"  {group['summary']}",
            f"  since {since}, last {last} ago",
        ]
        if hosts:
            more = f" and {len(hosts) - _SHOWN_HOSTS} more" if len(hosts) > _SHOWN_HOSTS else ""
            lines.append(f"  hosts {' '.join(map(str, hosts[:_SHOWN_HOSTS]))}{more}")
        numbers = [record["id"] for record in group["records"]]
        lines.append(f"  ids {' '.join(f'#{number}' for number in numbers[:_SHOWN_HOSTS])}")
        if group["before"]:
            lines.append(f"  before: {group['before']}")
        lines += [f"  do: {group['advice']}", ""]
    return "\n".join(lines).rstrip()


async def acknowledge(
    store: ViewerStore, target: str, *, clock: Clock, actor: str, note: str = ""
) -> str:
    """Say that somebody has seen a finding, or all open ones of a signature or category.

    Raises:
        DecisionError: nothing of that name is open.
    """
    records = await _targets(store, target)
    for record in records:
        await store.decide(
            FindingDecision(
                kind=DecisionKind.ACKNOWLEDGE,
                actor=sanitise(actor),
                at=clock.now(),
                finding_id=record.finding_id,
                note=sanitise(note),
            )
        )
    return f"acknowledged {_count(records)}"


async def snooze(
    store: ViewerStore, target: str, span: str, *, clock: Clock, actor: str, note: str = ""
) -> str:
    """Be silent about a finding for a time (`30m`, `2h`, `1d`).

    For a signature or a category that also counts for hosts that get it meanwhile.

    Raises:
        DecisionError: nothing of that name is open, or the time makes no sense.
    """
    seconds = seconds_of(span)
    records = await _targets(store, target)
    at = clock.now()
    plain = FindingDecision(
        kind=DecisionKind.SNOOZE,
        actor=sanitise(actor),
        at=at,
        until=at + seconds,
        note=sanitise(note),
    )
    if _number(target) is not None:
        await store.decide(replace(plain, finding_id=records[0].finding_id))
    else:
        for signature in sorted({record.finding.signature for record in records}):
            await store.decide(replace(plain, signature=signature))
    return f"snoozed {_count(records)} for {span}"


def seconds_of(span: str) -> float:
    """Return the seconds of `90s`, `30m`, `2h`, `1d`.

    Raises:
        DecisionError: it is none of these, nothing, or longer than 30 days.
    """
    match = _SPAN.fullmatch(span.strip().lower())
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not 0 < seconds <= LONGEST_SNOOZE:
        message = f"{span!r} is no time to snooze for; say e.g. 30m, 2h or 1d (at most 30d)"
        raise DecisionError(message)
    return seconds


async def _targets(store: ViewerStore, target: str) -> list[FindingRecord]:
    number = _number(target)
    records = [
        record
        for record in await store.findings()
        if (record.finding_id == number)
        or (number is None and target in (record.finding.signature, record.finding.category))
    ]
    if not records:
        message = f"no open finding is called {target!r}; `fleetui findings` lists them"
        raise DecisionError(message)
    return records


def _number(target: str) -> int | None:
    digits = target.removeprefix("#")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else None


def _count(records: list[FindingRecord]) -> str:
    categories = sorted({record.finding.category for record in records})
    return f"{len(records)} finding" + "s" * (len(records) > 1) + f": {', '.join(categories)}"


def _group(group: FindingGroup, history: SignatureHistory | None, now: float) -> dict[str, Any]:
    return {
        "category": group.category,
        "signature": group.signature,
        "severity": str(group.severity),
        "state": str(group.state),
        "fleet": group.is_fleet,
        "led_by": group.led_by,
        "summary": group.newest.summary,
        "advice": group.newest.advice,
        "action": group.newest.action,
        "instance_ids": list(group.instance_ids),
        "first_seen": group.first_seen,
        "last_seen": group.last_seen,
        "before": str(history_text(history, now)),
        "history": to_builtins(history) if history is not None else None,
        "records": [_record(record, now) for record in group.records],
    }


def _record(record: FindingRecord, now: float) -> dict[str, Any]:
    decision = record.decision
    return {
        "id": record.finding_id,
        "instance": record.instance_id or None,
        "machine": record.machine_id,
        "state": str(record.state(now)),
        "severity": str(record.finding.severity),
        "confidence": record.finding.confidence,
        "summary": record.finding.summary,
        "first_seen": record.first_seen,
        "last_seen": record.last_seen,
        "occurrences": record.occurrences,
        "lines": record.finding.count,
        "resolved_at": record.resolved_at,
        "resolution": record.resolution,
        "decided_by": decision.actor if decision is not None else None,
        "snoozed_until": decision.until if decision is not None else None,
        "evidence": [to_builtins(proof) for proof in record.finding.evidence],
    }


def worst(report: list[dict[str, Any]]) -> bool:
    """Tell whether a critical finding is open and nobody has seen it."""
    return any(
        group["severity"] == Severity.CRITICAL and group["state"] == "open" for group in report
    )
