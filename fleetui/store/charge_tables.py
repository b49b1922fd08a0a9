"""What the API charged, by day; a later reading of a day replaces an earlier one."""

import sqlite3

from fleetui.domain.charge import DayOfCharges
from fleetui.domain.codec import decode, encode

TABLES = (
    """
    CREATE TABLE charge_day (
        day INTEGER PRIMARY KEY, whole INTEGER NOT NULL, doc BLOB NOT NULL
    ) STRICT
    """,
)


def write_charges(connection: sqlite3.Connection, charges: DayOfCharges) -> None:
    """Replace what is known of a day."""
    connection.execute(
        "INSERT OR REPLACE INTO charge_day (day, whole, doc) VALUES (?, ?, ?)",
        (charges.day, charges.whole, encode(charges)),
    )


def read_charges(connection: sqlite3.Connection, since_day: int) -> tuple[DayOfCharges, ...]:
    """Read the days since then, oldest first."""
    found = connection.execute(
        "SELECT doc FROM charge_day WHERE day >= ? ORDER BY day", (since_day,)
    )
    return tuple(decode(document, DayOfCharges) for (document,) in found)
