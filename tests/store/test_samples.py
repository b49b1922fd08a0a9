import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetui.domain.charge import Charge, DayOfCharges
from fleetui.domain.sample import Sample
from fleetui.store.interface import FenceLostError
from fleetui.store.sample_tables import RETENTION_SECONDS
from store_bench import Bench

START = 1_000_000_800.0  # the start of an hour
FIGURES = st.one_of(st.none(), st.floats(0, 1e6, allow_nan=False))


def sample(instance_id: int, at: float, proofs: float | None, cost: float | None = None) -> Sample:
    return Sample(instance_id=instance_id, at=at, proofs_per_hour=proofs, cost_per_hour=cost)


async def test_ten_seconds_hold_the_newest_sample_and_minutes_the_spread(bench: Bench) -> None:
    for at, proofs in [(0.0, 4.0), (3.0, 8.0), (10.0, 3.0), (59.9, None), (60.0, 1.0)]:
        await bench.publish(samples=[sample(1, START + at, proofs)])
    fine = await bench.store.sample_spreads(1, START)
    assert [(item.at - START, item.seconds) for item in fine] == [
        (0.0, 10), (10.0, 10), (50.0, 10), (60.0, 10)
    ]  # fmt: skip
    assert [item.proofs_per_hour.mean for item in fine] == [8.0, 3.0, None, 1.0]
    assert fine[0].proofs_per_hour.least == fine[0].proofs_per_hour.greatest == 8.0
    assert fine[0].cost_per_hour.mean is None
    assert [item.proofs_per_hour for item in await bench.store.samples(1, START)] == [
        8.0, 3.0, None, 1.0
    ]  # fmt: skip
    assert await bench.store.samples(2, START) == ()
    assert await bench.store.samples(1, START + 70) == ()
    bench.clock.at = START + RETENTION_SECONDS[10] + 100
    await bench.publish(samples=[sample(1, bench.clock.at, 2.0)])
    first, second, *_ = await bench.store.sample_spreads(1, START)
    assert (first.at, first.seconds) == (START, 60)
    spread = first.proofs_per_hour
    assert (spread.least, spread.mean, spread.greatest) == (3.0, 5.0, 8.0)
    assert second.proofs_per_hour.mean == 1.0


async def test_not_a_number_is_not_measured(bench: Bench) -> None:
    await bench.publish(samples=[sample(1, START, math.nan, math.inf)])
    (point,) = await bench.store.samples(1, 0.0)
    assert (point.proofs_per_hour, point.cost_per_hour) == (None, None)
    (fleet,) = await bench.store.fleet_samples(0.0, 60.0)
    assert (fleet.proofs_per_hour, fleet.instances) == (None, 0)


@pytest.mark.parametrize("step", [30.0, 60.0, 3600.0])
async def test_the_fleet_is_the_sum_of_its_measured_instances(bench: Bench, step: float) -> None:
    await bench.publish(
        samples=[
            sample(1, START, 4.0, 0.5),
            sample(1, START + 10, 6.0, 0.5),
            sample(2, START + 3, 10.0, None),
            sample(3, START + 3, None, 0.25),
            sample(4, START + 3, None, None),
        ]
    )
    (point,) = await bench.store.fleet_samples(START, step)
    assert (point.at, point.proofs_per_hour, point.cost_per_hour) == (START, 15.0, 0.75)
    assert point.instances == 3


async def test_old_times_come_in_coarser_steps_and_hours_stay_for_ever(bench: Bench) -> None:
    minutes = 30 * 60
    ticks = [
        sample(1, START + minute * 60 + second, 6.0)
        for minute in range(minutes)
        for second in (0, 30)
    ]
    bench.clock.at = START + minutes * 60
    await bench.publish(samples=ticks)
    end = bench.clock.at
    assert {item.seconds for item in await bench.store.sample_spreads(1, end - 3600)} == {10}
    day = await bench.store.sample_spreads(1, end - 86_400)
    assert {item.seconds for item in day} == {60}
    assert len(day) == 1440
    assert {item.seconds for item in await bench.store.sample_spreads(1, START)} == {3600}
    bench.clock.at = end + RETENTION_SECONDS[60] + 7200
    await bench.publish(samples=[sample(1, bench.clock.at, 9.0)])
    whole = await bench.store.sample_spreads(1, START)
    assert {item.seconds for item in whole} == {3600}
    assert [item.proofs_per_hour.mean for item in whole] == [6.0] * 30 + [9.0]
    fleet = await bench.store.fleet_samples(START, 60.0)
    assert [item.proofs_per_hour for item in fleet] == [6.0] * 30 + [9.0]
    bench.clock.at += 20 * 365 * 86_400.0
    await bench.publish()
    assert len(await bench.store.sample_spreads(1, START)) == 31


