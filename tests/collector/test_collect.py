"""The collector against the simulated fleet and the real store."""

import asyncio
import contextlib
import sqlite3
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from collecting import (
    Collecting,
    Simulated,
    collecting,
    collector_environment,
    simulated,
    some_running,
    stored_bytes,
    tasks_of_ours,
)
from fleetui.collector.lifetime import End
from fleetui.domain.clock import Clock
from fleetui.domain.host import SshState
from fleetui.domain.instance import Instance, WalkOutcome
from fleetui.domain.intent import IntentState, Verb
from fleetui.domain.reading import FleetRow
from fleetui.domain.stream import StreamPosition
from fleetui.store.interface import Batch, Lease, StoreFullError
from fleetui.store.sqlite import SqliteStore

HOSTS = 6


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Simulated]:
    async with simulated(tmp_path, hosts=HOSTS) as fleet:
        yield fleet


async def rows(run: Collecting) -> tuple[FleetRow, ...]:
    return (await run.store.fleet()).rows


async def test_instances_logs_and_findings_appear(fleet: Simulated, tmp_path: Path) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:

        async def all_listed() -> bool:
            return len(await rows(run)) == HOSTS

        await run.until(all_listed, "all instances are listed")

        async def found() -> bool:
            return any(row.finding_category for row in await rows(run))

        await run.until(found, "a finding")
        for instance in await some_running(run, 2):
            await run.until(partial(logs_equal, run, fleet, instance), "equal logs")

        async def sampled() -> bool:
            points = [await run.store.samples(row.instance_id, 0) for row in await rows(run)]
            return any(points)

        await run.until(sampled, "chart points")
        view = await run.store.fleet()
        assert view.lease_held
        assert view.health is not None
        assert view.health.error is None
        assert view.health.log_bytes > 0
        assert view.last_complete_walk is not None
    assert run.task.result() is End.STOPPED


async def logs_equal(run: Collecting, fleet: Simulated, instance: Instance) -> bool:
    """Tell whether the stored bytes of every stream are what the host has, up to now."""
    positions = await run.store.streams(instance.instance_id)
    # A config file is written anew in its place, not appended to.
    positions = tuple(position for position in positions if position.kind != "config")
    if not positions:
        return False
    for position in positions:
        on_host = await fleet.shell(instance, f"cat {position.stream.path}")
        newest = await newest_position(run.store, position)
        stored = await stored_bytes(run.store, newest)
        if newest.generation != position.generation or len(stored) + newest.skipped < len(on_host):
            return False
        assert stored.startswith(on_host[newest.skipped :]) or on_host[newest.skipped :] == b""
    return True


async def newest_position(store: SqliteStore, position: StreamPosition) -> StreamPosition:
    streams = await store.streams(position.stream.instance_id)
    return next(other for other in streams if other.stream == position.stream)


async def test_rows_stay_while_the_api_is_down(fleet: Simulated, tmp_path: Path) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:
        instance, *_ = await some_running(run)
        await fleet.fault("api_500")

        async def failed() -> bool:
            walk = (await run.store.fleet()).last_walk
            return walk is not None and walk.outcome is WalkOutcome.FAILED

        await run.until(failed, "a failed walk")
        view = await run.store.fleet()
        assert len(view.rows) == HOSTS
        assert view.health is not None

        async def said() -> bool:
            health = (await run.store.fleet()).health
            return health is not None and health.error is not None

        await run.until(said, "the trouble is said")
        refused = await run.settled(await run.intend(Verb.DESTROY, instance))
        assert refused.state is IntentState.REFUSED, refused.result
        await fleet.fault("api_500", on=False)

        async def well() -> bool:
            health = (await run.store.fleet()).health
            return health is not None and health.error is None

        await run.until(well, "the trouble is over")
        assert len(await rows(run)) == HOSTS


async def test_unreachable_host_is_said_and_named(fleet: Simulated, tmp_path: Path) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:
        instance, other, *_ = await some_running(run, 2)
        await fleet.fault("ssh_refused", instances=[instance.instance_id])
        await fleet.fault("ssh_cut", instances=[instance.instance_id])

        async def said() -> bool:
            reading = await run.store.reading(instance.instance_id)
            if reading is None or reading.ssh is None:
                return False
            categories = {finding.category for finding in reading.findings}
            return reading.ssh.state is SshState.REFUSED and "ssh_unreachable" in categories

        await run.until(said, "the outcome and the finding")
        found = await run.store.events(instance_id=instance.instance_id)
        assert any(event.kind == "ssh" and "refused" in event.text for event in found)
        await fleet.fault("ssh_refused", on=False)

        async def back() -> bool:
            ids = {up.instance_id for up in await run.running()}
            return {instance.instance_id, other.instance_id} <= ids

        await run.until(back, "it is connected again")
        await run.until(partial(logs_equal, run, fleet, instance), "equal logs")


