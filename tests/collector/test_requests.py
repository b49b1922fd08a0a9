"""Requests that wait: taken in turn, taken back, too old, or not the asker's to make."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from collecting import Collecting, collecting, intend, simulated, some_running
from command_line import command_line
from fleetui.domain.instance import Instance
from fleetui.domain.intent import IntentState, Verb, Withdrawal
from fleetui.domain.role import Role
from fleetui.domain.text import sanitise
from fleetui.store.interface import StoreError
from fleetui.store.sqlite import SqliteStore

DAYS = 3 * 86_400.0


async def acting(run: Collecting, instance: Instance) -> str | None:
    rows = (await run.store.fleet()).rows
    found = [row.acting for row in rows if row.instance_id == instance.instance_id]
    return str(found[0]) if found and found[0] else None


async def shows(run: Collecting, instance: Instance, word: str | None) -> bool:
    return await acting(run, instance) == word


async def test_old_requests_are_not_carried_out(tmp_path: Path) -> None:
    async with simulated(tmp_path, hosts=6) as fleet:
        settings = fleet.settings(tmp_path)
        async with collecting(settings) as run:
            old, begun, fresh, *_ = await some_running(run, 3)
        # No collector runs. Somebody asked three days ago, and a collector that had begun died.
        store = await SqliteStore.open(settings.store_path, clock=settings.clock)
        before = fleet.clock.now() - DAYS
        lease = await store.take_lease("dead", 1.0)
        assert lease is not None
        running = await intend(store, settings.clock, Verb.DESTROY, begun)
        await store.claim(lease)
        asked = await intend(store, settings.clock, Verb.DESTROY, old, created_at=before)
        ahead = await intend(store, settings.clock, Verb.STOP, old, created_at=before + 2 * DAYS)
        wanted = await intend(store, settings.clock, Verb.LABEL, fresh, argument=sanitise("new"))
        await store.close()
        async with collecting(settings, request_expiry_seconds=1200.0) as run:
            refused = await run.settled(asked)
            assert refused.state is IntentState.REFUSED
            assert "asked for 4320 min ago" in str(refused.result)
            assert (await run.settled(ahead)).state is IntentState.REFUSED
            assert (await run.settled(wanted)).state is IntentState.DONE
            # Begun just before the crash: it was confirmed and is gone on with.
            assert (await run.settled(running)).state is IntentState.DONE
            entries = [one for one in await run.store.audit() if one.intent_id == asked]
            assert [one.event for one in entries] == ["refused", "requested"]
        assert not fleet.destroyed(old.instance_id)
        assert fleet.destroyed(begun.instance_id)


async def test_a_destroy_begun_long_ago_is_looked_at_but_not_gone_on_with(tmp_path: Path) -> None:
    async with simulated(tmp_path, hosts=4) as fleet:
        settings = fleet.settings(tmp_path)
        async with collecting(settings) as run:
            lives, gone, *_ = await some_running(run, 2)
        store = await SqliteStore.open(settings.store_path, clock=settings.clock)
        lease = await store.take_lease("dead", 1.0)
        assert lease is not None
        asked = [await intend(store, settings.clock, Verb.DESTROY, one) for one in (lives, gone)]
        await store.claim(lease)
        await store.close()
        fleet.serving.world.destroy(gone.instance_id)
        async with collecting(settings, request_expiry_seconds=0.001) as run:
            left, done = [await run.settled(one) for one in asked]
        assert left.state is IntentState.FAILED
        assert "it was not asked for again" in str(left.result)
        assert done.state is IntentState.DONE, done.result
        assert not fleet.destroyed(lives.instance_id)


async def test_bulk_acts_are_taken_in_turn_and_can_be_taken_back(tmp_path: Path) -> None:
    async with (
        simulated(tmp_path, hosts=8, speed=1.0) as fleet,
        collecting(fleet.settings(tmp_path), acts_per_minute=2) as run,
    ):
        targets = (await some_running(run, 4))[:4]
        asked = [await run.intend(Verb.REBOOT, one) for one in targets]
        for one in asked[:2]:
            assert (await run.settled(one)).state is IntentState.DONE
        await run.until(partial(shows, run, targets[2], "waiting its turn"), "the row says so")
        # What interrupts nothing, and what ends work for good, have turns of their own.
        label = await run.intend(Verb.LABEL, targets[3], argument=sanitise("new"))
        assert (await run.settled(label)).state is IntentState.DONE
        waiting = [await run.store.intent(one) for one in asked[2:]]
        assert [one.state for one in waiting if one] == [IntentState.REQUESTED] * 2
        fleetui = command_line(run, fleet)
        status, text = await fleetui("act", "withdraw", targets[2].instance_id)
        assert status == 0, text
        assert "refused: nothing was done: withdrawn by " in text
        await run.store.withdraw(Withdrawal(asked[3], sanitise("bob@desk"), 1.0))
        for instance in targets[2:]:
            await run.until(partial(shows, run, instance, None), "it waits no more")
        status, text = await fleetui("act", "withdraw", targets[2].instance_id)
        assert (status, "no request waits" in text) == (1, True), text
        with pytest.raises(StoreError, match="it is done"):
            await run.store.withdraw(Withdrawal(asked[0], sanitise("bob@desk"), 1.0))
        reboots = [call for call in fleet.serving.api.recorded if "/reboot/" in call.path]
        assert len(reboots) == 2


async def test_a_role_bounds_what_anybody_can_have_done(tmp_path: Path) -> None:
    async with simulated(tmp_path, hosts=6) as fleet:
        settings = fleet.settings(tmp_path)
        roles = {"eve@desk": Role.VIEWER, "ada@desk": Role.OPERATOR}
        async with collecting(settings, roles=roles) as run:
            instance, *_ = await some_running(run)

            async def asked(verb: Verb, actor: str, **more: object) -> IntentState:
                named = {"actor": sanitise(actor), **more}
                return (await run.settled(await run.intend(verb, instance, **named))).state

            drained = await run.intend(Verb.DRAIN_DESTROY, instance, actor=sanitise("eve@desk"))
            states = await asyncio.gather(
                asked(Verb.STOP, "eve@desk"),
                asked(Verb.RECYCLE, "ada@desk from 10.0.0.1"),
                asked(Verb.DESTROY, "ada@desk"),
                asked(Verb.DESTROY, "owner@desk", role=Role.VIEWER),
            )
            assert set(states) == {IntentState.REFUSED}
            assert (await run.settled(drained)).state is IntentState.REFUSED
            assert await asked(Verb.REBOOT, "ada@desk") is IntentState.DONE
        async with collecting(settings, role=Role.VIEWER) as run:
            instance, *_ = await some_running(run)
            forged = await run.settled(await run.intend(Verb.PROTECT, instance))
            assert forged.state is IntentState.REFUSED
            assert "has the role viewer here" in str(forged.result)
            assert not (await run.store.standing()).protected
        assert not fleet.destroyed(instance.instance_id)
