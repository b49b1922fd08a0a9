"""What many hosts have at once, and what only the odd ones have."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.finding import Evidence, Finding, Severity
from fleetui.domain.host import Gpu, Probe
from fleetui.domain.instance import Instance, Walk, WalkOutcome
from fleetui.domain.stage import Stage
from fleetui.domain.stream import Fact
from fleetui.domain.text import sanitise
from fleetui.profiles.loader import load
from fleetui.reading.case import Case, Difference
from fleetui.reading.findings import diagnose
from fleetui.reading.findings.fleet_faults import (
    AT_ONCE_SECONDS,
    Sighting,
    begin_of,
    fleet_findings,
    many,
)
from fleetui.reading.findings.siblings import Census, Sibling, sibling_of, traits_of
from fleetui.reading.findings.vocabulary import CATEGORIES, SHARED_CAUSES
from fleetui.reading.reader import Reader

NOW = 1_800_000_000.0


def sibling(number: int, hardware: str = "1x RTX 4090", **traits: str) -> Sibling:
    return Sibling(
        number, hardware, {name.replace("_", " "): value for name, value in traits.items()}
    )


def sighting(number: int, category: str = "input_download_failed", ago: float = 60.0) -> Sighting:
    finding = Finding(
        category=category, severity=CATEGORIES[category].severity, confidence=0.9,
        summary=sanitise(f"{category} here"), advice=sanitise("do"), signature=f"{category}|x",
        evidence=(Evidence(source="/tmp/b.log", text=sanitise("curl: (22) 404"), line=3),),
    )  # fmt: skip
    return Sighting(number, finding, NOW - ago)


def fleet(count: int, **odd: dict[str, str]) -> Census:
    plain = {"image": "curio-cuzk:latest"}
    return Census(
        sibling(number, **{**plain, **odd.get(f"i{number}", {})}) for number in range(count)
    )


@pytest.mark.parametrize(
    ("count", "size", "expected"),
    [(2, 3, False), (3, 5, True), (4, 24, False), (5, 24, True), (14, 300, False),
     (15, 300, True), (49, 1000, False), (50, 1000, True)],
)  # fmt: skip
def test_many(count: int, size: int, expected: bool) -> None:
    assert many(count, size) is expected


def test_the_input_server_is_down() -> None:
    sightings = [sighting(number) for number in range(40)] + [sighting(50, "gpu_vram_oom")]
    (found,) = fleet_findings(sightings, fleet(100), now=NOW)
    assert found.finding.category == "input_download_failed"
    assert found.finding.severity is Severity.CRITICAL
    assert found.instance_ids == tuple(range(40))
    assert found.finding.summary.startswith("40 of 100 hosts at once")
    assert SHARED_CAUSES["input_download_failed"] in found.finding.summary
    assert found.finding.evidence[0].source == "instance 0 /tmp/b.log"
    assert found.finding.signature.startswith("fleet|")


def test_what_is_over_is_no_fault_of_the_fleet() -> None:
    gone = msgspec.structs.replace(sighting(0).finding, over=True)
    past = [Sighting(number, gone, NOW - 60.0) for number in range(40)]
    assert fleet_findings(past, fleet(100), now=NOW) == ()


def test_the_same_over_days_is_no_fault_of_the_fleet() -> None:
    spread = [sighting(number, ago=number * AT_ONCE_SECONDS) for number in range(40)]
    assert fleet_findings(spread, fleet(100), now=NOW) == ()


def test_what_is_for_information_only_never_leads() -> None:
    drift = [sighting(number, "config_drift") for number in range(40)]
    assert fleet_findings(drift, fleet(40), now=NOW) == ()


def test_only_those_on_the_older_image() -> None:
    old = {"image": "curio-cuzk:2026-01"}
    census = fleet(40, i3=old, i7=old, i9=old)
    sightings = [sighting(number, "prover_panic") for number in (3, 7, 9)]
    (found,) = fleet_findings(sightings, census, now=NOW)
    assert found.finding.summary.startswith("Only the 3 with image curio-cuzk:2026-01")
    assert found.instance_ids == (3, 7, 9)
    (part,) = fleet_findings(sightings[:2], census, now=NOW)
    assert part.finding.summary.startswith("2 of the 3 with image curio-cuzk:2026-01")
    assert fleet_findings([*sightings, sighting(11, "prover_panic")], census, now=NOW) == ()
    assert fleet_findings(sightings[:1], census, now=NOW) == ()


def test_the_api_gives_no_list() -> None:
    walk = Walk(
        started_at=NOW - 5, ended_at=NOW - 4, outcome=WalkOutcome.FAILED, rows=0,
        error=sanitise("HTTP 401: invalid API key"), error_category="vast_api_error",
    )  # fmt: skip
    (found,) = fleet_findings([], fleet(12), now=NOW, walk=walk, api_failing_since=NOW - 120)
    assert found.finding.category == "vast_api_error"
    assert "12 instances is old, not gone" in found.finding.summary
    assert "invalid API key" in found.finding.summary
    assert fleet_findings([], fleet(12), now=NOW, walk=walk, api_failing_since=NOW - 5) == ()
    assert fleet_findings([], fleet(12), now=NOW, walk=walk) == ()


def test_since_when_a_thing_stands() -> None:
    finding = sighting(1).finding
    assert begin_of({(1, finding.category): 5.0}, 1, finding, NOW) == 5.0
    assert begin_of({}, 1, finding, NOW) == NOW


def test_siblings_that_differ() -> None:
    census = Census(
        [sibling(n, daemon_era="N", driver="570") for n in range(4)]
        + [sibling(4, daemon_era="O", driver="570")]
    )
    (difference,) = census.differences(4)
    assert (difference.trait, difference.own, difference.usual) == ("daemon era", "O", "N")
    assert (difference.alike, difference.siblings) == (4, 4)
    assert census.differences(0) == ()
    assert census.differences(99) == ()
    pair = Census([sibling(0, driver="550"), sibling(1, driver="570")])
    assert pair.differences(0) == ()


def test_workers_are_compared_on_like_hardware_only() -> None:
    large = [sibling(n, "4x RTX 5090", partition_workers="30") for n in range(4)]
    small = sibling(9, "1x RTX 3090", partition_workers="8")
    assert Census([*large, small]).differences(9) == ()
    odd = sibling(9, "4x RTX 5090", partition_workers="8")
    assert Census([*large, odd]).differences(9)[0].trait == "partition workers"


def test_a_difference_is_a_finding_for_information() -> None:
    difference = Difference(trait="image", own="a:old", usual="a:new", siblings=9, alike=8)
    case = Case(now=NOW, live=True, stage=Stage.RUNNING, differences=(difference,))
    (finding,) = diagnose(case)
    assert (finding.category, finding.severity) == ("config_drift", Severity.INFO)
    assert "its image is a:old, while 8 of 9 siblings have a:new" in finding.summary


def test_a_reader_tells_its_differences_once() -> None:
    reader = Reader(load("cuzk"), 7)
    difference = (Difference(trait="image", own="a", usual="b", siblings=3, alike=3),)
    assert reader.observe_siblings(difference)
    assert not reader.observe_siblings(difference)
    assert [f.category for f in reader.reading(NOW).findings] == ["config_drift"]
    assert reader.observe_siblings(())
    assert reader.reading(NOW).findings == ()


def fact(rule: str, **fields: str) -> Fact:
    return Fact(
        rule=rule, kind="daemon", source="/tmp/x.log", generation=1, offset=0, line=1,
        text=sanitise(rule), fields=fields,
    )  # fmt: skip


def test_traits() -> None:
    instance = Instance(
        instance_id=7, image=sanitise("i:1"), driver_version=sanitise("570.86.16"),
        gpu_name=sanitise("RTX 4090"), num_gpus=2,
    )  # fmt: skip
    facts = (
        fact("mark.workers", workers="4"),
        fact("config.partition_workers", value="16"),
        fact("bench.concurrency", concurrency="3"),
    )
    probe = Probe(gpus=(Gpu(index=0, driver_version=sanitise("565.57.01")),))
    case = Case(
        now=NOW, live=True, stage=Stage.BENCH, era="N", min_rate=29.0, instance=instance,
        probe=probe, facts=facts,
    )  # fmt: skip
    assert traits_of(case) == {
        "image": "i:1", "driver": "565", "daemon era": "N", "minimum rate": "29",
        "partition workers": "16", "concurrency": "3",
    }  # fmt: skip
    assert sibling_of(instance, {}).hardware == "2x RTX 4090"


def test_every_shared_cause_is_of_a_category() -> None:
    assert set(SHARED_CAUSES) - {"any"} <= set(CATEGORIES)


TRAITS = st.dictionaries(st.sampled_from(["image", "driver"]), st.sampled_from("abc"))
FLEETS = st.lists(TRAITS, min_size=1, max_size=12)
FAULTS = st.lists(
    st.tuples(st.integers(0, 15), st.sampled_from(["prover_panic", "ssh_unreachable"]),
              st.floats(0, 1e5)), max_size=20,
)  # fmt: skip


@given(FLEETS, FAULTS)
def test_whatever_stands_the_fleets_findings_name_only_who_has_them(
    traits: list[dict[str, str]], faults: list[tuple[int, str, float]]
) -> None:
    census = Census(Sibling(n, "x", one) for n, one in enumerate(traits))
    sightings = [sighting(number, category, ago) for number, category, ago in faults]
    have: dict[str, set[int]] = {}
    for one in sightings:
        have.setdefault(one.finding.category, set()).add(one.instance_id)
    found = fleet_findings(sightings, census, now=NOW)
    assert len({fault.finding.category for fault in found}) == len(found)
    for fault in found:
        assert set(fault.instance_ids) <= have[fault.finding.category]
    for number in range(len(traits)):
        for difference in census.differences(number):
            assert difference.own != difference.usual
            assert difference.alike * 2 > difference.siblings
