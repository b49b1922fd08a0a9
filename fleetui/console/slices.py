"""Long looks through what is loaded, in slices between which keys are answered."""

import asyncio
import time
from collections.abc import Iterator

SLICE_SECONDS = 0.004
PAUSE_SECONDS = 0.001
"""Enough for a key to be handled and drawn; a mere yield would let one step of it through."""


async def found_in_slices(steps: Iterator[int | None]) -> int | None:
    """Run a search that yields `None` now and then and at last what it found; return that."""
    begun = time.monotonic()
    for found in steps:
        if found is not None:
            return found
        if time.monotonic() - begun > SLICE_SECONDS:
            await asyncio.sleep(PAUSE_SECONDS)
            begun = time.monotonic()
    return None
