"""The prover daemon: its port, its start, its parameters."""

import re
from collections.abc import Iterator

from fleetui.domain.finding import Evidence, Finding, Severity
from fleetui.domain.stage import Stage
from fleetui.domain.stream import Fact
from fleetui.reading.daemon_starts import SETTLED_SECONDS, SLACK_SECONDS
from fleetui.reading.figures import figure
from fleetui.reading.findings.clues import DAEMON, Clues, make, proof_of, quote, remark

_START_LIMIT_SECONDS = 600.0
"""Where the profile has no limit of its own for the stage."""
_WHOLE_SRS_GIB = 44.0
_STATUS_PORT = "daemon_port_in_use.status"
_SERVING = ("mark.daemon_ready", "mark.request", "mark.proof_passed")
"""Marks of a daemon that serves: its own word may be missing from what was read."""


def look(clues: Clues) -> Iterator[Finding]:
    """Find why the daemon does not serve."""
    yield from _port(clues)
    yield from _not_ready(clues)
    yield from _config(clues)
    yield from _srs(clues)


def _port(clues: Clues) -> Iterator[Finding]:
    facts = [fact for fact in clues.facts("daemon_port_in_use") if fact.rule != _STATUS_PORT]
    status = clues.rule(_STATUS_PORT)
    if status and not facts:
        yield make(
            "daemon_port_in_use",
            facts=status,
            severity=Severity.WARNING,
            confidence=0.8,
            summary="The daemon could not bind the address of its status server: it proves, but "
            "cannot be asked for its status",
            advice="End the process that holds the status port, then restart the daemon when it "
            "has no work; proofs do not need it.",
        )
    if not facts:
        return
    context = [clues.last("mark.restart_daemon")]
    false_ready = [
        fact for fact in clues.rule("mark.daemon_ready") if 0 < facts[-1].line - fact.line <= 8
    ]
    address = next(
        (
            match[1]
            for fact in false_ready
            if (match := re.search(r"serving on (\S+)", fact.text)) is not None
        ),
        None,
    )
    held = f" {address}" if address else ""
    served = clues.served_after(max(facts, key=lambda fact: (fact.generation, fact.line)))
    if served is not None:
        yield make(
            "daemon_port_in_use",
            facts=[facts[0]],
            evidence=[proof_of(served)],
            count=clues.count("daemon_port_in_use"),
            severity=Severity.INFO,
            confidence=0.6,
            over=True,
            summary=f"A daemon could not bind its address{held} because another process held it; "
            "one that was started later serves",
        )
        return
    truth = "; the `ready` line just before is false" if false_ready else ""
    yield make(
        "daemon_port_in_use",
        facts=[facts[0]],
        evidence=[
            *(proof_of(fact) for fact in (*context, *false_ready[-1:]) if fact is not None),
            *_holders(clues),
            *(proof_of(fact) for fact in facts[1:3]),
        ],
        count=clues.count("daemon_port_in_use"),
        confidence=0.95,
        severity=clues.severity_after_recovery("daemon_port_in_use", facts),
        summary=f"The daemon could not bind its address{held}: another process, most likely the "
        f"previous daemon, still holds it{truth}",
    )


def _holders(clues: Clues) -> list[Evidence]:
    probe = clues.case.probe
    if probe is None:
        return []
    return [
        remark("probe:ps", f"pid {process.pid}: {process.args}", probe.at)
        for process in probe.processes or ()
        if DAEMON in process.args
    ][:2]


def _not_ready(clues: Clues) -> Iterator[Finding]:
    said = [fact for fact in clues.facts("daemon_not_ready") if not fact.rule.endswith(".sigint")]
    if said:
        yield make(
            "daemon_not_ready",
            facts=said,
            severity=clues.severity_after_recovery("daemon_not_ready", said),
        )
    interrupted = clues.rule("daemon_not_ready.sigint")
    if (
        interrupted
        and clues.process(DAEMON)
        and clues.followed(interrupted[-1], "mark.daemon_starting") is None
    ):
        yield make(
            "daemon_not_ready",
            facts=interrupted[-1:],
            evidence=_holders(clues),
            summary="The daemon was asked to stop (SIGINT) but lives on: it holds its port and "
            "memory and takes requests that never finish",
            advice="End it with SIGTERM or SIGKILL, wait until it is gone, then start it again.",
        )
    start = clues.last("mark.daemon_starting")
    if start is None or said or clues.followed(start, *_SERVING) is not None:
        return
    if _answers(clues, start):
        return
    waited = None if start.at is None else clues.case.now - start.at
    failed = clues.facts("bench_script_failed")
    limit = clues.case.stage_limits.get(Stage.DAEMON_START, _START_LIMIT_SECONDS)
    late = clues.case.live and waited is not None and waited > limit
    if not late and not (failed and not clues.case.live):
        return
    last = clues.last("mark.srs_loading") or start
    seconds = "" if waited is None else f" after {waited:.0f} s"
    yield make(
        "daemon_not_ready",
        facts=[start, last],
        confidence=0.6,
        summary=f"The daemon started but does not serve{seconds}; it came as far as: "
        f"{quote(last.text)}",
    )


def _answers(clues: Clues, start: Fact) -> bool:
    """Whether the daemon of this start answers for its status, and was not kept from its port."""
    status = clues.case.status
    if status is None or status.at is None or start.at is None:
        return False
    began = status.at - status.uptime_secs
    return began >= start.at - SLACK_SECONDS and status.uptime_secs >= SETTLED_SECONDS


def _config(clues: Clues) -> Iterator[Finding]:
    facts = clues.facts("daemon_config_error")
    if not facts:
        return
    files = all(fact.rule.endswith(".files") for fact in facts)
    yield make(
        "daemon_config_error",
        facts=facts,
        count=clues.count("daemon_config_error"),
        severity=clues.severity_after_recovery("daemon_config_error", facts),
        summary=f"A process may open no more files: {quote(facts[0].text)}" if files else None,
        advice="Raise the limit (ulimit -n, nofile) where the image starts the daemon, then "
        "restart it; a number that keeps growing is a leak."
        if files
        else None,
    )


def _srs(clues: Clues) -> Iterator[Finding]:
    facts = clues.facts("srs_load_failed")
    if not facts:
        return
    reason = ""
    evidence: list[Evidence] = []
    for loading in clues.rule("mark.srs_loading"):
        size = figure(loading.fields.get("gib"), _WHOLE_SRS_GIB)
        if size < _WHOLE_SRS_GIB and "stacked-proof-of-replication" in loading.text:
            reason = f": its file has only {size:.1f} GiB of 44.1 GiB"
            evidence.append(proof_of(loading))
            break
    yield make(
        "srs_load_failed",
        facts=facts,
        evidence=evidence,
        count=clues.count("srs_load_failed"),
        severity=clues.severity_after_recovery("srs_load_failed", facts),
        summary=f"The daemon could not load its parameters (SRS){reason}" if reason else None,
    )