async def test_full_store_drops_nothing_and_is_said(
    fleet: Simulated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = asyncio.Event()
    refusals: list[Batch] = []
    publish = SqliteStore.publish

    async def publish_unless_full(self: SqliteStore, lease: Lease, batch: Batch) -> int:
        if full.is_set():
            refusals.append(batch)
            raise StoreFullError("the disk is full")
        return await publish(self, lease, batch)

    monkeypatch.setattr(SqliteStore, "publish", publish_unless_full)
    async with collecting(
        fleet.settings(tmp_path), pending_bytes=200_000, pending_bytes_per_instance=20_000
    ) as run:
        instance, *_ = await some_running(run)
        full.set()

        async def refused(times: int) -> bool:
            return len(refusals) >= times

        await run.until(partial(refused, 1), "a refusal")
        size = await stored_size(run.store)
        await run.until(partial(refused, 3), "more refusals")
        assert await stored_size(run.store) == size
        assert not run.task.done()
        full.clear()

        async def told() -> bool:
            found = await run.store.events()
            return any("no log byte was dropped" in event.text for event in found)

        await run.until(told, "the gap is in the timeline")
        await run.until(partial(logs_equal, run, fleet, instance), "equal logs")


async def test_second_collector_waits_and_takes_over(fleet: Simulated, tmp_path: Path) -> None:
    settings = fleet.settings(tmp_path)
    async with collecting(settings) as first:
        await some_running(first)
        async with collecting(settings, holder="second") as second:
            await asyncio.wait({second.task}, timeout=1.0)
            assert not second.task.done()
            view = await second.store.fleet()
            assert view.health is not None
            assert view.health.holder == settings.holder
            first.stop.set()

            async def took_over() -> bool:
                health = (await second.store.fleet()).health
                return health is not None and health.holder == "second"

            await second.until(took_over, "the second one holds the lease")


async def test_lost_lease_stops_it(fleet: Simulated, tmp_path: Path) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:
        await some_running(run)
        # As if it had hung for longer than its time and another one had begun.
        with contextlib.closing(sqlite3.connect(run.settings.store_path)) as thief, thief:
            thief.execute("UPDATE shard SET holder = 'thief', epoch = epoch + 1")
        async with asyncio.timeout(30):
            assert await run.task is End.LEASE_LOST


async def test_auto_ends_without_viewers(fleet: Simulated, tmp_path: Path) -> None:
    async with collecting(fleet.settings(tmp_path), auto=True, viewer_patience_seconds=1.0) as run:
        async with asyncio.timeout(30):
            assert await run.task is End.NO_VIEWER


async def test_cancellation_leaves_no_task(fleet: Simulated, tmp_path: Path) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:
        await some_running(run)
        run.task.cancel()
        async with asyncio.timeout(30):
            await asyncio.wait({run.task})
        assert run.task.cancelled()
    assert not tasks_of_ours()


async def test_killed_collector_loses_and_doubles_nothing(fleet: Simulated, tmp_path: Path) -> None:
    settings = fleet.settings(tmp_path)
    async with contextlib.aclosing(
        await SqliteStore.open(settings.store_path, clock=settings.clock)
    ):
        pass
    for _ in range(2):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "fleetui", "collect", "--state-dir", str(tmp_path),
            env=collector_environment(fleet, tmp_path),
        )  # fmt: skip
        try:
            await asyncio.wait_for(stored_more(settings.store_path, settings.clock), 60)
        finally:
            process.kill()
            await process.wait()
    async with collecting(settings) as run:
        for instance in await some_running(run, 2):
            await run.until(partial(logs_equal, run, fleet, instance), "equal logs")

        async def staged() -> list[FleetRow]:
            found = [row for row in await rows(run) if row.ssh is SshState.CONNECTED]
            return [row for row in found if row.stage != "loading"]

        await run.until(staged, "a stage that the stored logs tell")


async def stored_more(path: Path, clock: Clock) -> None:
    """Wait until a collector process has stored more than was stored before."""
    store = await SqliteStore.open(path, clock=clock, viewer=True)
    async with contextlib.aclosing(store):
        before = await stored_size(store)
        while await stored_size(store) <= before:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)


async def stored_size(store: SqliteStore) -> int:
    return sum(position.offset for position in await store.positions())
