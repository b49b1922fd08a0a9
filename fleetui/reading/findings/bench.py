"""The benchmark: its rate, its end, its time."""

from collections.abc import Iterator

from fleetui.domain.finding import Evidence, Finding, Severity
from fleetui.domain.rate import RateSource
from fleetui.domain.stage import Outcome, Stage, StageSpan
from fleetui.domain.stream import Fact
from fleetui.reading.figures import figure
from fleetui.reading.findings.clues import Clues, make, proof_of, quote, remark, tail_proof
from fleetui.reading.rates import MOST_PER_HOUR
from fleetui.reading.stages import standing

_COMPARED_SECONDS = 900.0
_COMPARED_PROOFS = 3
_COMPARED_PART = 0.2
"""A difference up to so many proofs, or this part of them, is what is just being done."""
_STAGES = frozenset(
    {Stage.C1_DOWNLOAD, Stage.DAEMON_START, Stage.WARMUP, Stage.DAEMON_RESTART, Stage.BENCH}
)


def look(clues: Clues) -> Iterator[Finding]:
    """Find why a benchmark gave no rate, or too low a one."""
    yield from _rate(clues)
    yield from _failed(clues)
    yield from _overdue(clues)
    yield from _disagreeing(clues)


def measured(clues: Clues) -> tuple[float, Fact | None] | None:
    """Return the measured rate in proofs an hour and the line that says it.

    A figure that no machine reaches was not measured.
    """
    line = clues.last("mark.throughput")
    rate = 0.0 if line is None else figure(line.fields.get("per_minute"), 0.0) * 60.0
    if line is not None and rate <= MOST_PER_HOUR:
        return rate, line
    rates = [rate for rate in clues.case.rates if rate.source is RateSource.BENCHMARK]
    return (rates[-1].proofs_per_hour, None) if rates else None


def _minimum(clues: Clues) -> tuple[float, Fact | None] | None:
    line = clues.last("mark.min_rate")
    if clues.case.min_rate is not None:
        return clues.case.min_rate, line
    if line is not None:
        return figure(line.fields.get("minimum"), 0.0), line
    return None


def _rate(clues: Clues) -> Iterator[Finding]:
    rate, minimum = measured(clues), _minimum(clues)
    told = clues.facts("bench_rate_below_min")
    if rate is not None and minimum is not None and 0 < rate[0] < minimum[0]:
        proofs = [fact for fact in (rate[1], minimum[1]) if fact is not None]
        yield make(
            "bench_rate_below_min",
            facts=proofs[:1],
            evidence=[*(proof_of(fact) for fact in (*proofs[1:], *told[:1]))],
            confidence=0.95,
            summary=f"The benchmark ran correctly at {rate[0]:.1f} proofs/h, below the minimum "
            f"of {minimum[0]:.1f}: the host is too slow for its price, nothing is broken",
        )
    elif told:
        fields = told[-1].fields
        least = fields.get("minimum")
        yield make(
            "bench_rate_below_min",
            facts=told,
            confidence=0.9,
            summary=f"The benchmark measured {fields.get('rate', '?')} proofs/h, below the minimum"
            + (f" of {least}" if least else ": it was refused"),
        )


def _failed(clues: Clues) -> Iterator[Finding]:
    facts = clues.facts("bench_script_failed")
    restarted = _failed_and_restarted(clues)
    if facts and _is_over(clues, facts[-1]):
        yield make(
            "bench_script_failed",
            facts=facts,
            severity=Severity.INFO,
            confidence=0.5,
            over=True,
            summary="An earlier run of the benchmark failed; the work has gone on since",
        )
        return
    if restarted is not None:
        yield make(
            "bench_script_failed",
            facts=facts,
            evidence=[restarted.evidence] if restarted.evidence is not None and not facts else [],
            confidence=0.8,
            severity=Severity.WARNING if _proved_since(clues, restarted) else None,
            summary=f"The benchmark failed in {restarted.stage} and nothing runs it again: the "
            "restarted daemon serves, but no client is left to use it",
            advice="Reboot the instance, which runs the entrypoint and its benchmark again, or "
            "destroy it; another restart of the daemon changes nothing.",
        )
        return
    if not facts:
        return
    rate = measured(clues)
    if rate is not None and rate[0] > 0 and rate[1] is not None:
        failed = [fact for fact in facts if fact.rule.endswith((".all_failed", ".single"))]
        if not failed or clues.facts("bench_rate_below_min"):
            return
        yield make(
            "bench_script_failed",
            facts=failed,
            severity=Severity.WARNING,
            confidence=0.5,
            summary=f"Some proofs of the benchmark failed, the others gave {rate[0]:.1f} proofs/h: "
            f"{quote(failed[0].text)}",
        )
        return
    yield make(
        "bench_script_failed",
        facts=facts,
        evidence=_last_words(clues),
        confidence=0.7,
        summary="The benchmark ended with an error and no rate; a rate of 0 is a failure, not a "
        f"slow host{_said(clues)}",
    )


