"""The tables of the store, and the version that they carry.

Facts have one writer, the lease holder; `intent`, `audit` and `watch` take rows from viewers.
A document column (`doc`) is the domain value's JSON; the other columns exist to find it.
"""

import sqlite3
from pathlib import Path

from fleetui.store import (
    answer_tables,
    charge_tables,
    finding_tables,
    intent_tables,
    machine_marks,
    machine_prices,
    machine_record,
    proposal_tables,
    snapshot_tables,
    spend_tables,
    standing_tables,
)
from fleetui.store.interface import StoreError

APPLICATION_ID = 0x464C4545
"""Marks the file as ours (`FLEE`)."""

OLDEST_SQLITE = (3, 37, 0)
"""Strict tables and RETURNING."""

METRICS = {"proofs_per_hour": 1_000, "cost_per_hour": 1_000_000, "gpu_util": 10, "gpu_temp": 10}
"""Fields of a sample, in the order of their columns, with how many parts of one are counted.

Whole numbers of small parts take half the room of floats, and their sums are exact.
"""

RESOLUTIONS = (10, 60, 3600)
"""Seconds of the sample tables' buckets, the finest first."""

_SAMPLE_COLUMNS = ", ".join(f"{name} INTEGER" for name in METRICS)
_BUCKET_COLUMNS = ",\n".join(
    f"{name}_n INTEGER NOT NULL, {name}_sum INTEGER, {name}_min INTEGER, {name}_max INTEGER"
    for name in METRICS
)

