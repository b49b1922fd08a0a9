"""A writer killed at any moment: no byte lost, none twice, the file whole."""

import asyncio
import random
import sqlite3
import time
from pathlib import Path

from fleetui.store.sqlite import SqliteStore
from store_bench import (
    STREAM,
    Bench,
    Child,
    HandClock,
    chunk,
    position,
    row,
)
from store_child import pattern

LIMIT = 6_000_000
KILLS = 12


async def test_many_kills_lose_nothing(path: Path) -> None:
    moment = random.Random(7)  # noqa: S311 - when to kill is no secret
    promised = 0
    for _ in range(KILLS):
        with Child("write", str(path), str(LIMIT)) as writer:
            start = int((await asyncio.to_thread(writer.line)).split()[1])
            assert start >= promised, "a committed byte was lost"
            promised = start
            end = time.monotonic() + moment.uniform(0.0, 0.12)
            while time.monotonic() < end:
                said = await asyncio.to_thread(writer.line)
                if not said.startswith("at "):
                    break
                promised = int(said.split()[1])
            writer.kill()
    with Child("write", str(path), str(LIMIT)) as last:
        said = ""
        while said != "done":
            said = await asyncio.to_thread(last.line)
            assert said, "the last writer ended early"
    store = await SqliteStore.open(path, clock=HandClock(), viewer=True)
    chunks = await store.log_bytes(STREAM, 1)
    assert b"".join(piece.data for piece in chunks) == pattern(0, LIMIT)
    await store.close()
    raw = sqlite3.connect(path)
    assert raw.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    raw.close()


async def test_a_cancelled_publish_is_whole_or_nothing(path: Path) -> None:
    bench = await Bench.open(path)
    await bench.publish(rows=[row(1)])
    offset = 0
    for number in range(30):
        data = bytes([number]) * 5_000
        task = asyncio.create_task(
            bench.publish(
                chunk(offset, data),
                rows=[row(2, util=float(number))],
                positions=[position(offset + 5_000)],
            )
        )
        for _ in range(number % 6):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        # The next call waits for the cancelled one on the same thread.
        stored = await bench.store.positions()
        reached = stored[0].offset if stored else 0
        assert reached in (offset, offset + 5_000)
        assert len(await bench.stored()) == reached
        offset = reached
    await bench.publish(chunk(offset, b"end"))
    await bench.store.close()
