"""What an instance cost: exact over days, stages, restarts of the collector and gaps."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.collector.pending import Pending
from fleetui.collector.spending import MOST_SECONDS, SpendMeter
from fleetui.domain.clock import SystemClock
from fleetui.domain.instance import Instance
from fleetui.domain.money import SpendTotal, hours_left
from fleetui.domain.stage import Stage
from fleetui.store.interface import Batch
from fleetui.store.sqlite import SqliteStore

DAY = 86_400.0


def row(cost: float | None) -> Instance:
    return Instance(instance_id=1, machine_id=7, cost_per_hour=cost)


def test_the_earlier_row_says_what_the_time_cost() -> None:
    meter = SpendMeter({}, {})
    assert meter.observe(row(0.5), None, 1000.0) == ()
    (spent,) = meter.observe(row(9.0), Stage.WARMUP, 1720.0)
    assert (spent.dollars, spent.seconds, spent.unseen_seconds) == (0.1, 720.0, 0.0)
    assert (spent.stage, spent.day, spent.machine_id) == (Stage.WARMUP, 0, 7)
    total = meter.total(1)
    assert total is not None
    assert (total.since, total.dollars) == (1000.0, 0.1)
    meter.forget(1)
    assert meter.total(1) is None


def test_a_long_gap_is_split_at_midnight_and_said_to_be_unseen() -> None:
    meter = SpendMeter({1: (DAY - 3600.0, row(1.0))}, {})
    before, after = meter.observe(row(1.0), Stage.RUNNING, DAY + 1800.0)
    assert [before.day, after.day] == [0, 1]
    assert [before.dollars, after.dollars] == [1.0, 0.5]
    assert [before.unseen_seconds, after.unseen_seconds] == [3600.0, 1800.0]


def test_an_unknown_cost_counts_time_and_what_was_known_last() -> None:
    meter = SpendMeter({}, {})
    meter.observe(row(None), None, 0.0)
    (spent,) = meter.observe(row(36.0), None, 60.0)
    assert (spent.dollars, spent.seconds, spent.unpriced_seconds) == (0.0, 60.0, 60.0)
    assert meter.total(1) == SpendTotal(since=0.0, dollars=None, unpriced_seconds=60.0)
    meter.observe(row(None), None, 120.0)
    (spent,) = meter.observe(row(None), None, 180.0)
    assert spent.dollars == pytest.approx(0.6)
    assert spent.unpriced_seconds == 0.0
    total = meter.total(1)
    assert total is not None
    assert total.dollars == pytest.approx(1.2)
    assert total.unpriced_seconds == 60.0


def test_a_clock_set_forward_within_a_run_books_no_day_to_come() -> None:
    steady = 1000.0
    meter = SpendMeter({}, {}, steady=lambda: steady)
    meter.observe(row(1.0), None, 10.0)
    steady += 60.0
    (spent,) = meter.observe(row(1.0), Stage.RUNNING, 70.0 + 365 * DAY)
    assert (spent.day, spent.seconds) == (0, 60.0)
    steady += 60.0
    (spent,) = meter.observe(row(1.0), Stage.RUNNING, 130.0 + 365 * DAY)
    assert (spent.day, spent.began_at, spent.seconds) == (0, 70.0, 60.0)
    # Set right again.
    steady += 60.0
    (spent,) = meter.observe(row(1.0), Stage.RUNNING, 191.0)
    assert (spent.began_at, spent.seconds) == (130.0, 61.0)
    # Asleep for a day: the steady clock says so too.
    steady += DAY
    spent_asleep = meter.observe(row(1.0), Stage.RUNNING, 191.0 + DAY)
    assert sum(item.seconds for item in spent_asleep) == DAY
    total = meter.total(1)
    assert total is not None
    assert total.dollars == pytest.approx((181.0 + DAY) / 3600.0)


def test_a_clock_set_back_is_followed() -> None:
    steady = 0.0
    meter = SpendMeter({}, {}, steady=lambda: steady)
    meter.observe(row(1.0), None, 400 * DAY)
    steady += 60.0
    assert meter.observe(row(1.0), None, 5 * DAY) == ()
    steady += 60.0
    (spent,) = meter.observe(row(1.0), None, 5 * DAY + 60.0)
    assert (spent.day, spent.seconds) == (5, 60.0)


def test_across_collectors_a_week_is_the_most_that_is_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    meter = SpendMeter({1: (0.0, row(1.0))}, {})
    spent = meter.observe(row(1.0), Stage.RUNNING, 365 * DAY)
    assert sum(item.seconds for item in spent) == MOST_SECONDS
    assert min(item.day for item in spent) == 358
    assert "instance 1 was last seen 365 days ago: only the last 7 are counted" in caplog.text


steps = st.lists(
    st.tuples(st.floats(0.0, 2 * DAY), st.floats(0.0, 5.0), st.sampled_from(list(Stage))),
    min_size=2,
    max_size=12,
)


@given(steps)
def test_time_and_money_add_up(walked: list[tuple[float, float, Stage]]) -> None:
    meter, pending, at, expected = SpendMeter({}, {}), Pending(), 0.0, 0.0
    times = [0.0]
    for gap, cost, stage in walked:
        at += gap
        pending.add_spend(meter.observe(row(cost), stage, at))
        times.append(at)
    costs = [cost for _, cost, _ in walked]
    for (since, until), cost in zip(pairwise(times[1:]), costs, strict=False):
        expected += cost * (until - since) / 3600.0
    spent = pending.take(at, None, 1).spend
    assert sum(item.dollars for item in spent) == pytest.approx(expected, abs=1e-6)
    assert sum(item.seconds for item in spent) == pytest.approx(at - times[1], abs=1e-6)
    assert all(item.day == int(item.began_at // DAY) for item in spent)
    total = meter.total(1)
    assert total is not None
    assert (total.dollars or 0.0) == pytest.approx(expected, abs=1e-6)


async def test_the_store_adds_up_and_keeps_it(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "fleet.db", clock=SystemClock())
    lease = await store.take_lease("test", 30.0)
    assert lease is not None
    meter = SpendMeter({}, {})
    for at in (100.0, 160.0, 220.0):
        spent = meter.observe(row(3.6), Stage.BENCH, at)
        await store.publish(lease, Batch(at=at, spend=spent))
    (item,) = await store.spend(0)
    assert (item.instance_id, item.machine_id, item.day, item.stage) == (1, 7, 0, Stage.BENCH)
    assert (item.began_at, item.seconds, item.unseen_seconds) == (100.0, 120.0, 0.0)
    assert item.dollars == pytest.approx(0.12)
    assert await store.spend(1) == ()
    totals = await store.spend_totals()
    # A new collector goes on from there, the time between included.
    later = SpendMeter({1: (220.0, row(3.6))}, totals)
    later.observe(row(3.6), Stage.BENCH, 320.0)
    total = later.total(1)
    assert total is not None
    assert total.since == 100.0
    assert total.dollars == pytest.approx(0.22)
    await store.close()


async def test_the_store_keeps_what_was_without_a_price(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "fleet.db", clock=SystemClock())
    lease = await store.take_lease("test", 30.0)
    assert lease is not None
    meter = SpendMeter({}, {})
    for at, cost in ((0.0, None), (60.0, None), (120.0, 3600.0), (121.0, 3600.0)):
        spent = meter.observe(row(cost), Stage.BENCH, at)
        await store.publish(lease, Batch(at=at, spend=spent))
        assert (await store.spend_totals()).get(1) == (meter.total(1) if spent else None)
    (item,) = await store.spend(0)
    assert (item.seconds, item.unpriced_seconds, item.dollars) == (121.0, 120.0, 1.0)
    await store.close()


def test_hours_left() -> None:
    assert hours_left(30.0, 1.5) == 20.0
    assert hours_left(-1.0, 1.5) == 0.0
    assert hours_left(None, 1.5) is None
    assert hours_left(30.0, None) is None
    assert hours_left(30.0, 0.0) is None
