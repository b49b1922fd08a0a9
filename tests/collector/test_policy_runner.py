"""What is done by itself: only on fresh and sure ground, and only what the owner allows."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from collecting import Collecting, Simulated, collecting, simulated, some_running
from fleetui.domain.intent import IntentState, Verb
from fleetui.domain.policy import Policy, Proposal
from fleetui.profiles.loader import load
from fleetui.reports.policy import replay, replay_text

PRICED = {"price_above": {"mode": "auto", "dollars_per_hour": 0.0}}
"""Strikes every instance at once."""


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Simulated]:
    async with simulated(tmp_path, hosts=6) as fleet:
        yield fleet


async def proposed(run: Collecting, rule: str) -> tuple[Proposal, ...]:
    return tuple(item for item in await run.store.proposals() if item.rule == rule)


async def test_observing_says_it_and_does_nothing(fleet: Simulated, tmp_path: Path) -> None:
    policy = msgspec.convert({"price_above": {"dollars_per_hour": 0.0}}, Policy)
    async with collecting(fleet.settings(tmp_path), policy=policy) as run:

        async def said() -> bool:
            found = await proposed(run, "price_above")
            return len(found) == 6 and all((item.since or 0.0) > 0 for item in found)

        await run.until(said, "all six are proposed")
        events = [event.kind for event in await run.store.events(limit=1000)]
        assert events.count("policy") >= 6
        assert await run.store.intents() == ()
        strikes = await replay(run.store, load("cuzk"), policy)
        assert strikes
        assert "price_above (observe)" in replay_text(strikes, run.settings.clock.now())


async def test_auto_destroys_no_more_than_allowed_and_nothing_protected(
    fleet: Simulated, tmp_path: Path
) -> None:
    policy = msgspec.convert(PRICED, Policy)
    limits = {"policy": Policy(), "blast_radius_instances": 2, "blast_radius_share": 0.0}
    settings = fleet.settings(tmp_path)
    async with collecting(settings, **limits) as run:
        kept, *_ = await some_running(run)
        await run.settled(await run.intend(Verb.PROTECT, kept))
    async with collecting(settings, **limits | {"policy": policy}) as run:

        async def settled() -> bool:
            intents = [one for one in await run.store.intents() if one.verb is Verb.DESTROY]
            done = [one for one in intents if one.state is IntentState.DONE]
            refused = [one for one in intents if one.state is IntentState.REFUSED]
            return len(done) == 2 and len(refused) == 3

        await run.until(settled, "two are destroyed, three refused")
        intents = await run.store.intents()
        destroyed = [one for one in intents if one.verb is Verb.DESTROY]
        assert {str(one.actor) for one in destroyed} == {"policy"}
        assert all("price_above" in one.reason for one in destroyed)
        assert kept.instance_id not in {one.instance_id for one in destroyed}
        assert not fleet.destroyed(kept.instance_id)


async def test_auto_does_nothing_during_trouble_of_the_api(
    fleet: Simulated, tmp_path: Path
) -> None:
    policy = msgspec.convert(PRICED, Policy)
    async with collecting(fleet.settings(tmp_path), policy=policy) as run:
        await some_running(run)
        await fleet.fault("partial_walk")

        async def stood() -> bool:
            found = await proposed(run, "price_above")
            age = run.settings.clock.now() - min((item.since or 0.0) for item in found or [_NONE])
            # Thrice as long as a proposal has to stand, in the fleet's time.
            return len(found) == 6 and age > 180.0

        await run.until(stood, "the proposals stand for long")
        assert await run.store.intents() == ()


async def test_auto_does_nothing_to_a_host_of_which_nothing_is_known(tmp_path: Path) -> None:
    policy = msgspec.convert({"parameters": {"mode": "auto", "minutes": 3.0}}, Policy)
    async with (
        simulated(tmp_path, plan=[("params_stalled", 110.0)], speed=60.0) as fleet,
        collecting(fleet.settings(tmp_path), policy=policy) as run,
    ):
        instance, *_ = await some_running(run)
        await fleet.fault("ssh_refused")
        await fleet.fault("ssh_cut", instances=[instance.instance_id])

        async def stood() -> bool:
            found = await proposed(run, "parameters")
            # Thrice as long as a proposal has to stand, in the fleet's time.
            return bool(found) and run.settings.clock.now() - (found[0].since or 0.0) > 180.0

        await run.until(stood, "it has been too long at its parameters, as far as is known")
        assert await run.running() == []
        assert await run.store.intents() == ()
        await fleet.fault("ssh_refused", on=False)

        async def destroyed() -> bool:
            return fleet.destroyed(instance.instance_id)

        await run.until(destroyed, "it is destroyed once it is known to be so")
        (intent,) = await run.store.intents()
        assert str(intent.reason).startswith("parameters: param_fetch for ")


_NONE = Proposal(rule="", mode="", text="", since=float("inf"))  # type: ignore[arg-type] # a stand-in
