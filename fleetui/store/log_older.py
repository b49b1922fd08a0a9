"""Bytes from before the first stored one, fetched on demand and put in front of it."""

import sqlite3

import msgspec

from fleetui.domain.stream import LogChunk
from fleetui.store.interface import StoreError
from fleetui.store.log_blocks import BLOCK_BYTES, Piece, write_block
from fleetui.store.log_budget import LogBudget
from fleetui.store.log_reading import find_generation, first_piece


class Prepended(msgspec.Struct, frozen=True):
    """What was put in front: bytes of the log, and bytes of disk that they use."""

    log_bytes: int = 0
    disk_bytes: int = 0


def prepend(
    connection: sqlite3.Connection, chunk: LogChunk, total: int, budget: LogBudget
) -> Prepended:
    """Put what is new of a chunk before the first stored byte of the newest generation.

    Bytes that are stored already are left out, so a chunk may be sent again. The bytes count as
    arrived no later than those that follow them, and limits push them out first; they are not
    taken where that would be at once. `total` is what all logs use on disk. For the caller's
    transaction: it is to be rolled back after an error.

    Raises:
        StoreError: the chunk does not reach the first stored byte, is of another generation, or
            there is no room for it.
    """
    found = find_generation(connection, chunk.stream, None)
    first = None if found is None else first_piece(connection, found)
    if found is None or first is None:
        raise StoreError(f"nothing of {chunk.stream.path} is stored that could be gone back from")
    if found.number != chunk.generation:
        raise StoreError(f"{chunk.stream.path} began anew meanwhile (life no. {found.number})")
    offset, came_at = first
    if chunk.offset + len(chunk.data) < offset:
        raise StoreError(f"bytes of {chunk.stream.path} before offset {offset} are missing")
    data = chunk.data[: max(offset - chunk.offset, 0)]
    disk_bytes = 0
    for end in range(len(data), 0, -BLOCK_BYTES):
        start = max(end - BLOCK_BYTES, 0)
        piece = Piece(chunk.offset + start, min(chunk.at, came_at), bytes(data[start:end]))
        disk_bytes += write_block(connection, found.stream_id, chunk.generation, [piece])
    evicted = max(found.evicted - len(data), 0)
    gaps = found.gaps - len(data) + found.evicted - evicted
    connection.execute(
        "UPDATE generation SET evicted = ?, gaps = ? WHERE stream_id = ? AND generation = ?",
        (evicted, gaps, found.stream_id, chunk.generation),
    )
    connection.execute(
        "UPDATE stream SET stored = stored + ? WHERE id = ?", (disk_bytes, found.stream_id)
    )
    _see_room(connection, found.stream_id, total + disk_bytes, budget)
    return Prepended(len(data), disk_bytes)


def _see_room(
    connection: sqlite3.Connection, stream_id: int, total: int, budget: LogBudget
) -> None:
    stream, instance = connection.execute(
        "SELECT stored, (SELECT sum(stored) FROM stream AS other"
        " WHERE other.instance_id = stream.instance_id) FROM stream WHERE id = ?",
        (stream_id,),
    ).fetchone()
    for used, limit, whose in (
        (stream, budget.stream_bytes, "this file"),
        (instance, budget.instance_bytes, "this instance"),
        (total, budget.total_bytes, "all instances"),
    ):
        if used > limit:
            raise StoreError(f"no room: the logs of {whose} may use {limit} bytes of disk")
