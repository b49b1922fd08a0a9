"""Snapshots of hosts, compressed and bounded."""

import sqlite3

import msgspec
import zstandard

from fleetui.domain.codec import decode, encode
from fleetui.domain.snapshot import Snapshot

KEPT_PER_INSTANCE = 8
BYTES_LIMIT = 512 * 1024 * 1024
"""Compressed bytes of all snapshots; the oldest go first."""

TABLES = (
    """
    CREATE TABLE snapshot (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        instance_id INTEGER NOT NULL,
        at REAL NOT NULL,
        size INTEGER NOT NULL,
        doc BLOB NOT NULL
    ) STRICT
    """,
    "CREATE INDEX snapshot_instance ON snapshot (instance_id, id)",
    "CREATE INDEX snapshot_size ON snapshot (id, size)",
)


def pack(snapshot: Snapshot) -> bytes:
    """Encode and compress; takes tens of milliseconds, so outside the store's thread."""
    return zstandard.ZstdCompressor(level=6).compress(encode(snapshot))


def write_snapshot(
    connection: sqlite3.Connection,
    snapshot: Snapshot,
    document: bytes,
    *,
    bytes_limit: int = BYTES_LIMIT,
) -> None:
    """Keep a snapshot; the oldest of the instance, then of all, make room for it."""
    connection.execute(
        "INSERT INTO snapshot (instance_id, at, size, doc) VALUES (?, ?, ?, ?)",
        (snapshot.instance_id, snapshot.at, len(document), document),
    )
    connection.execute(
        "DELETE FROM snapshot WHERE instance_id = ?1 AND id NOT IN"
        " (SELECT id FROM snapshot WHERE instance_id = ?1 ORDER BY id DESC LIMIT ?2)",
        (snapshot.instance_id, KEPT_PER_INSTANCE),
    )
    connection.execute(
        "DELETE FROM snapshot WHERE id IN (SELECT id FROM"
        " (SELECT id, sum(size) OVER (ORDER BY id DESC) AS total FROM snapshot) WHERE total > ?)",
        (bytes_limit,),
    )


def read_snapshots(connection: sqlite3.Connection, instance_id: int) -> tuple[Snapshot, ...]:
    """Read an instance's snapshots, the newest first."""
    found = connection.execute(
        "SELECT id, doc FROM snapshot WHERE instance_id = ? ORDER BY id DESC", (instance_id,)
    )
    return tuple(
        msgspec.structs.replace(
            decode(zstandard.decompress(document), Snapshot), snapshot_id=number
        )
        for number, document in found
    )
