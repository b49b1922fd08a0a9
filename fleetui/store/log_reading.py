"""Reading stored log bytes back: windows, whole generations, positions."""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import zstandard

from fleetui.domain.stream import LogChunk, StreamId, StreamPosition
from fleetui.store.interface import LogMissing, LogWindow, StoreError
from fleetui.store.log_blocks import BLOCK_BYTES, Piece, split_block, tail_ids


class StoredGeneration(NamedTuple):
    """One life of a file, as the store counts it."""

    stream_id: int
    number: int
    end: int
    gaps: int
    evicted: int
    lost_files: int
    lost_bytes: int
    has_tail: bool


def read_positions(
    connection: sqlite3.Connection, instance_id: int | None = None
) -> tuple[StreamPosition, ...]:
    """Read the position of each stream, of one instance or all, the last written first."""
    values: tuple[int, ...]
    where, values = ("", ()) if instance_id is None else ("WHERE instance_id = ?", (instance_id,))
    found = connection.execute(
        "SELECT instance_id, path, kind, stream.generation, identity, end_offset, gaps,"  # noqa: S608 - our own text
        " lost_files, lost_bytes, last_byte_at FROM stream JOIN generation ON stream_id = stream.id"
        f" AND generation.generation = stream.generation {where}"
        " ORDER BY last_byte_at DESC NULLS LAST, stream.id",
        values,
    )
    return tuple(
        StreamPosition(
            stream=StreamId(owner, path),
            kind=kind,
            generation=generation,
            file_identity=identity,
            offset=offset,
            skipped=skipped,
            lost_files=lost_files,
            lost_bytes=lost_bytes,
            last_byte_at=last_byte_at,
        )
        for (
            owner,
            path,
            kind,
            generation,
            identity,
            offset,
            skipped,
            lost_files,
            lost_bytes,
            last_byte_at,
        ) in found
    )


def read_missing(connection: sqlite3.Connection) -> dict[int, LogMissing]:
    """Sum what is not stored by instance, of which anything is not."""
    found = connection.execute(
        "SELECT instance_id, sum(gaps), sum(evicted), sum(generation.lost_files),"
        " sum(lost_bytes) FROM stream JOIN generation ON stream_id = stream.id"
        " GROUP BY instance_id"
        " HAVING max(gaps) > 0 OR max(evicted) > 0 OR max(generation.lost_files) > 0"
    )
    return {
        instance_id: LogMissing(
            skipped=skipped, pushed_out=pushed_out, lost_files=files, lost_bytes=lost
        )
        for instance_id, skipped, pushed_out, files, lost in found
    }


def read_window(
    connection: sqlite3.Connection,
    stream: StreamId,
    generation: int | None,
    end: int | None,
    size: int,
) -> LogWindow | None:
    """Read up to `size` bytes before `end`; fewer where a gap or the oldest byte comes first."""
    found = find_generation(connection, stream, generation)
    if found is None:
        return None
    stop = found.end if end is None else max(min(end, found.end), 0)
    parts: list[bytes] = []
    cursor: int | None = None
    for piece in _backwards(connection, found, stop):
        if cursor is not None and piece.end != cursor:
            break
        cursor = piece.offset
        parts.append(piece.data[: stop - cursor])
        if cursor <= stop - size:
            break
    data = b"".join(reversed(parts))
    start = stop if cursor is None else cursor
    surplus = max(len(data) - max(size, 0), 0)
    first = first_piece(connection, found)
    return LogWindow(
        stream=stream,
        generation=found.number,
        offset=start + surplus,
        data=data[surplus:],
        first_offset=first[0] if first is not None else found.end,
        end_offset=found.end,
        dropped=found.gaps + found.evicted,
        lost_files=found.lost_files,
        lost_bytes=found.lost_bytes,
    )


