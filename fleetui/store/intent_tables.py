"""Intents, the audit beside each of their steps, and who watches what."""

import sqlite3
from collections.abc import Collection

import msgspec

from fleetui.domain.codec import decode_if_sound, encode
from fleetui.domain.intent import UNREADABLE, AuditEntry, Intent, IntentState, Withdrawal
from fleetui.domain.text import SafeText, sanitise
from fleetui.store.interface import Lease, StoreError

_SHOWN = 64
_LAST_SECOND = 1e11
FORGET_VIEWER_SECONDS = 3600.0
"""How long a viewer's last word is kept after it ran out."""

TABLES = (
    "CREATE TABLE withdrawal (intent_id TEXT PRIMARY KEY, doc BLOB NOT NULL) STRICT, WITHOUT ROWID",
)
"""Viewers may add to it only: an intent's state is what both tables say together."""

GUARDS = (
    """
    CREATE TRIGGER intent_begins BEFORE INSERT ON intent
    WHEN NEW.state <> 'requested' OR NEW.epoch IS NOT NULL
        OR EXISTS (SELECT 1 FROM intent WHERE intent_id = NEW.intent_id OR id = NEW.id)
    BEGIN SELECT RAISE(ABORT, 'a new intent must be requested'); END
    """,
    """
    CREATE TRIGGER withdrawal_stands BEFORE INSERT ON withdrawal
    WHEN EXISTS (SELECT 1 FROM withdrawal WHERE intent_id = NEW.intent_id)
    BEGIN SELECT RAISE(ABORT, 'it was withdrawn before'); END
    """,
)
"""Nobody may add an intent that was begun already, nor put another in the place of one that is
there (INSERT OR REPLACE deletes without firing a delete trigger)."""

_OPEN = "('requested', 'running', 'unknown')"


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

    What was withdrawn is noted as refused, and what cannot be read as well.
    """
    set_aside(connection, at)
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


def set_aside(connection: sqlite3.Connection, at: float) -> None:
    """Refuse open intents that cannot be read, or are not what their row says; audited.

    One such row must not end every collector that comes by.
    """
    found = connection.execute(
        f"SELECT id, intent_id, instance_id, state, epoch, doc FROM intent WHERE state IN {_OPEN}"  # noqa: S608 - our own text
    ).fetchall()
    for number, intent_id, instance_id, state, epoch, document in found:
        if _sound(document, (intent_id, instance_id, state, epoch)) is not None:
            continue
        connection.execute("UPDATE intent SET state = 'refused' WHERE id = ?", (number,))
        entry = AuditEntry(
            at=at,
            actor=SafeText("fleetui"),
            event=str(IntentState.REFUSED),
            instance_id=instance_id,
            intent_id=str(sanitise(intent_id, _SHOWN)),
            detail=SafeText(f"nothing was done: this intent, {state}, cannot be read"),
        )
        append_audit(connection, entry)


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
    """Read the newest audit entries, newest first.

    One that cannot be read is `UNREADABLE`, with the time of its neighbour.
    """
    found = connection.execute(
        "SELECT sequence, doc FROM audit ORDER BY sequence DESC LIMIT ?", (limit,)
    )
    entries = []
    at = 0.0
    for sequence, document in found:
        entry = decode_if_sound(document, AuditEntry)
        if entry is None or not _are_times(entry.at):
            text = SafeText("this entry cannot be read")
            entry = AuditEntry(at=at, actor=SafeText("?"), event=UNREADABLE, detail=text)
        at = entry.at
        entries.append(msgspec.structs.replace(entry, sequence=sequence))
    return tuple(entries)


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
        "SELECT intent_id, instance_id, state, epoch, intent.doc, withdrawal.doc"  # noqa: S608 - our own text
        f" FROM intent LEFT JOIN withdrawal USING (intent_id) {tail}",
        values,
    )
    intents = (
        _intent(document, withdrawn, tuple(columns)) for *columns, document, withdrawn in found
    )
    return tuple(intent for intent in intents if intent is not None)


def _intent(document: bytes, withdrawn: bytes | None, columns: tuple[object, ...]) -> Intent | None:
    intent = _sound(document, columns)
    if intent is None or withdrawn is None or intent.state is not IntentState.REQUESTED:
        return intent
    # Whoever wrote it, and in whatever form, meant that it be not done.
    withdrawal = decode_if_sound(withdrawn, Withdrawal)
    unknown = Withdrawal(intent.intent_id, SafeText("somebody"), intent.created_at)
    return (withdrawal or unknown).applied(intent)


def _sound(document: bytes, columns: tuple[object, ...]) -> Intent | None:
    """Return the intent of a row when it can be read and is what the other columns say."""
    intent = decode_if_sound(document, Intent)
    if intent is None or not _are_times(intent.created_at, intent.started_at, intent.finished_at):
        return None
    said = (intent.intent_id, intent.instance_id, str(intent.state), intent.epoch)
    return intent if said == columns else None


def _are_times(*moments: float | None) -> bool:
    """Tell whether a calendar has these epoch seconds."""
    return all(moment is None or abs(moment) < _LAST_SECOND for moment in moments)


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
