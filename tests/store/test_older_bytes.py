"""Bytes fetched from before the first stored one, and what is told of those that are missing."""

import pytest

from fleetui.domain.stream import StreamId
from fleetui.store.interface import FenceLostError, LogMissing, StoreError
from fleetui.store.log_blocks import BLOCK_BYTES
from fleetui.store.log_budget import LogBudget
from store_bench import STREAM, Bench, chunk, position

CONTENT = b"".join(b"%07d\n" % number for number in range(40_000))
FIRST = 200_000


async def near_the_end(bench: Bench) -> None:
    """Store a big file from near its end."""
    await bench.publish(
        chunk(FIRST, CONTENT[FIRST:], at=50.0), positions=[position(len(CONTENT), skipped=FIRST)]
    )


async def test_older_bytes_are_kept_once_and_shown(bench: Bench) -> None:
    await near_the_end(bench)
    keep = bench.store.keep_older
    assert await keep(bench.lease, chunk(150_000, CONTENT[150_000:FIRST], at=99.0)) == 50_000
    assert await keep(bench.lease, chunk(150_000, CONTENT[150_000:FIRST], at=99.0)) == 0
    # A request that was sent twice, and one that overlaps.
    assert await keep(bench.lease, chunk(0, CONTENT[:170_000])) == 150_000
    assert await bench.stored() == CONTENT
    window = await bench.store.log_window(STREAM, end=160_000, size=100_000)
    assert window is not None
    assert (window.offset, window.data) == (60_000, CONTENT[60_000:160_000])
    assert (window.first_offset, window.dropped) == (0, 0)
    # What was fetched later counts as no younger than what follows it.
    assert await bench.store.log_at(STREAM, 0.0) == (1, 0)
    assert {piece.at for piece in await bench.store.log_bytes(STREAM, 1)} == {50.0, 0.0}
    # The file is read on as if nothing had happened, also by a position that knows of no fetch.
    await bench.publish(
        chunk(len(CONTENT), b"more"), positions=[position(len(CONTENT) + 4, skipped=FIRST)]
    )
    assert await bench.stored() == CONTENT + b"more"
    assert (await bench.store.streams(7))[0].skipped == 0


async def test_older_bytes_that_do_not_fit_are_refused(bench: Bench) -> None:
    with pytest.raises(StoreError, match="nothing of"):
        await bench.store.keep_older(bench.lease, chunk(0, b"x"))
    await near_the_end(bench)
    with pytest.raises(StoreError, match="missing"):
        await bench.store.keep_older(bench.lease, chunk(0, CONTENT[: FIRST - 1]))
    await bench.publish(chunk(0, b"anew", generation=2))
    with pytest.raises(StoreError, match="began anew"):
        await bench.store.keep_older(bench.lease, chunk(0, CONTENT[:FIRST]))
    assert await bench.stored() == CONTENT[FIRST:]


async def test_older_bytes_are_the_first_to_go(bench: Bench) -> None:
    other = StreamId(8, "/tmp/other.log")
    await near_the_end(bench)
    await bench.publish(chunk(0, CONTENT, stream=other))
    await bench.store.keep_older(bench.lease, chunk(0, CONTENT[:FIRST]))
    full = (await bench.store.log_totals()).disk_bytes
    bench.store._budget = LogBudget(total_bytes=full)
    await bench.publish(chunk(len(CONTENT), b"one more", stream=other))
    assert await bench.stored() == CONTENT[FIRST % BLOCK_BYTES :]
    missing = await bench.store.log_missing()
    assert missing == {7: LogMissing(pushed_out=FIRST % BLOCK_BYTES)}
    # They are not fetched again only to go at once.
    with pytest.raises(StoreError, match="no room"):
        await bench.store.keep_older(bench.lease, chunk(0, CONTENT[:FIRST]))
    assert await bench.stored() == CONTENT[FIRST % BLOCK_BYTES :]


async def test_who_lost_the_lease_keeps_nothing(bench: Bench) -> None:
    await near_the_end(bench)
    await bench.store.release(bench.lease)
    assert await bench.store.take_lease("another", 60.0) is not None
    with pytest.raises(FenceLostError):
        await bench.store.keep_older(bench.lease, chunk(0, CONTENT[:FIRST]))
    assert await bench.stored() == CONTENT[FIRST:]


async def test_what_is_missing_is_told_by_instance(bench: Bench) -> None:
    assert await bench.store.log_missing() == {}
    await near_the_end(bench)
    await bench.publish(chunk(0, b"whole", stream=StreamId(8, "/tmp/other.log")))
    assert await bench.store.log_missing() == {7: LogMissing(skipped=FIRST)}
    end = len(CONTENT)
    for files, lost in ((1, 100), (1, 100), (3, 150)):
        await bench.publish(positions=[position(end, skipped=FIRST, lost=(files, lost))])
    await bench.publish(
        chunk(0, b"a new life", generation=2), positions=[position(10, generation=2, lost=(1, 0))]
    )
    assert await bench.store.log_missing() == {
        7: LogMissing(skipped=FIRST, lost_files=4, lost_bytes=150)
    }
    window = await bench.store.log_window(STREAM, generation=1)
    assert window is not None
    assert (window.lost_files, window.lost_bytes) == (3, 150)
    newest = (await bench.store.streams(7))[0]
    assert (newest.generation, newest.lost_files, newest.lost_bytes) == (2, 1, 0)
