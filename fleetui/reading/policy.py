"""The owner's rules on one instance's reading: what each would do. Pure."""

import math
from collections.abc import Iterable

import msgspec

from fleetui.domain.finding import Severity
from fleetui.domain.instance import Instance
from fleetui.domain.intent import Verb
from fleetui.domain.money import hours_left
from fleetui.domain.policy import Mode, Policy, Proposal
from fleetui.domain.rate import Rate, RateSource
from fleetui.domain.reading import Reading
from fleetui.domain.stage import Outcome, Progress, Stage
from fleetui.domain.standing import Mark
from fleetui.domain.text import SafeText, sanitise
from fleetui.reading.stages import stay_began

SPARED_SHARE = 0.25
"""What will end within this share of its limit after it is let go on."""
LEAST_SHARE = 0.25
"""Before this share of its limit nothing is said to be unable to end in time."""
OF_THE_API = frozenset({"bad_machine", "price_above", "outbid"})
"""Rules that need nothing of the host itself."""
_STAGES = {
    "registration": (Stage.LOADING, Stage.BOOT),
    "parameters": (Stage.PARAM_FETCH, Stage.PARAMS_DONE, Stage.C1_DOWNLOAD),
    "benchmark": (Stage.DAEMON_START, Stage.WARMUP, Stage.DAEMON_RESTART, Stage.BENCH),
}


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one instance."""

    instance: Instance
    reading: Reading
    blacklisted: Mark | None = None


def minimum_rate(price_per_hour: float, dearest_proof: float) -> int:
    """Return the proofs an hour that keep a proof at or below its maximum cost in dollars."""
    return math.ceil(round(price_per_hour / dearest_proof, 6))


def judge(subject: Subject, policy: Policy, now: float) -> tuple[Proposal, ...]:
    """Return what the rules that are on say of an instance, the gravest first."""
    found: list[Proposal | None] = [
        _bad_machine(subject, policy),
        _benchmark(subject, policy),
        *(_stage_limit(subject, policy, name, now) for name in _STAGES),
        _repeated_crash(subject, policy, now),
        _idle(subject, policy),
        _price(subject, policy),
        _outbid(subject, policy),
    ]
    return tuple(item for item in found if item is not None and item.mode != Mode.OFF)


def judge_fleet(
    policy: Policy, *, burn: float | None, spent_today: float, balance: float | None
) -> tuple[Proposal, ...]:
    """Return what the rules about the fleet's money say; money is in dollars."""
    found = []
    hour, day, low = policy.spend_hour, policy.spend_day, policy.balance_low
    if hour.dollars is not None and burn is not None and burn > hour.dollars:
        text = f"the fleet costs ${burn:.2f} an hour; the cap is ${hour.dollars:.2f}"
        found.append(_say("spend_hour", hour.mode, text))
    if day.dollars is not None and spent_today > day.dollars:
        text = f"${spent_today:.2f} were spent today (UTC); the cap is ${day.dollars:.2f}"
        found.append(_say("spend_day", day.mode, text))
    left = hours_left(balance, burn)
    if left is not None and left < low.hours:
        text = f"the balance lasts {left:.1f} h more at ${burn or 0.0:.2f}/h"
        found.append(_say("balance_low", low.mode, text))
    return tuple(item for item in found if item.mode != Mode.OFF)


def _bad_machine(subject: Subject, policy: Policy) -> Proposal | None:
    mark = subject.blacklisted
    if mark is None:
        return None
    text = f"machine {subject.instance.machine_id} is blacklisted by {mark.by}: {mark.reason}"
    return _propose(subject, "bad_machine", policy.bad_machine.mode, text)


def _benchmark(subject: Subject, policy: Policy) -> Proposal | None:
    """Judge a benchmark's rate: none at all is a failure of its run, not slowness."""
    rate = _benchmark_rate(subject.reading.rates)
    price = subject.instance.price_running
    if rate is None or _is_measured_anew(subject.reading, rate):
        return None
    if rate.proofs_per_hour == 0:
        cause = _cause(subject.reading)
        why = f": {cause[1]}" if cause else "; no cause is known yet"
        text = f"the benchmark's rate is 0, which is a failure and not slowness{why}"
        return _propose(subject, "benchmark_zero", policy.benchmark_zero.mode, text, cause=cause)
    if price is None:
        return None
    dearest = policy.dearest(subject.instance.instance_id, subject.instance.label)
    least = minimum_rate(price, dearest)
    if rate.proofs_per_hour >= least:
        return None
    text = (
        f"{rate.proofs_per_hour:.1f} proofs/h in the benchmark; at ${price:.3f}/h and at most"
        f" ${dearest:.4f} a proof it needs {least}"
    )
    return _propose(subject, "rate_below_minimum", policy.rate_below_minimum.mode, text)


