"""Requested actions against the simulated fleet: guarded, confirmed, never repeated blindly."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from collecting import Collecting, Simulated, collecting, intend, simulated, some_running
from fleetui.domain.host import SshState
from fleetui.domain.instance import Instance
from fleetui.domain.intent import IntentState, Verb
from fleetui.domain.text import sanitise
from fleetui.store.sqlite import SqliteStore


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Simulated]:
    async with simulated(tmp_path, hosts=6) as fleet:
        yield fleet


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
            ids = {row.instance_id for row in (await run.store.fleet()).rows}
            return instance.instance_id not in ids and other.instance_id in ids

        await run.until(dropped, "the row is dropped, the other stays")
        # The black box: bytes and reading outlive the instance.
        reading = await run.store.reading(instance.instance_id)
        assert reading is not None
        assert reading.stage == "gone"
        assert await run.store.streams(instance.instance_id)


async def test_lost_answer_is_resolved_by_looking(fleet: Simulated, tmp_path: Path) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:
        instance, *_ = await some_running(run)
        await fleet.fault("lost_answer", calls=1)
        intent = await run.settled(await run.intend(Verb.DESTROY, instance))
        assert intent.state is IntentState.DONE, intent.result


async def test_a_refusal_of_the_api_is_a_failure(fleet: Simulated, tmp_path: Path) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:
        instance, *_ = await some_running(run)
        await fleet.fault("refused")
        for verb in (Verb.DESTROY, Verb.STOP):
            intent = await run.settled(await run.intend(verb, instance))
            assert intent.state is IntentState.FAILED, intent.result
        rows = (await run.store.fleet()).rows
        assert instance.instance_id in {row.instance_id for row in rows}
        assert not any(row.acting for row in rows if row.instance_id != instance.instance_id)


async def test_a_destroy_stays_under_way_until_its_absence_is_proven(
    fleet: Simulated, tmp_path: Path
) -> None:
    settings = fleet.settings(tmp_path)
    async with collecting(settings, absence_deadline_seconds=1.0) as run:
        instance, *_ = await some_running(run)
        # Walks stay partial, so nothing proves an absence.
        await fleet.fault("partial_walk")
        asked = await run.intend(Verb.DESTROY, instance)

        async def taken() -> bool:
            return fleet.destroyed(instance.instance_id)

        await run.until(taken, "the API was asked")
        walks = await failed_walks(run)

        async def walked() -> bool:
            return await failed_walks(run) >= walks + 3

        await run.until(walked, "more walks failed")
        intent = await run.store.intent(asked)
        assert intent is not None
        assert intent.state is IntentState.RUNNING
        (row,) = [
            row for row in (await run.store.fleet()).rows if row.instance_id == instance.instance_id
        ]
        assert row.acting == "destroying"
        await fleet.fault("partial_walk", on=False)
        assert (await run.settled(asked)).state is IntentState.DONE

        async def told() -> bool:
            events = await run.store.events(instance_id=instance.instance_id)
            return [event.kind for event in events].count("gone") == 1

        await run.until(told, "the timeline has its end")


async def failed_walks(run: Collecting) -> int:
    health = (await run.store.fleet()).health
    return health.walks_failed if health is not None else 0


async def test_what_an_earlier_run_left_is_looked_at_first(
    fleet: Simulated, tmp_path: Path
) -> None:
    settings = fleet.settings(tmp_path)
    async with collecting(settings) as run:
        confirmed, renamed, dropped, *_ = await some_running(run, 3)
    # A collector that died right after it had claimed them all.
    dead = await SqliteStore.open(settings.store_path, clock=settings.clock)
    lease = await dead.take_lease("dead", 1.0)
    assert lease is not None
    asked = [
        await intend(dead, settings.clock, Verb.DESTROY, confirmed),
        await intend(dead, settings.clock, Verb.DESTROY, renamed),
        await intend(dead, settings.clock, Verb.DESTROY, dropped),
        await intend(dead, settings.clock, Verb.RESTART_DAEMON, renamed),
    ]
    assert len(await dead.claim(lease)) == 4
    await dead.close()
    fleet.serving.world.destroy(dropped.instance_id)
    fleet.serving.world.rentals[renamed.instance_id].fields["label"] = "somebody else's"
    async with collecting(settings, verify_deadline_seconds=2.0) as run:
        goes_on, kept, gone, restart = [await run.settled(one) for one in asked]
        assert gone.state is IntentState.DONE, gone.result
        assert not fleet.destroyed(dropped.instance_id)
        assert goes_on.state is IntentState.DONE, goes_on.result
        assert fleet.destroyed(confirmed.instance_id)
        assert kept.state is IntentState.REFUSED, kept.result
        assert not fleet.destroyed(renamed.instance_id)
        assert restart.state is IntentState.UNKNOWN, restart.result
        assert "not tried again" in str(restart.result)


async def test_a_queued_start_is_shown_and_can_be_cancelled(
    fleet: Simulated, tmp_path: Path
) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:
        instance, *_ = await some_running(run)

        async def shown(word: str | None) -> bool:
            rows = (await run.store.fleet()).rows
            return word in [row.acting for row in rows if row.instance_id == instance.instance_id]

        async def became(asked: str, state: IntentState) -> bool:
            intent = await run.store.intent(asked)
            return intent is not None and intent.state is state

        stopped = await run.settled(await run.intend(Verb.STOP, instance))
        assert stopped.state is IntentState.DONE, stopped.result
        await fleet.fault("queued")
        cancelled = await run.intend(Verb.START, instance)
        await run.until(partial(shown, "start queued"), "it is shown as queued")
        assert "a stop cancels" in str((await run.settled(cancelled)).result)
        await run.settled(await run.intend(Verb.STOP, instance))
        await run.until(partial(became, cancelled, IntentState.FAILED), "it is cancelled")
        await run.until(partial(shown, None), "it is not queued any more")
        waiting = await run.intend(Verb.START, instance)
        await run.until(partial(shown, "start queued"), "it is queued again")
        await fleet.fault("queued", on=False)
        await run.until(partial(became, waiting, IntentState.DONE), "it runs")


async def test_a_destroy_does_not_wait_behind_a_drain(fleet: Simulated, tmp_path: Path) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:
        instance = await with_daemon(run)
        # The status does not change any more, so that a proof seems in flight for ever.
        await fleet.fault("ssh_refused", instances=[instance.instance_id])
        drained = await run.intend(Verb.DRAIN_DESTROY, instance)
        destroyed = await run.intend(Verb.DESTROY, instance)
        assert (await run.settled(destroyed)).state is IntentState.DONE
        given_up = await run.settled(drained)
        assert given_up.state is IntentState.FAILED
        assert (await run.store.fleet()).health


async def test_label_stop_and_start(fleet: Simulated, tmp_path: Path) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:
        instance, *_ = await some_running(run)
        argument = {"argument": sanitise("new name")}
        intent = await run.settled(await run.intend(Verb.LABEL, instance, **argument))
        assert intent.state is IntentState.DONE, intent.result
        stale = await run.settled(await run.intend(Verb.STOP, instance))
        assert stale.state is IntentState.REFUSED, stale.result
        for verb in (Verb.STOP, Verb.START):
            named = await run.until(partial(relabelled, run, instance, "new name"), "the label")
            assert named is not None
            intent = await run.settled(await run.intend(verb, named))
            assert intent.state is IntentState.DONE, intent.result


async def relabelled(run: Collecting, instance: Instance, label: str) -> Instance | None:
    found = await run.store.instance(instance.instance_id)
    return found if found is not None and found.label == label else None


async def test_changed_host_key_is_refused_until_accepted(fleet: Simulated, tmp_path: Path) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:
        instance, *_ = await some_running(run)
        await fleet.fault("host_key_changed", instances=[instance.instance_id])
        await fleet.fault("ssh_cut", instances=[instance.instance_id])
        await run.until(
            partial(ssh_is, run, instance, SshState.HOST_KEY_CHANGED), "the change is seen"
        )
        refused = await run.settled(await run.intend(Verb.RESTART_DAEMON, instance))
        assert refused.state is IntentState.REFUSED, refused.result
        other = sanitise("SHA256:of another key")
        wrong = await run.intend(Verb.ACCEPT_HOST_KEY, instance, argument=other)
        refused = await run.settled(wrong)
        assert refused.state is IntentState.REFUSED, refused.result
        shown = str(refused.result).split()[6]
        intent = await run.settled(await run.intend(Verb.ACCEPT_HOST_KEY, instance, argument=shown))
        assert intent.state is IntentState.DONE, intent.result
        await run.until(partial(ssh_is, run, instance, SshState.CONNECTED), "a new login")
    # A run that knows nothing but the store keeps to the new key.
    begun = fleet.clock.now()
    async with collecting(fleet.settings(tmp_path)) as run:
        await run.until(
            partial(ssh_is, run, instance, SshState.CONNECTED, since=begun), "a login with it"
        )
        nothing = await run.settled(await run.intend(Verb.ACCEPT_HOST_KEY, instance))
        assert nothing.state is IntentState.REFUSED, nothing.result


async def ssh_is(run: Collecting, instance: Instance, state: SshState, since: float = 0.0) -> bool:
    reading = await run.store.reading(instance.instance_id)
    outcome = reading.ssh if reading is not None else None
    return outcome is not None and outcome.state is state and outcome.at > since
