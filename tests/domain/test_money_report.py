"""The money report from given books."""

import csv
import io

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from console_pilot import NOW
from fleetui.domain.charge import Charge, DayOfCharges
from fleetui.domain.money import DAY_SECONDS, Spend
from fleetui.domain.policy import Policy
from fleetui.domain.stage import Stage
from fleetui.domain.text import sanitise
from fleetui.reports.money import money_report
from fleetui.reports.money_text import TABLES, money_csv, money_text
from memory_store import MemoryStore
from sample_fleet import build

TODAY = int(NOW // DAY_SECONDS)


def spent(instance_id: int, stage: Stage, dollars: float, day: int = TODAY) -> Spend:
    return Spend(
        instance_id=instance_id, machine_id=9, day=day, stage=stage, began_at=day * 86_400.0,
        seconds=3600.0, unseen_seconds=900.0, dollars=dollars,
    )  # fmt: skip


async def test_each_figure_is_what_the_books_say() -> None:
    store = build(4, now=NOW)
    first, second, *_ = sorted(store.rows)
    row = store.rows[first][1]
    store.put(msgspec.structs.replace(
        row, stage=Stage.RUNNING, cost_per_hour=0.4, proofs_per_hour=60.0, label=None
    ))  # fmt: skip
    store.put(msgspec.structs.replace(store.rows[second][1], stage=Stage.FAILED, cost_per_hour=0.3))
    store.spend_list = [
        spent(first, Stage.WARMUP, 1.0, TODAY - 1), spent(first, Stage.RUNNING, 3.0),
        spent(77, Stage.FAILED, 2.0), spent(first, Stage.RUNNING, 50.0, TODAY - 9),
    ]  # fmt: skip
    store.proofs_made = {(first, TODAY): 500.0}
    store.charge_days = [DayOfCharges(day=TODAY, read_at=NOW, whole=True, charges=(
        Charge(instance_id=first, kind="gpu", dollars=3.25),
        Charge(instance_id=first, kind="bwu", dollars=0.5),
        Charge(instance_id=77, kind="gpu", dollars=1.5),
        Charge(instance_id=None, kind="other", dollars=1.0),
    ))]  # fmt: skip
    report = await money_report(store, Policy(max_dollars_per_proof=0.008), NOW, days=2)
    assert (report["spent"], report["proofs"], report["dollars_per_proof"]) == (6.0, 500.0, 0.012)
    assert report["unseen_dollars"] == 1.5
    assert second in report["idle"]
    assert {item["stage"]: item["dollars"] for item in report["by_stage"]} == {
        "warmup": 1.0, "running": 3.0, "failed": 2.0,
    }  # fmt: skip
    yesterday, today = report["by_day"]
    assert (yesterday["dollars_per_proof"], yesterday["charged"]) == (None, None)
    assert (today["dollars"], today["proving_dollars"], today["dollars_per_proof"]) == (
        5.0, 3.0, 0.01,
    )  # fmt: skip
    mine = report["by_instance"][0]
    assert (mine["instance_id"], mine["dollars"], mine["overhead_dollars"]) == (first, 4.0, 1.0)
    assert (mine["break_even_rate"], mine["margin"]) == (50.0, 10.0)
    assert (mine["charged"], mine["counted"], mine["difference"]) == (3.25, 3.0, 0.25)
    assert mine["bandwidth"] == 0.5
    gone = next(item for item in report["by_instance"] if item["instance_id"] == 77)
    assert (gone["stage"], gone["machine_id"], gone["break_even_rate"]) == ("gone", 9, None)
    assert report["charges"] == {
        "days": 1, "counted": 3.0, "charged": 3.25, "difference": 0.25, "bandwidth": 0.5,
        "before_us": 1.5, "before_us_counted": 2.0, "other": 1.0, "for_no_instance": 1.0,
        "as_of": None,
    }  # fmt: skip
    text = money_text(report)
    assert "2 days: $6.00 for 500 proofs, $0.0120 a proof" in text
    assert "charged $3.25 for GPU and disk less $3.00 counted here is a difference of $0.25" in text
    assert "not compared: $1.50 charged for days on which an instance was first seen" in text


async def test_nothing_known_is_said_as_not_known() -> None:
    report = await money_report(MemoryStore(), Policy(), NOW, days=1)
    assert report["burn"] is None
    assert report["dollars_per_proof"] is None
    assert report["charges"] is None
    assert "burn $?/h" in money_text(report)
    assert [money_csv(report, table).split("\n")[1:] for table in TABLES] == [[""]] * 3
    assert money_csv(report, "stages") == "stage,dollars,hours,unpriced_hours,share\n"
    assert "1 day: $0.00" in money_text(report)


async def test_time_without_a_price_is_no_zero() -> None:
    store = MemoryStore()
    unpriced = msgspec.structs.replace(
        spent(1, Stage.LOADING, 0.0), seconds=7200.0, unpriced_seconds=7200.0
    )
    store.spend_list = [unpriced]
    store.proofs_made = {(1, TODAY): 0.3}
    report = await money_report(store, Policy(), NOW, days=1)
    tables = [report["by_stage"], report["by_day"], report["by_instance"]]
    for (item,) in tables:
        assert (item["dollars"], item["unpriced_hours"]) == (None, 2.0)
    assert report["by_instance"][0]["overhead_dollars"] is None
    assert (report["spent"], report["dollars_per_proof"]) == (None, None)
    assert "1 day: ≥$? for <1 proofs, ≥$? a proof" in money_text(report)
    assert next(csv.DictReader(io.StringIO(money_csv(report, "days"))))["dollars"] == ""
    store.spend_list = [unpriced, spent(2, Stage.RUNNING, 3.0)]
    store.proofs_made = {(2, TODAY): 300.0}
    report = await money_report(store, Policy(), NOW, days=1)
    (day,) = report["by_day"]
    assert (day["dollars"], day["unpriced_hours"], day["dollars_per_proof"]) == (3.0, 2.0, 0.01)
    text = money_text(report)
    assert "1 day: ≥$3.00 for 300 proofs, ≥$0.0100 a proof" in text
    assert "2.0 h without a known price are not in the sums" in text
    assert "    ≥3.00     300   ≥0.0100" in text


async def test_each_table_has_the_columns_of_its_heading() -> None:
    store = build(2, now=NOW)
    store.spend_list = [spent(1, Stage.RUNNING, 1.0)]
    store.charge_days = [DayOfCharges(day=TODAY, read_at=NOW, charges=())]
    report = await money_report(store, Policy(), NOW, days=1)
    for table, columns in TABLES.items():
        for row in report[f"by_{table.removesuffix('s')}"]:
            assert sorted(row) == sorted(columns)
    assert report["by_day"][0]["as_of"] == NOW


@given(st.floats(0.0, 1e15), st.floats(0.0, 1e15), st.floats(0.0, 1e15))
async def test_no_figure_widens_a_line(dollars: float, proofs: float, rate: float) -> None:
    store = build(1, now=NOW)
    (instance_id,) = store.rows
    row = store.rows[instance_id][1]
    store.put(msgspec.structs.replace(row, cost_per_hour=dollars, proofs_per_hour=rate))
    store.spend_list = [spent(instance_id, Stage.RUNNING, dollars)]
    store.proofs_made = {(instance_id, TODAY): proofs}
    store.charge_days = [
        DayOfCharges(day=TODAY, read_at=NOW, charges=(
            Charge(instance_id=instance_id, kind="gpu", dollars=rate),
        ))
    ]  # fmt: skip
    lines = money_text(await money_report(store, Policy(), NOW, days=1)).split("\n")
    places = [n for n, line in enumerate(lines) if line.startswith(("stage ", "day ", "instance "))]
    assert len(places) == 3
    for place in places:
        assert len(lines[place + 1].split("  ")[0]) <= len(lines[place])
        assert len(lines[place + 1]) <= len(lines[place])


LABELS = st.text(max_size=12) | st.sampled_from(["=cmd()", "+1", "-2", "@x", 'a,"b"', "a\nb"])


@given(LABELS)
async def test_any_label_comes_back_from_the_table_and_is_no_formula(label: str) -> None:
    store = build(1, now=NOW)
    (instance_id,) = store.rows
    safe = sanitise(label)
    store.put(msgspec.structs.replace(store.rows[instance_id][1], label=safe))
    report = await money_report(store, Policy(), NOW, days=1)
    (row,) = csv.DictReader(io.StringIO(money_csv(report, "instances")))
    assert row["label"].removeprefix("'") == safe.removeprefix("'")
    assert not row["label"].startswith(("=", "+", "-", "@"))