def read_generation(
    connection: sqlite3.Connection, stream: StreamId, generation: int
) -> tuple[LogChunk, ...]:
    """Read every stored byte of a generation in order, with the times the bytes arrived at."""
    found = find_generation(connection, stream, generation)
    if found is None:
        return ()
    blocks = connection.execute(
        "SELECT offset, marks, data FROM log_block WHERE stream_id = ? AND generation = ?"
        " ORDER BY offset",
        (found.stream_id, generation),
    )
    pieces = [piece for block in blocks for piece in _split(*block)]
    if found.has_tail:
        pieces += _tail(connection, found.stream_id)
    return tuple(
        LogChunk(
            stream=stream,
            generation=generation,
            offset=piece.offset,
            data=piece.data,
            at=piece.at,
        )
        for piece in pieces
    )


def find_time(
    connection: sqlite3.Connection, stream: StreamId, at: float
) -> tuple[int, int] | None:
    """Find generation and offset of the oldest stored byte that arrived at `at` or later."""
    found = find_generation(connection, stream, None)
    if found is None:
        return None
    block = connection.execute(
        "SELECT generation, offset, marks, data FROM log_block WHERE stream_id = ?"
        " AND last_at >= ? ORDER BY last_at, generation, offset LIMIT 1",
        (found.stream_id, at),
    ).fetchone()
    if block:
        candidates, number = list(_split(*block[1:])), int(block[0])
    else:
        candidates = _tail(connection, found.stream_id)
        (number,) = connection.execute(
            "SELECT tail_generation FROM stream WHERE id = ?", (found.stream_id,)
        ).fetchone()
    return next(((number, piece.offset) for piece in candidates if piece.at >= at), None)


def find_generation(
    connection: sqlite3.Connection, stream: StreamId, generation: int | None
) -> StoredGeneration | None:
    """Find a generation (default the newest)."""
    found = connection.execute(
        "SELECT stream_id, generation.generation, end_offset, gaps, evicted, lost_files,"
        " lost_bytes, tail_size > 0 AND tail_generation = generation.generation"
        " FROM stream JOIN generation ON stream_id = stream.id"
        " WHERE instance_id = ? AND path = ?"
        " AND generation.generation = ifnull(?, stream.generation)",
        (stream.instance_id, stream.path, generation),
    ).fetchone()
    return None if found is None else StoredGeneration(*found)


def first_piece(
    connection: sqlite3.Connection, found: StoredGeneration
) -> tuple[int, float] | None:
    """Return offset and time of arrival of the first stored byte, if any is stored."""
    block = connection.execute(
        "SELECT offset, marks FROM log_block WHERE stream_id = ? AND generation = ?"
        " ORDER BY offset LIMIT 1",
        (found.stream_id, found.number),
    ).fetchone()
    if block is not None:
        return int(block[0]), msgspec.msgpack.decode(block[1], type=list[float])[1]
    if not found.has_tail:
        return None
    piece: tuple[int, float] | None = connection.execute(
        "SELECT offset, at FROM log_tail WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 1",
        tail_ids(found.stream_id),
    ).fetchone()
    return piece


def _backwards(
    connection: sqlite3.Connection, found: StoredGeneration, end: int
) -> Iterator[Piece]:
    """Yield the stored pieces and blocks that begin before `end`, the newest first."""
    if found.has_tail:
        tail = reversed(_tail(connection, found.stream_id))
        yield from (piece for piece in tail if piece.offset < end)
    blocks = connection.execute(
        "SELECT offset, last_at, data FROM log_block WHERE stream_id = ? AND generation = ?"
        " AND offset < ? ORDER BY offset DESC",
        (found.stream_id, found.number, end),
    )
    for offset, last_at, data in blocks:
        yield Piece(offset, last_at, _decompress(data))


def _tail(connection: sqlite3.Connection, stream_id: int) -> list[Piece]:
    return [
        Piece(*row)
        for row in connection.execute(
            "SELECT offset, at, data FROM log_tail WHERE id BETWEEN ? AND ? ORDER BY id",
            tail_ids(stream_id),
        )
    ]


def _split(offset: int, marks: bytes, data: bytes) -> Iterator[Piece]:
    return split_block(offset, marks, _decompress(data))


def _decompress(data: bytes) -> bytes:
    try:
        return zstandard.decompress(data, max_output_size=BLOCK_BYTES)
    except zstandard.ZstdError as error:
        raise StoreError(f"a stored block of log bytes is damaged: {error}") from error
