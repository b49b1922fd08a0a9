"""Renting offers of the simulated market: within limits, never twice, followed until they run."""

import contextlib
import sqlite3
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from collecting import Simulated, collecting, simulated
from fleetui.collector.settings import CollectorSettings
from fleetui.collector.watcher import START_QUEUED
from fleetui.domain.intent import Intent, IntentState, Verb
from fleetui.domain.policy import Policy
from fleetui.domain.rental import Deploy, Rental, Template, marked_label
from fleetui.domain.text import sanitise
from fleetui.simulator.stock import Flaw, Offer
from fleetui.store.sqlite import SqliteStore

SECRET = "s3cr3t-of-the-tunnel"
TEMPLATE = Template(
    image="example/cuzk:1",
    env={"PAVAIL_SERVER": "tunnel"},
    secrets={"PAVAIL": "env:PAVAIL_TOKEN"},
    onstart="entrypoint.sh &",
    label="night",
    max_dollars_per_proof=0.01,
)
TERMS = Deploy(templates={"cuzk": TEMPLATE})


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Simulated]:
    async with simulated(tmp_path, hosts=1, speed=30.0, plan=[("running", 400.0)]) as fleet:
        yield fleet


def settings_of(fleet: Simulated, folder: Path, **changes: Any) -> CollectorSettings:  # noqa: ANN401 - any field
    return replace(
        fleet.settings(folder),
        deploy=changes.pop("deploy", TERMS),
        environment={"PAVAIL_TOKEN": SECRET},
        verify_deadline_seconds=8.0,
        **changes,
    )


def good_offers(fleet: Simulated) -> list[Offer]:
    found = [
        offer for offer in fleet.serving.world.offers.values() if offer.machine.flaw is Flaw.NONE
    ]
    return sorted(found, key=lambda offer: float(offer.fields["dph_total"]))


async def ask(
    store: SqliteStore,
    fleet: Simulated,
    offer: Offer,
    seen: Template = TEMPLATE,
    **rental: Any,  # noqa: ANN401 - any field
) -> Intent:
    intent = Intent(
        intent_id=uuid.uuid4().hex,
        verb=Verb.DEPLOY,
        instance_id=0,
        actor=sanitise("test"),
        reason=sanitise("a test"),
        created_at=fleet.clock.now(),
        machine_id=rental.pop("machine_id", offer.machine.machine_id),
        host_id=offer.fields["host_id"],
        rental=Rental(
            **{
                "offer_id": offer.offer_id,
                "template": "cuzk",
                "fingerprint": seen.fingerprint,
                "price": offer.fields["dph_total"],
                **rental,
            }
        ),
    )
    await store.intend(intent)
    return intent


def rentings(fleet: Simulated) -> list[Any]:
    return [call for call in fleet.serving.api.recorded if "/asks/" in call.path]


def everything_stored(folder: Path) -> bytes:
    raw = sqlite3.connect(folder / "fleet.db")
    try:
        text = "\n".join(raw.iterdump()).encode()
    finally:
        raw.close()
    return text + b"".join(path.read_bytes() for path in folder.glob("fleet.db*"))


