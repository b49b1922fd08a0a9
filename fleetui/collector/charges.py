"""Keeps the API's charges day by day, to compare them with what was counted."""

import asyncio
import logging
from collections import defaultdict

import msgspec

from fleetui.collector.health import HealthBoard, Part
from fleetui.domain.clock import Clock
from fleetui.domain.money import DAY_SECONDS
from fleetui.store.interface import CollectorStore, Lease
from fleetui.vast.client import VastClient
from fleetui.vast.errors import Trouble, VastError

log = logging.getLogger(__name__)

NOTHING_YET_SECONDS = 60.0
"""Until something was counted the next look comes at the latest after this."""
DAYS_BACK = 30
"""As far as our own count is compared at the first look."""


class ChargeKeeper:
    """Reads each day that is over once, and the present one anew at each look."""

    def __init__(
        self,
        client: VastClient,
        store: CollectorStore,
        lease: Lease,
        *,
        interval_seconds: float,
        health: HealthBoard,
        clock: Clock,
    ) -> None:
        self._client = client
        self._store = store
        self._lease = lease
        self._interval = interval_seconds
        self._health = health
        self._clock = clock

    async def run(self) -> None:
        """Look now and then until cancelled."""
        while True:
            pause = self._interval
            try:
                if not await self.look():
                    pause = min(pause, NOTHING_YET_SECONDS)
            except VastError as error:
                log.warning("no charges: %s", error)
                if error.problem.trouble is not Trouble.SCOPE:
                    self._health.trouble(Part.CHARGES, f"not known: {error}")
            else:
                self._health.well(Part.CHARGES)
            await asyncio.sleep(pause)

    async def look(self) -> bool:
        """Read what is not known in whole; false: nothing was counted yet to compare with.

        Raises:
            VastError: the API did not answer usably; the days before are kept.
        """
        today = int(self._clock.now() // DAY_SECONDS)
        first = today - DAYS_BACK
        counted = await self._store.spend(first)
        if not counted:
            return False
        known = {day.day for day in await self._store.charges(first) if day.whole}
        for day in range(min(item.day for item in counted), today + 1):
            if day not in known:
                charges = await self._client.charges(day)
                if not charges.whole:
                    ours: dict[int, float] = defaultdict(float)
                    for item in await self._store.spend(day):
                        if item.day == day:
                            ours[item.instance_id] += item.dollars
                    charges = msgspec.structs.replace(charges, counted=dict(ours))
                await self._store.keep_charges(self._lease, charges)
        return True
