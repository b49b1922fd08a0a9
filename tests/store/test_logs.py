import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.stream import StreamId
from fleetui.store.interface import StoreError
from fleetui.store.log_blocks import BLOCK_BYTES, Piece, encode_marks, split_block
from fleetui.store.log_budget import LogBudget
from store_bench import STREAM, Bench, chunk, position

NUMBERS = b"".join(b"%07d\n" % number for number in range(40_000))


async def test_a_window_pages_back_to_the_first_byte(bench: Bench) -> None:
    for start in range(0, len(NUMBERS), 9_000):
        await bench.publish(chunk(start, NUMBERS[start : start + 9_000]))
    window = await bench.store.log_window(STREAM, size=100_000)
    assert window is not None
    assert (window.offset, window.end_offset) == (len(NUMBERS) - 100_000, len(NUMBERS))
    assert (window.first_offset, window.dropped) == (0, 0)
    pages = [window.data]
    while window.offset > window.first_offset:
        window = await bench.store.log_window(STREAM, end=window.offset, size=100_000)
        assert window is not None
        assert window.data
        pages.insert(0, window.data)
    assert b"".join(pages) == NUMBERS


async def test_a_window_of_nothing(bench: Bench) -> None:
    assert await bench.store.log_window(STREAM) is None
    await bench.publish(chunk(0, b"abc"))
    assert await bench.store.log_window(STREAM, generation=2) is None
    window = await bench.store.log_window(STREAM, end=0)
    assert window is not None
    assert (window.data, window.offset) == (b"", 0)
    past = await bench.store.log_window(STREAM, end=99, size=2)
    assert past is not None
    assert (past.data, past.offset) == (b"bc", 1)


async def test_a_window_ends_at_a_gap(bench: Bench) -> None:
    await bench.publish(chunk(0, b"old"), positions=[position(3)])
    await bench.publish(chunk(10, b"new"), positions=[position(13, skipped=7)])
    window = await bench.store.log_window(STREAM)
    assert window is not None
    assert (window.data, window.offset, window.dropped) == (b"new", 10, 7)
    older = await bench.store.log_window(STREAM, end=window.offset)
    assert older is not None
    assert (older.data, older.offset) == (b"old", 0)


async def test_what_was_said_to_be_skipped_cannot_be_skipped_twice(bench: Bench) -> None:
    await bench.publish(chunk(50, b"new"), positions=[position(53, skipped=50)])
    with pytest.raises(StoreError, match="10 bytes are missing"):
        await bench.publish(chunk(63, b"x"), positions=[position(64, skipped=50)])
    await bench.publish(chunk(63, b"x"), positions=[position(64, skipped=60)])
    window = await bench.store.log_window(STREAM)
    assert window is not None
    assert (window.first_offset, window.end_offset, window.dropped) == (50, 64, 60)


async def test_bytes_and_position_are_one(bench: Bench) -> None:
    await bench.publish(chunk(0, b"abc", at=5.0), positions=[position(3)])
    with pytest.raises(StoreError, match="4 bytes are missing between offsets 3 and 7"):
        await bench.publish(chunk(7, b"h"), positions=[position(8)])
    with pytest.raises(StoreError, match="missing"):
        await bench.publish(positions=[position(4)])
    (stored,) = await bench.store.positions()
    assert (stored.offset, stored.file_identity, stored.last_byte_at) == (3, "8:1", 5.0)
    assert await bench.stored() == b"abc"


async def test_a_batch_may_be_sent_again_and_an_old_position_moves_nothing(bench: Bench) -> None:
    for _ in range(3):
        await bench.publish(chunk(0, b"abc"), chunk(3, b"def"), positions=[position(6)])
        await bench.publish(chunk(5, b"fgh"), positions=[position(8)])
    await bench.publish(positions=[position(2)])
    assert await bench.stored() == b"abcdefgh"
    (stored,) = await bench.store.positions()
    assert stored.offset == 8


