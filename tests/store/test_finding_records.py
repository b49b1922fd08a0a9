"""Findings over their course in the store: states, decisions, machines, signatures."""

import sqlite3
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetui.domain.finding import Evidence, Finding, Severity
from fleetui.domain.finding_record import (
    HOLD_SECONDS,
    DecisionKind,
    FindingDecision,
    FindingRecord,
    FindingState,
    FleetFinding,
    begun,
    missed,
    seen_again,
)
from fleetui.domain.host import Probe
from fleetui.domain.instance import Instance
from fleetui.domain.intent import Intent, IntentState, Verb
from fleetui.domain.reading import Reading
from fleetui.domain.stage import Stage
from fleetui.domain.text import SafeText, sanitise
from fleetui.store.interface import StoreError
from fleetui.store.machine_marks import MARK_LIMIT, prune_marks
from fleetui.store.schema import APPLICATION_ID, STEPS
from fleetui.store.sqlite import SqliteStore
from store_bench import Bench, HandClock, row

OOM = Finding(
    category="gpu_vram_oom",
    severity=Severity.CRITICAL,
    confidence=0.9,
    summary=sanitise("no GPU memory"),
    advice=sanitise("fewer workers"),
    evidence=(Evidence(source="/tmp/cuzk.log", text=sanitise("out of memory"), line=7),),
    signature="gpu_vram_oom|out of memory",
)
SLOW = msgspec.structs.replace(
    OOM, category="params_fetch_stall", severity=Severity.WARNING, signature="stall|x"
)


