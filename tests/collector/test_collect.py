"""The collector against the simulated fleet and the real store."""

import asyncio
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
    end_process,
    simulated,
    stored_bytes,
)
from fleetui.collector.lifetime import End
from fleetui.domain.host import SshState
from fleetui.domain.instance import Instance, WalkOutcome
from fleetui.domain.intent import IntentState, Verb
from fleetui.domain.reading import FleetRow
from fleetui.domain.stream import StreamPosition
from fleetui.store.sqlite import SqliteStore

HOSTS = 8


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Simulated]:
    async with simulated(tmp_path, hosts=HOSTS) as fleet:
        yield fleet


async def rows(run: Collecting) -> tuple[FleetRow, ...]:
    return (await run.store.fleet()).rows


async def some_running(run: Collecting, count: int = 1) -> list[Instance]:
    async def look() -> list[Instance]:
        found = await run.running()
        return found if len(found) >= count else []

    return await run.until(look, f"{count} connections stand")


async def with_daemon(run: Collecting) -> Instance:
    """Wait for an instance whose daemon answers its status."""

    async def look() -> Instance | None:
        for instance in await run.running():
            reading = await run.store.reading(instance.instance_id)
            if reading is not None and reading.status is not None and not reading.status_error:
                return instance
        return None

    found = await run.until(look, "a daemon's status was read")
    assert found is not None
    return found


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


async def test_restart_ends_the_daemon_and_is_seen(fleet: Simulated, tmp_path: Path) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:
        instance = await with_daemon(run)
        before = await run.store.reading(instance.instance_id)
        assert before is not None
        assert before.status is not None
        pid = await fleet.shell(instance, "pgrep -x cuzk-daemon")
        intent = await run.settled(await run.intend(Verb.RESTART_DAEMON, instance))
        assert intent.state is IntentState.DONE, intent.result
        assert await fleet.shell(instance, "pgrep -x cuzk-daemon") not in (pid, b"")
        started = before.status.at or 0.0

        async def younger() -> bool:
            after = await run.store.reading(instance.instance_id)
            status = after.status if after is not None else None
            return (
                status is not None
                and status.at is not None
                and status.at - status.uptime_secs > started
            )

        await run.until(younger, "the uptime fell")
        entries = await run.store.audit()
        assert [entry.event for entry in entries if entry.intent_id == intent.intent_id]


async def test_destroy_is_done_only_when_confirmed(fleet: Simulated, tmp_path: Path) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:
        instance, other, *_ = await some_running(run, 2)
        wrong = await run.intend(Verb.DESTROY, other, machine_id=(other.machine_id or 0) + 1)
        unlike = await run.intend(Verb.DESTROY, other, label="not this one")
        intent = await run.settled(await run.intend(Verb.DESTROY, instance))
        assert intent.state is IntentState.DONE, intent.result
        for refused in (wrong, unlike):
            settled = await run.settled(refused)
            assert settled.state is IntentState.REFUSED
            assert "nothing was done" in str(settled.result)

        async def dropped() -> bool:
            ids = {row.instance_id for row in await rows(run)}
            return instance.instance_id not in ids and other.instance_id in ids

        await run.until(dropped, "the row is dropped, the other stays")
        # The black box: bytes and reading outlive the instance.
        reading = await run.store.reading(instance.instance_id)
        assert reading is not None
        assert reading.stage == "gone"
        assert await run.store.streams(instance.instance_id)


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


async def test_second_collector_waits_and_takes_over(fleet: Simulated, tmp_path: Path) -> None:
    settings = fleet.settings(tmp_path)
    async with collecting(settings) as first:
        await some_running(first)
        async with collecting(settings, holder="second") as second:
            async with asyncio.timeout(5):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(second.task), 1.0)
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
        thief = await SqliteStore.open(run.settings.store_path, clock=run.settings.clock)
        await steal(thief)
        async with asyncio.timeout(30):
            assert await run.task is End.LEASE_LOST
        await thief.close()


async def steal(thief: SqliteStore) -> None:
    """Take the lease as if the holder had hung for longer than its time."""
    raise NotImplementedError


async def test_auto_ends_without_viewers(fleet: Simulated, tmp_path: Path) -> None:
    async with collecting(fleet.settings(tmp_path), auto=True, viewer_patience_seconds=1.0) as run:
        async with asyncio.timeout(30):
            assert await run.task is End.NO_VIEWER


async def test_cancellation_leaves_no_task(fleet: Simulated, tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    async with collecting(fleet.settings(tmp_path)) as run:
        await some_running(run)
        run.task.cancel()
        async with asyncio.timeout(30):
            await asyncio.wait({run.task})
        assert run.task.cancelled()
    assert not {task for task in asyncio.all_tasks() - before if not task.done()}


async def test_killed_collector_loses_and_doubles_nothing(fleet: Simulated, tmp_path: Path) -> None:
    settings = fleet.settings(tmp_path)
    for _ in range(2):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "fleetui", "collect", "--state-dir", str(tmp_path),
            env=collector_environment(fleet, tmp_path),
        )  # fmt: skip
        try:
            await asyncio.wait_for(stored_something(settings.store_path, settings.clock), 60)
        finally:
            process.kill()
            await process.wait()
    async with collecting(settings) as run:
        for instance in await some_running(run, 2):
            await run.until(partial(logs_equal, run, fleet, instance), "equal logs")
        row = next(row for row in await rows(run) if row.ssh is SshState.CONNECTED)
        assert row.stage != "loading"


async def stored_something(path: Path, clock: object) -> None:
    raise NotImplementedError


__all__ = ["end_process"]
