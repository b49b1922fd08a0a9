"""Spacing between calls, one limiter for one API identity (facts: vast_api.md section 6.2)."""

import asyncio
import contextlib
import heapq
import itertools
from collections.abc import AsyncIterator
from enum import Enum

QUEUE_LIMIT = 512
LONGEST_SPACING_SECONDS = 60.0
MARGIN = 1.05
"""The server counts arrivals, which jitter against our sendings and follow them late when a
connection is new; so the next call also keeps its distance from the last answer."""
WIDEST = 4.0
"""Times the norm: refusals in a row must not slow the reading down for the rest of the night."""
_CALM_CALLS = 5


class Endpoint(Enum):
    """What the API limits by: method and route, with the least seconds between two calls.

    `scope` is the permission a key needs for it (facts: vast_api.md section 1.5).
    """

    LIST = ("GET list", 1.0, "instance_read")
    SINGLE = ("GET single", 2.0, "instance_read")
    DESTROY = ("DELETE", 3.0, "instance_write")
    MANAGE = ("PUT manage", 1.0, "instance_write")
    REBOOT = ("PUT reboot", 1.0, "instance_write")
    RECYCLE = ("PUT recycle", 1.0, "instance_write")
    ACCOUNT = ("GET account", 1.0, "user_read")
    SEARCH = ("search", 6.0, "misc")
    RENT = ("asks", 4.5, "instance_write")
    CHARGES = ("GET charges", 1.0, "billing_read")

    def __init__(self, title: str, spacing: float, scope: str) -> None:
        self.title = title
        self.spacing = spacing
        self.scope = scope


class LimiterFullError(Exception):
    """More calls wait for this endpoint than could be served in good time."""


class Lane:
    """The queue of one endpoint: one call at a time, urgent ones first, else in order."""

    def __init__(self, spacing: float) -> None:
        self.base = spacing
        self.spacing = spacing
        self.calm = 0
        self.next_at = 0.0
        self._busy = False
        self._queue: list[tuple[int, int]] = []
        self._tickets = itertools.count()
        self._changed = asyncio.Event()

    async def enter(self, *, urgent: bool) -> None:
        """Wait for this call's turn.

        Raises:
            LimiterFullError: the queue is full.
        """
        if len(self._queue) >= QUEUE_LIMIT:
            raise LimiterFullError(f"{QUEUE_LIMIT} calls wait already")
        ticket = (0 if urgent else 1, next(self._tickets))
        heapq.heappush(self._queue, ticket)
        loop = asyncio.get_running_loop()
        self._wake()
        try:
            while True:
                delay: float | None = None
                if not self._busy and self._queue[0] == ticket:
                    delay = self.next_at - loop.time()
                    if delay <= 0:
                        self._busy = True
                        self.next_at = loop.time() + self.spacing * MARGIN
                        return
                changed = self._changed
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(delay):
                        await changed.wait()
        finally:
            self._queue.remove(ticket)
            heapq.heapify(self._queue)
            self._wake()

    def leave(self) -> None:
        """Let the next call in when its time has come."""
        self._busy = False
        self.next_at = max(self.next_at, asyncio.get_running_loop().time() + self.spacing)
        self._wake()

    def calmed(self) -> None:
        """A call went well; after a calm while the spacing shrinks back towards the norm."""
        self.calm += 1
        if self.calm >= _CALM_CALLS:
            self.calm = 0
            self.spacing = max(self.base, self.spacing * 0.8)

    def crowded(self, pause: float | None, spacing: float | None) -> None:
        """The server found the calls too frequent: widen the spacing and keep the pause.

        `spacing` is what the server says is the least one: from then on that is the norm.
        """
        self.calm = 0
        if spacing is not None:
            self.base = max(self.base, min(spacing, LONGEST_SPACING_SECONDS))
        self.spacing = max(self.base, min(self.spacing * 1.5, self.base * WIDEST))
        now = asyncio.get_running_loop().time()
        self.next_at = max(self.next_at, now + (pause if pause is not None else self.spacing))
        self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class Limiter:
    """Hands out turns. `pace` scales every spacing; 1 is what the API documents."""

    def __init__(self, pace: float = 1.0) -> None:
        self._lanes = {endpoint: Lane(endpoint.spacing * pace) for endpoint in Endpoint}

    @contextlib.asynccontextmanager
    async def turn(self, endpoint: Endpoint, *, urgent: bool = False) -> AsyncIterator[Lane]:
        """Wait for a turn and hold it while the call is under way.

        Raises:
            LimiterFullError: too many calls wait for this endpoint.
        """
        lane = self._lanes[endpoint]
        await lane.enter(urgent=urgent)
        try:
            yield lane
        finally:
            lane.leave()
