"""The prover daemon: start, port, parameters, panics, sudden ends, bad proofs."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from fleetui.domain.finding import Evidence, Finding, Severity
from fleetui.domain.stage import Stage
from fleetui.domain.stream import Fact
from fleetui.reading.figures import figure
from fleetui.reading.findings.clues import (
    Clues,
    is_after,
    make,
    proof_of,
    quote,
    remark,
    tail_proof,
)  # fmt: skip

_DAEMON = "cuzk-daemon"
_LOOP_STARTS = 3
_LOOP_SECONDS = 600.0
_START_LIMIT_SECONDS = 600.0
"""Where the profile has no limit of its own for the stage."""
_ECHO_LINES = 4
_WHOLE_SRS_GIB = 44.0
_INVALID_OF = re.compile(r"PER-PARTITION VERIFICATION: (\d+)/(\d+) valid", re.IGNORECASE)
_WORK = {
    Stage.WARMUP: "during the warmup proof",
    Stage.BENCH: "during the benchmark",
    Stage.RUNNING: "while proving",
}

_RESTART_ECHO_SECONDS = 300.0
"""How long after the request a restart's script may still end the old daemon."""


def look(clues: Clues) -> Iterator[Finding]:
    """Find how the daemon fails."""
    yield from _port(clues)
    yield from _not_ready(clues)
    yield from _loop(clues)
    yield from _srs(clues)
    yield from _proofs(clues)
    yield from _status(clues)
    lost = _lost_connections(clues)
    yield from _lost(clues, lost)
    yield from _panics(clues, lost)


def _port(clues: Clues) -> Iterator[Finding]:
    facts = clues.facts("daemon_port_in_use")
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
        if _DAEMON in process.args
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
        and clues.process(_DAEMON)
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
    if start is None or said or clues.followed(start, "mark.daemon_ready") is not None:
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


def _loop(clues: Clues) -> Iterator[Finding]:
    said = clues.facts("daemon_crash_loop")
    if said:
        yield make("daemon_crash_loop", facts=said, count=clues.count("daemon_crash_loop"))
    told = False
    by_source: dict[str, list[Fact]] = {}
    for fact in clues.rule("mark.daemon_starting"):
        if fact.at is not None and not _was_asked_for(clues, fact.at):
            by_source.setdefault(fact.source, []).append(fact)
    for starts in by_source.values():
        for first, last in zip(starts, starts[_LOOP_STARTS - 1 :], strict=False):
            span = (last.at or 0.0) - (first.at or 0.0)
            if span <= _LOOP_SECONDS:
                count = clues.case.counts.get("mark.daemon_starting", len(starts))
                yield make(
                    "daemon_crash_loop",
                    facts=starts,
                    count=max(count, len(starts)),
                    summary=f"The daemon started {max(count, len(starts))} times, "
                    f"{_LOOP_STARTS} of them within {span:.0f} s",
                )
                told = True
                break
    yield from _fallen_uptime(clues, told=told or bool(said))


def _fallen_uptime(clues: Clues, *, told: bool) -> Iterator[Finding]:
    """Read restarts that only the falling uptime shows; `told` says that a log tells of a loop."""
    since = _begin_of_work(clues)
    starts = [
        one
        for one in clues.case.daemon_starts
        if since is not None and one.at >= since and not _was_asked_for(clues, one.at)
    ]
    shown = [
        remark("status", f"uptime shows a start, {one.jobs} proof(s) under way before", one.at)
        for one in starts[-_LOOP_STARTS:]
    ]
    for first, last in zip(starts, starts[_LOOP_STARTS - 1 :], strict=False):
        if not told and last.at - first.at <= _LOOP_SECONDS:
            yield make(
                "daemon_crash_loop",
                evidence=shown,
                count=len(starts),
                confidence=0.85,
                summary=f"The daemon's uptime keeps falling: {len(starts)} starts, {_LOOP_STARTS} "
                f"of them within {last.at - first.at:.0f} s",
            )
            return
    restarted = bool(starts) and not starts[-1].is_first
    if told or not restarted or not starts[-1].jobs or clues.case.stage is not Stage.RUNNING:
        return
    newest = starts[-1]
    healed = any((fact.at or 0.0) > newest.at for fact in clues.rule("mark.proof_passed"))
    yield make(
        "prover_lost",
        evidence=shown,
        confidence=0.7,
        severity=Severity.INFO if healed else Severity.WARNING,
        summary=f"The daemon was started anew while {newest.jobs} proof(s) were under way, and "
        "nobody asked for it here; it runs again",
    )


