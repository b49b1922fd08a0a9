"""Calls of the pretend API beside the instances' lives: bids, logs, keys, deposits.

Shapes: facts, vast_api.md sections 5, 5.3 and 5.5. What a log call brings lies at an address of
its own, without a key, and is there only a moment later.
"""

import json
import secrets
from collections.abc import Callable

from aiohttp import web

from fleetui.simulator import http_answers
from fleetui.simulator.world import Rental, World

RESULTS = "/pretend-results/"
RESULT_DELAY_SECONDS = 0.6
MOST_RESULTS = 100
DEFAULT_TAIL = 1000
LEAST_BID, MOST_BID_A_GPU = 0.001, 32.0
LOG_PATH = "/var/log/entrypoint.log"


class SideCalls:
    """Handlers on one account's world; `real` is monotonic time."""

    def __init__(self, world: World, real: Callable[[], float]) -> None:
        self._world = world
        self._real = real
        self._results: dict[str, tuple[float, str]] = {}

    async def bid(self, request: web.Request) -> web.StreamResponse:
        """Change what is bid for an interruptible instance; null is the least that wins."""
        rental, body = self._rental(request), await http_answers.body(request)
        if rental is None:
            return http_answers.answer(http_answers.NO_INSTANCE, status=404)
        price, most = body.get("price"), MOST_BID_A_GPU * rental.fields["num_gpus"]
        if price is None:
            price = rental.fields["min_bid"]
        if not isinstance(price, int | float) or not LEAST_BID <= price <= most:
            text = f"price must lie between {LEAST_BID} and {most}"
            return http_answers.refusal(400, "invalid_price", text)
        rental.fields |= {"dph_base": float(price), "is_bid": True}
        return http_answers.answer({"success": True})

    async def logs(self, request: web.Request) -> web.StreamResponse:
        """Ask for the end of a container's log; the answer says where it will lie."""
        rental, body = self._rental(request), await http_answers.body(request)
        if rental is None:
            return http_answers.refusal(404, "invalid_id", "Invalid instance id")
        try:
            tail = int(body.get("tail") or DEFAULT_TAIL)
        except (TypeError, ValueError):
            return http_answers.refusal(400, "invalid_args", "tail must be a number of lines")
        wanted = str(body.get("filter") or "")
        lines = [line for line in self._log_of(rental).splitlines() if wanted in line]
        while len(self._results) >= MOST_RESULTS:
            del self._results[next(iter(self._results))]
        token = secrets.token_hex(16)
        due = self._real() + RESULT_DELAY_SECONDS
        self._results[token] = due, "\n".join(lines[-max(tail, 0) :]) + "\n"
        url = f"{request.url.origin()}{RESULTS}{token}"
        return http_answers.answer({"success": True, "result_url": url, "msg": "Logs requested"})

    async def result(self, request: web.Request) -> web.StreamResponse:
        """Bring what a log call promised, once it is there."""
        due, text = self._results.get(request.match_info["token"], (float("inf"), ""))
        if self._real() < due:
            return web.Response(status=404, text="<Error><Code>NoSuchKey</Code></Error>")
        return web.Response(text=text)

    async def instance_keys(self, request: web.Request) -> web.StreamResponse:
        """List the SSH keys of an instance: a list in a JSON string."""
        if self._rental(request) is None:
            return http_answers.answer(http_answers.NO_INSTANCE, status=404)
        return http_answers.answer({"success": True, "ssh_keys": json.dumps([])})

    async def account_keys(self, _request: web.Request) -> web.StreamResponse:
        """List the SSH keys of the account."""
        return http_answers.answer([])

    async def deposit(self, request: web.Request) -> web.StreamResponse:
        """Tell what of a reservation would be paid back."""
        if self._rental(request) is None:
            return http_answers.answer(http_answers.NO_INSTANCE, status=404)
        nothing = {"refundable_deposit": 0.0, "total_discount": 0.0, "discount_months": 0}
        return http_answers.answer(nothing)

    def _rental(self, request: web.Request) -> Rental | None:
        return self._world.living(int(request.match_info["id"]))

    def _log_of(self, rental: Rental) -> str:
        """Return what the container printed, as far as this kind of host has it."""
        machine = getattr(rental.host, "machine", None)
        running = self._world.row(rental)["actual_status"] == "running"
        if machine is None or not running or not machine.files.exists(LOG_PATH):
            return f"Error response from daemon: No such container: C.{rental.instance_id}"
        data: bytes = machine.files.read(LOG_PATH)
        return data.decode("utf-8", "replace")
