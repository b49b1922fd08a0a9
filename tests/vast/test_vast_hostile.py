"""Whatever a server answers: no exception, no key in a text, no cookie kept, memory bounded."""

import asyncio
import contextlib
import gzip
import json
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetui.domain.instance import WalkOutcome
from fleetui.vast.client import PresenceKind, VastClient
from fleetui.vast.errors import VastError
from pretend_vast import KEY, client_of

Answer = Callable[[web.Request], web.StreamResponse]


@contextlib.asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[VastClient]:
    async def handle(request: web.Request) -> web.StreamResponse:
        return answer(request)

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        async with client_of(f"http://{host}:{port}", deadline_seconds=5.0) as client:
            yield client
    finally:
        await runner.cleanup()


async def texts(client: VastClient) -> list[str]:
    """Ask for everything once; returns all that was said."""
    said = [str((await client.walk()).walk.error)]
    for presence in (await client.single(7), await client.look(7)):
        assert presence.kind is not PresenceKind.PRESENT
        said.append(str(presence.reason))
    results = (
        await client.destroy(7),
        await client.set_state(7, "stopped"),
        await client.label(7, "x"),
        await client.reboot(7),
    )
    said += [str(result.text) for result in results]
    try:
        await client.account()
    except VastError as error:
        said.append(str(error))
    return said


json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.just(KEY)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["success", "error", "msg", "detail", "instances", "total_instances", "next_token"]
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=8,
)
bodies = st.one_of(
    st.binary(max_size=60),
    json_values.map(lambda value: json.dumps(value).encode()),
    json_values.map(lambda value: gzip.compress(json.dumps(value).encode())),
)
targets = st.sampled_from(
    ["http://[evil/", "//[", "http://xn--/", "/api/\udc80", "?", "http://127.0.0.1:1/x", "/a b", ""]
)
headers = st.fixed_dictionaries(
    {},
    optional={
        "Location": targets.map(lambda text: text.encode("ascii", "replace").decode()),
        "Content-Encoding": st.sampled_from(["gzip", "gzip, gzip", "br", "identity", "x"]),
        "Retry-After": st.sampled_from(["1e309", "-1", "nan", "soon", "0", "99999999999"]),
        "Set-Cookie": st.just("a=" + "x" * 900),
    },
)
statuses = st.sampled_from([200, 201, 301, 302, 307, 400, 401, 403, 404, 409, 410, 483, 500])


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(status=statuses, head=headers, body=bodies)
def test_any_answer_is_survived(status: int, head: dict[str, str], body: bytes) -> None:
    async def live() -> None:
        def answer(request: web.Request) -> web.StreamResponse:
            assert "Cookie" not in request.headers
            return web.Response(status=status, headers=head, body=body)

        async with answering(answer) as client:
            for text in await texts(client):
                assert KEY not in text

    asyncio.run(live())


async def test_an_echoed_key_is_masked() -> None:
    def answer(request: web.Request) -> web.StreamResponse:
        echo = request.headers["Authorization"]
        return web.json_response({"error": "auth_error", "msg": f"bad key {echo}"}, status=404)

    async with answering(answer) as client:
        said = await texts(client)
        assert all(KEY not in text for text in said)
        assert any("bad key Bearer ***" in text for text in said)


@pytest.mark.parametrize("layers", [1, 2])
async def test_a_packed_bomb_is_not_unpacked(layers: int) -> None:
    bomb = b" " * (64 * 1024 * 1024)
    for _ in range(layers):
        bomb = gzip.compress(bomb)
    head = {"Content-Encoding": ", ".join(["gzip"] * layers)}

    async with answering(lambda _: web.Response(body=bomb, headers=head)) as client:
        error = (await client.walk()).walk.error
        assert error is not None
        assert "an answer of more than" in error or "packed as" in error


async def test_one_layer_that_was_not_asked_for_is_read() -> None:
    page = {"success": True, "instances": [{"id": 7}], "total_instances": 1, "next_token": None}
    packed = gzip.compress(json.dumps(page).encode())
    head = {"Content-Encoding": "gzip"}
    async with answering(lambda _: web.Response(body=packed, headers=head)) as client:
        assert (await client.walk()).walk.outcome is WalkOutcome.COMPLETE


@pytest.mark.parametrize(
    "page",
    [
        {"instances": None, "total_instances": 0, "error": "internal_error", "msg": "time-out"},
        {"instances": None, "total_instances": 0},
        {"instances": [], "total_instances": 0, "success": 0},
        {"instances": [], "total_instances": 0, "success": "false"},
        {"instances": [], "total_instances": False, "success": True},
        {"instances": [{"id": n} for n in range(1, 27)], "total_instances": 26, "success": True},
    ],
)
async def test_no_such_page_is_a_walk(page: dict[str, object]) -> None:
    async with answering(lambda _: web.json_response(page)) as client:
        assert (await client.walk()).walk.outcome is WalkOutcome.FAILED


async def test_numbers_no_parser_likes_cost_one_field_only() -> None:
    huge, control = "9" * 6000, "a\u0001b"
    body = (
        '{"success": true, "total_instances": 1, "next_token": null, "instances":'
        f' [{{"id": 7, "num_gpus": {huge}, "dph_total": 1e308, "label": "{control}"}}]}}'
    )
    async with answering(lambda _: web.Response(body=body.encode())) as client:
        (instance,) = (await client.walk()).instances
        assert (instance.num_gpus, instance.price_running) == (None, None)
        assert instance.odd


@pytest.mark.parametrize("status", [200, 502, 504])
async def test_an_unclear_answer_to_an_action_leaves_it_open(status: int) -> None:
    async with answering(
        lambda _: web.Response(status=status, text="<html>nginx</html>")
    ) as client:
        for result in (await client.destroy(7), await client.reboot(7)):
            assert (result.ok, result.code) == (False, None)
