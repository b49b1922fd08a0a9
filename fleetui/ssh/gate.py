"""A bound on handshakes that run at once."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class HandshakeGate:
    """Lets at most `limit` handshakes run; the others wait in their order.

    When it is crowded each one also waits up to `spread_seconds`, so that hosts behind one
    address are not hit in the same instant.
    """

    def __init__(
        self,
        limit: int = 64,
        *,
        spread_seconds: float = 0.2,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._slots = asyncio.Semaphore(limit)
        self._spread_seconds = spread_seconds
        self._jitter = jitter
        self.active = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it."""
        async with self._slots:
            self.active += 1
            try:
                if self.active > 1:
                    await asyncio.sleep(self._spread_seconds * self._jitter())
                yield
            finally:
                self.active -= 1
