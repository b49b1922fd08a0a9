"""An event loop for a thousand connections that each bring a little.

Asking the kernel what has come costs more than reading one small packet. At most so many times a
second, each time brings the packets of many hosts.
"""

import asyncio
import select
import selectors
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

PAUSE_SECONDS = 0.005
"""What has come may wait for so long, which nobody sees."""


class PacedSelector(selectors.DefaultSelector):
    """Waits a moment between two looks, unless there is something to do meanwhile.

    What is registered first is the loop's own: other threads wake it by that, at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self._looked_at = 0.0
        self._own: list[int] = []

    def register(
        self, fileobj: "FileDescriptorLike", events: int, data: object = None
    ) -> selectors.SelectorKey:
        """Take something to look at."""
        key = super().register(fileobj, events, data)
        self._own = self._own or [key.fd]
        return key

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready, waiting for up to `timeout` seconds (`None`: for ever)."""
        pause = self._looked_at + PAUSE_SECONDS - time.monotonic()
        if pause > 0 and (timeout is None or timeout > pause):
            select.select(self._own, (), (), pause)
            timeout = None if timeout is None else timeout - pause
        ready = super().select(timeout)
        self._looked_at = time.monotonic()
        return ready


def paced_loop() -> asyncio.AbstractEventLoop:
    """Make such a loop, for `asyncio.Runner`."""
    return asyncio.SelectorEventLoop(PacedSelector())
