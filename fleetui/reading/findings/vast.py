"""What the Vast API says of the instance (facts: vast_api.md sections 2.4 and 7)."""

from collections.abc import Iterator

from fleetui.domain.finding import Finding
from fleetui.domain.instance import Instance
from fleetui.domain.text import sanitise
from fleetui.reading.findings.clues import Clues, make, quote, remark
from fleetui.reading.findings.matching import facts_of

_STARTING = frozenset({None, "created", "loading", "connecting", "scheduling", "creating"})
_START_LIMIT_SECONDS = 900.0
_NOT_YET_A_FAULT = ".no_container"
_PULLS_AGAIN = ".pulls_again"


def look(clues: Clues) -> Iterator[Finding]:
    """Find why Vast does not run the instance as asked."""
    yield from _start_lines(clues)
    instance = clues.case.instance
    if instance is not None:
        yield from _row(clues, instance)


def _start_lines(clues: Clues) -> Iterator[Finding]:
    facts = clues.facts("vast_container_start_failed")
    if not facts:
        return
    real = [fact for fact in facts if not fact.rule.endswith(_NOT_YET_A_FAULT)]
    yield make(
        "vast_container_start_failed",
        facts=real or facts,
        count=clues.count("vast_container_start_failed"),
        confidence=0.9 if real else 0.6,
    )


def _row(clues: Clues, instance: Instance) -> Iterator[Finding]:
    status = instance.actual_status or None
    row = remark(
        "vast",
        f"actual_status {status} · intended {instance.intended_status} · cur_state "
        f"{instance.cur_state} · {instance.status_msg or 'no status_msg'}",
    )
    wanted = instance.intended_status in (None, "running")
    stopped = instance.intended_status == "stopped" and instance.cur_state == "stopped"
    if stopped and instance.is_bid and status in ("stopped", "exited"):
        bid = "" if instance.min_bid is None else f"; the bid to beat is ${instance.min_bid:.3f}/h"
        yield make(
            "vast_outbid",
            evidence=[row],
            confidence=0.8,
            summary=f"A higher bid stopped this interruptible instance{bid}",
        )
        return
    yield from _message(instance, wanted=wanted)
    if status in ("offline", "unknown"):
        what = "is offline" if status == "offline" else "sends no heartbeat"
        yield make(
            "vast_host_offline",
            evidence=[row],
            confidence=0.9 if status == "offline" else 0.7,
            summary=f"The host {what}: Vast reports `{status}`",
        )
    elif status == "exited" and wanted:
        yield make(
            "vast_exited",
            evidence=[row],
            confidence=0.8,
            summary="The container ended by itself although it should run"
            + (f": {quote(instance.status_msg)}" if instance.status_msg else ""),
        )
    elif status in _STARTING and wanted:
        yield from _slow_start(clues, instance)


def _message(instance: Instance, *, wanted: bool) -> Iterator[Finding]:
    """Read the status text; only a running or starting instance's text is news."""
    if not instance.status_msg or instance.status_msg.startswith("success"):
        return
    facts = facts_of("vast", "vast", (sanitise(instance.status_msg),))
    if not wanted:
        # Who is out of credit has everything stopped, and then nothing is wanted any more.
        facts = tuple(fact for fact in facts if fact.category == "vast_account_limit")
    for category in dict.fromkeys(fact.category for fact in facts):
        if category is None or category in ("vast_api_error", "ssh_auth_failed"):
            continue
        if category == "vast_container_start_failed" and instance.actual_status == "running":
            continue
        named = [fact for fact in facts if fact.category == category]
        if all(fact.rule.endswith(_NOT_YET_A_FAULT) for fact in named):
            continue
        if category == "vast_not_starting" and all(
            fact.rule.endswith(_PULLS_AGAIN) for fact in named
        ):
            # A registry that asks to wait is told of when it lasts: see _slow_start.
            continue
        yield make(category, facts=named, confidence=0.9)


def _slow_start(clues: Clues, instance: Instance) -> Iterator[Finding]:
    # The row's date is that of the contract: one that had run waits since it was started again.
    since = clues.case.loading_since or instance.start_date
    if since is None:
        return
    waited = clues.case.now - since
    if waited < _START_LIMIT_SECONDS:
        return
    status = instance.actual_status or "no status yet"
    yield make(
        "vast_not_starting",
        evidence=[
            remark("vast", f"{status}: {instance.status_msg or 'no status_msg'}", clues.case.now)
        ],
        confidence=0.8,
        summary=f"The instance has been in `{status}` for {waited / 60:.0f} minutes",
    )
