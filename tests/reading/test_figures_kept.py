"""Windows, ends and ages of measured figures, to the second."""

import pytest

from fleetui.profiles.loader import load
from fleetui.reading.batch import Batch
from fleetui.reading.completions import Completions
from fleetui.reading.download import Download
from fleetui.reading.rates import completion_rates

NOW = 1_800_000_000.0


def proofs(*ages: float) -> Completions:
    done = Completions()
    for age in ages:
        done.add(NOW - age)
    return done


def test_a_window_has_its_end_and_not_its_begin() -> None:
    done = proofs(4000, 900, 899, 0, -1, -500)
    rates = completion_rates(done, NOW - 2000, NOW)
    assert [(rate.window_seconds, rate.proofs) for rate in rates] == [(900, 2), (2000, 3)]


@pytest.mark.parametrize(("age", "rates"), [(1, 0), (59, 0), (60, 1)])
def test_less_than_a_minute_is_no_rate(age: float, rates: int) -> None:
    assert len(completion_rates(proofs(0.5), NOW - age, NOW)) == rates


@pytest.mark.parametrize(("said_at", "ended"), [(300.0, 600.0), (900.0, 900.0)])
def test_a_benchmark_ends_no_earlier_than_it_took(said_at: float, ended: float) -> None:
    batch = Batch(100.0)
    batch.take("batch_summary", {"seconds": "500.0"})
    benchmark = batch.benchmark({"per_minute": "0.5"}, said_at, 10_000.0)
    assert benchmark is not None
    assert (benchmark.at, benchmark.rate().window_seconds) == (ended, 500.0)


def test_a_benchmark_whose_time_nothing_tells_is_over_when_it_is_first_read() -> None:
    batch = Batch(1000.0)
    batch.take("batch_summary", {"seconds": "500.0"})
    benchmark = batch.benchmark({"per_minute": "0.5"}, 1000.0, 1000.0)
    assert benchmark is not None
    assert benchmark.at == 1000.0


def test_a_speed_is_forgotten_when_nothing_says_it_any_more() -> None:
    download = Download(load("cuzk"))

    def loads(gid: str, at: float) -> None:
        fields = {"gid": gid, "done": "1GiB", "total": "44GiB", "speed": "100MiB"}
        download.take("file_progress", fields, at)

    loads("aaaaaa", 0.0)
    loads("bbbbbb", 30.0)
    both = download.progress(31.0)
    loads("bbbbbb", 31.0)
    one = download.progress(121.0)
    none = download.progress(121.1)
    assert both is not None
    assert one is not None
    assert none is not None
    assert both.per_second == 200 * 2**20
    assert one.per_second == 100 * 2**20
    assert (none.per_second, none.eta_seconds) == (None, None)


@pytest.mark.parametrize("per_minute", ["100000000000000000000", "1000", "0", "-3", "x"])
def test_a_throughput_that_no_machine_has_is_no_rate(per_minute: str) -> None:
    assert Batch(0.0).benchmark({"per_minute": per_minute}, 9.0, 9.0) is None
