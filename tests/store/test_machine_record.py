"""What the store remembers of machines, past their instances."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fleetui.domain.instance import Instance
from fleetui.domain.machine_record import MachineRecord
from fleetui.domain.rate import Rate, RateSource
from fleetui.domain.reading import Reading
from fleetui.domain.stage import Progress, Stage
from fleetui.domain.standing import Mark
from fleetui.domain.text import sanitise
from fleetui.store.machine_prices import POINT_LIMIT
from fleetui.store.machine_record import FAIR_CHANCE_SECONDS, REFRESH_SECONDS
from store_bench import Bench

GIB = 2.0**30


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = await Bench.open(tmp_path / "fleet.db")
    yield bench
    await bench.store.close()


def rented(instance_id: int, machine_id: int = 70, **fields: Any) -> Instance:  # noqa: ANN401 - any field
    known = {"gpu_name": sanitise("RTX 4090"), "num_gpus": 1, "cpu_ram_mb": 503_000.0}
    return Instance(instance_id=instance_id, machine_id=machine_id, **{**known, **fields})


def benchmark(rate: float, at: float, seconds: float = 1500.0) -> Rate:
    return Rate(
        proofs_per_hour=rate, proofs=12, window_seconds=seconds, measured_at=at,
        source=RateSource.BENCHMARK,
    )  # fmt: skip


async def read(bench: Bench, instance_id: int, stage: Stage, **fields: Any) -> None:  # noqa: ANN401 - any field
    reading = Reading(instance_id=instance_id, at=bench.clock.at, stage=stage, **fields)
    await bench.publish(readings=[reading])


async def only(bench: Bench) -> MachineRecord:
    (record,) = await bench.store.machine_records()
    return record


async def test_rates_outlive_their_instances(bench: Bench) -> None:
    for instance_id, rate in ((7, 41.0), (8, 45.0), (9, 43.0)):
        bench.clock.at += 10_000
        await bench.publish(instances=[rented(instance_id, price_running=0.3 + instance_id / 100)])
        at = bench.clock.at
        # The same benchmark is read again and again; its time may be dated anew meanwhile.
        for shift in (0.0, 0.0, 2.5):
            await read(bench, instance_id, Stage.BENCH_DONE, rates=(benchmark(rate, at + shift),))
        await bench.publish(gone=[instance_id])
    record = await only(bench)
    assert record.rates == (41.0, 45.0, 43.0)
    assert (record.best_rate, record.median_rate, record.last_rate) == (45.0, 43.0, 43.0)
    assert (record.rentals, record.failures, record.last_instance) == (3, 0, 9)
    assert (record.price_least, record.price_most, record.price_last) == (0.37, 0.39, 0.39)
    assert (record.cpu_ram_gb, record.gpu_name, record.num_gpus) == (503.0, "RTX 4090", 1)
    assert await bench.store.machine_records(70) == (record,)
    assert await bench.store.machine_records(71) == ()


async def test_two_benchmarks_of_one_instance_are_two(bench: Bench) -> None:
    await bench.publish(instances=[rented(7)])
    for rate in (40.0, 20.0):
        bench.clock.at += 5_000
        await read(bench, 7, Stage.BENCH_DONE, rates=(benchmark(rate, bench.clock.at),))
    assert (await only(bench)).rates == (40.0, 20.0)


async def test_a_running_rate_is_kept_as_it_was_last(bench: Bench) -> None:
    await bench.publish(instances=[rented(7)])
    began = bench.clock.at
    for later in (100.0, 2_000.0, 2_000.0 + REFRESH_SECONDS, 7_200.0):
        bench.clock.at = began + later
        rate = Rate(
            proofs_per_hour=30.0 + later / 1000.0, proofs=9, window_seconds=later,
            measured_at=bench.clock.at, source=RateSource.COMPLETIONS,
        )  # fmt: skip
        await read(bench, 7, Stage.RUNNING, rates=(rate,))
    (run,) = (await only(bench)).running
    assert (run.proofs_per_hour, run.window_seconds, run.instance_id) == (37.2, 7_200.0, 7)
    # Nothing was benchmarked: the daemon's work alone makes it neither known nor a failure.
    assert ((await only(bench)).rentals, (await only(bench)).rates) == (0, ())


async def test_a_rental_without_a_rate_is_a_failure_after_a_fair_chance(bench: Bench) -> None:
    start = bench.clock.at
    for instance_id, lived, stage in (
        (7, FAIR_CHANCE_SECONDS / 2, Stage.WARMUP),
        (8, FAIR_CHANCE_SECONDS * 2, Stage.WARMUP),
        (9, FAIR_CHANCE_SECONDS / 2, Stage.FAILED),
    ):
        await bench.publish(instances=[rented(instance_id)])
        await read(bench, instance_id, stage)
        bench.clock.at += lived
        await bench.publish(gone=[instance_id])
    record = await only(bench)
    assert (record.rentals, record.failures) == (2, 2)
    assert record.first_seen == start
    # One that failed and was mended is none.
    await bench.publish(instances=[rented(10)])
    await read(bench, 10, Stage.FAILED)
    await read(bench, 10, Stage.BENCH_DONE, rates=(benchmark(33.0, bench.clock.at),))
    record = await only(bench)
    assert (record.rentals, record.failures, record.rates) == (3, 2, (33.0,))


async def test_a_download_is_measured_from_its_first_byte_seen(bench: Bench) -> None:
    await bench.publish(instances=[rented(7)])

    async def fetched(done: float, later: float) -> None:
        bench.clock.at += later
        progress = Progress(
            what=sanitise("parameters"), done=done, total=133 * GIB, unit="B",
            updated_at=bench.clock.at,
        )  # fmt: skip
        await read(bench, 7, Stage.PARAM_FETCH, progress=progress)

    await fetched(80 * GIB, 5.0)
    await fetched(81 * GIB, 10.0)
    await fetched(0.2 * GIB, 60.0)  # begun again
    assert (await only(bench)).downloads == ()
    await fetched(100.2 * GIB, 400.0)
    assert (await only(bench)).downloads == (0.25 * GIB,)


async def test_kinds_of_one_machine_are_apart_and_marks_belong_to_all(bench: Bench) -> None:
    await bench.publish(
        instances=[rented(7), rented(8, num_gpus=2), rented(9, 71), rented(10, 72, gpu_name=None)]
    )
    mark = Mark(sanitise("ada"), 5.0, sanitise("loses its GPU"))
    await bench.store.write_blacklist(bench.lease, 70, mark)
    await bench.store.write_blacklist(bench.lease, 99, mark)
    records = await bench.store.machine_records()
    assert [(item.machine_id, item.num_gpus, item.blacklist is not None) for item in records] == [
        (70, 1, True), (70, 2, True), (71, 1, False), (99, None, True),
    ]  # fmt: skip


async def test_each_change_of_the_price_is_kept_and_how_long_it_was_rented(bench: Bench) -> None:
    began = bench.clock.at
    for hours, price in enumerate((0.30, 0.30, 0.35, None, 0.35, 0.30)):
        bench.clock.at = began + 3600.0 * hours
        await bench.publish(instances=[rented(7, price_running=price, start_date=began)])
    record = await only(bench)
    assert [(point.at - began, point.price) for point in record.prices] == [
        (0.0, 0.30), (7200.0, 0.35), (18_000.0, 0.30),
    ]  # fmt: skip
    assert record.rented_hours == pytest.approx(5.0)
    await bench.publish(gone=[7])
    bench.clock.at += 7200.0
    await bench.publish(instances=[rented(8, price_running=0.30, start_date=bench.clock.at)])
    assert (await only(bench)).rented_hours == pytest.approx(5.0)
    assert len((await only(bench)).prices) == 3


async def test_only_so_many_changes_of_a_price_are_remembered(bench: Bench) -> None:
    began = bench.clock.at
    for place in range(POINT_LIMIT + 3):
        bench.clock.at = began + place
        await bench.publish(instances=[rented(7, price_running=0.3 + place / 1000)])
    prices = (await only(bench)).prices
    assert len(prices) == POINT_LIMIT
    assert prices[0].at == began + 3
