"""The owner's rules: exact at their limits, sparing what ends, blaming causes."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.finding import Finding, Severity
from fleetui.domain.host import Gpu, Probe
from fleetui.domain.instance import Instance
from fleetui.domain.policy import Mode, Policy
from fleetui.domain.rate import Rate, RateSource
from fleetui.domain.reading import Reading
from fleetui.domain.stage import Outcome, Progress, Stage, StageSpan
from fleetui.domain.standing import Mark
from fleetui.domain.text import sanitise
from fleetui.reading.policy import Subject, judge, judge_fleet, minimum_rate

NOW = 1_000_000.0


def subject(stage: Stage = Stage.RUNNING, **changes: Any) -> Subject:  # noqa: ANN401 - fields
    row = {"price_running": 0.4} | {
        key: changes.pop(key) for key in list(changes) if key in Instance.__struct_fields__
    }
    instance = Instance(instance_id=7, machine_id=70, **row)
    blacklisted = changes.pop("blacklisted", None)
    reading = Reading(instance_id=7, at=NOW, stage=stage, **changes)
    return Subject(instance=instance, reading=reading, blacklisted=blacklisted)


def benchmark(per_hour: float) -> tuple[Rate, ...]:
    return (
        Rate(
            proofs_per_hour=per_hour,
            proofs=12,
            window_seconds=900.0,
            measured_at=NOW,
            source=RateSource.BENCHMARK,
        ),
    )


def rules(found: Subject, policy: Policy | None = None) -> list[str]:
    return [proposal.rule for proposal in judge(found, policy or Policy(), NOW)]


@pytest.mark.parametrize(
    ("price", "dearest", "least"),
    [(0.4, 0.008, 50), (0.401, 0.008, 51), (0.24, 0.008, 30), (0.0, 0.008, 0), (1.0, 0.01, 100)],
)
def test_the_minimum_rate_keeps_a_proof_affordable(
    price: float, dearest: float, least: int
) -> None:
    assert minimum_rate(price, dearest) == least


def test_a_benchmark_is_held_to_the_price() -> None:
    assert rules(subject(Stage.BENCH_DONE, rates=benchmark(49.9))) == ["rate_below_minimum"]
    assert rules(subject(Stage.BENCH_DONE, rates=benchmark(50.0))) == []
    cheap = Policy(labels={"dear": 0.016})
    slow = subject(Stage.BENCH_DONE, rates=benchmark(30.0), label=sanitise("dear"))
    assert rules(slow, cheap) == []
    named = Policy(instances={slow.instance.instance_id: 0.016})
    assert rules(slow, named) == []
    assert rules(subject(Stage.BENCH_DONE, rates=benchmark(30.0), price_running=None)) == []


def test_a_rate_of_zero_is_a_failure_with_its_cause_and_not_slowness() -> None:
    finding = Finding(
        category="prover_lost",
        severity=Severity.CRITICAL,
        confidence=0.9,
        summary=sanitise("the daemon died in the warmup proof"),
        advice=sanitise("restart it"),
    )
    found = judge(subject(Stage.FAILED, rates=benchmark(0.0), findings=(finding,)), Policy(), NOW)
    assert [item.rule for item in found] == ["benchmark_zero"]
    assert found[0].cause == "prover_lost"
    assert "the daemon died in the warmup proof" in found[0].text
    assert "not slowness" in found[0].text


def fetching(minutes: float, eta: tuple[float, float] | None) -> Subject:
    progress = None
    if eta is not None:
        progress = Progress(
            what=sanitise("parameters"),
            done=1.0,
            total=2.0,
            unit="B",
            eta_seconds=sum(eta) / 2 * 60,
            eta_low_seconds=eta[0] * 60,
            eta_high_seconds=eta[1] * 60,
        )
    span = StageSpan(stage=Stage.PARAM_FETCH, started_at=NOW - minutes * 60)
    return subject(Stage.PARAM_FETCH, spans=(span,), progress=progress)


@pytest.mark.parametrize(
    ("minutes", "eta", "strikes"),
    [
        (89.0, None, False),
        (91.0, None, True),
        # After the limit: what surely ends soon is spared, what may not is not.
        (91.0, (5.0, 20.0), False),
        (91.0, (5.0, 40.0), True),
        # Before the limit: only what cannot end in time even at best.
        (60.0, (20.0, 90.0), False),
        (60.0, (200.0, 300.0), True),
        # Too early to tell anything.
        (5.0, (900.0, 999.0), False),
    ],
)
def test_stage_limits_go_by_measured_progress(
    minutes: float,
    eta: tuple[float, float] | None,
    strikes: bool,
) -> None:
    assert rules(fetching(minutes, eta)) == (["parameters"] if strikes else [])


def stay(*spans: tuple[Stage, float, float | None, Outcome], **more: Any) -> Subject:  # noqa: ANN401 - fields
    """An instance in the last of these stays; times are minutes ago."""
    made = tuple(
        StageSpan(
            stage=stage,
            started_at=NOW - began * 60,
            ended_at=None if ended is None else NOW - ended * 60,
            outcome=outcome,
        )
        for stage, began, ended, outcome in spans
    )
    return subject(spans[-1][0], spans=made, **more)


def test_a_stages_clock_counts_anew_after_an_act_a_failure_and_a_break() -> None:
    first = (Stage.WARMUP, 200.0, 100.0, Outcome.DONE)
    bench = (Stage.BENCH, 100.0, None, Outcome.ACTIVE)
    assert rules(stay(first, bench)) == ["benchmark"]
    restarted = (Stage.DAEMON_RESTART, 3.0, None, Outcome.ACTIVE)
    interrupted = (Stage.BENCH, 100.0, 3.0, Outcome.UNKNOWN)
    assert rules(stay(first, interrupted, restarted)) == ["benchmark"]
    asked = NOW - 3.1 * 60
    assert rules(stay(first, interrupted, restarted, begun_anew_at=asked)) == []
    # An act long ago spares nothing.
    assert rules(stay(first, bench, begun_anew_at=NOW - 90 * 60)) == ["benchmark"]
    assert rules(stay(first, bench, begun_anew_at=NOW - 40 * 60)) == []
    failed = (Stage.WARMUP, 200.0, 20.0, Outcome.FAILED)
    again = (Stage.DAEMON_RESTART, 20.0, None, Outcome.ACTIVE)
    assert rules(stay(failed, again)) == []
    assert rules(stay(failed)) == [], "its failure is 20 minutes old"
    assert rules(stay((Stage.WARMUP, 200.0, 50.0, Outcome.FAILED))) == ["benchmark"]
    old = (Stage.DAEMON_START, 900.0, 890.0, Outcome.DONE)
    assert rules(stay(old, (Stage.WARMUP, 10.0, None, Outcome.ACTIVE))) == []


def test_an_earlier_benchmark_is_not_held_against_one_asked_for_since() -> None:
    span = StageSpan(stage=Stage.WARMUP, started_at=NOW - 60)
    anew = NOW - 1.0
    old = msgspec.structs.replace(benchmark(0.0)[0], measured_at=NOW - 3600)
    found = subject(Stage.WARMUP, spans=(span,), rates=(old,))
    assert rules(found) == ["benchmark_zero"]
    assert rules(subject(Stage.WARMUP, spans=(span,), rates=(old,), begun_anew_at=anew)) == []


def test_idle_crashing_dear_outbid_and_blacklisted_are_named() -> None:
    gpu = Gpu(index=0, utilization=0.0)
    rate = Rate(
        proofs_per_hour=0.0,
        proofs=0,
        window_seconds=3600.0,
        measured_at=NOW,
        source=RateSource.COMPLETIONS,
    )
    idle = subject(probe=Probe(gpus=(gpu,)), rates=(rate,))
    assert rules(idle) == ["gpu_idle"]
    busy = subject(probe=Probe(gpus=(gpu, Gpu(index=1, utilization=90.0))), rates=(rate,))
    assert rules(busy) == []
    unseen = subject(probe=Probe(gpus=(Gpu(index=0),)), rates=(rate,))
    assert rules(unseen) == []
    failures = tuple(
        StageSpan(stage=Stage.WARMUP, ended_at=NOW - hours * 3600, outcome=Outcome.FAILED)
        for hours in (7, 2, 1)
    )
    assert rules(subject(spans=failures)) == []
    more = (*failures, StageSpan(stage=Stage.BENCH, ended_at=NOW - 60, outcome=Outcome.FAILED))
    assert rules(subject(spans=more)) == ["repeated_crash"]
    dear = msgspec.convert({"price_above": {"dollars_per_hour": 0.3}}, Policy)
    assert rules(subject(), dear) == ["price_above"]
    words = {name: sanitise("stopped") for name in ("cur_state", "intended_status", "next_state")}
    assert rules(subject(Stage.STOPPED, is_bid=True, **words)) == ["outbid"]
    assert rules(subject(Stage.STOPPED, is_bid=False, **words)) == []
    mark = Mark(sanitise("ada"), NOW, sanitise("overheats"))
    assert rules(subject(blacklisted=mark)) == ["bad_machine"]


def test_the_fleet_has_caps_of_its_own() -> None:
    policy = msgspec.convert({"spend_hour": {"dollars": 10}, "spend_day": {"dollars": 50}}, Policy)
    found = judge_fleet(policy, burn=11.0, spent_today=60.0, balance=100.0)
    assert [item.rule for item in found] == ["spend_hour", "spend_day", "balance_low"]
    assert {item.verb for item in found} == {None}
    assert judge_fleet(policy, burn=9.0, spent_today=40.0, balance=900.0) == ()
    assert judge_fleet(policy, burn=None, spent_today=0.0, balance=None) == ()


def test_wrong_settings_are_refused() -> None:
    wrong: list[dict[str, Any]] = [
        {"parameters": {"minutes": 0}},
        {"max_dollars_per_proof": 0},
        {"spend_day": {"mode": "auto"}},
        {"benchmark_zero": {"mode": "always"}},
        {"no_such_rule": {}},
    ]
    for value in wrong:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(value, Policy)


numbers = st.one_of(st.none(), st.floats(0, 1e6))
progresses = st.builds(
    Progress,
    what=st.just(sanitise("x")),
    done=st.floats(0, 1e12),
    total=numbers,
    unit=st.just("B"),
    eta_seconds=numbers,
    eta_low_seconds=numbers,
    eta_high_seconds=numbers,
)
spans = st.builds(
    StageSpan,
    stage=st.sampled_from(list(Stage)),
    started_at=st.one_of(st.none(), st.floats(0, 2e6)),
    ended_at=st.one_of(st.none(), st.floats(0, 2e6)),
    outcome=st.sampled_from(list(Outcome)),
)


@given(
    stage=st.sampled_from(list(Stage)),
    progress=st.one_of(st.none(), progresses),
    spans=st.lists(spans, max_size=6).map(tuple),
    price=numbers,
    per_hour=st.floats(0, 1e4),
)
def test_any_reading_is_judged_and_rules_that_are_off_are_silent(
    stage: Stage,
    progress: Progress | None,
    spans: tuple[StageSpan, ...],
    price: float | None,
    per_hour: float,
) -> None:
    found = subject(
        stage, progress=progress, spans=spans, price_running=price, rates=benchmark(per_hour)
    )
    proposals = judge(found, Policy(), NOW)
    assert len({item.rule for item in proposals}) == len(proposals)
    off = {
        name: {"mode": "off"}
        for name, value in msgspec.to_builtins(Policy()).items()
        if isinstance(value, dict) and "mode" in value
    }
    assert judge(found, msgspec.convert(off, Policy), NOW) == ()
    assert all(item.mode == Mode.OBSERVE for item in proposals)
