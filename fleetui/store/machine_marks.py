"""What outlives instances: faults a machine had, and what made a fault go away."""

import sqlite3

from fleetui.domain.codec import decode, decode_if_sound, encode
from fleetui.domain.finding import Severity
from fleetui.domain.finding_record import FindingRecord, MachineMark, Mend, SignatureHistory
from fleetui.domain.intent import Intent

MARK_LIMIT = 50_000
"""Most signatures and machines remembered; the longest unseen are forgotten first."""
_RECENT_INTENTS = 64

TABLES = (
    """
    CREATE TABLE machine_mark (
        machine_id INTEGER NOT NULL,
        signature TEXT NOT NULL,
        first_seen REAL NOT NULL,
        last_seen REAL NOT NULL,
        occurrences INTEGER NOT NULL,
        doc BLOB NOT NULL,
        PRIMARY KEY (machine_id, signature)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX machine_mark_signature ON machine_mark (signature)",
    "CREATE INDEX machine_mark_age ON machine_mark (last_seen)",
    """
    CREATE TABLE finding_mend (
        signature TEXT NOT NULL,
        action TEXT NOT NULL,
        times INTEGER NOT NULL,
        last_at REAL NOT NULL,
        PRIMARY KEY (signature, action)
    ) STRICT, WITHOUT ROWID
    """,
)


def write_mark(
    connection: sqlite3.Connection, record: FindingRecord, at: float, *, occurred: int
) -> None:
    """Remember the fault with the machine, which outlives its instances."""
    if record.machine_id is None or record.finding.severity is Severity.INFO:
        return
    finding = record.finding
    row = connection.execute(
        "SELECT doc FROM machine_mark WHERE machine_id = ? AND signature = ?",
        (record.machine_id, finding.signature),
    ).fetchone()
    known = None if row is None else decode(row[0], MachineMark)
    first_seen = record.first_seen if known is None else known.first_seen
    occurrences = 0 if known is None else known.occurrences
    first_instance = record.instance_id
    if known is not None:
        first_instance = known.first_instance or known.last_instance or first_instance
    mark = MachineMark(
        machine_id=record.machine_id,
        category=finding.category,
        signature=finding.signature,
        severity=finding.severity,
        summary=finding.summary,
        first_seen=first_seen,
        last_seen=at,
        occurrences=max(occurrences + occurred, 1),
        first_instance=first_instance,
        last_instance=record.instance_id,
    )
    connection.execute(
        "INSERT OR REPLACE INTO machine_mark"
        " (machine_id, signature, first_seen, last_seen, occurrences, doc)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (mark.machine_id, mark.signature, first_seen, at, mark.occurrences, encode(mark)),
    )


def write_mend(connection: sqlite3.Connection, record: FindingRecord) -> None:
    """Count what was done before the fault went away; nothing done counts as by itself."""
    found = connection.execute(
        "SELECT doc FROM intent WHERE instance_id = ? AND state = 'done' ORDER BY id DESC LIMIT ?",
        (record.instance_id, _RECENT_INTENTS),
    )
    acts = [decode_if_sound(document, Intent) for (document,) in found]
    mends = (
        str(act.verb)
        for act in acts
        if act is not None
        and act.verb.can_mend
        and (act.started_at or act.created_at) >= record.opened_at
    )
    action = next(mends, "")
    connection.execute(
        "INSERT INTO finding_mend (signature, action, times, last_at) VALUES (?, ?, 1, ?)"
        " ON CONFLICT DO UPDATE SET times = times + 1, last_at = excluded.last_at",
        (record.finding.signature, action, record.resolved_at),
    )


def read_history(connection: sqlite3.Connection, signature: str) -> SignatureHistory | None:
    """Read what the fleet's past says of a signature."""
    first, last, occurrences = connection.execute(
        "SELECT min(first_seen), max(last_seen), sum(occurrences) FROM machine_mark"
        " WHERE signature = ?",
        (signature,),
    ).fetchone()
    if first is None:
        return None
    machines = connection.execute(
        "SELECT machine_id FROM machine_mark WHERE signature = ? ORDER BY last_seen DESC LIMIT 100",
        (signature,),
    )
    mends = connection.execute(
        "SELECT action, times, last_at FROM finding_mend WHERE signature = ? ORDER BY times DESC",
        (signature,),
    )
    return SignatureHistory(
        signature=signature,
        first_seen=first,
        last_seen=last,
        occurrences=occurrences,
        machines=tuple(machine_id for (machine_id,) in machines),
        mends=tuple(Mend(action or None, times, at) for action, times, at in mends),
    )


def read_marks(connection: sqlite3.Connection, machine_id: int) -> tuple[MachineMark, ...]:
    """Read what is remembered of a machine, the newest first."""
    found = connection.execute(
        "SELECT doc FROM machine_mark WHERE machine_id = ? ORDER BY last_seen DESC", (machine_id,)
    )
    return tuple(decode(document, MachineMark) for (document,) in found)


def prune_marks(connection: sqlite3.Connection) -> None:
    """Forget the longest unseen marks beyond the limit."""
    connection.execute(
        "DELETE FROM machine_mark WHERE (machine_id, signature) IN (SELECT machine_id, signature"
        " FROM machine_mark ORDER BY last_seen DESC LIMIT -1 OFFSET ?)",
        (MARK_LIMIT,),
    )