async def test_an_offer_is_rented_and_followed_until_it_runs(
    fleet: Simulated, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    offer = good_offers(fleet)[0]
    settings = settings_of(fleet, tmp_path)
    async with collecting(settings) as run:
        asked = await ask(run.store, fleet, offer)

        intent = await run.settled(asked.intent_id)
        assert intent.state is IntentState.DONE, intent.result
        world = fleet.serving.world
        rental = world.rentals[intent.instance_id]
        assert rental.fields["machine_id"] == offer.machine.machine_id
        assert world.row(rental)["actual_status"] == "running"
        (call,) = rentings(fleet)
        # The price as it was then, with the template's disk.
        price = world.row(rental)["dph_total"]
        assert call.body["env"] == {
            "PAVAIL_SERVER": "tunnel",
            "PAVAIL": SECRET,
            "MIN_RATE": f"{TEMPLATE.min_rate(price):.1f}",
        }
        assert call.body["label"] == marked_label("night", asked.intent_id)
        assert (call.body["image"], call.body["cancel_unavail"]) == (TEMPLATE.image, True)
        assert rental.host.scenario.plan.min_rate == TEMPLATE.min_rate(price)  # type: ignore[attr-defined]  # the pretend host's own
        entries = [e for e in await run.store.audit() if e.intent_id == asked.intent_id]
        assert [(e.event, e.instance_id) for e in reversed(entries)] == [
            ("requested", None), ("running", None), ("done", intent.instance_id),
        ]  # fmt: skip
        assert await run.store.intents(instance_id=intent.instance_id) == (intent,)

        async def released() -> bool:
            rows = (await run.store.fleet()).rows
            return all(row.acting is None for row in rows)

        await run.until(released, "nothing is under way")
    assert SECRET.encode() not in everything_stored(tmp_path)
    assert SECRET not in caplog.text
    assert SECRET not in repr(settings)


async def test_what_speaks_against_a_renting_refuses_it(fleet: Simulated, tmp_path: Path) -> None:
    one, other, *_, dear = good_offers(fleet)
    price = one.fields["dph_total"]
    async with collecting(settings_of(fleet, tmp_path)) as run:
        requests = {
            "nothing was done: it is machine": await ask(run.store, fleet, one, machine_id=5),
            "$/h now; 0.0010 was shown": await ask(run.store, fleet, one, price=0.001),
            "not there any more": await ask(run.store, fleet, one, offer_id=4711),
            "no template 'other'": await ask(run.store, fleet, one, template="other"),
            "another template 'cuzk'": await ask(
                run.store, fleet, one, msgspec.structs.replace(TEMPLATE, disk_gb=300.0)
            ),
        }
        marked = Intent(
            intent_id=uuid.uuid4().hex, verb=Verb.BLACKLIST, instance_id=1,
            actor=sanitise("ada"), reason=sanitise("loses its GPU"), created_at=fleet.clock.now(),
            machine_id=other.machine.machine_id, argument=sanitise("loses its GPU"),
        )  # fmt: skip
        await run.store.intend(marked)
        await run.settled(marked.intent_id)
        requests["is blacklisted by ada (loses its GPU)"] = await ask(run.store, fleet, other)
        bare = await ask(run.store, fleet, one)
        for said, asked in requests.items():
            intent = await run.settled(asked.intent_id)
            assert (intent.state, said in str(intent.result)) == (IntentState.REFUSED, True), (
                intent.result
            )
        assert (await run.settled(bare.intent_id)).state is IntentState.DONE
        assert len(rentings(fleet)) == 1
    limits: dict[str, dict[str, Any]] = {
        "no more than 2 may be": {"deploy": replace_terms(max_instances=2)},
        "(setting deploy.max_dollars_per_hour)": {
            "deploy": replace_terms(max_dollars_per_hour=price)
        },
        "(setting policy.spend_hour.dollars)": {
            "policy": msgspec.convert({"spend_hour": {"dollars": price}}, Policy)
        },
        "(setting policy.spend_day.dollars)": {
            "policy": msgspec.convert({"spend_day": {"dollars": 1e-9}}, Policy)
        },
    }
    for said, changes in limits.items():
        async with collecting(settings_of(fleet, tmp_path, **changes)) as run:
            intent = await run.settled((await ask(run.store, fleet, dear)).intent_id)
            assert (intent.state, said in str(intent.result)) == (IntentState.REFUSED, True), (
                intent.result
            )
    no_secret = replace(settings_of(fleet, tmp_path), environment={})
    async with collecting(no_secret) as run:
        intent = await run.settled((await ask(run.store, fleet, dear)).intent_id)
        assert "the secret PAVAIL is not there: env:PAVAIL_TOKEN" in str(intent.result)
    assert len(rentings(fleet)) == 1


def replace_terms(**changes: Any) -> Deploy:  # noqa: ANN401 - any field
    return msgspec.structs.replace(TERMS, **changes)


async def test_limits_hold_for_several_requests_at_once(fleet: Simulated, tmp_path: Path) -> None:
    terms = replace_terms(max_instances=3)
    async with collecting(settings_of(fleet, tmp_path, deploy=terms)) as run:
        asked = [await ask(run.store, fleet, offer) for offer in good_offers(fleet)[:5]]
        ended = [await run.settled(intent.intent_id) for intent in asked]
        states = sorted(intent.state for intent in ended)
        assert states == [IntentState.DONE] * 2 + [IntentState.REFUSED] * 3, ended
    assert len(rentings(fleet)) == 2


async def test_a_lost_answer_is_no_second_renting(fleet: Simulated, tmp_path: Path) -> None:
    one, two, three, *_ = good_offers(fleet)
    async with collecting(settings_of(fleet, tmp_path)) as run:
        fleet.serving.faults.switch_on("lost_answer", calls=1)
        found = await run.settled((await ask(run.store, fleet, one)).intent_id)
        assert found.state is IntentState.DONE, found.result
        fleet.serving.faults.switch_on("offer_lost", calls=1)
        lost = await run.settled((await ask(run.store, fleet, two)).intent_id)
        assert (lost.state, "no longer there" in str(lost.result)) == (IntentState.FAILED, True)
        fleet.serving.faults.switch_on("refused", calls=1)
        denied = await run.settled((await ask(run.store, fleet, three)).intent_id)
        assert (denied.state, "does not take this" in str(denied.result)) == (
            IntentState.FAILED, True,
        )  # fmt: skip
    assert len(rentings(fleet)) == 3


async def interrupted(settings: CollectorSettings, fleet: Simulated, offer: Offer) -> Intent:
    """Ask, and end the collector while its request to rent is under way."""
    async with contextlib.AsyncExitStack() as stack:
        run = await stack.enter_async_context(collecting(settings))
        asked = await ask(run.store, fleet, offer)

        async def sent() -> bool:
            return rented(fleet)

        await run.until(sent, "it was sent")
    store = await SqliteStore.open(settings.store_path, clock=fleet.clock, viewer=True)
    async with contextlib.aclosing(store):
        left = await store.intent(asked.intent_id)
    assert left is not None
    assert left.state is IntentState.RUNNING
    return asked


def rented(fleet: Simulated) -> bool:
    return any(rental.fields["label"] and "#" in rental.fields["label"]
               for rental in fleet.serving.world.rentals.values())  # fmt: skip


async def test_a_crash_is_no_second_renting(fleet: Simulated, tmp_path: Path) -> None:
    settings = settings_of(fleet, tmp_path)
    one, two, *_ = good_offers(fleet)
    # Ended as soon as the API has it, before the answer is noted.
    asked = await interrupted(settings, fleet, one)
    # Ended before it was sent: written as running, and nothing more.
    store = await SqliteStore.open(settings.store_path, clock=fleet.clock)
    async with contextlib.aclosing(store):
        lease = await store.take_lease("crashed", 30.0)
        assert lease is not None
        unsent = await ask(store, fleet, two)
        await store.claim(lease, [unsent.intent_id])
        await store.release(lease)
    async with collecting(settings) as run:
        found = await run.settled(asked.intent_id)
        assert found.state is IntentState.DONE, found.result
        assert fleet.serving.world.rentals[found.instance_id].fields["label"] == marked_label(
            "night", asked.intent_id
        )
        nothing = await run.settled(unsent.intent_id)
        assert (nothing.state, "nothing was rented" in str(nothing.result)) == (
            IntentState.FAILED, True,
        )  # fmt: skip
    assert len(rentings(fleet)) == 1
    assert two.offer_id in fleet.serving.world.offers


async def test_queued_and_failed_ones_are_shown_as_such(fleet: Simulated, tmp_path: Path) -> None:
    one, two, *_ = good_offers(fleet)
    settings = settings_of(fleet, tmp_path)
    async with collecting(settings, deploy_deadline_seconds=2.0) as run:
        fleet.serving.faults.switch_on("queued")
        asked = await ask(run.store, fleet, one)

        async def queued() -> bool:
            rows = (await run.store.fleet()).rows
            return any(row.acting == START_QUEUED for row in rows)

        await run.until(queued, "the row says that it is queued")
        late = await run.settled(asked.intent_id)
        assert (late.state, "is queued" in str(late.result)) == (IntentState.UNKNOWN, True)
    # The next collector goes on with it.
    async with collecting(settings) as run:
        fleet.serving.faults.switch_off("queued")

        async def done() -> bool:
            intent = await run.store.intent(asked.intent_id)
            return intent is not None and intent.state is IntentState.DONE

        await run.until(done, "it runs after all")
        gone = await ask(run.store, fleet, two)

        async def seen() -> int | None:
            rows = (await run.store.fleet()).rows
            label = marked_label("night", gone.intent_id)
            return next((row.instance_id for row in rows if row.label == label), None)

        instance_id = await run.until(seen, "it is listed")
        assert instance_id is not None
        fleet.serving.world.destroy(instance_id)
        intent = await run.settled(gone.intent_id)
        assert (intent.state, "is gone" in str(intent.result)) == (IntentState.FAILED, True)


async def test_what_was_rented_and_went_away_counts_no_more(
    fleet: Simulated, tmp_path: Path
) -> None:
    one, two, three, *_ = good_offers(fleet)
    settings = settings_of(fleet, tmp_path, deploy=replace_terms(max_instances=2))
    # So far apart that the second one can go before any walk lists it.
    settings = replace(settings, walk_interval_seconds=4.0, verify_deadline_seconds=3.0)
    async with collecting(settings) as run:
        listed = await run.settled((await ask(run.store, fleet, one)).intent_id)
        assert listed.state is IntentState.DONE, listed.result

        async def shown() -> bool:
            rows = (await run.store.fleet()).rows
            return any(row.instance_id == listed.instance_id for row in rows)

        async def gone() -> bool:
            return not await shown()

        await run.until(shown, "it is listed")
        fleet.serving.world.destroy(listed.instance_id)
        await run.until(gone, "it is gone")
        asked = await ask(run.store, fleet, two)
        label = marked_label("night", asked.intent_id)

        async def taken() -> int | None:
            rentals = fleet.serving.world.rentals.items()
            return next((key for key, item in rentals if item.fields["label"] == label), None)

        instance_id = await run.until(taken, "it is rented")
        assert instance_id is not None
        fleet.serving.world.destroy(instance_id)
        died = await run.settled(asked.intent_id)
        assert (died.state, "is gone" in str(died.result)) == (IntentState.FAILED, True)
        last = await run.settled((await ask(run.store, fleet, three)).intent_id)
        assert last.state is IntentState.DONE, last.result
    assert len(rentings(fleet)) == 3


async def test_limits_are_held_on_a_fresh_complete_list_only(
    fleet: Simulated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleetui.collector.deploy.FRESH_SECONDS", 0.0)
    settings = replace(settings_of(fleet, tmp_path), verify_deadline_seconds=2.0)
    one, *_ = good_offers(fleet)
    async with collecting(settings) as run:

        async def listed() -> bool:
            return bool((await run.store.fleet()).rows)

        await run.until(listed, "the fleet")
        fleet.serving.faults.switch_on("partial_walk")
        stale = await run.settled((await ask(run.store, fleet, one)).intent_id)
        assert (stale.state, "cannot be listed in whole just now" in str(stale.result)) == (
            IntentState.REFUSED, True,
        ), stale.result  # fmt: skip
        fleet.serving.faults.switch_off("partial_walk")
        fresh = await run.settled((await ask(run.store, fleet, one)).intent_id)
        assert fresh.state is IntentState.DONE, fresh.result
    assert len(rentings(fleet)) == 1
