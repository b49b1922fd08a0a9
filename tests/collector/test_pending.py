"""What waits for the next transaction keeps order, bounds and positions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetui.collector.pending import (
    BATCH_LOG_ROWS,
    JOINED_CHUNK_BYTES,
    PIECE_BYTES,
    Pending,
)
from fleetui.domain.intent import Event
from fleetui.domain.stream import LogChunk, StreamId, StreamPosition
from fleetui.domain.text import sanitise

STREAMS = [StreamId(instance_id, path) for instance_id in (1, 2) for path in ("/tmp/a", "/tmp/b")]

pieces = st.lists(
    st.tuples(st.sampled_from(STREAMS), st.binary(max_size=40), st.booleans()), max_size=40
)


def fill(pending: Pending, pieces: list[tuple[StreamId, bytes, bool]]) -> dict[StreamId, bytes]:
    """Queue pieces as a link would; a true flag begins a new generation first."""
    offsets: dict[StreamId, tuple[int, int]] = {}
    expected: dict[tuple[StreamId, int], bytes] = {}
    for stream, data, new_generation in pieces:
        generation, offset = offsets.get(stream, (1, 0))
        if new_generation:
            generation, offset = generation + 1, 0
        offsets[stream] = generation, offset + len(data)
        expected[stream, generation] = expected.get((stream, generation), b"") + data
        pending.add_bytes(
            LogChunk(stream=stream, generation=generation, offset=offset, data=data, at=1.0),
            StreamPosition(
                stream=stream, kind="bench", generation=generation, offset=offset + len(data)
            ),
        )
    return {stream: data for (stream, _), data in expected.items()}


@given(pieces, st.integers(min_value=1, max_value=4 * PIECE_BYTES))
@settings(deadline=None)
def test_batches_bring_every_byte_once_and_name_the_position_behind_them(
    given_pieces: list[tuple[StreamId, bytes, bool]], limit: int
) -> None:
    pending = Pending()
    fill(pending, given_pieces)
    total = sum(PIECE_BYTES + len(data) for _, data, _ in given_pieces)
    assert pending.size == total
    stored: dict[StreamId, tuple[int, int]] = {}
    seen: dict[StreamId, list[bytes]] = {}
    while pending:
        batch = pending.take(0.0, None, limit)
        assert batch.chunks or batch.positions
        for chunk in batch.chunks:
            generation, offset = stored.get(chunk.stream, (1, 0))
            if chunk.generation != generation:
                assert chunk.generation > generation
                offset = 0
            assert chunk.offset == offset
            stored[chunk.stream] = chunk.generation, chunk.offset + len(chunk.data)
            seen.setdefault(chunk.stream, []).append(chunk.data)
        for position in batch.positions:
            generation, offset = stored.get(position.stream, (1, 0))
            if position.generation == generation:
                assert position.offset == offset
            else:
                assert position.offset == 0
                stored[position.stream] = position.generation, 0
    for stream in STREAMS:
        wanted = b"".join(data for other, data, _ in given_pieces if other == stream)
        assert b"".join(seen.get(stream, [])) == wanted
    assert pending.size == 0
    assert all(pending.size_of(stream.instance_id) == 0 for stream in STREAMS)


def test_joined_chunks_stay_bounded() -> None:
    pending = Pending()
    size = JOINED_CHUNK_BYTES // 2 + 1
    fill(pending, [(STREAMS[0], b"x" * size, False)] * 3)
    batch = pending.take(0.0, None, 10 * size)
    assert [len(chunk.data) for chunk in batch.chunks] == [size] * 3


def test_events_beyond_the_limit_push_the_oldest_out_and_are_counted() -> None:
    pending = Pending()
    pending.add_events(
        Event(at=float(number), kind="x", text=sanitise("y")) for number in range(20_003)
    )
    assert pending.pushed_out == 3
    events = pending.take(0.0, None, 1).events
    assert events[0].at == 3.0
    assert len(events) == 20_000


@pytest.mark.parametrize("data", [b"x", b""])
def test_many_small_pieces_of_many_files_come_in_batches_the_store_can_write(data: bytes) -> None:
    pending = Pending()
    files = [StreamId(1, f"/tmp/{number}") for number in range(BATCH_LOG_ROWS)]
    fill(pending, [(stream, data, False) for stream in files * 2])
    assert pending.size_of(1) == len(files) * 2 * (PIECE_BYTES + len(data))
    named: list[StreamId] = []
    while pending:
        batch = pending.take(0.0, None, 1 << 30)
        assert len(batch.chunks) + len(batch.positions) <= BATCH_LOG_ROWS + 1
        assert pending.is_behind == bool(pending)
        named += [position.stream for position in batch.positions]
    assert named[-1] == files[-1]
    assert set(named) == set(files)
