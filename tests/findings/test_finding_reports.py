"""The fleet's findings as printed, and what an operator decides by name."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.finding import Evidence, Finding, Severity
from fleetui.domain.finding_record import HOLD_SECONDS, FleetFinding
from fleetui.domain.finding_words import age_words, marks_text
from fleetui.domain.instance import Instance
from fleetui.domain.reading import Reading
from fleetui.domain.stage import Stage
from fleetui.domain.text import sanitise
from fleetui.reports.findings import (
    DecisionError,
    acknowledge,
    findings_report,
    findings_text,
    seconds_of,
    snooze,
    worst,
)
from store_bench import Bench, row


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = await Bench.open(tmp_path / "fleet.db")
    yield bench
    await bench.store.close()


def finding(category: str, severity: Severity = Severity.CRITICAL) -> Finding:
    return Finding(
        category=category, severity=severity, confidence=0.9, summary=sanitise(f"{category}!"),
        advice=sanitise("mend it"), signature=f"{category}|x",
        evidence=(Evidence(source="/tmp/a.log", text=sanitise("line"), line=3),),
    )  # fmt: skip


async def publish(bench: Bench, found: dict[int, list[Finding]], **more: Any) -> None:  # noqa: ANN401 - fields of a batch
    bench.clock.at += 1.0
    await bench.publish(
        instances=[Instance(instance_id=key, machine_id=key * 10) for key in found],
        rows=[row(key) for key in found],
        readings=[
            Reading(instance_id=key, at=bench.clock.at, stage=Stage.BENCH, findings=tuple(value))
            for key, value in found.items()
        ],
        **more,
    )


async def report(bench: Bench, **wanted: bool) -> list[dict[str, Any]]:
    return await findings_report(bench.store, bench.clock.now(), **wanted)


INPUT = finding("input_download_failed")
SLOW = finding("params_fetch_stall", Severity.WARNING)
DRIFT = finding("config_drift", Severity.INFO)


async def test_one_group_a_signature_and_the_fleets_fault_leads(bench: Bench) -> None:
    found = {number: [INPUT] for number in range(1, 6)} | {6: [SLOW, DRIFT], 7: []}
    leading = msgspec.structs.replace(INPUT, signature="fleet|input", summary=sanitise("server"))
    await publish(bench, found, fleet_findings=[FleetFinding(leading, (1, 2, 3, 4, 5))])
    groups = await report(bench)
    assert [(g["category"], g["fleet"], g["led_by"], len(g["instance_ids"])) for g in groups] == [
        ("input_download_failed", True, None, 5),
        ("params_fetch_stall", False, None, 1),
        ("input_download_failed", False, "input_download_failed", 5),
    ]
    text = findings_text(groups, bench.clock.now())
    assert text.index("server") < text.index("params_fetch_stall!")
    assert "part of the fleet's input_download_failed" in text
    assert {g["category"] for g in await report(bench, with_info=True)} >= {"config_drift"}
    assert worst(groups)


async def test_a_healthy_fleet_has_nothing_to_tell(bench: Bench) -> None:
    await publish(bench, {1: []})
    assert await report(bench) == []
    assert "nothing is wrong" in findings_text([], 0.0)
    with pytest.raises(DecisionError, match="no open finding"):
        await acknowledge(bench.store, "#1", clock=bench.clock, actor="ada")


async def test_acknowledging_by_category_by_signature_and_by_number(bench: Bench) -> None:
    await publish(bench, {1: [INPUT, SLOW], 2: [INPUT]})
    said = await acknowledge(
        bench.store, "input_download_failed", clock=bench.clock, actor="ada", note="known"
    )
    assert said == "acknowledged 2 findings: input_download_failed"
    groups = await report(bench)
    assert [(g["category"], g["state"]) for g in groups] == [
        ("params_fetch_stall", "open"),
        ("input_download_failed", "acknowledged"),
    ]
    assert not worst(groups)
    number = groups[0]["records"][0]["id"]
    await acknowledge(bench.store, f"#{number}", clock=bench.clock, actor="ada")
    assert (await report(bench))[0]["records"][0]["decided_by"] == "ada"


async def test_a_snoozed_signature_is_quiet_on_the_next_host_too(bench: Bench) -> None:
    await publish(bench, {1: [INPUT]})
    assert "for 2h" in await snooze(
        bench.store, INPUT.signature, "2h", clock=bench.clock, actor="a"
    )
    await publish(bench, {2: [INPUT]})
    (group,) = await report(bench)
    assert (group["state"], group["instance_ids"]) == ("snoozed", [1, 2])
    bench.clock.at += 7201
    (group,) = await report(bench)
    assert group["state"] == "open"


async def test_a_snooze_by_number_is_for_that_one_only(bench: Bench) -> None:
    await publish(bench, {1: [INPUT], 2: [INPUT]})
    first = (await report(bench))[0]["records"][0]
    await snooze(bench.store, str(first["id"]), "30m", clock=bench.clock, actor="ada")
    states = {r["id"]: r["state"] for r in (await report(bench))[0]["records"]}
    assert states.pop(first["id"]) == "snoozed"
    assert set(states.values()) == {"open"}


async def test_what_is_over_is_listed_on_request_with_what_happened(bench: Bench) -> None:
    await publish(bench, {1: [INPUT]})
    await publish(bench, {1: []})
    bench.clock.at += HOLD_SECONDS
    await publish(bench, {1: []})
    assert await report(bench) == []
    (group,) = await report(bench, resolved=True)
    assert group["state"] == "resolved"
    assert group["records"][0]["resolution"] == "its cause is gone"
    assert "went away by itself once" in group["before"]
    await publish(bench, {2: [INPUT]})
    (again,) = await report(bench)
    assert "seen 2 times on 2 machines" in again["before"]


async def test_a_machine_is_told_in_words(bench: Bench) -> None:
    await publish(bench, {1: [INPUT, SLOW]})
    bench.clock.at += 7200
    text = marks_text(await bench.store.machine_marks(10), bench.clock.now())
    assert "input_download_failed once, last 2 h ago" in text
    assert marks_text((), 0.0) == ""


@pytest.mark.parametrize(("span", "seconds"), [("90s", 90.0), ("1.5h", 5400.0), ("2D", 172_800.0)])
def test_spans(span: str, seconds: float) -> None:
    assert seconds_of(span) == seconds


@given(st.text(max_size=12))
def test_any_span_is_bounded_or_refused(text: str) -> None:
    try:
        seconds = seconds_of(text)
    except DecisionError:
        return
    assert 0 < seconds <= 30 * 86_400


@given(st.floats(-1e12, 1e12))
def test_an_age_always_reads(seconds: float) -> None:
    assert age_words(seconds)
