"""What hosts answered to commands, compressed and bounded."""

import sqlite3
from collections.abc import Sequence

import zstandard

from fleetui.domain.answer import Answer
from fleetui.domain.codec import decode, encode

BYTES_LIMIT = 64 * 1024 * 1024
"""Compressed bytes of all answers; the oldest go first."""

TABLES = (
    """
    CREATE TABLE answer (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        intent_id TEXT NOT NULL UNIQUE,
        size INTEGER NOT NULL,
        doc BLOB NOT NULL
    ) STRICT
    """,
    "CREATE INDEX answer_size ON answer (id, size)",
)


def pack(answer: Answer) -> bytes:
    """Encode and compress."""
    return zstandard.ZstdCompressor(level=6).compress(encode(answer))


def write_answer(
    connection: sqlite3.Connection,
    intent_id: str,
    document: bytes,
    *,
    bytes_limit: int = BYTES_LIMIT,
) -> None:
    """Keep an answer; the oldest of all make room for it."""
    connection.execute(
        "INSERT OR REPLACE INTO answer (intent_id, size, doc) VALUES (?, ?, ?)",
        (intent_id, len(document), document),
    )
    connection.execute(
        "DELETE FROM answer WHERE id IN (SELECT id FROM"
        " (SELECT id, sum(size) OVER (ORDER BY id DESC) AS total FROM answer) WHERE total > ?)",
        (bytes_limit,),
    )


def read_answers(connection: sqlite3.Connection, intent_ids: Sequence[str]) -> tuple[Answer, ...]:
    """Read the answers to these intents, in this order; what is not there is left out."""
    found = (
        connection.execute("SELECT doc FROM answer WHERE intent_id = ?", (intent_id,)).fetchone()
        for intent_id in intent_ids
    )
    return tuple(decode(zstandard.decompress(row[0]), Answer) for row in found if row is not None)
