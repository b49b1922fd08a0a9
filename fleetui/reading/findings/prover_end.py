"""How the daemon ends: without a word, in a panic, or only the connection to it."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from fleetui.domain.finding import Evidence, Finding, Severity
from fleetui.domain.stage import Stage
from fleetui.domain.stream import Fact
from fleetui.reading.findings.clues import (
    DAEMON,
    Clues,
    is_after,
    make,
    proof_of,
    remark,
    tail_proof,
)
from fleetui.reading.findings.restarts import asked_after, was_asked_for

_ECHO_LINES = 4
_REASONS = ("gpu_lock_contention", "gpu_cpu_fallback", "daemon_config_error", "job_lost")
"""What a panic may say of itself and would else stand beside it: other causes explain panics."""
_OTHER_END = re.compile(r"\b(?:Send|Recv|TrySend|TryRecv)Error\b")
"""A panic because the thread at the other end of a channel is gone: the echo of that end."""
_WORK = {
    Stage.WARMUP: "during the warmup proof",
    Stage.BENCH: "during the benchmark",
    Stage.RUNNING: "while proving",
}


def look(clues: Clues) -> Iterator[Finding]:
    """Find daemons that went away and connections that were cut."""
    lost = _lost_connections(clues)
    yield from _lost(clues, lost)
    yield from _panics(clues, lost)


def _lost_connections(clues: Clues) -> list[Fact]:
    """Return the lines that say a connection to the prover ended with the prover's end."""
    lost = list(clues.facts("prover_lost"))
    for fact in clues.facts("grpc_connection_broken"):
        # Under a failed Prove call every loss of the connection reads the same (cuzk.md section 2).
        near = any(
            call.source == fact.source and 0 <= fact.line - call.line <= 8
            for call in clues.rule("mark.prove_rpc_failed")
        )
        if near and re.search(r"reset|closed|\bEOF\b|end of file", fact.text, re.IGNORECASE):
            lost.append(fact)
    return lost


def _lost(clues: Clues, lost: Sequence[Fact]) -> Iterator[Finding]:
    broken = [fact for fact in clues.facts("grpc_connection_broken") if fact not in lost]
    if lost and _survived(clues, lost[-1]):
        broken, lost = [*lost, *broken], []
    echoes_are_over = False
    if lost:
        finding = _prover_lost(clues, lost)
        echoes_are_over = finding.over
        yield finding
    if broken:
        severity = clues.severity_after_recovery("grpc_connection_broken", broken)
        yield make(
            "grpc_connection_broken",
            facts=broken,
            count=clues.count("grpc_connection_broken"),
            severity=Severity.INFO if severity is not None else None,
            confidence=0.8,
            over=echoes_are_over,
        )


def _survived(clues: Clues, cut: Fact) -> bool:
    """Whether the daemon that runs now is older than the cut, so that it did not die then."""
    probe = clues.case.probe
    if probe is None or cut.at is None:
        return False
    at = probe.at or clues.case.now
    return any(
        DAEMON in process.args
        and process.elapsed_seconds is not None
        and at - process.elapsed_seconds < cut.at - 5.0
        for process in probe.processes or ()
    )


