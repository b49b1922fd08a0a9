"""What machines cost, each change of it; kept when their instances are gone."""

import sqlite3
from collections import defaultdict

from fleetui.domain.machine_record import PricePoint

POINT_LIMIT = 100
"""Most changes remembered of one machine and kind."""

Kind = tuple[int, str, int]
"""Machine, name and number of its cards."""

TABLES = (
    """
    CREATE TABLE machine_price (
        machine_id INTEGER NOT NULL,
        gpu_name TEXT NOT NULL,
        num_gpus INTEGER NOT NULL,
        at REAL NOT NULL,
        price REAL NOT NULL,
        PRIMARY KEY (machine_id, gpu_name, num_gpus, at)
    ) STRICT, WITHOUT ROWID
    """,
)
_OF = "machine_id = ?1 AND gpu_name = ?2 AND num_gpus = ?3"


def note_price(connection: sqlite3.Connection, kind: Kind, at: float, price: float) -> None:
    """Note a price in dollars an hour where it differs from the one before."""
    added = connection.execute(
        "INSERT OR IGNORE INTO machine_price (machine_id, gpu_name, num_gpus, at, price)"  # noqa: S608 - our own text
        " SELECT ?1, ?2, ?3, ?4, ?5 WHERE ?5 IS NOT (SELECT price FROM machine_price"
        f" WHERE {_OF} ORDER BY at DESC LIMIT 1)",
        (*kind, at, price),
    )
    if added.rowcount:
        connection.execute(
            f"DELETE FROM machine_price WHERE {_OF} AND at <= (SELECT at FROM machine_price"  # noqa: S608 - our own text
            f" WHERE {_OF} ORDER BY at DESC LIMIT 1 OFFSET {POINT_LIMIT})",
            kind,
        )


def read_prices(
    connection: sqlite3.Connection, machine_id: int | None
) -> dict[Kind, tuple[PricePoint, ...]]:
    """Read the changes of all machines or of one, oldest first."""
    found: dict[Kind, list[PricePoint]] = defaultdict(list)
    for *kind, at, price in connection.execute(
        "SELECT machine_id, gpu_name, num_gpus, at, price FROM machine_price"
        " WHERE machine_id = ifnull(?, machine_id) ORDER BY at",
        (machine_id,),
    ):
        found[kind[0], kind[1], kind[2]].append(PricePoint(at, price))
    return {key: tuple(points) for key, points in found.items()}
