"""Intents, the audit beside each of their steps, and who watches what."""

import sqlite3
from collections.abc import Collection

import msgspec

from fleetui.domain.codec import decode, encode
from fleetui.domain.intent import AuditEntry, Intent, IntentState, Withdrawal
from fleetui.domain.text import SafeText
from fleetui.store.interface import Lease, StoreError

FORGET_VIEWER_SECONDS = 3600.0
"""How long a viewer's last word is kept after it ran out."""

TABLES = (
    "CREATE TABLE withdrawal (intent_id TEXT PRIMARY KEY, doc BLOB NOT NULL) STRICT, WITHOUT ROWID",
)
"""Viewers may add to it only: an intent's state is what both tables say together."""


def write_intent(connection: sqlite3.Connection, intent: Intent) -> None:
    """Record a new intent and its audit entry.

    Raises:
        StoreError: it is not a new one.
    """
    if intent.state is not IntentState.REQUESTED:
        raise StoreError(f"a new intent must be requested, not {intent.state}")
    try:
        connection.execute(
            "INSERT INTO intent (intent_id, instance_id, state, doc) VALUES (?, ?, ?, ?)",
            (intent.intent_id, intent.instance_id, str(intent.state), encode(intent)),
        )
    except sqlite3.IntegrityError as error:
        raise StoreError(f"intent {intent.intent_id} was recorded before") from error
    _write_audit(connection, intent, intent.created_at, intent.reason)


def write_withdrawal(connection: sqlite3.Connection, withdrawal: Withdrawal) -> None:
    """Take a request back, with its audit entry.

    Raises:
        StoreError: there is no such intent, or it is not waiting any more.
    """
    intent = read_intent(connection, withdrawal.intent_id)
    if intent is None:
        raise StoreError(f"there is no intent {withdrawal.intent_id}")
    if intent.state is not IntentState.REQUESTED:
        raise StoreError(
            f"{intent.verb} {intent.instance_id} cannot be withdrawn any more: it is {intent.state}"
        )
    connection.execute(
        "INSERT INTO withdrawal (intent_id, doc) VALUES (?, ?)",
        (withdrawal.intent_id, encode(withdrawal)),
    )
    entry = AuditEntry(
        at=withdrawal.at,
        actor=withdrawal.by,
        event="withdrawn",
        instance_id=intent.instance_id,
        intent_id=intent.intent_id,
        verb=intent.verb,
        detail=SafeText(f"asked for by {intent.actor}"),
    )
    append_audit(connection, entry)


def read_requested(connection: sqlite3.Connection) -> tuple[Intent, ...]:
    """Read what waits to be taken, oldest first."""
    intents = _select(connection, "WHERE state = 'requested' ORDER BY id")
    return tuple(intent for intent in intents if intent.state is IntentState.REQUESTED)


def claim_requested(
    connection: sqlite3.Connection, lease: Lease, at: float, only: Collection[str] | None
) -> tuple[Intent, ...]:
    """Move requested intents (with `only`, those) to `running`; return them, oldest first.

    What was withdrawn is noted as refused.
    """
    claimed = []
    for intent in _select(connection, "WHERE state = 'requested' ORDER BY id"):
        if intent.state is not IntentState.REQUESTED:
            _update(connection, intent)
            continue
        if only is not None and intent.intent_id not in only:
            continue
        running = msgspec.structs.replace(
            intent, state=IntentState.RUNNING, epoch=lease.epoch, started_at=at
        )
        _update(connection, running)
        _write_audit(connection, running, at, SafeText())
        claimed.append(running)
    return tuple(claimed)


def has_requested(connection: sqlite3.Connection) -> bool:
    """Tell whether there is anything to claim."""
    found = connection.execute("SELECT 1 FROM intent WHERE state = 'requested' LIMIT 1").fetchone()
    return found is not None


def read_unfinished(connection: sqlite3.Connection, lease: Lease) -> tuple[Intent, ...]:
    """Read `running` and `unknown` intents that an earlier epoch began, oldest first."""
    return _select(
        connection,
        "WHERE state IN ('running', 'unknown') AND epoch < ? ORDER BY id",
        lease.epoch,
    )


