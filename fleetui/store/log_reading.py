"""Reading stored log bytes back: windows, whole generations, positions."""

import sqlite3
from collections.abc import Iterator

import zstandard

from fleetui.domain.stream import LogChunk, StreamId, StreamPosition
from fleetui.store.interface import LogWindow, StoreError
from fleetui.store.log_blocks import BLOCK_BYTES, Piece, split_block, tail_ids


def read_positions(
    connection: sqlite3.Connection, instance_id: int | None = None
) -> tuple[StreamPosition, ...]:
    """Read the position of each stream, of one instance or all, the last written first."""
    values: tuple[int, ...]
    where, values = ("", ()) if instance_id is None else ("WHERE instance_id = ?", (instance_id,))
    found = connection.execute(
        "SELECT instance_id, path, kind, stream.generation, identity, end_offset, skipped,"  # noqa: S608 - our own text
        " last_byte_at FROM stream JOIN generation ON stream_id = stream.id"
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
            last_byte_at=last_byte_at,
        )
        for owner, path, kind, generation, identity, offset, skipped, last_byte_at in found
    )


def read_window(
    connection: sqlite3.Connection,
    stream: StreamId,
    generation: int | None,
    end: int | None,
    size: int,
) -> LogWindow | None:
    """Read up to `size` bytes before `end`; fewer where a gap or the oldest byte comes first."""
    found = _find(connection, stream, generation)
    if found is None:
        return None
    stream_id, number, newest, gaps, evicted, has_tail = found
    stop = newest if end is None else max(min(end, newest), 0)
    parts: list[bytes] = []
    cursor: int | None = None
    for piece in _backwards(connection, stream_id, number, stop, tail=has_tail):
        if cursor is not None and piece.end != cursor:
            break
        cursor = piece.offset
        parts.append(piece.data[: stop - cursor])
        if cursor <= stop - size:
            break
    data = b"".join(reversed(parts))
    start = stop if cursor is None else cursor
    surplus = max(len(data) - max(size, 0), 0)
    return LogWindow(
        stream=stream,
        generation=number,
        offset=start + surplus,
        data=data[surplus:],
        first_offset=_first_offset(connection, stream_id, number, newest, tail=has_tail),
        end_offset=newest,
        dropped=gaps + evicted,
    )


def read_generation(
    connection: sqlite3.Connection, stream: StreamId, generation: int
) -> tuple[LogChunk, ...]:
    """Read every stored byte of a generation in order, with the times the bytes arrived at."""
    found = _find(connection, stream, generation)
    if found is None:
        return ()
    blocks = connection.execute(
        "SELECT offset, marks, data FROM log_block WHERE stream_id = ? AND generation = ?"
        " ORDER BY offset",
        (found[0], generation),
    )
    pieces = [piece for block in blocks for piece in _split(*block)]
    if found[5]:
        pieces += _tail(connection, found[0])
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
    found = _find(connection, stream, None)
    if found is None:
        return None
    block = connection.execute(
        "SELECT generation, offset, marks, data FROM log_block WHERE stream_id = ?"
        " AND last_at >= ? ORDER BY last_at, generation, offset LIMIT 1",
        (found[0], at),
    ).fetchone()
    if block:
        candidates, number = list(_split(*block[1:])), int(block[0])
    else:
        candidates = _tail(connection, found[0])
        (number,) = connection.execute(
            "SELECT tail_generation FROM stream WHERE id = ?", (found[0],)
        ).fetchone()
    return next(((number, piece.offset) for piece in candidates if piece.at >= at), None)


def _find(
    connection: sqlite3.Connection, stream: StreamId, generation: int | None
) -> tuple[int, int, int, int, int, bool] | None:
    """Find a generation (default the newest): stream id, number, end, gaps, evicted, has tail."""
    found: tuple[int, int, int, int, int, bool] | None = connection.execute(
        "SELECT stream_id, generation.generation, end_offset, gaps, evicted,"
        " tail_size > 0 AND tail_generation = generation.generation"
        " FROM stream JOIN generation ON stream_id = stream.id"
        " WHERE instance_id = ? AND path = ?"
        " AND generation.generation = ifnull(?, stream.generation)",
        (stream.instance_id, stream.path, generation),
    ).fetchone()
    return found


def _backwards(
    connection: sqlite3.Connection, stream_id: int, generation: int, end: int, *, tail: bool
) -> Iterator[Piece]:
    """Yield the stored pieces and blocks that begin before `end`, the newest first."""
    if tail:
        yield from (piece for piece in reversed(_tail(connection, stream_id)) if piece.offset < end)
    blocks = connection.execute(
        "SELECT offset, last_at, data FROM log_block WHERE stream_id = ? AND generation = ?"
        " AND offset < ? ORDER BY offset DESC",
        (stream_id, generation, end),
    )
    for offset, last_at, data in blocks:
        yield Piece(offset, last_at, _decompress(data))


def _first_offset(
    connection: sqlite3.Connection, stream_id: int, generation: int, end: int, *, tail: bool
) -> int:
    (first,) = connection.execute(
        "SELECT min(offset) FROM log_block WHERE stream_id = ? AND generation = ?",
        (stream_id, generation),
    ).fetchone()
    if first is None and tail:
        (first,) = connection.execute(
            "SELECT min(offset) FROM log_tail WHERE id BETWEEN ? AND ?", tail_ids(stream_id)
        ).fetchone()
    return end if first is None else int(first)


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
