"""Limits of the stored logs: the oldest blocks go first, and what goes is counted."""

import sqlite3
from collections.abc import Iterable

import msgspec

from fleetui.store.log_blocks import tail_ids

MEBIBYTE = 1024 * 1024


class LogBudget(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of disk (compressed) that the logs of a stream, an instance and the fleet may use."""

    stream_bytes: int = 32 * MEBIBYTE
    instance_bytes: int = 64 * MEBIBYTE
    total_bytes: int = 2048 * MEBIBYTE


class LogTotals(msgspec.Struct, frozen=True):
    """Bytes of logs: on disk now, received ever, and dropped (skipped or pushed out by limits)."""

    disk_bytes: int
    received: int
    dropped: int


class Evicted(msgspec.Struct, frozen=True):
    """Log bytes that were pushed out, and the bytes of disk that they used."""

    log_bytes: int = 0
    disk_bytes: int = 0


def enforce(
    connection: sqlite3.Connection, streams: Iterable[int], total: int, budget: LogBudget
) -> Evicted:
    """Push out the oldest blocks until each of the streams, its instance and all fit.

    `total` is what all logs use on disk. Where no block is left, the oldest pieces go.
    """
    log_bytes = disk_bytes = 0
    instances = set()
    for stream_id in streams:
        instance_id, stored = connection.execute(
            "SELECT instance_id, stored FROM stream WHERE id = ?", (stream_id,)
        ).fetchone()
        instances.add(instance_id)
        evicted = _shrink(connection, [stream_id], stored - budget.stream_bytes)
        log_bytes += evicted.log_bytes
        disk_bytes += evicted.disk_bytes
    for instance_id in instances:
        found = connection.execute(
            "SELECT id, stored FROM stream WHERE instance_id = ?", (instance_id,)
        ).fetchall()
        surplus = sum(stored for _, stored in found) - budget.instance_bytes
        evicted = _shrink(connection, [stream_id for stream_id, _ in found], surplus)
        log_bytes += evicted.log_bytes
        disk_bytes += evicted.disk_bytes
    evicted = _shrink(connection, None, total - disk_bytes - budget.total_bytes)
    return Evicted(log_bytes + evicted.log_bytes, disk_bytes + evicted.disk_bytes)


def read_totals(connection: sqlite3.Connection) -> LogTotals:
    """Read the totals."""
    return LogTotals(
        *connection.execute("SELECT log_stored, log_received, log_dropped FROM shard").fetchone()
    )


def _shrink(connection: sqlite3.Connection, streams: list[int] | None, surplus: int) -> Evicted:
    """Push out `surplus` bytes of disk from some streams (`None`: from all)."""
    log_bytes = disk_bytes = 0
    while disk_bytes < surplus:
        evicted = _evict_block(connection, streams) or _evict_piece(connection, streams)
        if evicted is None:
            break
        log_bytes += evicted.log_bytes
        disk_bytes += evicted.disk_bytes
    return Evicted(log_bytes, disk_bytes)


def _evict_block(connection: sqlite3.Connection, streams: list[int] | None) -> Evicted | None:
    if streams is None:
        streams = [
            stream_id
            for (stream_id,) in connection.execute(
                "SELECT stream_id FROM log_block ORDER BY id LIMIT 1"
            )
        ]
    # What was fetched on demand was written late and is the first of its stream all the same.
    firsts = [
        connection.execute(
            "SELECT id FROM log_block WHERE stream_id = ? ORDER BY generation, offset LIMIT 1",
            (stream_id,),
        ).fetchone()
        for stream_id in streams
    ]
    oldest = min((found[0] for found in firsts if found), default=None)
    if oldest is None:
        return None
    stream_id, generation, size, disk_bytes = connection.execute(
        "DELETE FROM log_block WHERE id = ?"
        " RETURNING stream_id, generation, size, length(marks) + length(data)",
        (oldest,),
    ).fetchall()[0]
    _count(connection, stream_id, generation, size, disk_bytes)
    return Evicted(size, disk_bytes)


def _evict_piece(connection: sqlite3.Connection, streams: list[int] | None) -> Evicted | None:
    if streams is None:
        streams = [
            stream_id
            for (stream_id,) in connection.execute("SELECT id FROM stream WHERE tail_size > 0")
        ]
    firsts = [
        connection.execute(
            "SELECT at, id, ?, length(data) FROM log_tail WHERE id BETWEEN ? AND ?"
            " ORDER BY id LIMIT 1",
            (stream_id, *tail_ids(stream_id)),
        ).fetchone()
        for stream_id in streams
    ]
    oldest = min((found for found in firsts if found), default=None)
    if oldest is None:
        return None
    _, piece_id, stream_id, size = oldest
    connection.execute("DELETE FROM log_tail WHERE id = ?", (piece_id,))
    (generation,) = connection.execute(
        "UPDATE stream SET tail_size = tail_size - ? WHERE id = ? RETURNING tail_generation",
        (size, stream_id),
    ).fetchall()[0]
    _count(connection, stream_id, generation, size, size)
    return Evicted(size, size)


def _count(
    connection: sqlite3.Connection, stream_id: int, generation: int, size: int, disk_bytes: int
) -> None:
    connection.execute(
        "UPDATE generation SET evicted = evicted + ? WHERE stream_id = ? AND generation = ?",
        (size, stream_id, generation),
    )
    connection.execute(
        "UPDATE stream SET stored = stored - ? WHERE id = ?", (disk_bytes, stream_id)
    )