def _prover_lost(clues: Clues, lost: Sequence[Fact]) -> Finding:
    if was_asked_for(clues, lost[-1].at):
        return make(
            "prover_lost",
            facts=lost[-1:],
            severity=Severity.INFO,
            confidence=0.9,
            summary="The daemon was restarted on request: the broken connection is the echo",
            advice="Nothing to do; the proof that was under way is made anew.",
        )
    evidence: list[Evidence] = []
    doing = _WORK.get(_stage_at(clues, lost[-1].at), "in the middle of a request")
    extraction = clues.last("mark.pce_start")
    if extraction is not None and clues.followed(extraction, "mark.pce_done") is None:
        evidence.append(proof_of(extraction))
        doing += ", while the constraint cache (PCE, 40 GiB of RAM at its peak) was extracted"
    started = clues.followed(lost[-1], "mark.daemon_starting")
    tail = clues.tail("daemon")
    if started is not None:
        evidence += [proof_of(fact) for fact in _last_words(clues, started)]
        served = clues.followed(started, "mark.daemon_ready")
        asked = asked_after(clues, lost[-1].at, started.at)
        proved = clues.followed(served, "mark.proof_passed") if served is not None else None
        if served is not None and (asked is not None or proved is not None):
            again = "started again" if asked is None else f"restarted on request {_hour(asked)}"
            return make(
                "prover_lost",
                facts=lost[:3],
                evidence=evidence,
                count=clues.count("prover_lost"),
                severity=clues.severity_after_recovery("prover_lost", lost) or Severity.WARNING,
                over=True,
                summary=f"The daemon went away without a word {doing}: lost "
                f"{_hour(lost[-1].at)}, {again}, serves since {_hour(served.at)}",
                advice="The daemon serves again; look for the kill before it is given new work.",
            )
    elif tail is not None:
        evidence.append(tail_proof(tail))
    gone = clues.process(DAEMON)
    at = clues.case.probe.at if clues.case.probe is not None else None
    if gone is False:
        evidence.append(remark("probe:ps", f"no {DAEMON} process", at))
    probe = clues.case.probe
    counted = ""
    if probe is not None and probe.memory_events is not None:
        kills = probe.memory_events.get("oom_kill", 0)
        evidence.append(remark("probe:cgroup.memory.events", f"oom_kill {kills}", probe.at))
        counted = "" if kills else "; the container counted no out-of-memory kill"
    return make(
        "prover_lost",
        facts=lost[:3],
        evidence=evidence,
        count=clues.count("prover_lost"),
        confidence=0.9 if gone is not None else 0.8,
        severity=clues.severity_after_recovery("prover_lost", lost),
        summary=f"The daemon went away without a word {doing}: the broken connection is the echo "
        f"of its death, not a size limit{counted}",
    )


def _stage_at(clues: Clues, at: float | None) -> Stage:
    """Return the stage at that moment, as far as the spans tell."""
    spans = [
        span
        for span in clues.case.spans
        if span.stage is not Stage.DAEMON_RESTART and (span.started_at or 0.0) <= (at or 0.0)
    ]
    return spans[-1].stage if spans else clues.case.stage


def _last_words(clues: Clues, started: Fact) -> list[Fact]:
    """Return the last matched line of the daemon that ran before this start."""
    before = [
        fact
        for fact in clues.case.facts
        if fact.source == started.source and is_after(started, fact)
    ]
    return before[-1:] and [max(before, key=lambda fact: (fact.generation, fact.offset))]


def _hour(at: float | None) -> str:
    return "at an unknown time" if at is None else f"{datetime.fromtimestamp(at, UTC):%H:%M} UTC"


def _panics(clues: Clues, lost: Sequence[Fact]) -> Iterator[Finding]:
    locks = clues.facts("gpu_lock_contention")
    facts = [
        fact
        for fact in clues.facts("prover_panic")
        if not _is_echo(fact, lost)
        and not _says_why(clues, fact)
        and not (locks and _OTHER_END.search(fact.text))
    ]
    if not facts:
        return
    plain = [fact for fact in facts if fact.rule.endswith((".rust", ".abort", ".go", ".task"))]
    cancels = [fact for fact in facts if fact.rule.endswith(".cancel")]
    summary = None
    if cancels and not plain:
        summary = (
            "The server dropped the call (CANCEL): its handler most likely panicked; look for the "
            "panic in the daemon's log"
        )
    yield make(
        "prover_panic",
        facts=plain + [fact for fact in facts if fact not in plain],
        count=clues.count("prover_panic"),
        confidence=0.9 if plain else 0.8 if cancels else 0.6,
        severity=clues.severity_after_recovery("prover_panic", facts),
        summary=summary,
    )


def _says_why(clues: Clues, panic: Fact) -> bool:
    """Whether the line of a panic itself, or its message on the next one, names another fault."""
    return any(
        fact.source == panic.source
        and fact.generation == panic.generation
        and fact.line in (panic.line, panic.line + 1)
        for category in _REASONS
        for fact in clues.facts(category)
    )


def _is_echo(panic: Fact, lost: Sequence[Fact]) -> bool:
    """Whether a client panicked only because its connection was gone."""
    return panic.rule == "prover_panic.rust" and any(
        fact.source == panic.source and abs(fact.line - panic.line) <= _ECHO_LINES for fact in lost
    )