_FIRST = (
    """
    CREATE TABLE shard (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        holder TEXT NOT NULL DEFAULT '',
        epoch INTEGER NOT NULL DEFAULT 0,
        ttl REAL NOT NULL DEFAULT 0,
        expires REAL NOT NULL DEFAULT 0,
        boot_id TEXT NOT NULL DEFAULT '',
        rev INTEGER NOT NULL DEFAULT 0,
        horizon INTEGER NOT NULL DEFAULT 0,
        last_walk BLOB,
        last_complete_walk BLOB,
        health BLOB,
        log_stored INTEGER NOT NULL DEFAULT 0,
        log_received INTEGER NOT NULL DEFAULT 0,
        log_dropped INTEGER NOT NULL DEFAULT 0,
        pruned_at REAL NOT NULL DEFAULT 0
    ) STRICT
    """,
    "INSERT INTO shard (id) VALUES (1)",
    """
    CREATE TABLE instance (
        instance_id INTEGER PRIMARY KEY, seen_at REAL NOT NULL, gone_at REAL, doc BLOB NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE fleet_row (
        instance_id INTEGER PRIMARY KEY, rev INTEGER NOT NULL, gone_at REAL, doc BLOB NOT NULL
    ) STRICT
    """,
    "CREATE INDEX fleet_row_rev ON fleet_row (rev)",
    "CREATE INDEX fleet_row_gone ON fleet_row (gone_at) WHERE gone_at IS NOT NULL",
    "CREATE TABLE reading (instance_id INTEGER PRIMARY KEY, doc BLOB NOT NULL) STRICT",
    """
    CREATE TABLE stream (
        id INTEGER PRIMARY KEY,
        instance_id INTEGER NOT NULL,
        path TEXT NOT NULL,
        kind TEXT NOT NULL DEFAULT '',
        generation INTEGER NOT NULL,
        identity TEXT NOT NULL DEFAULT '',
        skipped INTEGER NOT NULL DEFAULT 0,
        last_byte_at REAL,
        stored INTEGER NOT NULL DEFAULT 0,
        tail_generation INTEGER NOT NULL DEFAULT 0,
        tail_size INTEGER NOT NULL DEFAULT 0,
        tail_end INTEGER NOT NULL DEFAULT 0,
        UNIQUE (instance_id, path)
    ) STRICT
    """,
    """
    CREATE TABLE generation (
        stream_id INTEGER NOT NULL,
        generation INTEGER NOT NULL,
        end_offset INTEGER NOT NULL DEFAULT 0,
        gaps INTEGER NOT NULL DEFAULT 0,
        evicted INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (stream_id, generation)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE log_block (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        stream_id INTEGER NOT NULL,
        generation INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        size INTEGER NOT NULL,
        last_at REAL NOT NULL,
        marks BLOB NOT NULL,
        data BLOB NOT NULL
    ) STRICT
    """,
    "CREATE UNIQUE INDEX log_block_place ON log_block (stream_id, generation, offset)",
    "CREATE INDEX log_block_time ON log_block (stream_id, last_at)",
    """
    CREATE TABLE log_tail (
        id INTEGER PRIMARY KEY, offset INTEGER NOT NULL, at REAL NOT NULL, data BLOB NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE event (
        id INTEGER PRIMARY KEY AUTOINCREMENT, instance_id INTEGER, doc BLOB NOT NULL
    ) STRICT
    """,
    "CREATE INDEX event_instance ON event (instance_id, id)",
    """
    CREATE TABLE host_key (
        instance_id INTEGER PRIMARY KEY, key TEXT NOT NULL, accepted_at REAL NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE intent (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        intent_id TEXT NOT NULL UNIQUE,
        instance_id INTEGER NOT NULL,
        state TEXT NOT NULL,
        epoch INTEGER,
        doc BLOB NOT NULL
    ) STRICT
    """,
    "CREATE INDEX intent_instance ON intent (instance_id, id)",
    """
    CREATE INDEX intent_open ON intent (state, id)
    WHERE state IN ('requested', 'running', 'unknown')
    """,
    "CREATE TABLE audit (sequence INTEGER PRIMARY KEY AUTOINCREMENT, doc BLOB NOT NULL) STRICT",
    """
    CREATE TRIGGER audit_keeps BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END
    """,
    """
    CREATE TRIGGER audit_stands BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END
    """,
    # INSERT OR REPLACE deletes without firing the delete trigger.
    """
    CREATE TRIGGER audit_grows BEFORE INSERT ON audit
    WHEN EXISTS (SELECT 1 FROM audit WHERE sequence = NEW.sequence)
    BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END
    """,
    """
    CREATE TABLE watch (
        viewer TEXT PRIMARY KEY, instance_id INTEGER, until REAL NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    *(
        f"""
        CREATE TABLE sample_{seconds} (
            at INTEGER NOT NULL,
            instance_id INTEGER NOT NULL,
            {_SAMPLE_COLUMNS if seconds == RESOLUTIONS[0] else _BUCKET_COLUMNS},
            PRIMARY KEY (at, instance_id)
        ) STRICT, WITHOUT ROWID
        """
        for seconds in RESOLUTIONS
    ),
    *(
        f"""
        CREATE TABLE fleet_sample_{seconds} (
            at INTEGER PRIMARY KEY,
            proofs_per_hour REAL,
            cost_per_hour REAL,
            instances INTEGER NOT NULL
        ) STRICT
        """
        for seconds in RESOLUTIONS
    ),
)


STEPS: tuple[tuple[str, ...], ...] = (
    _FIRST,
    (
        *finding_tables.TABLES,
        *machine_marks.TABLES,
        *snapshot_tables.TABLES,
        *spend_tables.TABLES,
        *standing_tables.TABLES,
        *proposal_tables.TABLES,
    ),
    machine_record.TABLES,
    (*intent_tables.TABLES, *answer_tables.TABLES),
    (
        "ALTER TABLE generation ADD COLUMN lost_files INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE generation ADD COLUMN lost_bytes INTEGER NOT NULL DEFAULT 0",
    ),
    charge_tables.TABLES,
    machine_prices.TABLES,
    spend_tables.UNPRICED,
    intent_tables.GUARDS,
)
"""What brings a file from each version to the next; an empty one is of version 0.

A step that was released stays as it is: a change of the tables is a new one.
"""

VERSION = len(STEPS)


def ensure_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables in an empty file, or bring an older store's up to date.

    Several processes may do this at once. Runs outside a transaction.

    Raises:
        StoreError: the file is of another version or another program.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old; {oldest} is needed")
    if _version(connection, path) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in STEPS[_version(connection, path) :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the store's version, 0 for an empty file."""
    # In this order: another process may make the tables between two of these looks.
    objects: int = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if objects == 0 and application == 0:
        return 0
    if application != APPLICATION_ID:
        raise StoreError(
            f"{path} belongs to another program. Name another folder with --state-dir."
        )
    if version > VERSION:
        raise StoreError(
            f"{path} was written by a newer FleetUI (store version {version}; this one knows"
            f" {VERSION}). Update this FleetUI, or name another folder with --state-dir."
        )
    if version < 1:
        raise StoreError(
            f"{path} is a store whose making did not end. Move it away to start with an empty"
            " one, or name another folder with --state-dir."
        )
    return version
