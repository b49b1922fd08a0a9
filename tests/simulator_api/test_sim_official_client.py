"""The official client, as its own process, against the simulated API."""

import asyncio
import json
import re
import sysconfig
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fleetui.domain.clock import ScaledClock
from fleetui.domain.money import DAY_SECONDS
from fleetui.domain.offer_query import DEFAULT_QUERY, parse_offer_query
from fleetui.domain.secret import Secret
from fleetui.simulator.run import Serving
from fleetui.simulator.stock import RETURN_SECONDS
from fleetui.vast.offers import RentalOrder
from pretend_vast import KEY, client_of, pretend_vast

VASTAI = Path(sysconfig.get_path("scripts")) / "vastai"
DEADLINE_SECONDS = 90.0


class Official:
    def __init__(self, served: Serving, home: Path, key: str = KEY) -> None:
        self._environment = {
            "VAST_URL": served.environment["VAST_URL"],
            "VAST_API_KEY": key,
            "HOME": str(home),
            "PATH": "/usr/bin:/bin",
            "PYTHONWARNINGS": "ignore",
            "COLUMNS": "200",
        }

    async def __call__(self, *arguments: str, stdin: bytes = b"") -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            VASTAI,
            *arguments,
            env=self._environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                output, _ = await process.communicate(stdin)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode or 0, output.decode()

    async def json(self, *arguments: str) -> Any:  # noqa: ANN401 - JSON
        status, output = await self(*arguments, "--raw")
        assert status == 0, output
        return json.loads(output)


@pytest.fixture
async def served() -> AsyncIterator[Serving]:
    async with pretend_vast(27) as serving:
        yield serving


@pytest.fixture
def official(served: Serving, tmp_path: Path) -> Official:
    return Official(served, tmp_path)


async def test_it_reads_the_fleet(served: Serving, official: Official) -> None:
    rows = await official.json("show", "instances")
    assert {row["id"] for row in rows} == set(served.world.rentals)
    # The same pages; only what we ask of a row is ours, so that no secret comes over the wire.
    pages = [(method, path) for method, path, _, _ in shapes(served)]
    async with client_of(served.environment["VAST_URL"]) as client:
        await client.walk()
    ours = shapes(served)
    assert [(method, path) for method, path, _, _ in ours] == pages
    assert {body for *_, body in ours} == {None}
    one = min(served.world.rentals)
    rental = served.world.rentals[one]
    shapes(served)
    row = await official.json("show", "instance", str(one))
    assert row["machine_id"] == rental.fields["machine_id"]
    theirs = shapes(served)
    async with client_of(served.environment["VAST_URL"]) as client:
        await client.single(one)
    assert shapes(served) == theirs
    _, table = await official("show", "instance", str(one))
    assert str(rental.ssh_port) in table
    _, url = await official("ssh-url", str(one))
    assert url.strip() == f"ssh://root@127.0.0.1:{rental.ssh_port}"
    user = await official.json("show", "user")
    assert user["credit"] == 342.8


def shapes(served: Serving) -> list[tuple[str, str, tuple[str, ...], Any]]:
    """Return the calls recorded so far, without ids and without what the client asks for itself."""
    found = [
        (call.method, re.sub(r"\d{4,}", "ID", call.path), tuple(sorted(call.query)), call.body)
        for call in served.api.recorded
        if "gpu_names" not in call.path and "users" not in call.path
    ]
    served.api.recorded.clear()
    return found


async def test_it_acts_and_our_client_sends_the_same(served: Serving, official: Official) -> None:
    one, *_, last = sorted(served.world.rentals)
    rental = served.world.rentals[one]
    _, output = await official("label", "instance", str(one), "neu")
    assert f"label for {one} set to neu" in output
    assert rental.fields["label"] == "neu"
    for verb, status in (
        ("stop", "stopped"), ("start", "running"), ("reboot", "rebooting"),
        ("recycle", "recycling"),
    ):  # fmt: skip
        code, output = await official(verb, "instance", str(one))
        assert code == 0, output
        assert str(one) in output
        assert served.world.row(rental)["actual_status"] == status
    _, asked = await official("destroy", "instance", str(one), stdin=b"n\n")
    assert "Aborted" in asked
    assert served.world.living(one)
    _, output = await official("destroy", "instance", str(one), "-y")
    assert f"destroying instance {one}" in output
    assert served.world.living(one) is None
    _, again = await official("destroy", "instance", str(one), "-y")
    assert "404" in again
    theirs = shapes(served)
    async with client_of(served.environment["VAST_URL"]) as client:
        await client.label(last, "neu")
        await client.set_state(last, "stopped")
        await client.set_state(last, "running")
        await client.reboot(last)
        await client.recycle(last)
        await client.destroy(last)
        await client.destroy(last)
    assert shapes(served) == theirs