def _stage_limit(subject: Subject, policy: Policy, rule: str, now: float) -> Proposal | None:
    """Judge a stage by its limit and by the progress measured in it.

    What ends soon is spared; what cannot end in time is named before the limit.
    """
    reading, limits = subject.reading, getattr(policy, rule)
    stages = _STAGES[rule]
    if reading.stage not in stages:
        return None
    since = stay_began(reading.spans, stages, anew_at=reading.begun_anew_at)
    if since is None:
        return None
    limit, elapsed = limits.minutes * 60.0, now - since
    left = _left(reading.progress)
    words = f"{reading.stage} for {elapsed / 60:.0f} min of {limits.minutes:.0f}"
    if elapsed > limit:
        if left is not None and left[1] <= SPARED_SHARE * limit:
            return None
        ends = f", and ends in {left[0] / 60:.0f} min at the earliest" if left else ""
        return _propose(subject, rule, limits.mode, words + ends, cause=_cause(reading))
    if left is None or elapsed < LEAST_SHARE * limit:
        return None
    if elapsed + left[0] <= limit * (1 + SPARED_SHARE):
        return None
    text = f"{words}: at the pace measured it ends in {left[0] / 60:.0f} min at the earliest"
    return _propose(subject, rule, limits.mode, text, cause=_cause(reading))


def _repeated_crash(subject: Subject, policy: Policy, now: float) -> Proposal | None:
    rule = policy.repeated_crash
    failed = [
        span
        for span in subject.reading.spans
        if span.outcome is Outcome.FAILED
        and span.ended_at is not None
        and now - span.ended_at <= rule.hours * 3600.0
    ]
    if len(failed) < rule.times:
        return None
    text = f"failed {len(failed)} times within {rule.hours:g} h, last in {failed[-1].stage}"
    cause = _cause(subject.reading)
    return _propose(subject, "repeated_crash", rule.mode, text, cause=cause)


def _idle(subject: Subject, policy: Policy) -> Proposal | None:
    """Judge a running instance that proves nothing while its cards do nothing."""
    rule, reading = policy.gpu_idle, subject.reading
    probe = reading.probe
    if reading.stage is not Stage.RUNNING or probe is None or not probe.gpus:
        return None
    uses = [gpu.utilization for gpu in probe.gpus]
    windows = [
        rate
        for rate in reading.rates
        if rate.source is RateSource.COMPLETIONS and rate.window_seconds >= rule.minutes * 60.0
    ]
    if not windows or any(use is None or use >= rule.percent for use in uses):
        return None
    window = min(windows, key=lambda rate: rate.window_seconds)
    if window.proofs:
        return None
    text = f"no proof in {window.window_seconds / 60:.0f} min and every GPU idle, while it is paid"
    return _propose(subject, "gpu_idle", rule.mode, text, cause=_cause(reading))


def _price(subject: Subject, policy: Policy) -> Proposal | None:
    limit, price = policy.price_above.dollars_per_hour, subject.instance.price_running
    if limit is None or price is None or price <= limit:
        return None
    text = f"it costs ${price:.3f}/h while it runs; the limit is ${limit:.3f}"
    return _propose(subject, "price_above", policy.price_above.mode, text)


def _outbid(subject: Subject, policy: Policy) -> Proposal | None:
    instance = subject.instance
    states = (instance.cur_state, instance.intended_status, instance.next_state)
    if not instance.is_bid or any(state != "stopped" for state in states):
        return None
    text = (
        f"outbid and stopped; the least bid is ${instance.min_bid or 0.0:.3f}/h, its disk is paid"
    )
    return _propose(subject, "outbid", policy.outbid.mode, text)


def _propose(
    subject: Subject,
    rule: str,
    mode: Mode,
    text: str,
    *,
    cause: tuple[str, SafeText] | None = None,
) -> Proposal:
    return Proposal(
        rule=rule,
        mode=str(mode),
        text=sanitise(text),
        instance_id=subject.instance.instance_id,
        verb=Verb.DESTROY,
        cause=cause[0] if cause else None,
    )


def _say(rule: str, mode: str, text: str) -> Proposal:
    return Proposal(rule=rule, mode=str(mode), text=sanitise(text))


def _cause(reading: Reading) -> tuple[str, SafeText] | None:
    """Return category and sentence of the finding that leads, unless it is for information."""
    for finding in reading.findings[:1]:
        if finding.severity is not Severity.INFO:
            return finding.category, finding.summary
    return None


def _benchmark_rate(rates: Iterable[Rate]) -> Rate | None:
    return next((rate for rate in rates if rate.source is RateSource.BENCHMARK), None)


def _is_measured_anew(reading: Reading, rate: Rate) -> bool:
    """Tell whether a benchmark is under way that somebody asked for after this rate."""
    begun = reading.begun_anew_at
    return begun is not None and begun > rate.measured_at and reading.stage in _STAGES["benchmark"]


def _left(progress: Progress | None) -> tuple[float, float] | None:
    """Return the least and the most seconds that the stage still takes, as far as measured."""
    if progress is None or progress.eta_seconds is None:
        return None
    low, high = progress.eta_low_seconds, progress.eta_high_seconds
    eta = progress.eta_seconds
    return (low if low is not None else eta, high if high is not None else eta)
