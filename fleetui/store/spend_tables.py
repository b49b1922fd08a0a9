"""What instances have cost, by day and stage; kept when they are gone."""

import sqlite3
from collections.abc import Sequence

import msgspec

from fleetui.domain.money import Spend, SpendTotal

TABLES = (
    """
    CREATE TABLE spend (
        instance_id INTEGER NOT NULL,
        machine_id INTEGER,
        day INTEGER NOT NULL,
        stage TEXT NOT NULL,
        began_at REAL NOT NULL,
        seconds REAL NOT NULL,
        unseen_seconds REAL NOT NULL,
        dollars REAL NOT NULL,
        PRIMARY KEY (instance_id, day, stage)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX spend_day ON spend (day)",
)
UNPRICED = ("ALTER TABLE spend ADD COLUMN unpriced_seconds REAL NOT NULL DEFAULT 0",)


_FIELDS = Spend.__struct_fields__
_COLUMNS = ", ".join(_FIELDS)


def write_spend(connection: sqlite3.Connection, spend: Sequence[Spend]) -> None:
    """Add to what is counted."""
    connection.executemany(
        f"INSERT INTO spend ({_COLUMNS}) VALUES ({', '.join('?' * len(_FIELDS))})"  # noqa: S608 - names of our own
        " ON CONFLICT DO UPDATE SET machine_id = excluded.machine_id,"
        " began_at = min(began_at, excluded.began_at),"
        " seconds = seconds + excluded.seconds,"
        " unseen_seconds = unseen_seconds + excluded.unseen_seconds,"
        " dollars = dollars + excluded.dollars,"
        " unpriced_seconds = unpriced_seconds + excluded.unpriced_seconds",
        [tuple(getattr(item, name) for name in _FIELDS) for item in spend],
    )


def read_spend(connection: sqlite3.Connection, since_day: int) -> tuple[Spend, ...]:
    """Read what was spent on a day (UTC, counted from the epoch) and later, oldest first."""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM spend WHERE day >= ? ORDER BY day, instance_id, stage",  # noqa: S608 - names of our own
        (since_day,),
    )
    rows = [dict(zip(_FIELDS, row, strict=True)) for row in found]
    return msgspec.convert(rows, tuple[Spend, ...])


def read_totals(connection: sqlite3.Connection) -> dict[int, SpendTotal]:
    """Read each instance's total."""
    found = connection.execute(
        "SELECT instance_id, min(began_at), sum(dollars), sum(seconds), sum(unpriced_seconds)"
        " FROM spend GROUP BY instance_id"
    )
    return {
        instance_id: SpendTotal(
            since=since,
            dollars=None if 0 < seconds <= unpriced else dollars,
            unpriced_seconds=unpriced,
        )
        for instance_id, since, dollars, seconds, unpriced in found
    }
