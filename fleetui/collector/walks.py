"""Passes over the instance list, and what they prove."""

import asyncio
import logging
from collections.abc import Callable

from fleetui.collector.health import HealthBoard, Part
from fleetui.domain.instance import WalkOutcome
from fleetui.vast.client import VastClient, WalkResult
from fleetui.vast.errors import VastError
from fleetui.vast.inventory import Changes, Inventory

log = logging.getLogger(__name__)


class CompleteWalk:
    """The ids that the newest complete walk listed; `started` is the loop's time."""

    def __init__(self, started: float, ids: frozenset[int]) -> None:
        self.started = started
        self.ids = ids


class Walks:
    """Walks every interval, or sooner on request, and hands results on in order.

    `on_walk(result, changes)` gets every walk, failed ones too; `on_gone(instance_id)` gets an
    id once its absence is proven (two complete walks and a single answer that says so).
    """

    def __init__(
        self,
        client: VastClient,
        inventory: Inventory,
        *,
        interval_seconds: float,
        account_interval_seconds: float,
        health: HealthBoard,
        on_walk: Callable[[WalkResult, Changes], None],
        on_gone: Callable[[int], None],
    ) -> None:
        self._client = client
        self._inventory = inventory
        self._interval = interval_seconds
        self._account_interval = account_interval_seconds
        self._health = health
        self._on_walk = on_walk
        self._on_gone = on_gone
        self._asked = asyncio.Event()
        self._turn = asyncio.Event()
        self._newest: CompleteWalk | None = None

    def ask(self) -> None:
        """Ask for a walk before the interval ends; the client's limiter still rules."""
        self._asked.set()

    async def complete_since(self, loop_time: float) -> CompleteWalk:
        """Ask for and wait for a complete walk that started after that time of the loop."""
        while self._newest is None or self._newest.started < loop_time:
            self.ask()
            await self._turn.wait()
        return self._newest

    async def run(self) -> None:
        """Walk until cancelled."""
        while True:
            self._asked.clear()
            await self.walk()
            try:
                async with asyncio.timeout(self._interval):
                    await self._asked.wait()
            except TimeoutError:
                pass

    async def walk(self) -> None:
        """Do one walk and settle its suspects."""
        started = asyncio.get_running_loop().time()
        result = await self._client.walk()
        self._health.walked(result.walk)
        changes = self._inventory.apply(result)
        self._on_walk(result, changes)
        for instance_id in changes.suspects:
            presence = await self._client.single(instance_id, urgent=False)
            if self._inventory.confirm(instance_id, presence):
                self._on_gone(instance_id)
        if result.walk.outcome is WalkOutcome.COMPLETE:
            ids = frozenset(instance.instance_id for instance in result.instances)
            self._newest = CompleteWalk(started, ids)
        else:
            log.warning("walk failed: %s", result.walk.error)
        turn, self._turn = self._turn, asyncio.Event()
        turn.set()

    async def watch_account(self) -> None:
        """Ask for the balance now and then until cancelled."""
        while True:
            try:
                account = await self._client.account()
            except VastError as error:
                self._health.trouble(Part.ACCOUNT, f"no balance: {error}")
            else:
                self._health.balance = account.credit or account.balance
                self._health.well(Part.ACCOUNT)
            await asyncio.sleep(self._account_interval)
