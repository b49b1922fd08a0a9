"""A collector ends when its keeper's end of the lifeline is closed."""

import asyncio
import os

from fleetui.collector.lifetime import lifeline
from fleetui.collector.tenure import pause


async def test_lifeline_end_sets_stop() -> None:
    read, write = os.pipe()
    stop = asyncio.Event()
    with lifeline(read, stop):
        os.write(write, b"still here")
        assert not await pause(stop, 0.05)
        os.close(write)
        async with asyncio.timeout(10):
            await stop.wait()
    os.close(read)


async def test_without_a_lifeline_nothing_happens() -> None:
    stop = asyncio.Event()
    with lifeline(None, stop):
        assert not await pause(stop, 0.01)


async def test_pause_ends_early_on_stop() -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, stop.set)
    async with asyncio.timeout(10):
        assert await pause(stop, 600)
