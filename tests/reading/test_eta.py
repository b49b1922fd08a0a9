"""What is said to be left, against what was left."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.reading import Reading
from fleetui.domain.stage import Outcome, Progress, Stage
from fleetui.domain.stream import LogChunk, StreamId
from fleetui.profiles.loader import load
from fleetui.reading.eta import from_paces, from_times, recent_pace
from fleetui.reading.reader import Reader
from fleetui.reading.replay import feed_step, load_host
from pretend_host import BORN, make_host

HOSTS = Path(__file__).parent.parent / "data" / "hosts"
PROFILE = load("cuzk")
EVERY_SECONDS = 5.0


def kept(name: str) -> Iterator[Reading]:
    """Read a kept host every few seconds of its life."""
    reader = Reader(PROFILE, 0)
    steps = load_host(HOSTS / name, PROFILE).steps
    now = steps[0].at
    for step in steps:
        while now < step.at:
            yield reader.reading(now)
            now += EVERY_SECONDS
        feed_step(reader, step)
    yield reader.reading(steps[-1].at)


def pretended(scenario: str, seed: int, seconds: float) -> Iterator[Reading]:
    """Read a pretend host every few seconds of its life."""
    host, clock = make_host(scenario, seed=seed)
    reader = Reader(PROFILE, 0)
    read: dict[str, int] = {}
    paths = [pattern for spec in PROFILE.streams for pattern in spec.patterns]
    while clock.value < BORN + seconds:
        for path in paths:
            data = host.machine.files.read(path) if host.machine.files.exists(path) else b""
            begin = read.get(path, 0)
            if len(data) > begin:
                chunk = LogChunk(
                    stream=StreamId(0, path),
                    generation=1,
                    offset=begin,
                    data=data[begin:],
                    at=clock.value,
                )
                reader.feed(chunk, PROFILE.kind_of(path) or "log")
                read[path] = len(data)
        yield reader.reading(clock.value)
        clock.value += EVERY_SECONDS


def checked(life: Iterator[Reading], stage: Stage) -> list[tuple[float, float, Progress]]:
    """Return seconds left, the stage's length and the progress, wherever an ETA was said."""
    readings = list(life)
    (span,) = [
        span for span in readings[-1].spans if span.stage is stage and span.outcome is Outcome.DONE
    ]
    assert span.started_at is not None
    assert span.ended_at is not None
    length = span.ended_at - span.started_at
    return [
        (span.ended_at - reading.at, length, reading.progress)
        for reading in readings
        if span.started_at <= reading.at < span.ended_at
        and reading.progress is not None
        and reading.progress.eta_seconds is not None
    ]


def check(said: list[tuple[float, float, Progress]]) -> None:
    covered = 0
    widths: list[float] = []
    for left, length, progress in said:
        low, middle, high = (
            progress.eta_low_seconds, progress.eta_seconds, progress.eta_high_seconds
        )  # fmt: skip
        assert low is not None
        assert middle is not None
        assert high is not None
        assert low <= middle <= high
        covered += low - EVERY_SECONDS <= left <= high + EVERY_SECONDS
        widths.append((high - low) / length)
    assert covered >= 0.7 * len(said)
    assert sorted(widths)[len(widths) // 2] < 1.0


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("a_setup_ok_tty", Stage.PARAM_FETCH),
        ("b_success", Stage.PARAM_FETCH),
        ("b_success", Stage.WARMUP),
        ("b_success", Stage.BENCH),
        ("f08_rate_below_min", Stage.WARMUP),
        ("f08_rate_below_min", Stage.BENCH),
    ],
)
def test_most_of_the_time_the_truth_lies_in_the_spread(name: str, stage: Stage) -> None:
    said = checked(kept(name), stage)
    assert len(said) >= 15
    check(said)


@pytest.mark.parametrize("stage", [Stage.PARAM_FETCH, Stage.WARMUP, Stage.BENCH])
@pytest.mark.parametrize("seed", [3, 5])
def test_the_same_holds_for_pretend_hosts(seed: int, stage: Stage) -> None:
    said = checked(pretended("param_fetch", seed, 2400.0), stage)
    assert len(said) >= 10
    check(said)


FIGURES = st.floats(0, 1e9, allow_nan=False)


@given(st.lists(FIGURES, max_size=5), st.floats(0, 3))
def test_the_spread_holds_every_way_to_see_it(times: list[float], slack: float) -> None:
    eta = from_times(times, slack)
    if eta is None:
        assert not times
        return
    assert 0 <= eta.low <= eta.middle * 1.0001 <= eta.high * 1.0002
    assert all(eta.low <= time <= eta.high for time in times)


@given(FIGURES, st.lists(st.one_of(st.none(), st.floats(0, 1e6)), max_size=4), FIGURES)
def test_no_pace_no_eta(left: float, paces: list[float | None], events: float) -> None:
    assert (from_paces(left, paces, events) is None) == (not any(paces))


@given(st.lists(st.floats(0, 1e6), max_size=30).map(sorted), st.floats(0, 1e6))
def test_a_recent_pace_is_above_zero_or_not_measured(moments: list[float], now: float) -> None:
    pace = recent_pace(moments, now)
    assert pace is None or pace > 0


def test_a_recent_pace_falls_while_one_waits() -> None:
    moments = [float(second) for second in range(0, 100, 10)]
    assert recent_pace(moments, 95.0) == pytest.approx(0.1)
    waiting = recent_pace(moments, 190.0)
    assert waiting is not None
    assert waiting < 0.05
