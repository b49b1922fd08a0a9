"""What operators have laid down: protected instances, blacklisted machines."""

import sqlite3

from fleetui.domain.codec import decode, encode
from fleetui.domain.standing import Mark, Standing

TABLES = (
    "CREATE TABLE protection (instance_id INTEGER PRIMARY KEY, doc BLOB NOT NULL) STRICT",
    "CREATE TABLE blacklist (machine_id INTEGER PRIMARY KEY, doc BLOB NOT NULL) STRICT",
)


def read_standing(connection: sqlite3.Connection) -> Standing:
    """Read all of it."""
    protected = connection.execute("SELECT instance_id, doc FROM protection").fetchall()
    machines = connection.execute("SELECT machine_id, doc FROM blacklist").fetchall()
    return Standing(
        protected={key: decode(document, Mark) for key, document in protected},
        blacklist={key: decode(document, Mark) for key, document in machines},
    )


def write_protection(connection: sqlite3.Connection, instance_id: int, mark: Mark | None) -> None:
    """Protect an instance, or (`None`) no longer."""
    connection.execute("DELETE FROM protection WHERE instance_id = ?", (instance_id,))
    if mark is not None:
        connection.execute(
            "INSERT INTO protection (instance_id, doc) VALUES (?, ?)", (instance_id, encode(mark))
        )


def write_blacklist(connection: sqlite3.Connection, machine_id: int, mark: Mark | None) -> None:
    """Put a machine on the blacklist, or (`None`) take it off."""
    connection.execute("DELETE FROM blacklist WHERE machine_id = ?", (machine_id,))
    if mark is not None:
        connection.execute(
            "INSERT INTO blacklist (machine_id, doc) VALUES (?, ?)", (machine_id, encode(mark))
        )
