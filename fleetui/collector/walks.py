"""Passes over the instance list, and what they prove."""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable

from fleetui.collector.health import HealthBoard, Part
from fleetui.domain.clock import Clock
from fleetui.domain.instance import WalkOutcome
from fleetui.domain.intent import Event
from fleetui.vast.client import VastClient, WalkResult
from fleetui.vast.errors import VastError
from fleetui.vast.inventory import Inventory

log = logging.getLogger(__name__)


LEAST_PAUSE_SECONDS = 2.0
"""Between two walks, however urgently the next is asked for."""


REMEMBERED = 8


class Walks:
    """Walks every interval, or sooner on request, and settles whom the walks miss.

    `on_walk(result, events)` gets every walk, failed ones too; `on_gone(event)` gets the proof of
    an absence: two complete walks and a single answer that says so.
    """

    def __init__(
        self,
        client: VastClient,
        inventory: Inventory,
        *,
        interval_seconds: float,
        account_interval_seconds: float,
        health: HealthBoard,
        clock: Clock,
        on_walk: Callable[[WalkResult, tuple[Event, ...]], None],
        on_gone: Callable[[Event], None],
    ) -> None:
        self._client = client
        self._inventory = inventory
        self._interval = interval_seconds
        self._account_interval = account_interval_seconds
        self._health = health
        self._clock = clock
        self._on_walk = on_walk
        self._on_gone = on_gone
        self._asked = asyncio.Event()
        self._news = asyncio.Event()
        self._listed: frozenset[int] = frozenset()
        self.listed_since = float("-inf")
        """When the newest complete walk began, in the loop's time."""
        self._complete: deque[float] = deque(maxlen=REMEMBERED)

    def ask(self) -> None:
        """Ask for a walk before the interval ends; the client's limiter still rules."""
        self._asked.set()

    async def absence_proven(self, instance_id: int, *, loop_time: float) -> bool:
        """Wait for the proof that an instance is gone.

        False: a complete walk that began after that time of the loop still lists it.
        """
        while instance_id in self._inventory:
            if self.listed_since >= loop_time and instance_id in self._listed:
                return False
            self.ask()
            await self._news.wait()
        return True

    def lists(self, instance_id: int) -> bool:
        """Whether the newest complete walk listed it."""
        return instance_id in self._listed

    def complete_since(self, loop_time: float) -> int:
        """Return how many of the newest complete walks began after that time of the loop."""
        return sum(started > loop_time for started in self._complete)

    async def run(self) -> None:
        """Walk until cancelled."""
        while True:
            self._asked.clear()
            await self.walk()
            pause = min(LEAST_PAUSE_SECONDS, self._interval)
            await asyncio.sleep(pause)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._interval - pause):
                    await self._asked.wait()

    async def walk(self) -> None:
        """Do one walk."""
        started = asyncio.get_running_loop().time()
        result = await self._client.walk()
        self._health.walked(result)
        self._on_walk(result, self._inventory.apply(result))
        if result.walk.outcome is WalkOutcome.COMPLETE:
            self._listed = frozenset(instance.instance_id for instance in result.instances)
            self.listed_since = started
            self._complete.append(started)
        else:
            log.warning("walk failed: %s", result.walk.error)
            if result.walk.total_reported not in (None, result.walk.rows):
                # The fleet changed under the walk: the next one will most likely be whole.
                self.ask()
        self._tell()

    async def settle_suspects(self) -> None:
        """Look once after each walk at whoever is missed, until cancelled.

        Beside the walks: each look costs two seconds of its own, and a list that came back short
        must not keep the next one from setting it right.
        """
        while True:
            news = self._news
            for instance_id in self._inventory.suspects:
                if self._inventory.is_suspect(instance_id):
                    await self._look(instance_id)
            await news.wait()

    async def _look(self, instance_id: int) -> None:
        presence = await self._client.single(instance_id)
        event = self._inventory.confirm(instance_id, presence, self._clock.now())
        if event is not None:
            self._on_gone(event)
            self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def watch_account(self) -> None:
        """Ask for the balance now and then until cancelled."""
        while True:
            try:
                account = await self._client.account()
            except VastError as error:
                self._health.trouble(Part.ACCOUNT, f"no balance: {error}")
            else:
                self._health.balance = account.spendable
                self._health.well(Part.ACCOUNT)
            await asyncio.sleep(self._account_interval)
