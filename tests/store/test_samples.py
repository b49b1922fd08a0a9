import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetui.domain.sample import Sample
from fleetui.store.sample_tables import RETENTION_SECONDS
from store_bench import Bench

START = 1_000_000_800.0  # the start of an hour
FIGURES = st.one_of(st.none(), st.floats(0, 1e6, allow_nan=False))


def sample(instance_id: int, at: float, proofs: float | None, cost: float | None = None) -> Sample:
    return Sample(instance_id=instance_id, at=at, proofs_per_hour=proofs, cost_per_hour=cost)


async def test_a_bucket_has_least_mean_and_greatest(bench: Bench) -> None:
    for at, proofs in [(0.0, 4.0), (3.0, 8.0), (9.9, None), (10.0, 1.0)]:
        await bench.publish(samples=[sample(1, START + at, proofs)])
    first, second = await bench.store.sample_spreads(1, START)
    assert (first.at, first.seconds) == (START, 10)
    assert (first.proofs_per_hour.least, first.proofs_per_hour.mean) == (4.0, 6.0)
    assert first.proofs_per_hour.greatest == 8.0
    assert first.cost_per_hour.mean is None
    assert second.proofs_per_hour.mean == 1.0
    assert [item.proofs_per_hour for item in await bench.store.samples(1, START)] == [6.0, 1.0]
    assert await bench.store.samples(2, START) == ()
    assert await bench.store.samples(1, START + 20) == ()


async def test_not_a_number_is_not_measured(bench: Bench) -> None:
    await bench.publish(samples=[sample(1, START, math.nan, math.inf)])
    (point,) = await bench.store.samples(1, 0.0)
    assert (point.proofs_per_hour, point.cost_per_hour) == (None, None)
    (fleet,) = await bench.store.fleet_samples(0.0, 60.0)
    assert (fleet.proofs_per_hour, fleet.instances) == (None, 0)


@pytest.mark.parametrize("step", [10.0, 30.0, 60.0, 3600.0])
async def test_the_fleet_is_the_sum_of_its_measured_instances(bench: Bench, step: float) -> None:
    await bench.publish(
        samples=[
            sample(1, START, 4.0, 0.5),
            sample(1, START + 5, 6.0, 0.5),
            sample(2, START + 3, 10.0, None),
            sample(3, START + 3, None, 0.25),
            sample(4, START + 3, None, None),
        ]
    )
    (point,) = await bench.store.fleet_samples(START, step)
    assert (point.at, point.proofs_per_hour, point.cost_per_hour) == (START, 15.0, 0.75)
    assert point.instances == 3


async def test_old_times_come_in_coarser_steps(bench: Bench) -> None:
    hours = 8
    for minute in range(hours * 60):
        bench.clock.at = START + minute * 60
        await bench.publish(samples=[sample(1, bench.clock.at, 6.0)])
    seconds = {item.seconds for item in await bench.store.sample_spreads(1, START)}
    assert seconds == {60}
    recent = await bench.store.sample_spreads(1, bench.clock.at - 3600)
    assert {item.seconds for item in recent} == {10}
    assert len(recent) == 61
    bench.clock.at += RETENTION_SECONDS[60] + 7200
    await bench.publish(samples=[sample(1, bench.clock.at, 9.0)])
    whole = await bench.store.sample_spreads(1, START)
    assert {item.seconds for item in whole} == {3600}
    assert [item.proofs_per_hour.mean for item in whole] == [6.0] * hours + [9.0]
    fleet = await bench.store.fleet_samples(START, 60.0)
    assert [item.proofs_per_hour for item in fleet] == [6.0] * hours + [9.0]


@given(
    points=st.lists(
        st.tuples(st.integers(1, 3), st.floats(0, 400), FIGURES, FIGURES), min_size=1, max_size=30
    )
)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
async def test_buckets_are_what_plain_arithmetic_says(
    tmp_path_factory: pytest.TempPathFactory,
    points: list[tuple[int, float, float | None, float | None]],
) -> None:
    path: Path = tmp_path_factory.mktemp("samples") / "fleet.db"
    bench = await Bench.open(path)
    for instance_id, at, proofs, cost in points:
        await bench.publish(samples=[sample(instance_id, START + at, proofs, cost)])
    for instance_id in (1, 2, 3):
        for spread in await bench.store.sample_spreads(instance_id, START):
            expected = [
                value
                for owner, at, value, _ in points
                if owner == instance_id and (START + at) // 10 * 10 == spread.at
                if value is not None
            ]
            assert spread.proofs_per_hour.least == min(expected, default=None)
            assert spread.proofs_per_hour.greatest == max(expected, default=None)
            if expected:
                mean = sum(expected) / len(expected)
                assert spread.proofs_per_hour.mean == pytest.approx(mean)
            else:
                assert spread.proofs_per_hour.mean is None
    await bench.store.close()
