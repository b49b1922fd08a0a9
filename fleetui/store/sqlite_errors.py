"""What SQLite's errors mean for an operator."""

import sqlite3
from pathlib import Path

from fleetui.store.interface import StoreError, StoreFullError

_CANNOT_WRITE = frozenset({
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_SHMSIZE,
})  # fmt: skip
"""A full quota or a file-size limit comes as one of these, not as `SQLITE_FULL`."""


def store_error(error: sqlite3.Error, path: Path) -> StoreError:
    """Turn an SQLite error into a `StoreError` that names the store and what to do."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    if primary in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY) or code in _CANNOT_WRITE:
        return StoreFullError(
            f"the disk of {path} takes no more ({error}). Nothing of this was written and nothing"
            " stored is lost; make room and it goes on."
        )
    if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreError(
            f"{path} is damaged or is no FleetUI store ({error}). Stop every fleetui, move it away"
            f" together with its -wal and -shm files, and start again for an empty store;"
            f" `sqlite3 {path.name} .recover` may save what the old one held."
        )
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(f"{path} is busy: another process holds it for too long. Try again.")
    if primary == sqlite3.SQLITE_AUTH:
        return StoreError("a viewer may write intents and watches only")
    if primary == sqlite3.SQLITE_CANTOPEN:
        return StoreError(
            f"cannot open {path} ({error}). Check who owns it and its folder, or name another"
            " folder with --state-dir."
        )
    return StoreError(f"{path}: {error}")