async def test_a_new_life_starts_at_its_own_offset(bench: Bench) -> None:
    await bench.publish(chunk(0, b"first"), positions=[position(5)])
    await bench.publish(
        chunk(5, b" end"),
        chunk(0, b"second", generation=2),
        positions=[position(9), position(6, generation=2)],
    )
    assert await bench.stored(1) == b"first end"
    assert await bench.stored(2) == b"second"
    await bench.publish(positions=[position(0, generation=4)])
    (stored,) = await bench.store.streams(STREAM.instance_id)
    assert (stored.generation, stored.offset) == (4, 0)
    window = await bench.store.log_window(STREAM)
    assert window is not None
    assert (window.generation, window.data, window.end_offset) == (4, b"", 0)


async def test_streams_come_last_written_first(bench: Bench) -> None:
    names = ["/a", "/b", "/c"]
    streams = [StreamId(1, name) for name in names]
    for at, number in enumerate([0, 1, 2, 1]):
        offset = 0 if at < 3 else 1
        await bench.publish(chunk(offset, b"x", at=float(at), stream=streams[number]))
    assert [item.stream.path for item in await bench.store.streams(1)] == ["/b", "/c", "/a"]
    assert await bench.store.streams(2) == ()


async def test_each_limit_pushes_the_oldest_out_and_counts_it(path_budget: Bench) -> None:
    bench = path_budget
    whole = NUMBERS * 4
    for start in range(0, len(whole), 50_000):
        await bench.publish(chunk(start, whole[start : start + 50_000]))
    window = await bench.store.log_window(STREAM)
    totals = await bench.store.log_totals()
    assert window is not None
    assert window.dropped == window.first_offset > 0
    assert window.first_offset % BLOCK_BYTES == 0
    assert await bench.stored() == whole[window.first_offset :]
    assert totals.disk_bytes <= 100_000
    assert (totals.received, totals.dropped) == (len(whole), window.dropped)


async def test_the_oldest_block_of_all_pays_for_the_total(bench: Bench) -> None:
    streams = [StreamId(instance_id, "/tmp/x.log") for instance_id in (1, 2, 3)]
    for stream in streams:
        await bench.publish(chunk(0, NUMBERS, stream=stream))
    full = (await bench.store.log_totals()).disk_bytes
    bench.store._budget = LogBudget(total_bytes=full)
    await bench.publish(chunk(len(NUMBERS), b"one more", stream=streams[2]))
    kept = [len(await bench.stored(stream=stream)) for stream in streams]
    assert kept == [len(NUMBERS) - BLOCK_BYTES, len(NUMBERS), len(NUMBERS) + 8]


async def test_times_find_their_bytes(bench: Bench) -> None:
    for number in range(200):
        await bench.publish(chunk(number * 1000, b"x" * 1000, at=100.0 + number * 10))
    assert await bench.store.log_at(STREAM, 0.0) == (1, 0)
    assert await bench.store.log_at(STREAM, 595.0) == (1, 50_000)
    assert await bench.store.log_at(STREAM, 2085.0) == (1, 199_000)
    assert await bench.store.log_at(STREAM, 2091.0) is None
    chunks = await bench.store.log_bytes(STREAM, 1)
    for piece in chunks:
        assert piece.at == pytest.approx(100.0 + piece.offset // 1000 * 10)


async def test_a_gone_instance_is_sealed(bench: Bench) -> None:
    await bench.publish(chunk(0, b"tail " * 1000))
    before = await bench.store.log_totals()
    await bench.publish(gone=[STREAM.instance_id])
    after = await bench.store.log_totals()
    assert after.disk_bytes < before.disk_bytes / 10
    assert await bench.stored() == b"tail " * 1000
    await bench.publish(chunk(5000, b"late"))
    assert await bench.stored() == b"tail " * 1000 + b"late"


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=50), st.floats(0, 2e9))))
def test_marks_keep_sizes_and_times(parts: list[tuple[bytes, float]]) -> None:
    pieces, offset = [], 17
    for data, at in parts:
        pieces.append(Piece(offset, at, data))
        offset += len(data)
    raw = b"".join(data for data, _ in parts)
    assert list(split_block(17, encode_marks(pieces), raw)) == pieces


@pytest.fixture(params=["stream_bytes", "instance_bytes", "total_bytes"])
def path_budget(bench: Bench, request: pytest.FixtureRequest) -> Bench:
    bench.store._budget = LogBudget(**{request.param: 100_000})
    return bench