async def test_each_resolution_is_kept_for_its_time(bench: Bench) -> None:
    await bench.publish(samples=[sample(1, START, 6.0)])
    for age, seconds in [(48 * 3600, 10), (48 * 3600 + 120, 60), (30 * 86_400 + 3720, 3600)]:
        bench.clock.at = START + age
        await bench.publish(samples=[sample(1, bench.clock.at, 1.0)])
        first = (await bench.store.sample_spreads(1, START))[0]
        assert (first.at, first.seconds, first.proofs_per_hour.mean) == (START, seconds, 6.0)


@pytest.mark.parametrize("figure", [0.0, 0.001, 27.125, 987_654.321])
async def test_small_parts_of_a_figure_are_kept(bench: Bench, figure: float) -> None:
    await bench.publish(samples=[sample(1, START, figure, figure / 1000)])
    (point,) = await bench.store.samples(1, 0.0)
    assert (point.proofs_per_hour, point.cost_per_hour) == (figure, figure / 1000)


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
    # As if the samples that came one by one were too old to be kept: minutes are what is left.
    bench.clock.at = START + RETENTION_SECONDS[10] + 3600
    await bench.publish(samples=[sample(4, bench.clock.at, 1.0)])
    for instance_id in (1, 2, 3):
        spreads = await bench.store.sample_spreads(instance_id, START)
        minutes = {(START + at) // 60 * 60 for owner, at, *_ in points if owner == instance_id}
        assert [spread.at for spread in spreads] == sorted(minutes)
        for spread in spreads:
            assert spread.seconds == 60
            for figures, place in ((spread.proofs_per_hour, 2), (spread.cost_per_hour, 3)):
                expected = [
                    value
                    for point in points
                    if point[0] == instance_id and (START + point[1]) // 60 * 60 == spread.at
                    if (value := point[place]) is not None
                ]
                if not expected:
                    assert (figures.least, figures.mean, figures.greatest) == (None, None, None)
                    continue
                mean = sum(expected) / len(expected)
                for figure, plain in (
                    (figures.least, min(expected)),
                    (figures.mean, mean),
                    (figures.greatest, max(expected)),
                ):
                    assert figure == pytest.approx(plain, rel=0, abs=0.00051)
    await bench.store.close()


async def test_proofs_are_the_rate_for_as_long_as_it_was_measured(bench: Bench) -> None:
    day = int(START // 86_400)
    # An hour of samples a minute: one instance proves all through it, one in its second half.
    for minute in range(60):
        at = START + 60.0 * minute
        late = 30.0 if minute >= 30 else None
        await bench.publish(samples=[sample(1, at, 12.0, 0.5), sample(2, at, late, 0.5)])
    # Of the next hour only ten minutes were seen.
    for minute in range(60, 70):
        await bench.publish(samples=[sample(1, START + 60.0 * minute, 6.0, 0.5)])
    assert await bench.store.proofs(day) == {(1, day): pytest.approx(13.0), (2, day): 15.0}
    assert await bench.store.proofs(day + 1) == {}


async def test_the_charges_of_a_day_are_replaced_by_a_later_look(bench: Bench) -> None:
    def charges(day: int, dollars: float, *, whole: bool) -> DayOfCharges:
        charge = Charge(instance_id=1, kind="gpu", dollars=dollars)
        return DayOfCharges(day=day, read_at=1.0, charges=(charge,), whole=whole)

    for item in (charges(6, 1.0, whole=False), charges(5, 4.0, whole=True)):
        await bench.store.keep_charges(bench.lease, item)
    later = charges(6, 2.0, whole=True)
    await bench.store.keep_charges(bench.lease, later)
    assert await bench.store.charges(0) == (charges(5, 4.0, whole=True), later)
    assert await bench.store.charges(6) == (later,)
    stranger = msgspec.structs.replace(bench.lease, epoch=bench.lease.epoch + 7)
    with pytest.raises(FenceLostError):
        await bench.store.keep_charges(stranger, charges(6, 9.0, whole=True))
    assert await bench.store.charges(6) == (later,)
