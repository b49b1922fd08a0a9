"""The collector's tenure: taking the lease, keeping it, and knowing when it is over."""

import asyncio
import logging
import random

from fleetui.store.interface import CollectorStore, FenceLostError, Lease, StoreError

log = logging.getLogger(__name__)

TAKE_INTERVAL_SECONDS = 0.5
RENEWALS_PER_TTL = 3
SAFE_SHARE = 2 / 3
"""Share of the TTL after which an unrenewed holder stops by itself (facts: section 3.4)."""


async def take(
    store: CollectorStore,
    holder: str,
    ttl_seconds: float,
    *,
    stop: asyncio.Event,
    patience_seconds: float | None = None,
) -> Lease | None:
    """Wait for the lease; `None` when `stop` was set or the patience ended first.

    The patience is with another holder. A store that cannot be written (a full disk) has nobody
    else to leave it to: that is waited for without a limit.
    """
    loop = asyncio.get_running_loop()
    waiting_since = loop.time()
    said = ""
    while not stop.is_set():
        try:
            lease = await store.take_lease(holder, ttl_seconds)
            why = "another collector holds the lease; standing by"
        except StoreError as error:
            lease = None
            why = f"cannot ask for the lease: {error}"
            waiting_since = loop.time()
        if lease is not None:
            log.info("holding the lease, epoch %d", lease.epoch)
            return lease
        if why != said:
            log.warning("%s", why)
            said = why
        if patience_seconds is not None and loop.time() - waiting_since > patience_seconds:
            return None
        await pause(stop, TAKE_INTERVAL_SECONDS * random.uniform(0.8, 1.2))  # noqa: S311 - jitter
    return None


async def keep(store: CollectorStore, lease: Lease) -> None:
    """Renew the lease until cancelled.

    Raises:
        FenceLostError: it is somebody else's now.
        StoreError: it could not be renewed for so long that it may be somebody else's (by this
            process's own clock); it may be taken anew.
    """
    loop = asyncio.get_running_loop()
    interval = lease.ttl_seconds / RENEWALS_PER_TTL
    renewed = loop.time()
    while True:
        await asyncio.sleep(interval)
        asked = loop.time()
        left = renewed + lease.ttl_seconds * SAFE_SHARE - asked
        try:
            async with asyncio.timeout(max(left, interval)):
                await store.renew(lease)
        except FenceLostError:
            raise
        except (StoreError, TimeoutError) as error:
            log.warning("cannot renew the lease: %s", str(error) or "no answer")
        else:
            renewed = asked
            continue
        if loop.time() - renewed > lease.ttl_seconds * SAFE_SHARE:
            raise StoreError("the lease could not be renewed in time")


async def pause(stop: asyncio.Event, seconds: float) -> bool:
    """Wait that long, or until `stop` is set; tells whether it is set."""
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return stop.is_set()
    return True
