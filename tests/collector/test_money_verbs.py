"""Money and machines of a pretend fleet, from its API to the words of the command line."""

import contextlib
import csv
import io
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from collecting import Simulated, collecting, simulated
from command_line import command_line
from fleetui.collector.charges import ChargeKeeper
from fleetui.collector.health import HealthBoard
from fleetui.domain.money import Spend
from fleetui.domain.secret import Secret
from fleetui.domain.stage import Stage
from fleetui.store.interface import Batch
from fleetui.store.sqlite import SqliteStore
from fleetui.vast.client import ApiSettings, VastClient
from fleetui.vast.limiter import Limiter

HOSTS = 6


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Simulated]:
    async with simulated(tmp_path, hosts=HOSTS) as fleet:
        yield fleet


async def test_what_was_counted_agrees_with_what_was_charged(
    fleet: Simulated, tmp_path: Path
) -> None:
    settings = replace(fleet.settings(tmp_path), charges_interval_seconds=0.2)
    async with collecting(settings) as run:
        began = min(rental.fields["start_date"] for rental in fleet.serving.world.rentals.values())

        async def both_known() -> bool:
            spend = await run.store.spend(0)
            charges = [item for day in await run.store.charges(0) for item in day.charges]
            long_enough = sum(item.seconds for item in spend) > HOSTS * 600.0
            return long_enough and {item.instance_id for item in charges} == set(
                fleet.serving.world.rentals
            )

        await run.until(both_known, "both books")
        fleetui = command_line(run, fleet)
        status, output = await fleetui("money", "--json")
        report = json.loads(output)
        assert status == 0
        charges = report["charges"]
        ours = charges["counted"] + charges["before_us_counted"]
        theirs = charges["charged"] + charges["before_us"]
        assert 0 < ours <= report["spent"] + 1e-3
        # All were first seen today: the API's book has the time before that as well.
        hours = (fleet.clock.now() - began) / 3600.0
        assert ours <= theirs + 0.01
        assert theirs <= HOSTS * hours * 20.0
        assert charges["before_us"] > 0
        assert charges["difference"] == pytest.approx(charges["charged"] - charges["counted"])
        assert {item["instance_id"] for item in report["by_instance"]} == set(
            fleet.serving.world.rentals
        )
        assert sum(item["dollars"] for item in report["by_stage"]) == pytest.approx(
            report["spent"], abs=0.01
        )
        _, table = await fleetui("money", "--csv", "instances")
        rows = list(csv.DictReader(io.StringIO(table)))
        assert len(rows) == HOSTS
        assert all(float(row["cost_per_hour"]) > 0 for row in rows)
        _, text = await fleetui("money")
        assert "by the API's book" in text
        status, output = await fleetui("hosts", "--json", "--sort", "price")
        records = json.loads(output)
        assert status == 0
        machines = {rental.fields["machine_id"] for rental in fleet.serving.world.rentals.values()}
        assert {record["machine_id"] for record in records} == machines
        prices = [record["price_last"] for record in records]
        assert prices == sorted(prices)
        status, text = await fleetui("hosts", str(min(machines)))
        assert status == 0
        assert str(min(machines)) in text
        assert (await fleetui("hosts", "no-such-machine"))[0] == 1
        assert (await fleetui("money", "--days", "0"))[0] == 2


async def test_nothing_is_asked_of_the_book_before_something_was_counted(
    fleet: Simulated, tmp_path: Path
) -> None:
    store = await SqliteStore.open(tmp_path / "fleet.db", clock=fleet.clock)
    lease = await store.take_lease("test", 30.0)
    assert lease is not None
    api = ApiSettings(
        base_url=fleet.serving.environment["VAST_URL"],
        read_key=Secret(fleet.environment["VAST_API_KEY"]),
    )
    async with httpx.AsyncClient() as http, contextlib.aclosing(store):
        client = VastClient(api, Limiter(0.0), http, clock=fleet.clock)
        keeper = ChargeKeeper(
            client, store, lease, interval_seconds=1.0, health=HealthBoard("test", fleet.clock),
            clock=fleet.clock,
        )  # fmt: skip
        assert not await keeper.look()
        assert not [call for call in fleet.serving.api.recorded if "/charges/" in call.path]
        day = int(fleet.clock.now() // 86_400)
        spend = Spend(
            instance_id=1, machine_id=1, day=day, stage=Stage.RUNNING, began_at=day * 86_400.0,
            seconds=60.0, unseen_seconds=0.0, dollars=0.5,
        )  # fmt: skip
        await store.publish(lease, Batch(at=fleet.clock.now(), spend=(spend,)))
        assert await keeper.look()
        (known,) = await store.charges(0)
        assert (known.day, known.counted) == (day, {1: 0.5})
        await store.release(lease)


async def test_a_key_without_the_permission_troubles_nobody(
    fleet: Simulated, tmp_path: Path
) -> None:
    api = fleet.serving.api
    api._keys = {key: scopes - {"billing_read"} for key, scopes in api._keys.items()}
    settings = replace(fleet.settings(tmp_path), charges_interval_seconds=0.2)
    async with collecting(settings) as run:

        async def refused() -> bool:
            calls = [call for call in api.recorded if call.path.endswith("/charges/")]
            return len([call for call in calls if call.status == 403]) > 1

        await run.until(refused, "refused calls")
        view = await run.store.fleet()
        assert view.health is not None
        assert view.health.error is None
        assert await run.store.charges(0) == ()
        _, text = await command_line(run, fleet)("money")
        assert "they need a key with billing_read" in text
