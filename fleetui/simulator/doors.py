"""Keeps each host's SSH port open exactly while its container runs and no fault forbids it."""

import asyncio
from collections.abc import Iterable
from typing import Any, Protocol

from fleetui.simulator.faults import Faults
from fleetui.simulator.world import Rental, World

INTERVAL_SECONDS = 0.3


class SshPorts(Protocol):
    """What is needed of the SSH server (`hosts.ssh_server.SshServer`)."""

    async def open(self, host: Any) -> int:  # noqa: ANN401 - the server knows its own hosts
        """Listen for a host; returns its port."""

    async def close(self, instance_id: int) -> None:
        """Stop listening and cut the connections."""

    def cut(self, instance_id: int) -> int:
        """Cut the connections."""

    def refuse_keys(self, instance_id: int, *, on: bool) -> None:
        """Refuse every user key."""

    async def change_host_key(self, instance_id: int) -> None:
        """Show another host key from now on."""

    def connections(self, instance_id: int) -> int:
        """Return how many connections there are."""


class Doors:
    """Opens and closes ports as instances start and stop, and acts out the SSH faults."""

    def __init__(self, world: World, faults: Faults, ssh: SshPorts) -> None:
        self._world = world
        self._faults = faults
        self._ssh = ssh
        self._open: set[int] = set()
        self._known: set[int] = set()
        self._refusing: set[int] = set()
        self._turn = asyncio.Lock()

    async def run(self) -> None:
        """Settle again and again until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            await self.settle()
            # A large fleet takes long to look over: leave most of the time to its SSH sessions.
            await asyncio.sleep(max(INTERVAL_SECONDS, 3 * (loop.time() - began)))

    async def settle(self) -> None:
        """Bring every port into the state it should have now.

        A cancelled caller waits for the end: a port half opened would be nobody's to close.
        """
        settling = asyncio.create_task(self._settle(), name="settle the doors")
        try:
            await asyncio.shield(settling)
        except asyncio.CancelledError:
            await settling
            raise

    async def _settle(self) -> None:
        async with self._turn:
            rentals = {rental.instance_id: rental for rental in self._world.listed()}
            for rental in rentals.values():
                await self._settle_one(rental)
                await asyncio.sleep(0)
            for instance_id in self._open - rentals.keys():
                await self._close(instance_id)

    async def cut(self, instances: Iterable[int]) -> None:
        """Cut the connections of some instances (none given means all)."""
        for instance_id in tuple(instances) or tuple(self._known):
            self._ssh.cut(instance_id)

    async def change_host_keys(self, instances: Iterable[int]) -> None:
        """Give some instances (none given means all) another host key."""
        async with self._turn:
            for instance_id in tuple(instances) or tuple(self._known):
                if instance_id in self._known:
                    await self._ssh.change_host_key(instance_id)

    def connections(self, instance_id: int) -> int:
        """Return how many SSH connections an instance has."""
        return self._ssh.connections(instance_id) if instance_id in self._known else 0

    async def _settle_one(self, rental: Rental) -> None:
        instance_id = rental.instance_id
        runs = rental.destroyed_at is None and self._runs(rental)
        wanted = runs and self._faults.get("ssh_refused", instance_id) is None
        if wanted and instance_id not in self._open:
            rental.ssh_port = await self._ssh.open(rental.host)
            self._open.add(instance_id)
            self._known.add(instance_id)
        elif not wanted and instance_id in self._open:
            await self._close(instance_id)
        refuse = self._faults.get("ssh_auth", instance_id) is not None
        if instance_id in self._known and refuse != (instance_id in self._refusing):
            self._ssh.refuse_keys(instance_id, on=refuse)
            (self._refusing.add if refuse else self._refusing.discard)(instance_id)

    def _runs(self, rental: Rental) -> bool:
        view = rental.host.api_view(self._world.clock.now())
        return bool(view.get("actual_status") == "running")

    async def _close(self, instance_id: int) -> None:
        self._open.discard(instance_id)
        await self._ssh.close(instance_id)
