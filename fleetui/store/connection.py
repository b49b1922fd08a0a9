"""One SQLite connection: short transactions, each a single hop to its thread."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import aiosqlite

from fleetui.store.file_system import place_trouble, prepare_place
from fleetui.store.interface import StoreError
from fleetui.store.schema import ensure_schema
from fleetui.store.sqlite_errors import store_error
from fleetui.store.viewer_guard import guard

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

BUSY_SECONDS = 10.0
"""How long a transaction waits for another process's one; those take milliseconds."""

CHECKPOINT_PAGES = 4_096
"""Pages of WAL (16 MiB) between checkpoints: pages written again meanwhile are copied once."""

WAL_LIMIT_BYTES = 64 * 1024 * 1024
"""The log file is cut back to this once no reader holds on to it."""


class Database:
    """A connection in WAL mode whose every transaction is one function on its own thread.

    A cancelled caller cannot split a transaction: it is done whole or not at all.
    """

    def __init__(self, path: Path, connection: aiosqlite.Connection) -> None:
        self.path = path
        self._connection = connection
        self._closed = False

    @classmethod
    async def open(cls, path: Path, *, viewer: bool) -> "Database":
        """Open the store's file; makes folder, file and tables when they are missing.

        Raises:
            StoreError: wrong place, version or file; the text says what to do.
        """
        await asyncio.to_thread(prepare_place, path)
        try:
            connection = aiosqlite.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, cached_statements=256
            )
            # A store that was not closed must not keep its process from ending.
            connection._thread.daemon = True  # noqa: SLF001 - the library has no option for it
            await connection
        except sqlite3.Error as error:
            raise store_error(error, path) from error
        database = cls(path, connection)
        try:
            await database._hop(lambda raw: prepare_connection(raw, path, viewer=viewer))
        except BaseException:
            await database.close()
            raise
        return database

    async def read(self, work: Work[T]) -> T:
        """Run `work` in one read transaction: everything it sees is of one moment."""
        return await self._hop(lambda raw: _transaction(raw, "BEGIN", work))

    async def write(self, work: Work[T]) -> T:
        """Run `work` in one write transaction; any exception rolls it back.

        Raises:
            StoreFullError: the disk took no more; nothing was written.
        """
        return await self._hop(lambda raw: _transaction(raw, "BEGIN IMMEDIATE", work))

    async def close(self) -> None:
        """Finish what was begun and close; a second call does nothing."""
        if not self._closed:
            self._closed = True
            await asyncio.shield(self._connection.close())

    async def _hop(self, work: Work[T]) -> T:
        if self._closed:
            raise StoreError("the store is closed")
        raw = self._connection._conn  # noqa: SLF001 - a whole transaction runs in one hop
        try:
            return cast(
                "T",
                await self._connection._execute(work, raw),  # type: ignore[no-untyped-call]  # noqa: SLF001 - as above
            )
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error
        except OSError as error:
            raise place_trouble(self.path, error) from error


def _transaction(raw: sqlite3.Connection, begin: str, work: Work[T]) -> T:
    raw.execute(begin)
    try:
        result = work(raw)
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:  # some errors roll back by themselves
            raw.execute("ROLLBACK")
        raise
    return result


def prepare_connection(raw: sqlite3.Connection, path: Path, *, viewer: bool) -> None:
    """Set a new connection up: WAL, durable at checkpoints, tables there, viewers guarded.

    Raises:
        StoreError: the file is of another version or another program.
    """
    _enter_wal(raw)
    raw.execute("PRAGMA synchronous = NORMAL")
    raw.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    raw.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}")
    raw.execute(f"PRAGMA cache_size = {-4_096 if viewer else -32_768}")
    raw.execute("PRAGMA temp_store = MEMORY")
    ensure_schema(raw, path)
    if viewer:
        guard(raw)


def _enter_wal(raw: sqlite3.Connection) -> None:
    # The switch of a new file needs it alone and does not wait by itself.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            mode = raw.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
            continue
        if mode != "wal":
            raise StoreError(f"this disk does not allow SQLite's WAL mode (got {mode})")
        return