async def test_it_rents(served: Serving, official: Official) -> None:
    offers = await official.json("search", "offers", "--limit", "3")
    assert len(offers) == 3
    _, table = await official("search", "offers")
    assert "vCPUs" in table
    everything = await official.json("search", "offers")
    many = await official.json("search", "offers", "num_gpus>=4")
    assert [row["id"] for row in many] == [row["id"] for row in everything if row["num_gpus"] >= 4]
    assert 0 < len(many) < len(everything)
    for order, back in (("dph", False), ("dph-", True)):
        rows = await official.json("search", "offers", "-o", order)
        prices = [row["dph_total"] for row in rows]
        assert prices == sorted(prices, reverse=back)
    sure = await official.json("search", "offers", "reliability>0.985")
    assert all(row["reliability"] > 0.985 for row in sure)
    assert 0 < len(sure) < len(everything)
    here = await official.json("search", "offers", "geolocation=US")
    assert {row["geolocation"].rpartition(", ")[2] for row in here} == {"US"}
    assert not {"jupyter_token", "extra_env", "label"} & set(everything[0])
    served.api.recorded.clear()
    await official.json("search", "offers", "num_gpus>=4", "-o", "dph", "--limit", "3")
    (theirs,) = [call for call in served.api.recorded if call.method == "POST"]
    served.api.recorded.clear()
    async with client_of(served.environment["VAST_URL"]) as client:
        wanted = {"num_gpus": {"gte": 4}}
        found = await client.search_offers(wanted, order=[("dph_total", "asc")], limit=3)
    (ours,) = served.api.recorded
    assert (ours.method, ours.path) == (theirs.method, theirs.path)
    # The official client adds conditions of its own, and writes numbers as text.
    assert set(ours.body) <= set(theirs.body)
    assert ours.body["order"] == theirs.body["order"] == [["dph_total", "asc"]]
    assert [offer.offer_id for offer in found.offers] == [row["id"] for row in many_of(everything)]
    offer = str(offers[0]["id"])
    arguments = ("--image", "example/image", "--disk", "50", "--label", "mine", "--ssh", "--direct")
    served.api.recorded.clear()
    created = await official.json("create", "instance", offer, *arguments)
    (theirs,) = [call for call in served.api.recorded if call.method == "PUT"]
    served.api.recorded.clear()
    wish = RentalOrder(image="example/image", disk_gb=50.0, environment={}, label="ours")
    async with client_of(served.environment["VAST_URL"]) as client:
        rented = await client.rent(offers[1]["id"], wish)
        assert rented.ok
        assert served.world.living(rented.contract or 0)
        again = await client.rent(offers[1]["id"], wish)
        assert (again.ok, again.contract) == (False, None)
    ours = served.api.recorded[0]
    assert ours.path == f"/api/v0/asks/{offers[1]['id']}/"
    assert set(ours.body) <= set(theirs.body)
    kinds = {name: type(value) for name, value in theirs.body.items() if value is not None}
    assert all(type(ours.body[name]) is kinds[name] for name in set(ours.body) & set(kinds))
    rental = served.world.living(created["new_contract"])
    assert rental is not None
    row = served.world.row(rental)
    assert (row["label"], row["image_uuid"], row["disk_space"]) == ("mine", "example/image", 50.0)
    assert int(offer) not in served.world.offers


async def test_it_finds_what_our_query_finds_at_the_same_price(
    served: Serving, official: Official
) -> None:
    for query in (DEFAULT_QUERY, "gpu_name in [RTX_4090,L40S] dph<1.5 geolocation!=US rented=any"):
        rows = await official.json("search", "offers", query, "-o", "dph", "--storage", "250")
        parsed = parse_offer_query(query)
        async with client_of(served.environment["VAST_URL"]) as client:
            found = await client.search_offers(
                parsed.conditions, order=[("dph_total", "asc")], disk_gb=250.0
            )
        assert rows
        assert [(offer.offer_id, offer.price) for offer in found.offers] == [
            (row["id"], row["dph_total"]) for row in rows
        ]
        bodies = [call.body for call in served.api.recorded if call.method == "POST"]
        served.api.recorded.clear()
        theirs, ours = bodies
        assert {name: ours[name] for name in theirs} == theirs


