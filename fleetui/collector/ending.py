"""Ending a task for certain."""

import asyncio
from typing import Any

AGAIN_SECONDS = 1.0


async def end(task: asyncio.Task[Any]) -> None:
    """Cancel a task until it has ended; its exception, if any, is dropped.

    One cancellation can get lost: when a child of a `TaskGroup` fails in the same moment, the
    group raises the failure and not the cancellation (before Python 3.13).
    """
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=AGAIN_SECONDS)
    if not task.cancelled():
        task.exception()
