"""Why a collector ends by itself: nobody looks any more, or its keeper is gone."""

import asyncio
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from fleetui.store.interface import CollectorStore, StoreError

log = logging.getLogger(__name__)

VIEWER_LOOK_SECONDS = 1.0


class End(StrEnum):
    """How a run ended."""

    STOPPED = "stopped"
    NO_VIEWER = "no viewer"
    STANDBY = "standby"
    LEASE_LOST = "lease lost"


async def last_viewer_left(store: CollectorStore, patience_seconds: float) -> None:
    """Return once no viewer has said anything new for the patience.

    A viewer renews its word every few seconds, so a word that stays the same is an old one,
    whatever clock it was given by.
    """
    loop = asyncio.get_running_loop()
    word: float | None = None
    heard = loop.time()
    while loop.time() - heard < patience_seconds:
        await asyncio.sleep(min(VIEWER_LOOK_SECONDS, patience_seconds / 4))
        try:
            newest = await store.newest_viewer()
        except StoreError as error:
            log.warning("cannot read who watches: %s", error)
            continue
        if newest is not None and newest != word:
            word, heard = newest, loop.time()
    log.info("the last viewer left %.0f s ago", patience_seconds)


@contextmanager
def lifeline(descriptor: int | None, stop: asyncio.Event) -> Iterator[None]:
    """Set `stop` when the other end of the pipe `descriptor` is closed."""
    if descriptor is None:
        yield
        return
    loop = asyncio.get_running_loop()

    def look() -> None:
        try:
            data = os.read(descriptor, 1024)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            log.info("the lifeline ended")
            loop.remove_reader(descriptor)
            stop.set()

    os.set_blocking(descriptor, False)
    loop.add_reader(descriptor, look)
    try:
        yield
    finally:
        loop.remove_reader(descriptor)
