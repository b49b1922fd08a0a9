"""Protection, blacklist, blast radius and drain hold against every act, over restarts too."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collecting import Collecting, Simulated, collecting, simulated, some_running
from fleetui.collector.blast_radius import BlastRadius
from fleetui.domain.instance import Instance
from fleetui.domain.intent import Intent, IntentState, Verb
from fleetui.domain.text import sanitise
from fleetui.reading.status import is_running


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Simulated]:
    async with simulated(tmp_path, hosts=8) as fleet:
        yield fleet


async def acted(run: Collecting, verb: Verb, instance: Instance, **more: object) -> Intent:
    return await run.settled(await run.intend(verb, instance, **more))


async def test_nothing_touches_a_protected_instance(fleet: Simulated, tmp_path: Path) -> None:
    settings = fleet.settings(tmp_path)
    async with collecting(settings) as run:
        instance, *_ = await some_running(run)
        reason = sanitise("its proof is worth more")
        protected = await acted(run, Verb.PROTECT, instance, reason=reason)
        assert protected.state is IntentState.DONE

        async def shown() -> bool:
            rows = (await run.store.fleet()).rows
            return any(row.protected for row in rows if row.instance_id == instance.instance_id)

        await run.until(shown, "the row shows it")
    touching = [
        Verb.DESTROY, Verb.DRAIN_DESTROY, Verb.STOP, Verb.REBOOT, Verb.RECYCLE, Verb.LABEL,
        Verb.RESTART_DAEMON,
    ]  # fmt: skip
    async with collecting(settings) as run:
        for verb in touching:
            refused = await acted(run, verb, instance, argument=sanitise("x"))
            assert refused.state is IntentState.REFUSED, verb
            assert "its proof is worth more" in str(refused.result)
        assert not fleet.destroyed(instance.instance_id)
        standing = await run.store.standing()
        assert standing.protected[instance.instance_id].reason == reason
        await acted(run, Verb.UNPROTECT, instance)
        assert (await acted(run, Verb.STOP, instance)).state is IntentState.DONE


async def test_a_machine_stays_blacklisted_with_the_reason(
    fleet: Simulated, tmp_path: Path
) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:
        instance, *_ = await some_running(run)
        assert instance.machine_id is not None
        why = sanitise("falls off the bus")
        assert (await acted(run, Verb.BLACKLIST, instance, argument=why)).state == "done"
        mark = (await run.store.standing()).blacklist[instance.machine_id]
        assert (mark.reason, mark.by) == (why, "test")
        assert (await acted(run, Verb.UNBLACKLIST, instance)).state == "done"
        assert (await run.store.standing()).blacklist == {}


async def test_no_more_than_the_blast_radius_over_restarts(
    fleet: Simulated, tmp_path: Path
) -> None:
    settings = fleet.settings(tmp_path)
    limits = {"blast_radius_instances": 1, "blast_radius_share": 0.0}
    async with collecting(settings, **limits) as run:
        one, other, *_ = await some_running(run, 2)
        assert (await acted(run, Verb.STOP, one)).state is IntentState.DONE
        refused = await acted(run, Verb.DESTROY, other)
        assert refused.state is IntentState.REFUSED
        assert "blast_radius_instances" in str(refused.result)
        assert (await acted(run, Verb.START, one)).state is IntentState.DONE
    async with collecting(settings, **limits) as run:
        refused = await acted(run, Verb.DESTROY, other)
        assert refused.state is IntentState.REFUSED
        assert not fleet.destroyed(other.instance_id)


async def test_a_drain_waits_for_the_proofs_in_flight(fleet: Simulated, tmp_path: Path) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:

        async def proving() -> tuple[Instance, frozenset[str]] | None:
            for instance in await run.running():
                jobs = await in_flight(run, instance)
                if jobs:
                    return instance, jobs
            return None

        found = await run.until(proving, "a proof is in flight")
        assert found is not None
        instance, awaited = found
        asked = await run.intend(Verb.DRAIN_DESTROY, instance)

        async def taken() -> bool:
            shown = {row.instance_id: row.acting for row in (await run.store.fleet()).rows}
            return shown.get(instance.instance_id) == "draining"

        await run.until(taken, "it drains")

        async def over() -> bool:
            if await in_flight(run, instance) & awaited:
                assert not fleet.destroyed(instance.instance_id)
                return False
            return True

        await run.until(over, "the proofs have ended")
        assert (await run.settled(asked)).state is IntentState.DONE
        assert fleet.destroyed(instance.instance_id)


async def test_a_drain_goes_by_the_log_where_the_daemon_answers_nothing(tmp_path: Path) -> None:
    async with (
        simulated(tmp_path, plan=[("running", 420.0)], speed=150.0) as fleet,
        collecting(fleet.settings(tmp_path)) as run,
    ):
        instance, *_ = await some_running(run)

        async def proofs() -> set[str]:
            reading = await run.store.reading(instance.instance_id)
            parts = reading.progress.parts if reading and reading.progress else ()
            return {str(part.name) for part in parts if part.state == "proving"}

        awaited = await run.until(proofs, "a proof is in flight")
        asked = await run.intend(Verb.DRAIN_DESTROY, instance)

        async def over() -> bool:
            if await proofs() & awaited:
                assert not fleet.destroyed(instance.instance_id)
                return False
            return True

        await run.until(over, "the proofs have ended")
        assert (await run.settled(asked)).state is IntentState.DONE
        assert fleet.destroyed(instance.instance_id)


async def test_a_protection_stops_a_drain_that_is_under_way(tmp_path: Path) -> None:
    async with (
        simulated(tmp_path, plan=[("running", 420.0)], speed=150.0) as fleet,
        collecting(fleet.settings(tmp_path)) as run,
    ):
        instance, *_ = await some_running(run)
        drained = await run.intend(Verb.DRAIN_DESTROY, instance)

        async def drains() -> bool:
            rows = (await run.store.fleet()).rows
            return any(row.acting == "draining" for row in rows)

        await run.until(drains, "it drains")
        assert (await acted(run, Verb.PROTECT, instance)).state is IntentState.DONE
        stopped = await run.settled(drained)
        assert stopped.state is IntentState.REFUSED, stopped.result
        assert "it is protected by test" in str(stopped.result)
        assert not fleet.destroyed(instance.instance_id)


async def in_flight(run: Collecting, instance: Instance) -> frozenset[str]:
    reading = await run.store.reading(instance.instance_id)
    status = reading.status if reading is not None else None
    if status is None:
        return frozenset()
    return frozenset(job.job_id for job in status.pipelines if is_running(job, status))


@given(
    st.lists(st.floats(0, 200), max_size=60), st.integers(0, 5), st.floats(0, 1), st.integers(0, 40)
)
def test_no_window_ever_has_more_than_the_limit(
    gaps: list[float], instances: int, share: float, fleet: int
) -> None:
    radius = BlastRadius(instances=instances, share=share, window_seconds=600.0)
    now = 0.0
    let_through: list[float] = []
    for gap in gaps:
        now += gap
        before = [at for at in let_through if now - at <= 600.0]
        refused = radius.take(now, fleet)
        assert (refused is not None) == (len(before) >= radius.limit(fleet))
        if refused is None:
            let_through.append(now)


def test_what_was_refused_does_not_count_and_what_an_earlier_run_began_is_held_to_the_limit() -> (
    None
):
    radius = BlastRadius(instances=1, share=0.0, window_seconds=600.0)
    assert radius.take(5.0, 10) is None
    assert radius.take(6.0, 10) is not None
    radius.give_back(5.0)
    assert radius.take(7.0, 10) is None
    radius.give_back(5.0)
    assert radius.take(8.0, 10) is not None, "what is not there cannot be given back"
    left = BlastRadius(instances=2, share=0.5, window_seconds=600.0, earlier=[1.0, 2.0, 3.0])
    assert left.exceeded_at(2.0, 10.0, 0) is None
    assert "3 instances" in str(left.exceeded_at(3.0, 10.0, 0))
    # Those that are gone already were of the fleet when the limit was taken.
    assert left.exceeded_at(3.0, 10.0, 3) is None
    assert left.exceeded_at(3.0, 700.0, 0) is None