class Fleet:
    """Publishes readings of an instance on a machine as time goes on."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.store = bench.store

    async def read(
        self, *findings: Finding, instance_id: int = 7, machine_id: int = 70, later: float = 1.0
    ) -> None:
        self.bench.clock.at += later
        reading = Reading(
            instance_id=instance_id, at=self.bench.clock.at, stage=Stage.BENCH, findings=findings
        )
        await self.bench.publish(
            instances=[Instance(instance_id=instance_id, machine_id=machine_id)],
            rows=[row(instance_id)],
            readings=[reading],
        )

    async def healed(self, instance_id: int = 7) -> None:
        await self.read(instance_id=instance_id)
        await self.read(instance_id=instance_id, later=HOLD_SECONDS)

    async def only(self, *, resolved: bool = True) -> FindingRecord:
        (record,) = await self.store.findings(resolved=resolved)
        return record

    async def state(self) -> FindingState:
        return (await self.only()).state(self.bench.clock.now())

    async def decide(self, kind: DecisionKind, **fields: object) -> None:
        decision = FindingDecision(
            kind=kind, actor=sanitise("ada@desk"), at=self.bench.clock.now(),
            **fields,  # type: ignore[arg-type]  # any field
        )  # fmt: skip
        await self.store.decide(decision)

    async def said(self) -> list[tuple[str, str]]:
        return [(str(e.actor), e.event) for e in reversed(await self.store.audit())]


@pytest.fixture
def fleet(bench: Bench) -> Fleet:
    return Fleet(bench)


async def test_a_finding_opens_stays_and_is_resolved_by_itself(fleet: Fleet) -> None:
    await fleet.read(OOM)
    begin = await fleet.only()
    assert (begin.finding, begin.machine_id, begin.occurrences) == (OOM, 70, 1)
    assert await fleet.state() is FindingState.OPEN
    await fleet.read(OOM, later=100.0)
    later = await fleet.only()
    assert later.opened_at == begin.opened_at
    assert later.last_seen == begin.last_seen + 100.0
    await fleet.read()
    assert await fleet.state() is FindingState.OPEN, "one reading without it is no proof"
    await fleet.read(later=HOLD_SECONDS)
    assert await fleet.state() is FindingState.RESOLVED
    assert await fleet.store.findings() == ()
    assert await fleet.said() == [
        ("collector", "finding opened"),
        ("collector", "finding resolved"),
    ]


async def test_it_comes_back_as_another_occurrence_of_the_same(fleet: Fleet) -> None:
    await fleet.read(OOM)
    first = await fleet.only()
    await fleet.healed()
    await fleet.read(OOM)
    again = await fleet.only()
    assert (again.finding_id, again.occurrences) == (first.finding_id, 2)
    assert again.first_seen == first.first_seen < again.opened_at
    assert (await fleet.said())[-1] == ("collector", "finding opened again")


async def test_acknowledging_lasts_until_it_is_over(fleet: Fleet) -> None:
    await fleet.read(OOM)
    number = (await fleet.only()).finding_id
    await fleet.decide(DecisionKind.ACKNOWLEDGE, finding_id=number, note=sanitise("known"))
    assert await fleet.state() is FindingState.ACKNOWLEDGED
    await fleet.read(OOM, later=1000.0)
    assert await fleet.state() is FindingState.ACKNOWLEDGED
    await fleet.healed()
    await fleet.read(OOM)
    assert await fleet.state() is FindingState.OPEN, "what came back asks anew"
    entry = next(e for e in await fleet.store.audit() if e.event == "finding acknowledged")
    assert (entry.actor, entry.instance_id) == ("ada@desk", 7)
    assert entry.detail == "gpu_vram_oom: known"


async def test_what_becomes_graver_asks_anew(fleet: Fleet) -> None:
    await fleet.read(SLOW)
    await fleet.decide(DecisionKind.ACKNOWLEDGE, finding_id=(await fleet.only()).finding_id)
    await fleet.read(msgspec.structs.replace(SLOW, severity=Severity.CRITICAL))
    assert await fleet.state() is FindingState.OPEN
    assert (await fleet.said())[-1] == ("collector", "finding became graver")


async def test_a_snooze_ends_by_itself_and_can_be_taken_back(fleet: Fleet) -> None:
    await fleet.read(OOM)
    number = (await fleet.only()).finding_id
    now = fleet.bench.clock.at
    await fleet.decide(DecisionKind.SNOOZE, finding_id=number, until=now + 600)
    record = await fleet.only()
    assert record.state(now + 599) is FindingState.SNOOZED
    assert record.state(now + 600) is FindingState.OPEN
    await fleet.decide(DecisionKind.REOPEN, finding_id=number)
    assert await fleet.state() is FindingState.OPEN


async def test_a_signature_is_snoozed_on_hosts_that_get_it_later_too(fleet: Fleet) -> None:
    await fleet.read(OOM)
    until = fleet.bench.clock.at + 600
    await fleet.decide(DecisionKind.SNOOZE, signature=OOM.signature, until=until)
    await fleet.read(OOM, instance_id=8, machine_id=80)
    await fleet.read(SLOW, instance_id=9, machine_id=90)
    now = fleet.bench.clock.at
    states = {r.instance_id: r.state(now) for r in await fleet.store.findings()}
    assert states == {7: "snoozed", 8: "snoozed", 9: "open"}


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": DecisionKind.ACKNOWLEDGE, "finding_id": 999},
        {"kind": DecisionKind.ACKNOWLEDGE, "signature": "x"},
        {"kind": DecisionKind.ACKNOWLEDGE},
        {"kind": DecisionKind.SNOOZE, "finding_id": 1},
        {"kind": DecisionKind.SNOOZE, "finding_id": 1, "signature": "x", "until": 9.0},
    ],
)
async def test_a_decision_about_nothing_is_refused(fleet: Fleet, fields: dict[str, object]) -> None:
    await fleet.read(OOM)
    with pytest.raises(StoreError):
        await fleet.decide(**fields)  # type: ignore[arg-type]  # any field
    assert await fleet.said() == [("collector", "finding opened")]


async def test_a_viewer_decides_but_writes_no_facts(fleet: Fleet, path: Path) -> None:
    await fleet.read(OOM)
    viewer = await SqliteStore.open(path, clock=fleet.bench.clock, viewer=True)
    (record,) = await viewer.findings()
    await viewer.decide(
        FindingDecision(
            kind=DecisionKind.ACKNOWLEDGE, actor=SafeText("eve"), at=fleet.bench.clock.at,
            finding_id=record.finding_id,
        )
    )  # fmt: skip
    with pytest.raises(StoreError, match="viewer"):
        await viewer._database.write(lambda raw: raw.execute("DELETE FROM finding"))
    await viewer.close()
    assert await fleet.state() is FindingState.ACKNOWLEDGED


async def test_a_start_without_probes_resolves_nothing(fleet: Fleet) -> None:
    probed = msgspec.structs.replace(
        OOM, evidence=(Evidence(source="probe:cgroup.memory.events", text=sanitise("oom_kill 1")),)
    )
    await fleet.read(probed)
    await fleet.healed()
    assert await fleet.state() is FindingState.OPEN, "nobody has looked yet"
    for later in (1.0, HOLD_SECONDS):
        fleet.bench.clock.at += later
        at = fleet.bench.clock.at
        looked = Reading(instance_id=7, at=at, stage=Stage.BENCH, probe=Probe(at=at))
        await fleet.bench.publish(readings=[looked])
    assert await fleet.state() is FindingState.RESOLVED


async def test_a_gone_instance_closes_its_findings_and_the_machine_remembers(
    fleet: Fleet,
) -> None:
    await fleet.read(OOM)
    await fleet.bench.publish(gone=[7])
    record = await fleet.only()
    assert (record.state(0.0), record.resolution) == ("resolved", "the instance is gone")
    await fleet.read(OOM, instance_id=8, machine_id=70)
    await fleet.read(SLOW, instance_id=9, machine_id=71)
    (mark,) = await fleet.store.machine_marks(70)
    assert (mark.category, mark.occurrences, mark.last_instance) == ("gpu_vram_oom", 2, 8)
    assert mark.is_of_another(8), "7 had it before"
    (own,) = await fleet.store.machine_marks(71)
    assert not own.is_of_another(9)
    assert own.is_of_another(10)
    assert [m.category for m in await fleet.store.machine_marks(71)] == ["params_fetch_stall"]
    assert await fleet.store.machine_marks(72) == ()


async def test_a_signature_knows_its_machines_and_what_mended_it(fleet: Fleet) -> None:
    assert await fleet.store.signature_history(OOM.signature) is None
    await fleet.read(OOM)
    await fleet.read(OOM, instance_id=8, machine_id=80)
    # What only looks or names mends nothing, though it was done last.
    for number, verb in enumerate((Verb.RESTART_DAEMON, Verb.LABEL, Verb.RUN, Verb.READ_OLDER)):
        intent = Intent(
            intent_id=str(number), verb=verb, instance_id=7, actor=sanitise("ada"),
            reason=sanitise(""), created_at=fleet.bench.clock.at, machine_id=70,
        )  # fmt: skip
        await fleet.store.intend(intent)
    for intent in await fleet.store.claim(fleet.bench.lease):
        name, at = intent.intent_id, fleet.bench.clock.at
        await fleet.store.settle(fleet.bench.lease, name, IntentState.DONE, sanitise("ok"), at)
    await fleet.healed(7)
    await fleet.healed(8)
    history = await fleet.store.signature_history(OOM.signature)
    assert history is not None
    assert set(history.machines) == {70, 80}
    assert {(mend.action, mend.times) for mend in history.mends} == {
        ("restart_daemon", 1),
        (None, 1),
    }


async def test_a_fleet_finding_is_a_record_of_its_own(fleet: Fleet) -> None:
    many = FleetFinding(OOM, (7, 8, 9))
    await fleet.bench.publish(fleet_findings=[many])
    (record,) = await fleet.store.findings(instance_id=0)
    assert (record.instance_ids, record.finding) == ((7, 8, 9), OOM)
    await fleet.bench.publish()
    assert len(await fleet.store.findings()) == 1, "nobody looked, so it stands"
    for later in (1.0, HOLD_SECONDS):
        fleet.bench.clock.at += later
        await fleet.bench.publish(fleet_findings=[])
    assert await fleet.store.findings() == ()


async def test_info_is_not_audited_and_marks_no_machine(fleet: Fleet) -> None:
    await fleet.read(msgspec.structs.replace(OOM, severity=Severity.INFO))
    assert len(await fleet.store.findings()) == 1
    assert await fleet.said() == []
    assert await fleet.store.machine_marks(70) == ()


def test_marks_are_bounded() -> None:
    raw = sqlite3.connect(":memory:")
    for step in STEPS:
        for statement in step:
            raw.execute(statement)
    raw.executemany(
        "INSERT INTO machine_mark VALUES (?, 's', 0, ?, 1, x'')",
        [(number, float(number)) for number in range(MARK_LIMIT + 10)],
    )
    prune_marks(raw)
    count, oldest = raw.execute("SELECT count(*), min(last_seen) FROM machine_mark").fetchone()
    raw.close()
    assert (count, oldest) == (MARK_LIMIT, 10.0)


async def test_an_older_store_is_brought_up_to_date(path: Path) -> None:
    path.parent.mkdir()
    raw = sqlite3.connect(path)
    for statement in STEPS[0]:
        raw.execute(statement)
    raw.execute("INSERT INTO audit (doc) VALUES (?)", (b'{"at":1,"actor":"ada","event":"done"}',))
    raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    raw.execute("PRAGMA user_version = 1")
    raw.commit()
    raw.close()
    viewer = await SqliteStore.open(path, clock=HandClock(), viewer=True)
    assert await viewer.findings() == ()
    await viewer.close()
    bench = await Bench.open(path)
    await Fleet(bench).read(OOM)
    assert [entry.actor for entry in await bench.store.audit()] == ["collector", "ada"]
    await bench.store.close()


SIGHTS = st.lists(st.tuples(st.booleans(), st.integers(1, 500).map(lambda n: n / 10)), max_size=40)


# On a busy machine the drawing of long lists is called slow, which says nothing of records.
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(SIGHTS)
def test_a_record_is_resolved_only_after_the_hold_and_counts_its_returns(
    sights: list[tuple[bool, float]],
) -> None:
    at = 1000.0
    record = begun(OOM, at, instance_id=7)
    missing: float | None = None
    returns = 0
    for seen, later in sights:
        at += later
        was_over = record.resolved_at is not None
        if seen:
            record = seen_again(record, OOM, at)
            returns += was_over
            missing = None
        elif not was_over:
            record = missed(record, at)
            missing = at if missing is None else missing
            assert (record.resolved_at is not None) == (at - missing >= HOLD_SECONDS)
    assert record.occurrences == 1 + returns
    assert record.first_seen <= record.opened_at <= record.last_seen <= at
