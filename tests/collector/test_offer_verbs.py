"""Offers and deployments on the command line, against the simulated market."""

import json
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from collecting import Simulated, collecting, simulated
from command_line import command_line
from fleetui.domain.instance import Instance
from fleetui.domain.intent import IntentState
from fleetui.domain.rate import Rate, RateSource
from fleetui.domain.reading import Reading
from fleetui.domain.rental import Deploy, Template
from fleetui.domain.stage import Stage
from fleetui.domain.standing import Mark
from fleetui.domain.text import sanitise
from fleetui.store.interface import Batch
from fleetui.store.sqlite import SqliteStore

SECRET = "s3cr3t-of-the-tunnel"
CONFIG = """
[deploy.templates.cuzk]
image = "example/cuzk:1"
secrets = { PAVAIL = "env:PAVAIL_TOKEN" }
label = "night"
max_dollars_per_proof = 0.01
"""
TERMS = Deploy(
    templates={
        "cuzk": Template(
            image="example/cuzk:1",
            secrets={"PAVAIL": "env:PAVAIL_TOKEN"},
            label="night",
            max_dollars_per_proof=0.01,
        )
    }
)


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Simulated]:
    async with simulated(tmp_path, speed=30.0, plan=[("running", 400.0)]) as fleet:
        yield fleet


async def remember(fleet: Simulated, path: Path, rates: dict[int, float], bad: int) -> None:
    """Store a past of machines of the market, and blacklist one."""
    store = await SqliteStore.open(path, clock=fleet.clock)
    lease = await store.take_lease("past", 30.0)
    assert lease is not None
    now = fleet.clock.now() - 90_000.0
    rows, readings = [], []
    for number, (machine_id, rate) in enumerate(rates.items(), start=1):
        fields = fleet.serving.world.stock.machines[machine_id].fields
        rows.append(
            Instance(
                instance_id=number, machine_id=machine_id, num_gpus=fields["num_gpus"],
                gpu_name=sanitise(fields["gpu_name"]), cpu_ram_mb=float(fields["cpu_ram"]),
            )
        )  # fmt: skip
        measured = Rate(
            proofs_per_hour=rate, proofs=12, window_seconds=1500.0, measured_at=now,
            source=RateSource.BENCHMARK,
        )  # fmt: skip
        readings.append(
            Reading(instance_id=number, at=now, stage=Stage.BENCH_DONE, rates=(measured,))
        )
    await store.publish(lease, Batch(at=now, instances=rows, readings=readings))
    await store.publish(lease, Batch(at=now + 80_000.0, gone=[row.instance_id for row in rows]))
    await store.write_blacklist(lease, bad, Mark(sanitise("ada"), now, sanitise("loses its GPU")))
    await store.release(lease)
    await store.close()


async def test_offers_are_ranked_by_our_own_history(fleet: Simulated, tmp_path: Path) -> None:
    settings = fleet.settings(tmp_path)
    offers = list(fleet.serving.world.offers.values())
    known, bad = offers[3].machine, offers[5].machine
    await remember(fleet, settings.store_path, {known.machine_id: 50.0}, bad.machine_id)
    async with collecting(settings) as run:
        fleetui = partial(command_line(run, fleet), **fleet.environment)
        status, output = await fleetui("offers", "num_gpus>=1 gpu_rma>3", "--json")
        assert status == 0, output
        report = json.loads(output)
        assert report["not_understood"] == ["no such field: 'gpu_rma'; did you mean 'gpu_ram'?"]
        assert report["conditions"]["num_gpus"] == {"gte": "1"}
        assert report["hidden"] == 1
        found = report["offers"]
        assert len(found) == len(offers) - 1
        costs = [offer["dollars_per_proof"] for offer in found]
        ranked = [cost for cost in costs if cost is not None]
        assert costs == [*sorted(ranked), *[None] * (len(costs) - len(ranked))]
        (itself,) = [offer for offer in found if offer["machine_id"] == known.machine_id]
        assert itself["rate"]["basis"] == "machine"
        assert itself["rate"]["proofs_per_hour"] == 50.0
        assert itself["dollars_per_proof"] > itself["price"] / 50.0
        stated = 133 * 2**30 * 8 / (known.fields["inet_down"] * 1e6)
        assert itself["stated_download"] == pytest.approx(stated)
        assert itself["remembered_download"] is None
        # What is not known of a kind has no figure, not a zero.
        assert None in costs

        status, table = await fleetui("offers", "num_gpus>=1", "--sort", "price", "--all")
        assert status == 0
        assert "BLACKLISTED by ada: loses its GPU" in table
        assert "itself, 1" in table
        status, said = await fleetui("offers", "gpu_ram>3 cheap")
        assert (status, "'cheap' has no operator" in said) == (2, True)
        await fleet.fault("auth")
        status, said = await fleetui("offers")
        assert (status, "the market does not answer" in said) == (1, True)


async def test_offers_are_deployed(fleet: Simulated, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(CONFIG)
    settings = fleet.settings(tmp_path)
    good, other, bad, *_ = sorted(
        (offer for offer in fleet.serving.world.offers.values()),
        key=lambda offer: float(offer.fields["dph_total"]),
    )
    await remember(fleet, settings.store_path, {}, bad.machine.machine_id)
    environment = {"PAVAIL_TOKEN": SECRET}
    async with collecting(settings, deploy=TERMS, environment=environment) as run:
        fleetui = partial(command_line(run, fleet), **fleet.environment)
        more = {"FLEETUI_CONFIG": str(tmp_path / "config.toml")}

        async def deploy(*words: Any) -> tuple[int, str]:  # noqa: ANN401 - words
            return await fleetui("deploy", *words, **more)

        # Only shown: nothing is written, nothing sent, and no secret is known here.
        status, text = await deploy(good.offer_id, "--dry-run")
        assert status == 0, text
        assert f"PUT /api/v0/asks/{good.offer_id}/ {{" in text
        assert '"PAVAIL": "***"' in text
        assert '"label": "night#' in text
        status, text = await deploy(good.offer_id, bad.offer_id, 4711, "--dry-run")
        assert status == 1
        assert "is blacklisted by ada (loses its GPU)" in text
        assert "there is no such offer" in text
        for words, code, said in (
            ((bad.offer_id, "--yes"), 1, "is blacklisted by ada"),
            ((good.offer_id,), 2, "say --yes"),
        ):
            status, text = await deploy(*words)
            assert (status, said in text) == (code, True), text
        assert await run.store.intents() == ()
        assert asks(fleet) == 0

        status, text = await deploy(good.offer_id, other.offer_id, "--yes")
        assert status == 0, text
        intents = await run.store.intents()
        assert [intent.state for intent in intents] == [IntentState.DONE] * 2
        for intent in intents:
            assert f"instance {intent.instance_id} on machine" in text
        assert {intent.rental.offer_id for intent in intents if intent.rental} == {
            good.offer_id, other.offer_id,
        }  # fmt: skip
        status, text = await deploy(good.offer_id, "--yes")
        assert (status, "there is no such offer" in text) == (1, True)
        assert asks(fleet) == 2
        status, text = await fleetui("act", "deploy", 1, "--yes")
        assert (status, "fleetui deploy OFFER" in text) == (2, True)
        assert SECRET not in str(await run.store.audit())


def asks(fleet: Simulated) -> int:
    return sum("/asks/" in call.path for call in fleet.serving.api.recorded)