def settle_intent(
    connection: sqlite3.Connection,
    intent_id: str,
    state: IntentState,
    result: SafeText,
    at: float,
    *,
    made: int | None = None,
) -> None:
    """Move an intent on and write the audit entry; `made` is the instance it is about from now on.

    Raises:
        StoreError: there is no such intent, or it has ended already.
    """
    intent = read_intent(connection, intent_id)
    if intent is None:
        raise StoreError(f"there is no intent {intent_id}")
    if intent.state.is_final:
        raise StoreError(f"intent {intent_id} has ended already: {intent.state}")
    settled = msgspec.structs.replace(
        intent,
        instance_id=made or intent.instance_id,
        state=state,
        result=result,
        finished_at=at if state.is_final else intent.finished_at,
    )
    _update(connection, settled)
    _write_audit(connection, settled, at, result)


def read_intent(connection: sqlite3.Connection, intent_id: str) -> Intent | None:
    """Read one intent."""
    return next(iter(_select(connection, "WHERE intent_id = ?", intent_id)), None)


def read_intents(
    connection: sqlite3.Connection, instance_id: int | None, limit: int
) -> tuple[Intent, ...]:
    """Read the newest intents, newest first."""
    if instance_id is None:
        return _select(connection, "ORDER BY id DESC LIMIT ?", limit)
    return _select(connection, "WHERE instance_id = ? ORDER BY id DESC LIMIT ?", instance_id, limit)


def read_audit(connection: sqlite3.Connection, limit: int) -> tuple[AuditEntry, ...]:
    """Read the newest audit entries, newest first."""
    found = connection.execute(
        "SELECT sequence, doc FROM audit ORDER BY sequence DESC LIMIT ?", (limit,)
    )
    return tuple(
        msgspec.structs.replace(decode(document, AuditEntry), sequence=sequence)
        for sequence, document in found
    )


def append_audit(connection: sqlite3.Connection, entry: AuditEntry) -> None:
    """Add one entry to the audit."""
    connection.execute("INSERT INTO audit (doc) VALUES (?)", (encode(entry),))


def write_watch(
    connection: sqlite3.Connection, viewer: str, instance_id: int | None, until: float
) -> None:
    """Note that a viewer is alive and what it shows; forget those long silent."""
    connection.execute(
        "INSERT INTO watch (viewer, instance_id, until) VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET instance_id = excluded.instance_id, until = excluded.until",
        (viewer, instance_id, until),
    )
    connection.execute("DELETE FROM watch WHERE until < ?", (until - FORGET_VIEWER_SECONDS,))


def read_watched(connection: sqlite3.Connection, now: float) -> dict[int, str]:
    """Read which instances are shown now, and by whom (one of them)."""
    return dict(
        connection.execute(
            "SELECT instance_id, viewer FROM watch WHERE instance_id IS NOT NULL AND until > ?"
            " ORDER BY until",
            (now,),
        ).fetchall()
    )


def read_newest_viewer(connection: sqlite3.Connection) -> float | None:
    """Read until when the longest-lived viewer said to be alive."""
    newest: float | None = connection.execute("SELECT max(until) FROM watch").fetchone()[0]
    return newest


def _select(connection: sqlite3.Connection, tail: str, *values: object) -> tuple[Intent, ...]:
    found = connection.execute(
        f"SELECT intent.doc, withdrawal.doc FROM intent LEFT JOIN withdrawal USING (intent_id) {tail}",  # noqa: E501,S608 - our own text
        values,
    )
    return tuple(_intent(document, withdrawn) for document, withdrawn in found)


def _intent(document: bytes, withdrawn: bytes | None) -> Intent:
    intent = decode(document, Intent)
    if withdrawn is None or intent.state is not IntentState.REQUESTED:
        return intent
    return decode(withdrawn, Withdrawal).applied(intent)


def _update(connection: sqlite3.Connection, intent: Intent) -> None:
    connection.execute(
        "UPDATE intent SET instance_id = ?, state = ?, epoch = ?, doc = ? WHERE intent_id = ?",
        (intent.instance_id, str(intent.state), intent.epoch, encode(intent), intent.intent_id),
    )


def _write_audit(
    connection: sqlite3.Connection, intent: Intent, at: float, detail: SafeText
) -> None:
    entry = AuditEntry(
        at=at,
        actor=intent.actor,
        event=str(intent.state),
        instance_id=intent.instance_id or None,
        intent_id=intent.intent_id,
        verb=intent.verb,
        detail=detail,
    )
    append_audit(connection, entry)
