"""A bound on handshakes that run at once."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary


class _Lane:
    """Slots, at most half of them for suspects."""

    def __init__(self, limit: int) -> None:
        self.slots = asyncio.Semaphore(limit)
        self.suspects = asyncio.Semaphore(max(1, limit // 2))


class HandshakeGate:
    """Lets at most `limit` handshakes run, and `host_limit` with one host; the others wait.

    A host may stand for many instances (Vast's proxies do), and sshd refuses some of more than
    ten logins at once (`MaxStartups`). A suspect is an instance whose last try failed: one that
    does not answer holds its slot until its time is up, so suspects get half of the slots, and
    those that answer are not kept waiting by those that do not.

    When it is crowded each one first waits up to `spread_seconds`, so that an outage of the whole
    network does not end in one instant.
    """

    def __init__(
        self,
        limit: int = 64,
        *,
        host_limit: int = 8,
        spread_seconds: float = 0.2,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._all = _Lane(limit)
        self._host_limit = host_limit
        self._hosts: WeakValueDictionary[str, _Lane] = WeakValueDictionary()
        self._spread_seconds = spread_seconds
        self._jitter = jitter
        self._inside = 0
        self.active = 0

    @asynccontextmanager
    async def slot(self, host: str, *, suspect: bool = False) -> AsyncIterator[None]:
        """Wait for a slot and hold it."""
        lanes = (self._lane(host), self._all)
        self._inside += 1
        try:
            if self._inside > 1:
                await asyncio.sleep(self._spread_seconds * self._jitter())
            async with AsyncExitStack() as held:
                for lane in lanes if suspect else ():
                    await held.enter_async_context(lane.suspects)
                for lane in lanes:
                    await held.enter_async_context(lane.slots)
                self.active += 1
                try:
                    yield
                finally:
                    self.active -= 1
        finally:
            self._inside -= 1

    def _lane(self, host: str) -> _Lane:
        lane = self._hosts.get(host)
        if lane is None:
            lane = self._hosts[host] = _Lane(self._host_limit)
        return lane
