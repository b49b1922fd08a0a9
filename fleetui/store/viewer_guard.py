"""What a viewer's connection may do, enforced by SQLite itself."""

import sqlite3

_READS = frozenset({
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
    sqlite3.SQLITE_TRANSACTION,
})  # fmt: skip
_WRITES = frozenset({
    (sqlite3.SQLITE_INSERT, "intent"),
    (sqlite3.SQLITE_INSERT, "withdrawal"),
    (sqlite3.SQLITE_INSERT, "audit"),
    (sqlite3.SQLITE_INSERT, "finding_decision"),
    (sqlite3.SQLITE_INSERT, "watch"),
    (sqlite3.SQLITE_UPDATE, "watch"),
    (sqlite3.SQLITE_DELETE, "watch"),
})  # fmt: skip


def guard(connection: sqlite3.Connection) -> None:
    """Let it read everything; write only intents, withdrawals, decisions, audit and watches."""
    connection.set_authorizer(_authorise)


def _authorise(
    action: int, subject: str | None, _detail: str | None, _base: str | None, _inner: str | None
) -> int:
    allowed = action in _READS or (action, subject) in _WRITES
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
