"""A disk that takes no more: refused as a whole, nothing stored is lost, and it goes on later."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from fleetui.store.file_system import place_trouble
from fleetui.store.interface import StoreError, StoreFullError
from fleetui.store.sqlite import SqliteStore
from store_bench import Bench, Child, HandClock, chunk, position, row


async def limit_pages(bench: Bench, pages: int) -> None:
    await bench.store._database._hop(
        lambda raw: raw.execute(f"PRAGMA max_page_count = {pages}").fetchall()
    )


async def test_a_full_database_refuses_whole_batches_and_works_again(bench: Bench) -> None:
    await limit_pages(bench, 100)
    stored = b""
    refused: list[bytes] = []
    while not refused:
        data = os.urandom(20_000)
        try:
            await bench.publish(
                chunk(len(stored), data),
                rows=[row(1, util=float(len(stored)))],
                positions=[position(len(stored) + len(data))],
            )
            stored += data
        except StoreFullError:
            refused.append(data)
    assert stored
    before = await bench.store.fleet()
    assert before.rows[0].gpu_util == float(len(stored) - 20_000)
    assert await bench.stored() == stored
    (where,) = await bench.store.positions()
    assert where.offset == len(stored)
    with pytest.raises(StoreFullError):
        await bench.publish(chunk(len(stored), refused[0]))
    await limit_pages(bench, 100_000)
    await bench.publish(chunk(len(stored), refused[0]))
    assert await bench.stored() == stored + refused[0]


async def test_a_file_that_may_not_grow_is_a_full_disk(path: Path) -> None:
    with Child("fill", str(path), "1000000") as child:
        full = await asyncio.to_thread(child.line)
        after = await asyncio.to_thread(child.line)
    assert full.startswith("full ")
    offset = int(full.split()[1])
    assert after == f"went on {offset + 20_000}"
    bench = await Bench.open(path)
    assert len(await bench.stored()) == offset + 20_000
    check = await bench.store._database.read(
        lambda raw: raw.execute("PRAGMA integrity_check").fetchone()[0]
    )
    assert check == "ok"
    await bench.store.close()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_what_the_system_calls_full_is_full(number: int) -> None:
    error = place_trouble(Path("/x/fleet.db"), OSError(number, os.strerror(number)))
    assert isinstance(error, StoreFullError)
    assert not isinstance(place_trouble(Path("/x"), OSError(errno.EACCES, "no")), StoreFullError)


async def test_a_read_only_database_is_said_to_be_one(bench: Bench) -> None:
    await bench.store._database._hop(lambda raw: raw.execute("PRAGMA query_only = ON").fetchall())
    with pytest.raises(StoreFullError):
        await bench.publish(rows=[row(1)])
    await bench.store._database._hop(lambda raw: raw.execute("PRAGMA query_only = OFF").fetchall())
    await bench.publish(rows=[row(1)])


async def test_a_place_that_cannot_be_is_said() -> None:
    with pytest.raises(StoreError):
        await SqliteStore.open(Path("/dev/full/x/fleet.db"), clock=HandClock())
