import asyncio

import msgspec

from console_pilot import NOW, StillClock, console
from fleetui.domain.finding import Severity
from fleetui.domain.finding_record import DecisionKind, FindingDecision
from fleetui.domain.host import SshState
from fleetui.domain.instance import WalkOutcome
from fleetui.domain.stage import Stage
from fleetui.domain.text import sanitise
from fleetui.reports.fleet import status_report, status_text
from sample_fleet import build


async def test_a_frozen_screen_raises_no_alarm_about_a_living_collector() -> None:
    clock = StillClock()
    async with console(clock=clock) as run:
        assert run.store.health
        await run.press("p")
        await run.shows("FROZEN")
        clock.at += 300
        run.store.health = msgspec.structs.replace(run.store.health, at=clock.at)
        state = run.app.state
        await run.until(lambda: state.health and state.health.at == clock.at, "its word")
        run.app.screen.draw_bars()  # type: ignore[attr-defined]  # a screen of ours
        assert "no collector" not in run.text
        assert "start a collector" not in run.text
        await run.press("D")
        await run.shows("frozen: these rows may have changed")
        assert run.app.screen is run.app.fleet_screen


async def test_a_collector_that_is_being_started_is_not_missed() -> None:
    ready = asyncio.Event()

    async def start() -> str:
        await ready.wait()
        return ""

    store = build(24, now=NOW)
    store.lease_held = False
    async with console(store, start_collector=start) as run:
        await run.shows("starting a collector")
        await run.shows("collector starting")
        assert "no collector" not in run.text
        ready.set()
        await run.shows("a collector runs")
        assert "no collector" not in run.text


async def test_an_outage_is_said_once_and_hides_no_sum() -> None:
    store = build(24, now=NOW)
    error = sanitise("the API answers 503 Service Unavailable")
    assert store.walk
    assert store.health
    store.walk = msgspec.structs.replace(store.walk, outcome=WalkOutcome.FAILED, error=error)
    store.health = msgspec.structs.replace(store.health, error=error)
    async with console(store, size=(100, 30)) as run:
        head = run.text.split("\n")[0]
        assert head.count("the API") <= 1
        assert "SSH" in head
        assert "/h" in head
        assert "503" in head or "the API" in head


async def test_a_row_whose_link_is_lost_is_marked_and_counts_no_more() -> None:
    store = build(24, now=NOW)
    row = next(
        row
        for _, row in store.rows.values()
        if row.stage is Stage.RUNNING and row.proofs_per_hour is not None and row.attempt == 1
    )
    async with console(store) as run:
        before = run.app.state.totals()
        lost = msgspec.structs.replace(row, ssh=SshState.LOST, newest_byte_at=NOW - 540)
        store.put(lost)
        await run.shows("running?")
        after = run.app.state.totals()
        assert after.measured == before.measured - 1


async def test_no_instances_is_said_only_of_an_empty_walk() -> None:
    store = build(24, now=NOW)
    store.rows.clear()
    async with console(store) as run:
        await run.shows("their rows are on the way")
        assert store.complete_walk
        store.complete_walk = msgspec.structs.replace(store.complete_walk, rows=0)
        await run.until(lambda: run.app.state.last_complete_walk == store.complete_walk, "it")
        run.app.fleet_screen.table.refresh()
        await run.shows("found none")


async def test_what_cannot_be_done_here_says_why() -> None:
    async with console(size=(80, 24), read_only=True) as run:
        await run.press("i")
        await run.shows("no room for the details here")
        await run.press("D")
        await run.shows("read-only: destroy")


async def test_an_acknowledged_finding_is_dim_and_counts_no_more() -> None:
    async with console() as run:
        state = run.app.state
        before = state.severities()[Severity.CRITICAL]
        record = next(
            record
            for record in await run.store.findings()
            if record.finding.severity is Severity.CRITICAL
            and len(run.store.readings_by_id[record.instance_id].findings) == 1
        )
        decision = FindingDecision(
            kind=DecisionKind.ACKNOWLEDGE, actor=sanitise("bo"), at=NOW,
            finding_id=record.finding_id,
        )  # fmt: skip
        await run.store.decide(decision)
        await run.app.loops.read_decisions()
        await run.shows(f"✓ acked {record.finding.category[:6]}")
        assert state.severities()[Severity.CRITICAL] == before - 1
        report = await status_report(run.store, NOW)
        mine = [item for item in report["findings"] if item["instance"] == record.instance_id]
        assert [item["state"] for item in mine] == ["acknowledged"]
        assert f"{record.finding.category} (acknowledged)" in status_text(report)


async def test_an_undone_destroy_stands_in_the_activity_and_enter_opens_an_entry() -> None:
    async with console(size=(80, 24), undo_seconds=60.0) as run:
        chosen = str(run.cursor)
        await run.press("D")
        await run.shows("Destroy for good?")
        await run.press(*chosen[-4:], "enter")
        await run.until(lambda: run.app.acts.pending, "the countdown")
        await run.press("u", "6")
        await run.shows("undone")
        long = run.app.acts.undone[0].text
        run.store.intent_list.clear()
        run.store.audit_list.clear()
        run.store.event_list.clear()
        await run.until(lambda: "restart daemon" not in run.text, "only what was undone")
        await run.press("enter")
        await run.shows(long[-10:])


async def test_a_machine_with_a_record_says_so_beside_the_table_on_its_page_and_in_status() -> None:
    store = build(24, now=NOW)
    words = sanitise("gpu_fallen_off_bus twice, last 3 d ago")
    store.put(msgspec.structs.replace(store.rows[20110148][1], machine_record=words))
    async with console(store, size=(160, 50)) as run:
        await run.shows("This machine has a record")
        await run.press("enter")
        await run.shows("This machine has a record")
        report = await status_report(run.store, NOW)
        told = [row["machine_record"] for row in report["rows"] if "machine_record" in row]
        assert told == [words]
        assert status_text(report).count("[machine has a record]") == 1
