"""What ages out of the store: samples, old events, and instances gone for long."""

import sqlite3

from fleetui.store.finding_tables import prune_decisions
from fleetui.store.log_blocks import tail_ids
from fleetui.store.machine_marks import prune_marks
from fleetui.store.machine_record import prune_rentals
from fleetui.store.sample_tables import prune_samples

PRUNE_SECONDS = 60.0
EVENT_LIMIT = 100_000
GONE_SECONDS = 90 * 86_400.0
"""How long the evidence of a gone instance is kept, within the log budgets."""
INSTANCES_A_TURN = 4
_TABLES_OF_AN_INSTANCE = (
    "stream", "event", "host_key", "reading", "finding", "snapshot", "fleet_row", "instance",
)  # fmt: skip


def prune(connection: sqlite3.Connection, at: float) -> None:
    """Remove what aged out, at most once a minute of the fleet's time."""
    (pruned_at,) = connection.execute("SELECT pruned_at FROM shard").fetchone()
    if abs(at - pruned_at) < PRUNE_SECONDS:
        return
    connection.execute("UPDATE shard SET pruned_at = ?", (at,))
    prune_samples(connection, at)
    prune_marks(connection)
    prune_rentals(connection)
    prune_decisions(connection, at)
    connection.execute(
        "DELETE FROM event WHERE id <= (SELECT max(id) FROM event) - ?", (EVENT_LIMIT,)
    )
    old = connection.execute(
        "SELECT instance_id FROM instance WHERE gone_at < ? LIMIT ?",
        (at - GONE_SECONDS, INSTANCES_A_TURN),
    ).fetchall()
    for (instance_id,) in old:
        _forget(connection, instance_id)


def _forget(connection: sqlite3.Connection, instance_id: int) -> None:
    streams = connection.execute(
        "SELECT id, stored FROM stream WHERE instance_id = ?", (instance_id,)
    ).fetchall()
    for stream_id, stored in streams:
        connection.execute("DELETE FROM log_block WHERE stream_id = ?", (stream_id,))
        connection.execute("DELETE FROM log_tail WHERE id BETWEEN ? AND ?", tail_ids(stream_id))
        connection.execute("DELETE FROM generation WHERE stream_id = ?", (stream_id,))
        connection.execute("UPDATE shard SET log_stored = log_stored - ?", (stored,))
    for table in _TABLES_OF_AN_INSTANCE:
        connection.execute(f"DELETE FROM {table} WHERE instance_id = ?", (instance_id,))  # noqa: S608 - our own names
