"""The simulator's own port: what is true in the pretend fleet, and what shall go wrong."""

from typing import Any

import msgspec
from aiohttp import web

from fleetui.simulator.doors import Doors
from fleetui.simulator.faults import KNOWN, Faults
from fleetui.simulator.vast_api import VastApi
from fleetui.simulator.world import Rental, World


class FaultOrder(msgspec.Struct, forbid_unknown_fields=True):
    """Body of `POST /faults`."""

    name: str
    on: bool = True
    instances: list[int] = []
    value: float | None = None
    calls: int | None = None


class Control:
    """`GET /state`, `GET|POST|DELETE /faults`, `GET /requests`, `POST /hosts/{id}/{action}`."""

    def __init__(self, world: World, faults: Faults, api: VastApi, doors: Doors) -> None:
        self._world = world
        self._faults = faults
        self._api = api
        self._doors = doors
        self.app = web.Application()
        route = self.app.router.add_route
        route("GET", "/state", self._state)
        route("GET", "/requests", self._requests)
        route("GET", "/faults", self._get_faults)
        route("POST", "/faults", self._post_fault)
        route("DELETE", "/faults", self._clear)
        route("DELETE", "/faults/{name}", self._clear)
        route("POST", r"/hosts/{id:\d{1,18}}/{action}", self._host)

    async def _state(self, _request: web.Request) -> web.Response:
        return web.json_response(
            {
                "seed": self._world.seed,
                "clock": str(self._world.clock),
                "now": self._world.clock.now(),
                "faults": self._faults.state(),
                "instances": [self._instance(rental) for rental in self._world.listed()],
            }
        )

    def _instance(self, rental: Rental) -> dict[str, Any]:
        row = self._world.row(rental)
        return {
            "id": rental.instance_id,
            "machine_id": row["machine_id"],
            "label": row["label"],
            "scenario": rental.scenario,
            "actual_status": row["actual_status"],
            "intended_status": row["intended_status"],
            "destroyed": rental.destroyed_at is not None,
            "ssh_port": rental.ssh_port,
            "ssh_connections": self._doors.connections(rental.instance_id),
        }

    async def _requests(self, _request: web.Request) -> web.Response:
        return web.json_response(
            [
                {
                    "method": call.method,
                    "path": call.path,
                    "query": call.query,
                    "body": call.body,
                    "agent": call.agent,
                    "status": call.status,
                }
                for call in self._api.recorded
            ]
        )

    async def _get_faults(self, _request: web.Request) -> web.Response:
        return web.json_response({"on": self._faults.state(), "known": KNOWN})

    async def _post_fault(self, request: web.Request) -> web.Response:
        try:
            order = msgspec.json.decode(await request.read(), type=FaultOrder)
        except msgspec.MsgspecError as error:
            return _refusal(400, str(error))
        if order.name not in KNOWN:
            return _refusal(404, f"no such fault; known: {', '.join(KNOWN)}")
        if not order.on:
            self._faults.switch_off(order.name)
        elif order.name == "ssh_cut":
            await self._doors.cut(order.instances)
        elif order.name == "host_key_changed":
            await self._doors.change_host_keys(order.instances)
        else:
            self._faults.switch_on(
                order.name, instances=order.instances, value=order.value, calls=order.calls
            )
        await self._doors.settle()
        return web.json_response({"on": self._faults.state()})

    async def _clear(self, request: web.Request) -> web.Response:
        self._faults.switch_off(request.match_info.get("name"))
        await self._doors.settle()
        return web.json_response({"on": self._faults.state()})

    async def _host(self, request: web.Request) -> web.Response:
        instance_id, action = int(request.match_info["id"]), request.match_info["action"]
        rental = self._world.living(instance_id)
        if rental is None:
            return _refusal(404, "no such instance")
        now = self._world.clock.now()
        if action in ("stop", "start", "reboot", "recycle"):
            getattr(rental.host, action)(now)
        elif action == "restart_daemon":
            restart = getattr(rental.host, "restart_daemon", None)
            if restart is None:
                return _refusal(404, "this host has no daemon")
            restart()
        elif action == "destroy":
            self._world.destroy(instance_id)
        elif action == "cut":
            await self._doors.cut((instance_id,))
        else:
            return _refusal(404, f"no such action: {action}")
        await self._doors.settle()
        return web.json_response({"ok": True})


def _refusal(status: int, text: str) -> web.Response:
    return web.json_response({"error": text}, status=status)