def _begin_of_work(clues: Clues) -> float | None:
    """Return since when the daemon should stay: the benchmark starts several, one after another."""
    begin = None
    for span in reversed(clues.case.spans):
        if span.stage is Stage.RUNNING:
            begin = span.started_at
        elif span.stage is not Stage.DAEMON_RESTART:
            return begin
    return begin if clues.case.spans else float("-inf")


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


def _proofs(clues: Clues) -> Iterator[Finding]:
    facts = clues.facts("proof_invalid")
    if not facts:
        return
    summary = None
    for fact in facts:
        match = _INVALID_OF.search(fact.text)
        if match is not None:
            valid, total = int(match[1]), int(match[2])
            blame = "a software fault such as colliding job ids" if not valid else "the card"
            summary = f"A proof fails verification: {valid} of {total} partitions are valid, "
            summary += f"which points to {blame}"
    yield make(
        "proof_invalid",
        facts=facts,
        count=clues.count("proof_invalid"),
        severity=clues.severity_after_recovery("proof_invalid", facts),
        summary=summary,
    )


def _status(clues: Clues) -> Iterator[Finding]:
    """Read the daemon's own account (facts: cuzk.md section 3.1)."""
    status = clues.case.status
    if status is None:
        return
    bad = status.counters.total_failed
    if bad:
        done = status.counters.total_completed
        yield make(
            "proof_invalid",
            evidence=[remark("status", f"total_failed {bad}, total_completed {done}", status.at)],
            confidence=0.8,
            severity=Severity.WARNING if done else None,
            count=bad,
            summary=f"{bad} proof(s) failed the daemon's self-check since its start, {done} passed",
        )
    for job in status.pipelines:
        failed = [part.index for part in job.partitions if part.state == "failed"]
        if failed:
            yield make(
                "job_lost",
                evidence=[
                    remark("status", f"job {job.job_id}: partitions {failed} failed", status.at)
                ],
                confidence=0.7,
                summary=f"{len(failed)} of {job.total_partitions} partitions of a job failed; the "
                "daemon will never finish that job",
            )


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
        _DAEMON in process.args
        and process.elapsed_seconds is not None
        and at - process.elapsed_seconds < cut.at - 5.0
        for process in probe.processes or ()
    )


def _was_asked_for(clues: Clues, at: float | None) -> bool:
    """Whether that moment falls into a restart that somebody asked for here."""
    return at is not None and any(
        asked - 5.0 <= at <= asked + _RESTART_ECHO_SECONDS for asked in clues.case.restarts
    )


def _prover_lost(clues: Clues, lost: Sequence[Fact]) -> Finding:
    if _was_asked_for(clues, lost[-1].at):
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
        asked = _asked_after(clues, lost[-1].at, started.at)
        if served is not None and asked is not None:
            return make(
                "prover_lost",
                facts=lost[:3],
                evidence=evidence,
                count=clues.count("prover_lost"),
                severity=clues.severity_after_recovery("prover_lost", lost) or Severity.WARNING,
                over=True,
                summary=f"The daemon went away without a word {doing}: lost "
                f"{_hour(lost[-1].at)}, restarted on request {_hour(asked)}, serves since "
                f"{_hour(served.at)}",
                advice="The daemon serves again; look for the kill before it is given new work.",
            )
    elif tail is not None:
        evidence.append(tail_proof(tail))
    gone = clues.process(_DAEMON)
    at = clues.case.probe.at if clues.case.probe is not None else None
    if gone is False:
        evidence.append(remark("probe:ps", f"no {_DAEMON} process", at))
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


def _asked_after(clues: Clues, lost: float | None, started: float | None) -> float | None:
    """Return when a restart was asked for that began this start after the loss."""
    if lost is None or started is None:
        return None
    asked = [
        at
        for at in clues.case.restarts
        if lost < at and at - 5.0 <= started <= at + _RESTART_ECHO_SECONDS
    ]
    return asked[-1] if asked else None


def _hour(at: float | None) -> str:
    return "at an unknown time" if at is None else f"{datetime.fromtimestamp(at, UTC):%H:%M} UTC"


def _panics(clues: Clues, lost: Sequence[Fact]) -> Iterator[Finding]:
    facts = [fact for fact in clues.facts("prover_panic") if not _is_echo(fact, lost)]
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


def _is_echo(panic: Fact, lost: Sequence[Fact]) -> bool:
    """Whether a client panicked only because its connection was gone."""
    return any(
        fact.source == panic.source and abs(fact.line - panic.line) <= _ECHO_LINES for fact in lost
    )
