"""Verbs of a second process for the store's tests; each reports lines on its output."""

import asyncio
import os
import resource
import sys
import time
from pathlib import Path

from fleetui.domain.clock import SystemClock
from fleetui.domain.stream import LogChunk, StreamId, StreamPosition
from fleetui.store.interface import Batch, FenceLostError, Lease, StoreError, StoreFullError
from fleetui.store.sqlite import SqliteStore

STREAM = StreamId(7, "/tmp/benchmark-full.log")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def pattern(start: int, end: int) -> bytes:
    """Return bytes that tell their own place."""
    first = start // 16
    text = b"".join(b"%015d\n" % number for number in range(first, end // 16 + 1))
    return text[start - first * 16 : end - first * 16]


async def take(store: SqliteStore, ttl: float) -> Lease:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        lease = await store.take_lease(f"child-{os.getpid()}", ttl)
        if lease:
            return lease
        await asyncio.sleep(0.01)
    raise TimeoutError


async def hold(path: Path, ttl: float) -> None:
    """Hold the lease; publish at every turn; say so when fenced."""
    store = await SqliteStore.open(path, clock=SystemClock())
    lease = await take(store, ttl)
    say(f"held {lease.epoch}")
    try:
        while True:
            await store.publish(lease, Batch(at=time.time()))
            await asyncio.sleep(0.01)
    except FenceLostError as error:
        say(f"fenced {error}")
    await store.close()


async def write(path: Path, limit: int) -> None:
    """Resume the stream where it was stored and append odd pieces until `limit`."""
    store = await SqliteStore.open(path, clock=SystemClock())
    lease = await take(store, 30.0)
    stored = await store.positions()
    offset = stored[0].offset if stored else 0
    say(f"at {offset}")
    size = 1
    while offset < limit:
        size = size * 31 % 40_009
        end = min(offset + size, limit)
        await store.publish(
            lease,
            Batch(
                at=time.time(),
                chunks=[
                    LogChunk(
                        stream=STREAM,
                        generation=1,
                        offset=offset,
                        data=pattern(offset, end),
                        at=time.time(),
                    )
                ],
                positions=[StreamPosition(stream=STREAM, kind="bench", offset=end)],
            ),
        )
        offset = end
        say(f"at {offset}")
    await store.close()
    say("done")


async def fill(path: Path, limit: int) -> None:
    """Write noise until files may not grow, then lift the limit and go on."""
    store = await SqliteStore.open(path, clock=SystemClock())
    lease = await take(store, 30.0)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    offset = 0
    refused = False
    for _ in range(400):
        data = os.urandom(20_000)
        batch = Batch(
            at=time.time(),
            chunks=[LogChunk(stream=STREAM, generation=1, offset=offset, data=data, at=0.0)],
        )
        try:
            await store.publish(lease, batch)
        except StoreFullError:
            refused = True
            say(f"full {offset}")
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            await store.publish(lease, batch)
            offset += len(data)
            break
        offset += len(data)
    say(f"went on {offset}" if refused else "never full")
    await store.close()


async def forget(path: Path) -> None:
    """Open a store and never close it."""
    store = await SqliteStore.open(path, clock=SystemClock())
    await take(store, 30.0)
    say("forgot")


async def main() -> None:
    verb, path, number = sys.argv[1:]
    try:
        if verb == "hold":
            await hold(Path(path), float(number))
        elif verb == "write":
            await write(Path(path), int(number))
        elif verb == "forget":
            await forget(Path(path))
        else:
            await fill(Path(path), int(number))
    except StoreError as error:
        say(f"error {error}")


if __name__ == "__main__":
    asyncio.run(main())
