"""Instances, table rows and readings: the newest document of each, and what changed since when."""

import sqlite3
from collections.abc import Sequence

import msgspec
import zstandard

from fleetui.domain.codec import decode, encode
from fleetui.domain.instance import Instance, Walk, WalkOutcome
from fleetui.domain.reading import FleetRow, Reading
from fleetui.store.interface import Batch, CollectorHealth, FleetView

HORIZON_SECONDS = 600.0
"""How long a gone id stays listed as removed; an older position gets the whole fleet."""


class FleetDocuments(msgspec.Struct, frozen=True):
    """A batch's documents, encoded before the write transaction begins."""

    instances: list[tuple[int, float, bytes]]
    rows: list[tuple[int, bytes]]
    readings: list[tuple[int, bytes]]
    walk: bytes | None
    walk_is_complete: bool
    health: bytes | None


def encode_fleet(batch: Batch) -> FleetDocuments:
    """Encode the documents of a batch."""
    compress = zstandard.ZstdCompressor(level=1).compress
    return FleetDocuments(
        instances=[(item.instance_id, batch.at, encode(item)) for item in batch.instances],
        rows=[(item.instance_id, encode(item)) for item in batch.rows],
        readings=[(item.instance_id, compress(encode(item))) for item in batch.readings],
        walk=encode(batch.walk) if batch.walk else None,
        walk_is_complete=batch.walk is not None and batch.walk.outcome is WalkOutcome.COMPLETE,
        health=encode(batch.health) if batch.health else None,
    )


def write_fleet(
    connection: sqlite3.Connection,
    revision: int,
    documents: FleetDocuments,
    gone: Sequence[int],
    at: float,
) -> None:
    """Write documents at a revision; a row that did not change keeps its older one."""
    connection.executemany(
        "INSERT INTO instance (instance_id, seen_at, doc) VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET seen_at = excluded.seen_at, doc = excluded.doc, gone_at = NULL",
        documents.instances,
    )
    connection.executemany(
        "INSERT INTO fleet_row (instance_id, rev, doc) VALUES (?, ?, ?) ON CONFLICT DO UPDATE"
        " SET rev = excluded.rev, doc = excluded.doc, gone_at = NULL"
        " WHERE doc IS NOT excluded.doc OR gone_at IS NOT NULL",
        [(instance_id, revision, document) for instance_id, document in documents.rows],
    )
    connection.executemany(
        "INSERT INTO reading (instance_id, doc) VALUES (?, ?)"
        " ON CONFLICT DO UPDATE SET doc = excluded.doc",
        documents.readings,
    )
    for instance_id in gone:
        connection.execute(
            "UPDATE instance SET gone_at = ? WHERE instance_id = ? AND gone_at IS NULL",
            (at, instance_id),
        )
        connection.execute(
            "UPDATE fleet_row SET gone_at = ?, rev = ? WHERE instance_id = ? AND gone_at IS NULL",
            (at, revision, instance_id),
        )
    if documents.walk is not None:
        connection.execute("UPDATE shard SET last_walk = ?", (documents.walk,))
        if documents.walk_is_complete:
            connection.execute("UPDATE shard SET last_complete_walk = ?", (documents.walk,))
    if documents.health is not None:
        connection.execute("UPDATE shard SET health = ?", (documents.health,))
    _forget_removed(connection, at)


def read_fleet(connection: sqlite3.Connection, since: int | None, *, lease_held: bool) -> FleetView:
    """Read the whole fleet (`since` is `None` or too old) or what changed after `since`."""
    revision, horizon, last_walk, last_complete, health = connection.execute(
        "SELECT rev, horizon, last_walk, last_complete_walk, health FROM shard"
    ).fetchone()
    # A position from the future belongs to a store that was moved away.
    whole = since is None or not horizon <= since <= revision
    found: list[tuple[bytes, int | None]] = []
    if whole:
        found = connection.execute(
            "SELECT doc, NULL FROM fleet_row WHERE gone_at IS NULL ORDER BY instance_id"
        ).fetchall()
    elif since != revision:
        found = connection.execute(
            "SELECT doc, iif(gone_at IS NULL, NULL, instance_id) FROM fleet_row WHERE rev > ?"
            " ORDER BY rev, instance_id",
            (since,),
        ).fetchall()
    return FleetView(
        revision=revision,
        rows=_decode_rows([document for document, removed in found if removed is None]),
        removed=tuple(removed for _, removed in found if removed is not None),
        last_walk=decode(last_walk, Walk) if last_walk else None,
        last_complete_walk=decode(last_complete, Walk) if last_complete else None,
        health=decode(health, CollectorHealth) if health else None,
        lease_held=lease_held,
        whole=whole,
    )


def read_reading(connection: sqlite3.Connection, instance_id: int) -> Reading | None:
    """Read the newest reading of an instance, gone or not."""
    found = connection.execute(
        "SELECT doc FROM reading WHERE instance_id = ?", (instance_id,)
    ).fetchone()
    return decode(zstandard.decompress(found[0]), Reading) if found else None


def read_readings(connection: sqlite3.Connection) -> tuple[Reading, ...]:
    """Read the newest reading of every instance that is not gone."""
    found = connection.execute(
        "SELECT doc FROM reading WHERE instance_id NOT IN"
        " (SELECT instance_id FROM instance WHERE gone_at IS NOT NULL)"
        " AND instance_id NOT IN (SELECT instance_id FROM fleet_row WHERE gone_at IS NOT NULL)"
        " ORDER BY instance_id"
    )
    decompress = zstandard.ZstdDecompressor().decompress
    documents = [decompress(document) for (document,) in found]
    return decode(_array(documents), tuple[Reading, ...])


def read_instance(connection: sqlite3.Connection, instance_id: int) -> Instance | None:
    """Read the newest inventory row of an instance, gone or not."""
    found = connection.execute(
        "SELECT doc FROM instance WHERE instance_id = ?", (instance_id,)
    ).fetchone()
    return decode(found[0], Instance) if found else None


def read_inventory(connection: sqlite3.Connection) -> tuple[tuple[Instance, float], ...]:
    """Read the instances that are not gone, with the time each was last seen."""
    found = connection.execute(
        "SELECT doc, seen_at FROM instance WHERE gone_at IS NULL ORDER BY instance_id"
    ).fetchall()
    instances = decode(_array([document for document, _ in found]), tuple[Instance, ...])
    return tuple(zip(instances, (seen_at for _, seen_at in found), strict=True))


def _forget_removed(connection: sqlite3.Connection, at: float) -> None:
    forgotten = connection.execute(
        "DELETE FROM fleet_row WHERE gone_at IS NOT NULL AND gone_at < ? RETURNING rev",
        (at - HORIZON_SECONDS,),
    ).fetchall()
    if forgotten:
        connection.execute(
            "UPDATE shard SET horizon = max(horizon, ?)", (max(rev for (rev,) in forgotten),)
        )


def _decode_rows(documents: list[bytes]) -> tuple[FleetRow, ...]:
    return decode(_array(documents), tuple[FleetRow, ...])


def _array(documents: list[bytes]) -> bytes:
    # One decoding of a JSON array is much cheaper than one of each document.
    return b"[" + b",".join(documents) + b"]"
