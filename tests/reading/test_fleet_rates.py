"""Rates of groups, trends, and places among peers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage
from fleetui.domain.text import sanitise
from fleetui.reading.fleet_rates import fleet_rates, gpu_rates, trend
from fleetui.reading.peers import FEWEST, Peers
from fleetui.reports.fleet import status_report, status_text
from fleetui.store.interface import LogMissing
from memory_store import MemoryStore

NOW = 1_800_000_000.0
DAY = ((900.0, 10), (3600.0, 40), (86_400.0, 960), (200_000.0, 2000))
COUNTS = st.lists(
    st.tuples(st.sampled_from([900.0, 3600.0, 7200.0, 86_400.0]), st.integers(0, 5000)), max_size=4
)


def row(
    number: int, *, gpu: str = "RTX 4090", stage: Stage = Stage.RUNNING, **changes: object
) -> FleetRow:
    return FleetRow(instance_id=number, gpu=sanitise(gpu), num_gpus=1, stage=stage, **changes)  # type: ignore[arg-type]  # fields by name


def test_a_fleet_is_the_sum_of_what_was_counted_and_says_how_many_were_not() -> None:
    young = ((900.0, 5), (1000.0, 6))
    rows = [
        row(1, counted=DAY, counted_at=NOW),
        row(2, counted=young, counted_at=NOW - 300),
        row(3),
        row(4, counted=DAY, counted_at=NOW, stage=Stage.BENCH),
    ]
    quarter, hour, day, start = fleet_rates(rows)
    assert (quarter.proofs_per_hour, quarter.proofs) == (60.0, 15)
    assert (quarter.measured, quarter.proving, quarter.oldest_at) == (2, 3, NOW - 300)
    assert (hour.proofs_per_hour, hour.measured, hour.oldest_at) == (40.0, 1, NOW)
    assert (day.window_seconds, day.proofs_per_hour) == (86_400.0, 40.0)
    assert start.window_seconds is None
    assert start.proofs_per_hour == pytest.approx(2000 / 200_000 * 3600 + 6 * 3.6)


def test_each_gpu_type_has_its_own_rates() -> None:
    rows = [
        row(1, counted=DAY, counted_at=NOW),
        row(2, counted=DAY, counted_at=NOW, gpu="RTX 3090"),
        row(3, counted=DAY, counted_at=NOW, gpu="RTX 3090"),
        row(4, gpu="H100"),
    ]
    rates = gpu_rates(rows)
    assert list(rates) == ["RTX 3090", "RTX 4090"]
    assert [rate.proofs_per_hour for rate in rates["RTX 3090"]][:3] == [80.0] * 3


def test_nothing_counted_is_no_rate() -> None:
    assert fleet_rates([row(1), row(2, stage=Stage.BENCH, counted=DAY, counted_at=NOW)]) == ()


@pytest.mark.parametrize(
    ("counted", "change"),
    [
        ((), None),
        (((900.0, 10), (3600.0, 40)), None),
        (((3600.0, 40), (5000.0, 55)), None),
        (((3600.0, 0), (7200.0, 0)), None),
        (((3600.0, 40), (86_400.0, 960)), 0.0),
        (((3600.0, 30), (86_400.0, 950)), 0.0),
        (((3600.0, 20), (86_400.0, 940)), -0.5),
        (((3600.0, 80), (86_400.0, 1000)), 1.0),
    ],
)
def test_a_trend_is_more_than_chance(
    counted: tuple[tuple[float, int], ...], change: float | None
) -> None:
    found = trend(counted)
    assert found == (change if change is None else pytest.approx(change))


@given(COUNTS)
def test_any_counts_have_a_finite_trend_or_none(counted: list[tuple[float, int]]) -> None:
    found = trend(counted)
    assert found is None or found >= -1.0


def test_a_slow_one_is_told_so() -> None:
    rows = [row(number, proofs_per_hour=40.0 + number) for number in range(25)]
    place = Peers(rows, NOW).place_of(rows[3])
    assert place is not None
    assert place.words == "slower than 88 % of its 24 peers"
    fast = Peers(rows, NOW).place_of(rows[-1])
    assert fast is not None
    assert fast.words == "faster than 100 % of its 24 peers"


def test_only_like_cards_and_like_work_are_compared() -> None:
    rows = [row(number, proofs_per_hour=40.0) for number in range(FEWEST + 1)]
    others = [
        row(100, proofs_per_hour=90.0, gpu="H100"),
        row(101, stage=Stage.WARMUP, stage_since=NOW - 100, progress_fraction=0.5),
        row(102),
    ]
    place = Peers([*rows, *others], NOW).place_of(rows[0])
    assert place is not None
    assert (place.peers, place.slower_than, place.faster_than) == (FEWEST, 0.0, 0.0)
    assert [Peers([*rows, *others], NOW).place_of(other) for other in others] == [None] * 3
    assert Peers(rows[1:], NOW).place_of(rows[1]) is None


def test_downloads_are_compared_by_how_quickly_they_get_on() -> None:
    rows = [
        row(number, stage=Stage.PARAM_FETCH, stage_since=NOW - 100.0, progress_fraction=number / 10)
        for number in range(1, 7)
    ]
    late = row(9, stage=Stage.PARAM_FETCH, stage_since=NOW - 10.0, progress_fraction=0.05)
    place = Peers([*rows, late], NOW).place_of(late)
    assert place is not None
    assert place.what == "param_fetch"
    assert place.slower_than == pytest.approx(1 / 6)


async def test_the_printed_status_has_rates_with_windows_and_places_with_peers() -> None:
    store = MemoryStore()
    slow = ((900.0, 2), (3600.0, 10), (86_400.0, 960), (200_000.0, 2000))
    store.put(row(0, proofs_per_hour=10.0, counted=slow, counted_at=NOW - 90))
    store.put(
        *(row(number, proofs_per_hour=40.0, counted=DAY, counted_at=NOW) for number in range(1, 6)),
        row(6),
    )
    report = await status_report(store, NOW)
    text = status_text(report)
    assert "210.0/h in 1 h (6/7), 90 s old" in text
    assert "slower than 100 % of its 5 peers" in text
    assert "-76%" in text
    assert [place["peers"] for place in report["rows"][-1:]] == [None]
    assert list(report["rates"]["gpus"]) == ["RTX 4090"]


async def test_the_status_says_what_is_missing_of_the_logs() -> None:
    store = MemoryStore()
    store.put(row(1), row(2))
    store.missing = {
        2: LogMissing(skipped=5_000, lost_files=2, lost_bytes=300),
        3: LogMissing(pushed_out=70, lost_files=1),
    }
    report = await status_report(store, NOW)
    assert [item["log_missing"] for item in report["rows"]] == [
        None,
        {"skipped": 5_000, "pushed_out": 0, "lost_files": 2, "lost_bytes": 300},
    ]
    assert report["log_missing"] == {
        "skipped": 5_000,
        "pushed_out": 70,
        "lost_files": 3,
        "lost_bytes": 300,
    }
    assert status_text(report).count("[at least 300 bytes of 2 log files lost unread]") == 1
    store.missing = {1: LogMissing(lost_files=1)}
    words = "[1 log file moved away, perhaps not read to the end]"
    assert words in status_text(await status_report(store, NOW))


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e4)), min_size=1, max_size=30))
def test_no_place_is_more_than_all_peers(rates: list[float | None]) -> None:
    rows = [row(number, proofs_per_hour=rate) for number, rate in enumerate(rates)]
    peers = Peers(rows, NOW)
    for one in rows:
        place = peers.place_of(one)
        if place is None:
            continue
        slower = sum(
            (other or 0) > (one.proofs_per_hour or 0) for other in rates if other is not None
        )
        assert place.slower_than * place.peers == pytest.approx(slower)
        assert place.slower_than + place.faster_than <= 1.0 + 1e-9
