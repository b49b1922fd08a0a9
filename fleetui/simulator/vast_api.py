"""The pretend Vast API over HTTP, as the facts describe the real one (vast_api.md)."""

import asyncio
import hmac
import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from fleetui.simulator import http_answers, listing
from fleetui.simulator.billing import Billing
from fleetui.simulator.faults import Faults
from fleetui.simulator.market import offer_row, wrong_in_order
from fleetui.simulator.odd_rows import spoil
from fleetui.simulator.rate_limits import LEAST_SPACING, RateLimits
from fleetui.simulator.rows import MODELS, outbid, settle
from fleetui.simulator.side_calls import RESULTS, SideCalls
from fleetui.simulator.world import Rental, World

Scopes = frozenset[str]
READ_SCOPES = frozenset({"instance_read", "user_read", "billing_read", "misc"})
ALL_SCOPES = READ_SCOPES | {"instance_write"}
SCOPE_OF = {
    "GET list": "instance_read",
    "GET single": "instance_read",
    "GET account": "user_read",
    "GET account keys": "user_read",
    "GET keys": "instance_read",
    "deposit": "instance_read",
    "logs": "instance_read",
    "search": "misc",
    "GET charges": "billing_read",
}
"""The permission of an endpoint, `instance_write` unless named (facts: vast_api.md 1.5)."""
RECORDED = 2000
LABEL_LIMIT = 1024
_SCOPES = web.RequestKey("scopes", frozenset[str])
_PUBLIC = "/api/v0/gpu_names/unique/"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Recorded:
    """One call as it came in, without the key."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    agent: str
    status: int


class VastApi:
    """Serves one account's world to whoever holds one of the `keys`.

    Each key has its permissions. `world.real` times the rate limits; `pace` scales them for
    tests.
    """

    def __init__(
        self, world: World, faults: Faults, keys: Mapping[str, Scopes], *, pace: float = 1.0
    ) -> None:
        self._world = world
        self._faults = faults
        self._keys = keys
        self._limits = RateLimits(world.real, pace)
        self.recorded: deque[Recorded] = deque(maxlen=RECORDED)
        self.app = web.Application(middlewares=[self._record, self._gate])
        route = self.app.router.add_route
        route("GET", "/api/v1/instances/", self._limited("GET list", self._list))
        route("GET", "/api/v0/instances/", self._old_list)
        route("DELETE", "/api/v0/instances/", self._limited("DELETE", self._destroy_many))
        route("PUT", "/api/v0/instances/", self._limited("PUT manage", self._manage_many))
        route("GET", "/api/v0/instances/filters/", self._filters)
        route("GET", _PUBLIC, self._gpu_names)
        one = r"/api/v0/instances/{id:\d{1,18}}/"
        route("GET", one, self._limited("GET single", self._single))
        route("PUT", one, self._limited("PUT manage", self._manage))
        route("DELETE", one, self._limited("DELETE", self._destroy))
        reboot = r"/api/v0/instances/reboot/{id:\d{1,18}}/"
        recycle = r"/api/v0/instances/recycle/{id:\d{1,18}}/"
        route("PUT", reboot, self._limited("PUT reboot", self._reboot))
        route("PUT", recycle, self._limited("PUT recycle", self._recycle))
        route("PUT", r"/api/v0/asks/{id:\d{1,18}}/", self._limited("asks", self._create))
        route("POST", "/api/v0/bundles/", self._limited("search", self._bundles))
        route("PUT", "/api/v0/search/asks/", self._limited("search", self._asks))
        side = SideCalls(world, world.real)
        bid, logs = (
            rf"/api/v0/instances/{name}/{{id:\d{{1,18}}}}/"
            for name in ("bid_price", "request_logs")
        )
        route("PUT", bid, self._limited("bid", side.bid))
        route("PUT", logs, self._limited("logs", side.logs))
        route("GET", RESULTS + "{token}", side.result)
        own_keys = r"/api/v0/instances/{id:\d{1,18}}/ssh/"
        route("GET", own_keys, self._limited("GET keys", side.instance_keys))
        deposit = r"/api/v0/instances/balance/{id:\d{1,18}}/"
        route("GET", deposit, self._limited("deposit", side.deposit))
        route("GET", "/api/v0/ssh/", self._limited("GET account keys", side.account_keys))
        billing = Billing(world.ledger, lambda: [world.row(item) for item in world.listed()])
        route("GET", "/api/v0/charges/", self._limited("GET charges", billing.charges))
        route("GET", "/api/v0/users/current/", self._limited("GET account", self._account))
        route("*", "/{rest:.*}", self._nothing)

    @web.middleware
    async def _record(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        text = await request.text()
        try:
            body = json.loads(text) if text else None
        except (ValueError, RecursionError):
            body = text
        response: web.StreamResponse | None = None
        try:
            response = await handler(request)
        finally:
            agent = request.headers.get("User-Agent", "")
            status = response.status if response is not None else 0
            self.recorded.append(
                Recorded(request.method, request.path, dict(request.query), body, agent, status)
            )
        return response

    @web.middleware
    async def _gate(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let the faults act, then do what the real server does before any route."""
        self._start_queued()
        slow = self._faults.take("slow")
        if slow is not None:
            await asyncio.sleep(slow.value or 5.0)
        if self._faults.take("api_down"):
            return http_answers.cut(request)
        broken = self._broken()
        if broken is not None:
            return broken
        if not request.path.endswith("/") and not request.path.startswith(RESULTS):
            target = request.rel_url.with_path(request.path + "/").with_query(request.rel_url.query)
            return web.Response(status=302, headers={"Location": str(target)})
        given = request.headers.get("Authorization", "")
        if request.path == _PUBLIC or request.path.startswith(RESULTS):
            return await handler(request)
        if not given:
            return http_answers.answer(http_answers.LOGIN, status=403)
        for key, scopes in self._keys.items():
            if hmac.compare_digest(given.encode(), f"Bearer {key}".encode()):
                request[_SCOPES] = scopes
                return await handler(request)
        return http_answers.answer(http_answers.BAD_KEY, status=404)

    def _broken(self) -> web.Response | None:
        take = self._faults.take
        if take("api_500"):
            return http_answers.refusal(500, "server_error", "Internal error")
        if take("api_503"):
            return web.Response(status=503)
        if take("html"):
            return web.Response(status=502, text=http_answers.HTML, content_type="text/html")
        if take("html_200"):
            return web.Response(status=200, text=http_answers.HTML, content_type="text/html")
        if take("auth"):
            return http_answers.answer(http_answers.BAD_KEY, status=404)
        if take("redirect"):
            return web.Response(status=302, headers={"Location": "http://127.0.0.2:9/login/"})
        limited = take("rate_limited")
        if limited is not None:
            return http_answers.too_many("every call", self._limits.pace, limited.value)
        return None

    def _limited(self, endpoint: str, handler: Handler) -> Handler:
        async def limited(request: web.Request) -> web.StreamResponse:
            if SCOPE_OF.get(endpoint, "instance_write") not in request[_SCOPES]:
                return http_answers.answer(http_answers.NOT_PERMITTED, status=403)
            identity = f"{request.headers.get('Authorization')} {request.remote}"
            left = self._limits.wait(identity, endpoint)
            if left > 0:
                return http_answers.too_many(
                    endpoint, LEAST_SPACING[endpoint] * self._limits.pace, left
                )
            return await handler(request)

        return limited

    async def _list(self, request: web.Request) -> web.StreamResponse:
        if self._faults.take("deprecated"):
            return http_answers.answer(http_answers.DEPRECATED, status=410)
        if self._faults.take("null_list"):
            return http_answers.answer({"success": True, "instances": None})
        if request.query.get("after_token") and self._faults.take("broken_page"):
            return http_answers.refusal(500, "server_error", "Internal error")
        rows = [
            self._row(rental) for rental in self._listed(mid_walk="after_token" in request.query)
        ]
        try:
            answer = listing.page(rows, request.query)
        except listing.BadRequestError as error:
            return http_answers.refusal(400, error.error, error.message)
        if answer["next_token"] is None and self._faults.take("partial_walk"):
            answer["instances"] = answer["instances"][:-1]
            answer["instances_found"] = len(answer["instances"])
        return http_answers.answer(answer)

    def _listed(self, *, mid_walk: bool) -> list[Rental]:
        """Return what the list admits to have."""
        if self._faults.take("empty_list"):
            return []
        hiding = ["row_vanishes", "vanishes_mid_walk" if mid_walk else "appears_mid_walk"]
        faults = [fault for name in hiding if (fault := self._faults.take(name))]
        return [
            rental
            for rental in self._world.listed()
            if not any(fault.hits(rental.instance_id) for fault in faults)
        ]

    def _row(self, rental: Rental) -> dict[str, Any]:
        row = self._world.row(rental)
        dearer = self._faults.get("price", rental.instance_id)
        if dearer is not None:
            row["dph_base"] *= dearer.value or 2.0
            settle(row, self._world.clock.now())
        if self._faults.get("outbid", rental.instance_id):
            row |= outbid(row)
            settle(row, self._world.clock.now())
        fault = self._faults.get("odd_rows", rental.instance_id)
        return spoil(row) if fault is not None else row

    async def _old_list(self, _request: web.Request) -> web.StreamResponse:
        return http_answers.answer(http_answers.DEPRECATED, status=410)

    async def _single(self, request: web.Request) -> web.StreamResponse:
        unusable = self._faults.take("single_unusable", _id(request))
        if unusable is not None:
            return http_answers.unusable(int(unusable.value or 0))
        rental = self._world.living(_id(request))
        return http_answers.answer({"instances": None if rental is None else self._row(rental)})

    async def _manage(self, request: web.Request) -> web.StreamResponse:
        body = await http_answers.body(request)
        return self._act(request, lambda rental: self._managed(rental, body))

    async def _manage_many(self, request: web.Request) -> web.StreamResponse:
        body = await http_answers.body(request)
        refused: web.Response | None = None
        for instance_id in http_answers.ids(body, "ids"):
            rental = self._world.living(instance_id)
            answer = (
                self._managed(rental, body)
                if rental
                else http_answers.answer(http_answers.NO_INSTANCE, status=404)
            )
            refused = refused or answer
        return refused or http_answers.answer({"success": True})

    def _managed(self, rental: Rental, body: dict[str, Any]) -> web.Response | None:
        now = self._world.clock.now()
        state, label = body.get("state"), body.get("label")
        if state is None and "label" not in body:
            return http_answers.refusal(400, "invalid_args", "nothing to do")
        if state not in (None, "running", "stopped"):
            return http_answers.refusal(400, "invalid_args", f"unknown state {state}")
        if "label" in body:
            if label is not None and len(str(label)) > LABEL_LIMIT:
                return http_answers.refusal(
                    400, "label_too_long", f"more than {LABEL_LIMIT} characters"
                )
            rental.fields["label"] = None if label in (None, "") else str(label)
        if state == "stopped":
            rental.start_queued = False
            rental.host.stop(now)
        elif state == "running":
            if self._faults.get("queued", rental.instance_id):
                rental.start_queued = True
                return http_answers.answer(http_answers.QUEUED)
            rental.host.start(now)
        return None

    def _start_queued(self) -> None:
        for rental in self._world.listed():
            if rental.start_queued and not self._faults.get("queued", rental.instance_id):
                rental.start_queued = False
                rental.host.start(self._world.clock.now())

    async def _reboot(self, request: web.Request) -> web.StreamResponse:
        return self._act(request, lambda rental: rental.host.reboot(self._world.clock.now()))

    async def _recycle(self, request: web.Request) -> web.StreamResponse:
        return self._act(request, lambda rental: rental.host.recycle(self._world.clock.now()))

    def _act(
        self, request: web.Request, act: Callable[[Rental], web.Response | None]
    ) -> web.StreamResponse:
        rental = self._world.living(_id(request))
        if rental is None:
            return http_answers.answer(http_answers.NO_INSTANCE, status=404)
        if self._faults.take("refused", rental.instance_id):
            return http_answers.answer(http_answers.REFUSED)
        refused = act(rental)
        if self._faults.take("lost_answer", rental.instance_id):
            return http_answers.cut(request)
        return refused if refused is not None else http_answers.answer({"success": True})

    async def _destroy(self, request: web.Request) -> web.StreamResponse:
        def end(rental: Rental) -> None:
            self._world.destroy(rental.instance_id)

        return self._act(request, end)

    async def _destroy_many(self, request: web.Request) -> web.StreamResponse:
        ids = http_answers.ids(await http_answers.body(request), "instance_ids")
        ended = [instance_id for instance_id in ids if self._world.destroy(instance_id)]
        return http_answers.answer({"success": bool(ended)})

    async def _create(self, request: web.Request) -> web.StreamResponse:
        body = await http_answers.body(request)
        wrong = wrong_in_order(body)
        if wrong:
            return http_answers.refusal(400, "invalid_args", wrong)
        if self._faults.take("refused"):
            return http_answers.answer(http_answers.REFUSED)
        rental = None if self._faults.take("offer_lost") else self._world.create(_id(request), body)
        if rental is None:
            return http_answers.refusal(404, "no_such_ask", "The offer is no longer there")
        if self._faults.get("queued", rental.instance_id):
            rental.host.stop(self._world.clock.now())
            rental.start_queued = True
        if self._faults.take("lost_answer", rental.instance_id):
            return http_answers.cut(request)
        secret = rental.fields["jupyter_token"]
        return http_answers.answer(
            {"success": True, "new_contract": rental.instance_id, "instance_api_key": secret}
        )

    async def _bundles(self, request: web.Request) -> web.StreamResponse:
        return self._search(await http_answers.body(request))

    async def _asks(self, request: web.Request) -> web.StreamResponse:
        wanted = (await http_answers.body(request)).get("q")
        return self._search(wanted if isinstance(wanted, dict) else {})

    def _search(self, wanted: dict[str, Any]) -> web.StreamResponse:
        """Search the offers; a condition on a column they lack is let pass."""
        disk = wanted.get("allocated_storage")
        disk = float(disk) if isinstance(disk, int | float) else None
        rows = [offer_row(offer, disk) for offer in self._world.offers.values()]
        filters = {
            name: value
            for name, value in wanted.items()
            if isinstance(value, dict) and rows and name in rows[0]
        }
        try:
            found = [row for row in rows if listing.matches(row, filters, frozenset())]
        except listing.BadRequestError as error:
            return http_answers.refusal(400, error.error, error.message)
        found = listing.sorted_by(found, wanted.get("order"))
        limit = wanted.get("limit")
        return http_answers.answer(
            {"success": True, "offers": found[:limit] if isinstance(limit, int) else found}
        )

    async def _account(self, _request: web.Request) -> web.StreamResponse:
        return http_answers.answer(
            {
                "id": 100_200, "email": "operator@example.com", "username": "operator",
                "fullname": "Pretend Operator", "balance": 0.0, "credit": 342.8,
                "total_spend": -1873.42, "autobill_threshold": 0.0, "autobill_amount": 0.0,
                "balance_threshold": 10.0, "balance_threshold_enabled": True, "has_billing": True,
                "can_pay": True, "billing_creditonly": 0, "ssh_key": "", "sid": "", "key_id": 1,
                "got_signup_credit": 0, "has_payout": False, "billaddress_line1": "",
            }
        )  # fmt: skip

    async def _filters(self, _request: web.Request) -> web.StreamResponse:
        columns = ("actual_status", "verification", "gpu_name")
        rows = [self._world.row(rental) for rental in self._world.listed()]
        found = {tuple(row[name] for name in columns) for row in rows}
        filters = [dict(zip(columns, values, strict=True)) for values in sorted(found, key=str)]
        return http_answers.answer({"success": True, "filters": filters})

    async def _gpu_names(self, _request: web.Request) -> web.StreamResponse:
        return http_answers.answer({"gpu_names": [model.name for model in MODELS]})

    async def _nothing(self, _request: web.Request) -> web.StreamResponse:
        return web.Response(status=404, text=http_answers.NOT_FOUND, content_type="text/html")


def _id(request: web.Request) -> int:
    return int(request.match_info["id"])
