"""What the owner's rules propose now."""

import sqlite3
from collections.abc import Sequence

from fleetui.domain.codec import decode, encode
from fleetui.domain.policy import Proposal

TABLES = ("CREATE TABLE proposal (id INTEGER PRIMARY KEY, doc BLOB NOT NULL) STRICT",)


def write_proposals(connection: sqlite3.Connection, proposals: Sequence[Proposal] | None) -> None:
    """Replace all of them; `None` leaves them as they are."""
    if proposals is None:
        return
    connection.execute("DELETE FROM proposal")
    connection.executemany(
        "INSERT INTO proposal (doc) VALUES (?)", [(encode(proposal),) for proposal in proposals]
    )


def read_proposals(connection: sqlite3.Connection) -> tuple[Proposal, ...]:
    """Read them in the order they were written."""
    found = connection.execute("SELECT doc FROM proposal ORDER BY id")
    return tuple(decode(document, Proposal) for (document,) in found)
