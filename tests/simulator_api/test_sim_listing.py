"""The simulated list over HTTP: pages, columns, filters, order, and what it refuses."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fleetui.simulator.run import Serving
from pretend_vast import KEY, RealTime, pretend_vast

HEADERS = {"Authorization": f"Bearer {KEY}"}
LIST = "/api/v1/instances/"


@pytest.fixture
async def served() -> AsyncIterator[Serving]:
    async with pretend_vast(30) as serving:
        yield serving


@pytest.fixture
async def http(served: Serving) -> AsyncIterator[httpx.AsyncClient]:
    url = served.environment["VAST_URL"]
    async with httpx.AsyncClient(base_url=url, headers=HEADERS) as client:
        yield client


async def ask(http: httpx.AsyncClient, **query: object) -> Any:  # noqa: ANN401 - JSON
    answer = await http.get(
        LIST,
        params={key: value if isinstance(value, str) else json.dumps(value)
                for key, value in query.items()},
    )  # fmt: skip
    return answer.json() | {"status": answer.status_code}


async def test_rows_have_the_shape_of_real_ones(http: httpx.AsyncClient) -> None:
    path = Path(__file__).parents[1] / "data" / "vast_instances.json"
    samples = [entry["instance"] for entry in json.loads(path.read_text("utf-8"))]
    kinds: dict[str, set[type]] = {}
    for sample in samples:
        for name, value in sample.items():
            kinds.setdefault(name, set()).add(type(value))
    for row in (await ask(http))["instances"]:
        assert row.keys() == kinds.keys()
        for name, value in row.items():
            allowed = kinds[name] | {int, float} if kinds[name] & {int, float} else kinds[name]
            assert value is None or type(value) in allowed, name


@pytest.mark.parametrize(
    ("limit", "rows"), [("25", 25), ("100", 25), ("7", 7), ("0", 5), ("-3", 5)]
)
async def test_page_sizes(http: httpx.AsyncClient, limit: str, rows: int) -> None:
    page = await ask(http, limit=limit)
    assert len(page["instances"]) == page["instances_found"] == rows
    assert page["total_instances"] == 30
    assert page["next_token"]


async def test_pages_join_and_survive_a_removal(served: Serving, http: httpx.AsyncClient) -> None:
    first = await ask(http, limit="10")
    served.world.rentals.pop(first["instances"][3]["id"])
    second = await ask(http, limit="25", after_token=first["next_token"])
    assert second["next_token"] is None
    ids = [row["id"] for row in first["instances"] + second["instances"]]
    assert len(set(ids)) == len(ids) == 30


async def test_columns_filters_and_order(served: Serving, http: httpx.AsyncClient) -> None:
    page = await ask(http, select_cols=["id", "dph_total", "no_such"], limit="3")
    assert page["instances"][0].keys() == {"id", "dph_total", "no_such"}
    assert page["instances"][0]["no_such"] is None
    some = list(served.world.rentals.values())
    for rental in some:
        rental.fields["label"] = "a"
    some[0].fields["label"] = None
    page = await ask(http, select_filters={"label": {"eq": "a"}})
    assert page["total_instances"] == 29
    assert (await ask(http))["label_counts"] == {"a": 29, "": 1}
    page = await ask(http, order_by=[{"col": "machine_id", "dir": "desc"}])
    machines = [row["machine_id"] for row in page["instances"]]
    assert machines == sorted(machines, reverse=True)


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({"after_token": "nonsense"}, "invalid_token"),
        ({"select_filters": {"dph_total": {"gt": 1}}}, "invalid_request"),
        ({"select_filters": {"label": {"like": "x"}}}, "invalid_request"),
        ({"select_filters": "{"}, "invalid_args"),
        ({"order_by": [{"col": "no_such"}]}, "invalid_args"),
        ({"limit": "many"}, "invalid_args"),
    ],
)
async def test_refused_parameters(
    http: httpx.AsyncClient, query: dict[str, object], error: str
) -> None:
    answer = await ask(http, **query)
    assert (answer["status"], answer["error"]) == (400, error)


async def test_the_traps_of_the_real_server(served: Serving, http: httpx.AsyncClient) -> None:
    one = min(served.world.rentals)
    assert (await http.get("/api/v0/instances/")).status_code == 410
    moved = await http.get("/api/v1/instances?limit=3")
    assert (moved.status_code, moved.headers["location"]) == (302, "/api/v1/instances/?limit=3")
    assert moved.content == b""
    for method in ("GET", "DELETE"):
        assert (await http.request(method, f"/api/v1/instances/{one}/")).status_code == 404
    assert served.world.living(one)
    unknown = await http.get("/api/v0/instances/999/?owner=me")
    assert (unknown.status_code, unknown.json()) == (200, {"instances": None})
    login = await http.get(LIST, headers={"Authorization": ""})
    assert (login.status_code, login.json()["error"]) == (403, "auth_error")
    wrong = await http.get(LIST, headers={"Authorization": "Bearer no"})
    assert (wrong.status_code, wrong.json()["error"]) == (404, "auth_error")
    long = await http.put(f"/api/v0/instances/{one}/", json={"label": "x" * 1025})
    assert (long.status_code, long.json()["error"]) == (400, "label_too_long")
    assert (await http.put(f"/api/v0/instances/{one}/", content=b"{")).status_code == 400


async def test_limits_are_per_endpoint_and_identity() -> None:
    real = RealTime()
    async with (
        pretend_vast(1, pace=1.0, real=real) as served,
        httpx.AsyncClient(base_url=served.environment["VAST_URL"], headers=HEADERS) as http,
    ):
        assert (await http.get(LIST)).status_code == 200
        refused = await http.get(LIST)
        assert refused.status_code == 429
        assert "threshold=1.0" in refused.json()["detail"]
        assert 0 < float(refused.headers["retry-after"]) <= 1
        assert (await http.get("/api/v0/instances/1/")).status_code == 200
        assert (await http.get("/api/v0/instances/1/")).status_code == 429
        real.value += 1.0
        assert (await http.get(LIST)).status_code == 200
        assert (await http.get("/api/v0/instances/1/")).status_code == 429
        real.value += 1.0
        assert (await http.get("/api/v0/instances/1/")).status_code == 200


async def test_the_same_seed_makes_the_same_fleet() -> None:
    rows: list[str] = []
    for _ in range(2):
        async with pretend_vast(12) as served:
            world = served.world
            shown = [world.row(rental) | {"ssh_port": 0, "ports": None, "direct_port_start": 0,
                                          "direct_port_end": 0}
                     for rental in world.listed()]  # fmt: skip
            rows.append(json.dumps(shown))
    assert rows[0] == rows[1]
