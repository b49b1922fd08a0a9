"""A small pretend fleet for tests: the simulator's API over hosts without any workload."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx

from fleetui.domain.clock import Clock, ScaledClock
from fleetui.domain.secret import Secret
from fleetui.simulator.run import Cast, Serving, serving
from fleetui.vast.client import ApiSettings, VastClient
from fleetui.vast.limiter import Limiter
from openssh import Sshd

KEY = "test-key-0123456789abcdef"


class IdleHost:
    """A host that only has a state."""

    def __init__(
        self, instance_id: int, scenario: str, seed: int, clock: Clock, started_at: float
    ) -> None:
        del scenario, seed, clock
        self.instance_id = instance_id
        self.status = "running"
        self.intended = "running"
        self.started_at = started_at
        self.reboots = 0

    def api_view(self, now: float) -> Mapping[str, Any]:
        running = self.status == "running"
        return {
            "actual_status": self.status,
            "intended_status": self.intended,
            "cur_state": self.intended,
            "next_state": self.intended,
            "status_msg": "success, running image/ssh\n" if running else None,
            "uptime_mins": (now - self.started_at) / 60.0 if running else None,
            "gpu_util": 97.5 if running else None,
            "gpu_temp": 66.0 if running else None,
        }

    def stop(self, now: float) -> None:
        del now
        self.status = self.intended = "stopped"

    def start(self, now: float) -> None:
        self.started_at = now
        self.status = self.intended = "running"

    def reboot(self, now: float) -> None:
        self.reboots += 1
        self.started_at = now
        self.status = "rebooting"

    def recycle(self, now: float) -> None:
        self.started_at = now
        self.status = "recycling"


class Ports:
    """Listens on plain TCP ports where the SSH hosts would be."""

    def __init__(self, authorized_key: str) -> None:
        del authorized_key
        self._servers: dict[int, asyncio.Server] = {}
        self.cuts: list[int] = []
        self.changed_keys: list[int] = []

    async def open(self, host: IdleHost) -> int:
        server = await asyncio.start_server(_hang_up, "127.0.0.1", 0)
        self._servers[host.instance_id] = server
        port: int = server.sockets[0].getsockname()[1]
        return port

    async def close(self, instance_id: int) -> None:
        server = self._servers.pop(instance_id, None)
        if server is not None:
            server.close()
            await server.wait_closed()

    def cut(self, instance_id: int) -> int:
        self.cuts.append(instance_id)
        return 1

    def refuse_keys(self, instance_id: int, *, on: bool) -> None:
        del instance_id, on

    async def change_host_key(self, instance_id: int) -> None:
        self.changed_keys.append(instance_id)

    def connections(self, instance_id: int) -> int:
        return int(instance_id in self._servers)

    async def aclose(self) -> None:
        for instance_id in list(self._servers):
            await self.close(instance_id)


class RealPorts(Ports):
    """The host's SSH is a real server."""

    def __init__(self, sshd: Sshd) -> None:
        super().__init__("")
        self._sshd = sshd

    async def open(self, host: IdleHost) -> int:
        del host
        return self._sshd.port

    async def close(self, instance_id: int) -> None:
        del instance_id


async def _hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


class RealTime:
    """A monotonic time that tests move by hand."""

    def __init__(self) -> None:
        self.value = 1000.0

    def __call__(self) -> float:
        return self.value


def idle_cast(hosts: int) -> Cast:
    return Cast([("idle", 600.0)] * hosts, IdleHost, Ports, "idle")


@contextlib.asynccontextmanager
async def pretend_vast(
    hosts: int, *, pace: float = 0.0, real: RealTime | None = None
) -> AsyncIterator[Serving]:
    """Serve idle hosts in this process; without `real`, time is the machine's."""
    clock = ScaledClock(1_790_000_000.0, 1_790_000_000.0, 1.0, lambda: 1_790_000_060.0)
    more = {} if real is None else {"real": real}
    async with serving(
        idle_cast(hosts), seed=7, clock=clock, public_key="", key=KEY, pace=pace, **more
    ) as served:
        yield served


@contextlib.asynccontextmanager
async def client_of(
    url: str,
    *,
    key: str | None = KEY,
    write_key: str | None = None,
    pace: float = 0.0,
    deadline_seconds: float = 10.0,
) -> AsyncIterator[VastClient]:
    settings = ApiSettings(
        base_url=url,
        read_key=Secret(key) if key is not None else None,
        write_key=Secret(write_key) if write_key is not None else None,
    )
    async with httpx.AsyncClient() as http:
        yield VastClient(
            settings,
            Limiter(pace),
            http,
            randomness=random.Random(1),  # noqa: S311 - jitter
            deadline_seconds=deadline_seconds,
            backoff_seconds=0.01,
        )
