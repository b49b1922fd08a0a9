"""The rate from the daemon's own count has the window that it says."""

from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.host import DaemonStatus, Partition, Pipeline
from fleetui.domain.host import StatusCounters as Counts
from fleetui.reading.rates import StatusCounters
from fleetui.reading.status_watch import StatusWatch

UP = 50_000.0
"""How long the daemon had been up at second 0."""


def status(second: float, total: int, *, ahead: float = 0.0) -> DaemonStatus:
    """The answer at a true second, when our clock was `ahead`."""
    counters = Counts(total_completed=total)
    return DaemonStatus(uptime_secs=UP + second, counters=counters, at=second + ahead)


@given(
    st.lists(st.integers(0, 15_000), max_size=40).map(sorted),
    st.integers(5, 30),
    st.integers(70, 15_000),
)
def test_the_rate_is_that_of_the_last_hour(proofs: list[int], pace: int, end: int) -> None:
    counters = StatusCounters()
    last = 0
    for second in range(0, end, pace):
        counters.take(status(second, bisect_right(proofs, second)))
        last = second
    rate = counters.rate()
    if last < 60:
        assert rate is None
        return
    assert rate is not None
    assert rate.window_seconds <= 3600 + pace
    assert rate.window_seconds >= min(last, 3600)
    begin = last - rate.window_seconds
    assert rate.proofs == bisect_right(proofs, last) - bisect_right(proofs, begin)


def test_hours_without_a_proof_are_a_rate_of_none() -> None:
    counters = StatusCounters()
    for second in range(0, 20_000, 10):
        counters.take(status(second, int(second >= 3000)))
    rate = counters.rate()
    assert rate is not None
    assert (rate.proofs_per_hour, rate.window_seconds, rate.measured_at) == (0, 3600, 19_990)


def test_when_proofs_of_a_break_were_done_is_not_guessed() -> None:
    counters = StatusCounters()
    for second in (*range(0, 600, 10), *range(9000, 9300, 10)):
        counters.take(status(second, 100 if second >= 9000 else 0))
    rate = counters.rate()
    assert rate is not None
    assert (rate.proofs, rate.window_seconds) == (0, 290)


@pytest.mark.parametrize("step", [-86_400, -3600, -600, 600, 3600])
def test_our_own_clock_may_be_set(step: int) -> None:
    watch = StatusWatch()
    for second in range(0, 6000, 60):
        watch.take(status(second, second // 60))
    for second in range(6000, 7500, 60):
        watch.take(status(second, second // 60, ahead=step))
        assert watch.is_fresh(second + step + 1)
        rate = watch.counters.rate()
        assert rate is not None
        assert rate.measured_at == second + step
        assert rate.proofs_per_hour == pytest.approx(60, abs=1)
    assert watch.counters.restarts == 0
    assert len(watch.starts.starts) == 1
    restarted = DaemonStatus(uptime_secs=5.0, at=7500.0 + step)
    watch.take(restarted)
    assert (watch.counters.restarts, len(watch.starts.starts)) == (1, 2)


@pytest.mark.parametrize("pace", [5, 20])
def test_a_whole_job_that_does_not_leave_has_failed(pace: int) -> None:
    watch = StatusWatch()

    def answer(second: float, done: int) -> None:
        states = ("done",) * done + ("gpu",) * (10 - done)
        job = Pipeline(
            "ps-porep-1-1-1",
            started_secs_ago=second + 200,
            total_partitions=10,
            partitions_done=done,
            partitions=tuple(Partition(place, state) for place, state in enumerate(states)),
        )
        watch.take(DaemonStatus(uptime_secs=UP + second, pipelines=(job,), at=1000.0 + second))

    answer(0, 9)
    for second in range(pace, 41, pace):
        answer(second, 10)
        assert watch.failed() == ()
        assert watch.running() == ()
    answer(90, 10)
    assert [job.job_id for job in watch.failed()] == ["ps-porep-1-1-1"]
