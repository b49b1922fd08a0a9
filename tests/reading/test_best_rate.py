"""Which of the measured rates is shown for an instance, and for how long."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.codec import to_builtins
from fleetui.domain.finding import Evidence
from fleetui.domain.instance import Instance
from fleetui.domain.rate import Rate, RateSource
from fleetui.domain.reading import Reading
from fleetui.domain.stage import Stage, StageSpan
from fleetui.domain.text import SafeText
from fleetui.reading.summary import STAND_IN_SECONDS, best_rate, fleet_row, sample
from fleetui.reports.fleet import fleet_rate, status_text

NOW = 1_800_000_000.0
INSTANCE = Instance(instance_id=1, actual_status=SafeText("running"), machine_id=2, host_id=3)
EVIDENCE = Evidence(source="a.log", text=SafeText("proof"), at=NOW)


def rate(source: RateSource, hourly: float, *, age: float, window: float) -> Rate:
    return Rate(
        proofs_per_hour=hourly,
        proofs=round(hourly * window / 3600),
        window_seconds=window,
        measured_at=NOW - age,
        source=source,
    )


def reading(stage: Stage, since: float, *rates: Rate) -> Reading:
    span = StageSpan(stage=stage, started_at=NOW - since, evidence=EVIDENCE)
    return Reading(instance_id=1, at=NOW, stage=stage, spans=(span,), rates=rates)


@given(
    st.floats(0, 200_000),
    st.floats(0, 200_000),
    st.none() | st.tuples(st.floats(0, 100), st.floats(60, 3600)),
    st.none() | st.tuples(st.floats(0, 100), st.floats(60, 3600)),
    st.sampled_from(list(Stage)),
)
def test_a_benchmark_is_never_present_work_past_its_due(
    since: float,
    age: float,
    counted: tuple[float, float] | None,
    answered: tuple[float, float] | None,
    stage: Stage,
) -> None:
    rates = [rate(RateSource.BENCHMARK, 56.5, age=age, window=765)]
    if counted is not None:
        rates.append(rate(RateSource.COMPLETIONS, counted[0], age=0, window=counted[1]))
    if answered is not None:
        rates.append(rate(RateSource.STATUS, answered[0], age=0, window=answered[1]))
    read = reading(stage, since, *rates)
    best = best_rate(read)
    row = fleet_row(INSTANCE, read, row_seen_at=NOW, acting=None)
    if best is None or best.source is not RateSource.BENCHMARK:
        return
    assert stage is not Stage.RUNNING or since <= STAND_IN_SECONDS
    assert (row.rate_source, row.rate_window, row.rate_at) == (best.source, 765, NOW - age)
    assert fleet_rate((row,)) is None
    assert row.proving_per_hour is None
    if age > STAND_IN_SECONDS:
        assert sample(INSTANCE, read, NOW).proofs_per_hour is None


def test_a_running_host_that_proves_nothing_has_no_rate_of_its_benchmark() -> None:
    benchmark = rate(RateSource.BENCHMARK, 56.5, age=100, window=765)
    assert best_rate(reading(Stage.RUNNING, 100, benchmark)) == benchmark
    assert best_rate(reading(Stage.RUNNING, STAND_IN_SECONDS + 1, benchmark)) is None
    assert best_rate(reading(Stage.BENCH_DONE, STAND_IN_SECONDS + 1, benchmark)) == benchmark


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        (rate(RateSource.COMPLETIONS, 60, age=0, window=3600), ""),
        (rate(RateSource.COMPLETIONS, 60, age=0, window=1500), "(rate over 25 min)"),
        (rate(RateSource.COMPLETIONS, 60, age=7200, window=3600), "(rate 2.0 h old)"),
        (rate(RateSource.STATUS, 60, age=0, window=3600), "(rate by the daemon's own count)"),
        (
            rate(RateSource.BENCHMARK, 56.5, age=600, window=765),
            "(rate of the benchmark, over 13 min, 10 min old)",
        ),
    ],
)
def test_status_says_what_an_unusual_rate_is(measured: Rate, words: str) -> None:
    row = fleet_row(INSTANCE, reading(Stage.RUNNING, 700, measured), row_seen_at=NOW, acting=None)
    report: dict[str, Any] = {
        "instances": 1,
        "proofs_per_hour": None,
        "cost_unknown": 0,
        "cost_per_hour": None,
        "balance": None,
        "hours_left": None,
        "ssh_connected": 0,
        "api_age_seconds": None,
        "collector": {"running": True},
        "rates": {"fleet": [], "gpus": {}},
        "findings": [],
        "now": NOW,
        "rows": [{**to_builtins(row), "trend": None, "peers": None, "log_missing": None}],
    }
    line = status_text(report).splitlines()[1]
    assert ("(rate" in line) == bool(words)
    assert words in line