def _is_over(clues: Clues, failure: Fact) -> bool:
    """Whether the benchmark was run again or proofs are made for the fleet since it failed."""
    if clues.followed(failure, "mark.bench_start") is not None:
        return True
    proved = clues.followed(failure, "mark.proof_passed", "mark.throughput")
    return clues.case.stage is Stage.RUNNING and proved is not None


def _failed_and_restarted(clues: Clues) -> StageSpan | None:
    """Return the failed stage that a restart of the daemon has left the instance in."""
    spans = clues.case.spans
    present = standing(spans)
    if present is None or present is spans[-1] or present.outcome is not Outcome.FAILED:
        return None
    return present


def _proved_since(clues: Clues, failed: StageSpan) -> bool:
    ended = failed.ended_at
    proofs = clues.rule("mark.proof_passed")
    return ended is not None and any((fact.at or 0.0) > ended for fact in proofs)


def _last_words(clues: Clues) -> list[Evidence]:
    tails = [clues.tail("bench"), clues.tail("daemon")]
    return [tail_proof(tail) for tail in tails if tail is not None]


def _said(clues: Clues) -> str:
    tail = clues.tail("bench")
    return "" if tail is None else f"; its last words: {quote(tail.last_text)}"


def _disagreeing(clues: Clues) -> Iterator[Finding]:
    """Hold the daemon's counter against its log; it counts before the self-check."""
    counted = clues.case.counted
    if counted is None or counted.window < _COMPARED_SECONDS:
        return
    most = max(counted.by_log, counted.by_counter)
    if abs(counted.by_log - counted.by_counter) <= max(_COMPARED_PROOFS, _COMPARED_PART * most):
        return
    minutes = f"{counted.window / 60.0:.0f} minutes"
    yield make(
        "rates_disagree",
        evidence=[
            remark("status", f"{counted.by_counter} proofs counted in {minutes}", counted.at)
        ],
        confidence=0.7,
        summary=f"In {minutes} the daemon's log told of {counted.by_log} good proofs, but its "
        f"counter rose by {counted.by_counter}",
    )


def _overdue(clues: Clues) -> Iterator[Finding]:
    case = clues.case
    limit = case.stage_limits.get(Stage.BENCH)
    if not case.live or case.stage not in _STAGES or limit is None:
        return
    present = standing(case.spans)
    if present is not None and present.outcome is not Outcome.ACTIVE:
        return
    starts = [
        span.started_at
        for span in case.spans
        if span.stage in _STAGES and span.started_at is not None
    ]
    # A re-run counts from its own begin: the last time the benchmark's first stage was entered.
    begins = [
        span.started_at
        for span in case.spans
        if span.stage is Stage.C1_DOWNLOAD and span.started_at is not None
    ]
    begun = max(begins) if begins else min(starts, default=None)
    if not begins and not _is_benchmark(clues):
        return
    if begun is None or case.now - begun <= limit:
        return
    if any(
        span.stage is Stage.BENCH_DONE and (span.started_at or 0.0) > begun for span in case.spans
    ):
        return
    minutes = (case.now - begun) / 60.0
    yield make(
        "bench_timeout",
        evidence=_last_words(clues),
        confidence=0.8,
        summary=f"The benchmark has been running for {minutes:.0f} minutes, past its limit of "
        f"{limit / 60:.0f}",
    )


def _is_benchmark(clues: Clues) -> bool:
    """Whether anything but a daemon shows that a benchmark runs."""
    stages = {span.stage for span in clues.case.spans}
    return (
        bool(stages & {Stage.WARMUP, Stage.BENCH})
        or bool(clues.rule("mark.bench_start"))
        or clues.tail("bench") is not None
    )
