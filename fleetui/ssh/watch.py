"""Whether somebody looks at a host, and how those who wait learn that something changed."""

import asyncio


class Changes:
    """Counts changes, and wakes those who wait for the next one.

    An `asyncio.Event` and a time-out for each of them would be a tenth of a connection's memory.
    """

    __slots__ = ("_waiters", "count")

    def __init__(self) -> None:
        self.count = 0
        self._waiters: list[asyncio.Future[None]] = []

    def tell(self) -> None:
        """Count a change."""
        self.count += 1
        for waiter in self._waiters:
            _wake(waiter)

    async def after(self, count: int, seconds: float | None = None) -> bool:
        """Wait until `count` is no more what it was; false when that took `seconds`."""
        if self.count == count:
            loop = asyncio.get_running_loop()
            waiter = loop.create_future()
            timer = None if seconds is None else loop.call_later(seconds, _wake, waiter)
            self._waiters.append(waiter)
            try:
                await waiter
            finally:
                self._waiters.remove(waiter)
                if timer is not None:
                    timer.cancel()
        return self.count != count


class Watch(Changes):
    """A flag, and its changes."""

    __slots__ = ("watched",)

    def __init__(self) -> None:
        super().__init__()
        self.watched = False

    def set(self, *, watched: bool) -> None:
        """Set the flag; tells when it changed."""
        if watched != self.watched:
            self.watched = watched
            self.tell()


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
