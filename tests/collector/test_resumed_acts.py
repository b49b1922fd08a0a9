"""Acts that wait when a collector starts, and those that an earlier one left under way."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from collecting import Simulated, collecting, intend, simulated, some_running
from fleetui.collector.destroy import TAKEN
from fleetui.collector.settings import CollectorSettings
from fleetui.domain.instance import Instance
from fleetui.domain.intent import Intent, IntentState, Verb
from fleetui.domain.role import Role
from fleetui.domain.text import sanitise
from fleetui.store.sqlite import SqliteStore


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Simulated]:
    async with simulated(tmp_path, hosts=6) as fleet:
        yield fleet


async def left_running(
    settings: CollectorSettings, *asked: tuple[Verb, Instance, str | None]
) -> list[str]:
    """Leave intents as a collector does that dies at its work; the text is what it noted last."""
    dead = await SqliteStore.open(settings.store_path, clock=settings.clock)
    lease = await dead.take_lease("dead", 1.0)
    assert lease is not None
    names = [
        await intend(dead, settings.clock, verb, instance, argument=sanitise("uptime"))
        for verb, instance, _ in asked
    ]
    await dead.claim(lease)
    for name, (_, _, noted) in zip(names, asked, strict=True):
        if noted is not None:
            at = settings.clock.now()
            await dead.settle(lease, name, IntentState.RUNNING, sanitise(noted), at)
    await dead.close()
    return names


async def test_what_waits_at_the_start_waits_for_the_connection(
    fleet: Simulated, tmp_path: Path
) -> None:
    settings = fleet.settings(tmp_path)
    async with collecting(settings) as run:
        asked_of, *_ = await some_running(run, 1)
    store = await SqliteStore.open(settings.store_path, clock=settings.clock)
    command = await intend(store, settings.clock, Verb.RUN, asked_of, argument=sanitise("uptime"))
    await store.close()
    async with collecting(settings) as run:
        intent = await run.settled(command)
        assert intent.state is IntentState.DONE, intent.result


async def test_a_resumed_destroy_takes_the_last_look_that_the_crash_prevented(
    fleet: Simulated, tmp_path: Path
) -> None:
    settings = fleet.settings(tmp_path)
    async with collecting(settings) as run:
        alive, silent, *_ = await some_running(run, 2)
    asked = await left_running(settings, (Verb.DESTROY, alive, None), (Verb.DESTROY, silent, None))
    await fleet.fault("ssh_refused", instances=[silent.instance_id])
    async with collecting(settings) as run:
        looked, blind = [await run.settled(one) for one in asked]
        assert looked.state is IntentState.DONE, looked.result
        assert "without" not in str(looked.result)
        (snapshot, *_) = await run.store.snapshots(alive.instance_id)
        assert snapshot.reason == "before destroy by test"
        assert blind.state is IntentState.DONE, blind.result
        assert "without a last look" in str(blind.result)


async def test_a_collector_that_only_reads_goes_on_with_nothing_and_says_how_far_it_was(
    fleet: Simulated, tmp_path: Path
) -> None:
    settings = fleet.settings(tmp_path)
    async with collecting(settings) as run:
        open_, taken, gone, *_ = await some_running(run, 3)
    asked = await left_running(
        settings,
        (Verb.DESTROY, open_, None),
        (Verb.DESTROY, taken, TAKEN),
        (Verb.DRAIN_DESTROY, gone, None),
        (Verb.PROTECT, open_, None),
    )
    fleet.serving.world.destroy(gone.instance_id)
    async with collecting(settings, role=Role.VIEWER) as run:
        settled: list[Intent] = [await run.settled(one) for one in asked]
        assert [intent.state for intent in settled] == ["failed", "unknown", "done", "failed"]
        words = [str(intent.result) for intent in settled]
        assert "not gone on with: test has the role viewer here" in words[0]
        assert "still there" in words[0]
        assert "had taken the destroy" in words[1]
        assert not (await run.store.standing()).protected
        assert not any(call.method == "DELETE" for call in fleet.serving.api.recorded)