async def test_it_rents_what_our_template_rents_and_the_machine_comes_back(
    served: Serving, official: Official
) -> None:
    first, second, *_ = await official.json("search", "offers")
    arguments = (
        "--image", "example/image", "--disk", "50", "--label", "night#0123456789", "--ssh",
        "--direct", "--env", "-e TOKEN=hush-hush -e MIN_RATE=31.0 -p 8000:8000",
        "--onstart-cmd", "run.sh &", "--cancel-unavail",
    )  # fmt: skip
    created = await official.json("create", "instance", str(first["id"]), *arguments)
    order = RentalOrder(
        image="example/image", disk_gb=50.0, label="night#0123456789", onstart="run.sh &",
        environment={"TOKEN": Secret("hush-hush"), "MIN_RATE": "31.0", "-p 8000:8000": "1"},
    )  # fmt: skip
    async with client_of(served.environment["VAST_URL"]) as client:
        assert (await client.rent(second["id"], order)).ok
        labelled = await client.labelled("night#0123456789")
        assert labelled is not None
        assert {row.machine_id for row in labelled} == {first["machine_id"], second["machine_id"]}
        assert await client.labelled("night") == ()
    theirs, ours = [call.body for call in served.api.recorded if call.method == "PUT"]
    assert {name: theirs[name] for name in ours} == ours

    async def offered() -> list[int]:
        found = await official.json("search", "offers", f"machine_id={first['machine_id']}")
        return [row["id"] for row in found]

    assert await offered() == []
    await official("destroy", "instance", str(created["new_contract"]), "-y")
    later = served.world.clock.now() + RETURN_SECONDS
    served.world.clock = ScaledClock(later, later, 1.0, lambda: later)
    (again,) = await offered()
    assert again != first["id"]


async def test_it_bids_and_reads_logs_and_keys(served: Serving, official: Official) -> None:
    one = min(served.world.rentals)
    rental = served.world.rentals[one]
    _, output = await official("change", "bid", str(one), "--price", "0.3")
    assert "bid price changed" in output
    assert (rental.fields["dph_base"], rental.fields["is_bid"]) == (0.3, True)
    _, refused = await official("change", "bid", str(one), "--price", "9999")
    assert "400" in refused
    _, text = await official("logs", str(one))
    assert f"No such container: C.{one}" in text
    deposit = await official.json("show", "deposit", str(one))
    assert deposit["refundable_deposit"] == 0
    assert await official.json("show", "ssh-keys") == []


async def test_both_clients_read_the_same_charges(served: Serving, official: Official) -> None:
    today = int(served.world.clock.now() // DAY_SECONDS)
    start = today * DAY_SECONDS
    found = await official.json(
        "show", "invoices-v1", "--charges", "--start-date", str(start), "--end-date",
        str(start + DAY_SECONDS - 1), "--limit", "100",
    )  # fmt: skip
    theirs = {
        int(re.sub(r"\D", "", row["source"])): float(str(row["amount"]).strip("$"))
        for row in found["results"]
    }
    async with client_of(served.environment["VAST_URL"]) as client:
        day = await client.charges(today)
    ours: dict[int | None, float] = defaultdict(float)
    for charge in day.charges:
        ours[charge.instance_id] += charge.dollars
    assert set(theirs) == set(ours) == set(served.world.rentals)
    for instance_id, amount in theirs.items():
        assert ours[instance_id] == pytest.approx(amount, abs=0.02)


def many_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    many = [row for row in rows if row["num_gpus"] >= 4]
    return sorted(many, key=lambda row: row["dph_total"])[:3]


async def test_it_is_told_of_a_bad_key(served: Serving, tmp_path: Path) -> None:
    stranger = Official(served, tmp_path, key="wrong-key-000")
    _, output = await stranger("show", "instance", str(min(served.world.rentals)))
    assert "Invalid user key" in output
