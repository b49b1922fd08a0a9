"""What machines did for us, kept when their instances are gone: rentals, rates, downloads.

Written with the rows and readings that show it, in the same transaction.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from fleetui.domain.codec import decode
from fleetui.domain.finding_record import MachineMark
from fleetui.domain.instance import Instance
from fleetui.domain.machine_record import MachineRecord, RunningRate
from fleetui.domain.rate import Rate, RateSource
from fleetui.domain.reading import Reading
from fleetui.domain.stage import Stage
from fleetui.domain.text import sanitise
from fleetui.store.machine_prices import note_price, read_prices
from fleetui.store.standing_tables import read_standing

RENTAL_LIMIT = 50_000
"""Most rentals remembered; the oldest are forgotten first."""
FAIR_CHANCE_SECONDS = 600.0
"""A rental that was ended sooner says nothing of its machine."""
LEAST_RUN_SECONDS = 1800.0
"""A shorter window of completed proofs is no running rate."""
REFRESH_SECONDS = 300.0
"""How often a running rate is written anew; also how far two measures of one thing can differ."""
LEAST_DOWNLOAD_BYTES = 2.0**30

TABLES = (
    """
    CREATE TABLE machine_seen (
        machine_id INTEGER NOT NULL,
        gpu_name TEXT NOT NULL,
        num_gpus INTEGER NOT NULL,
        gpu_ram_mb REAL,
        cpu_ram_gb REAL,
        host_id INTEGER,
        geolocation TEXT,
        inet_down_mbps REAL,
        first_seen REAL NOT NULL,
        last_seen REAL NOT NULL,
        last_instance INTEGER NOT NULL,
        price_least REAL,
        price_most REAL,
        price_last REAL,
        PRIMARY KEY (machine_id, gpu_name, num_gpus)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE machine_rental (
        instance_id INTEGER PRIMARY KEY,
        machine_id INTEGER NOT NULL,
        gpu_name TEXT NOT NULL,
        num_gpus INTEGER NOT NULL,
        began_at REAL NOT NULL,
        gone_at REAL,
        failed_at REAL
    ) STRICT
    """,
    "CREATE INDEX machine_rental_machine ON machine_rental (machine_id)",
    """
    CREATE TABLE machine_rate (
        instance_id INTEGER NOT NULL,
        source TEXT NOT NULL,
        began_at REAL NOT NULL,
        measured_at REAL NOT NULL,
        proofs_per_hour REAL NOT NULL,
        PRIMARY KEY (instance_id, source, began_at)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE machine_download (
        instance_id INTEGER PRIMARY KEY,
        first_at REAL NOT NULL,
        first_bytes REAL NOT NULL,
        last_at REAL NOT NULL,
        last_bytes REAL NOT NULL
    ) STRICT
    """,
)
_OF_A_RENTAL = ("machine_rate", "machine_download", "machine_rental")


def write_instances(
    connection: sqlite3.Connection, instances: Iterable[Instance], at: float
) -> None:
    """Note what machines look like and cost; the first row of an instance begins its rental."""
    for instance in instances:
        if instance.machine_id is None or instance.gpu_name is None or not instance.num_gpus:
            continue
        kind = (instance.machine_id, instance.gpu_name, instance.num_gpus)
        price = instance.price_running
        connection.execute(
            "INSERT INTO machine_seen (machine_id, gpu_name, num_gpus, gpu_ram_mb, cpu_ram_gb,"
            " host_id, geolocation, inet_down_mbps, first_seen, last_seen, last_instance,"
            " price_least, price_most, price_last)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
            " gpu_ram_mb = ifnull(excluded.gpu_ram_mb, gpu_ram_mb),"
            " cpu_ram_gb = ifnull(excluded.cpu_ram_gb, cpu_ram_gb),"
            " host_id = ifnull(excluded.host_id, host_id),"
            " geolocation = ifnull(excluded.geolocation, geolocation),"
            " inet_down_mbps = ifnull(excluded.inet_down_mbps, inet_down_mbps),"
            " last_seen = excluded.last_seen, last_instance = excluded.last_instance,"
            " price_least = ifnull(min(price_least, excluded.price_least),"
            " ifnull(price_least, excluded.price_least)),"
            " price_most = ifnull(max(price_most, excluded.price_most),"
            " ifnull(price_most, excluded.price_most)),"
            " price_last = ifnull(excluded.price_last, price_last)",
            (
                *kind, instance.gpu_ram_mb, gigabytes(instance.cpu_ram_mb), instance.host_id,
                instance.geolocation, instance.inet_down_mbps, at, at, instance.instance_id,
                price, price, price,
            ),
        )  # fmt: skip
        if price is not None:
            note_price(connection, kind, at, price)
        connection.execute(
            "INSERT INTO machine_rental (instance_id, machine_id, gpu_name, num_gpus, began_at)"
            " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET gone_at = NULL"
            " WHERE gone_at IS NOT NULL",
            (instance.instance_id, *kind, instance.start_date or at),
        )


def write_readings(connection: sqlite3.Connection, readings: Iterable[Reading]) -> None:
    """Note benchmarks, running rates, downloads and failures."""
    for reading in readings:
        for rate in _worth_noting(reading):
            _write_rate(connection, reading.instance_id, rate)
        if reading.stage is Stage.PARAM_FETCH:
            _write_download(connection, reading)
        elif reading.stage is Stage.FAILED:
            connection.execute(
                "UPDATE machine_rental SET failed_at = ? WHERE instance_id = ?"
                " AND failed_at IS NULL",
                (reading.at, reading.instance_id),
            )


def write_gone(connection: sqlite3.Connection, gone: Sequence[int], at: float) -> None:
    """End the rentals of instances that are gone."""
    connection.executemany(
        "UPDATE machine_rental SET gone_at = ? WHERE instance_id = ? AND gone_at IS NULL",
        [(at, instance_id) for instance_id in gone],
    )


def prune_rentals(connection: sqlite3.Connection) -> None:
    """Forget the oldest rentals beyond the limit."""
    old = connection.execute(
        "SELECT instance_id FROM machine_rental WHERE gone_at IS NOT NULL"
        " ORDER BY began_at DESC LIMIT -1 OFFSET ?",
        (RENTAL_LIMIT,),
    ).fetchall()
    for table in _OF_A_RENTAL:
        connection.executemany(f"DELETE FROM {table} WHERE instance_id = ?", old)  # noqa: S608 - our own names


def read_machine_records(
    connection: sqlite3.Connection, machine_id: int | None = None
) -> tuple[MachineRecord, ...]:
    """Read the records of all machines, or of one; one for each kind it was rented as.

    A machine that is only on the blacklist or only has marks is there without figures.
    """
    where, values = ("", ()) if machine_id is None else (" WHERE machine_id = ?", (machine_id,))
    past = _past(connection, where, values)
    prices = read_prices(connection, machine_id)
    hours = _hours(connection)
    blacklist = read_standing(connection).blacklist
    marks: dict[int, list[MachineMark]] = defaultdict(list)
    for (document,) in connection.execute(
        f"SELECT doc FROM machine_mark{where} ORDER BY last_seen DESC",  # noqa: S608 - our own text
        values,
    ):
        mark = decode(document, MachineMark)
        marks[mark.machine_id].append(mark)
    found = connection.execute(
        "SELECT machine_id, gpu_name, num_gpus, gpu_ram_mb, cpu_ram_gb, host_id, geolocation,"  # noqa: S608 - our own text
        " inet_down_mbps, first_seen, last_seen, last_instance, price_least, price_most,"
        f" price_last FROM machine_seen{where} ORDER BY machine_id, gpu_name, num_gpus",
        values,
    )
    names = [column[0] for column in found.description]
    records = []
    for row in found.fetchall():
        known = dict(zip(names, row, strict=True))
        for name in ("gpu_name", "geolocation"):
            known[name] = None if known[name] is None else sanitise(known[name])
        key = (known["machine_id"], row[1], row[2])
        records.append(
            MachineRecord(
                **known,
                **past.get(key, {}),
                prices=prices.get(key, ()),
                rented_hours=hours.get(key, 0.0),
                findings=tuple(marks.get(known["machine_id"], ())),
                blacklist=blacklist.get(known["machine_id"]),
            )
        )
    seen = {record.machine_id for record in records}
    bare = sorted({*blacklist, *marks} - seen)
    records += [
        MachineRecord(
            machine_id=number,
            findings=tuple(marks.get(number, ())),
            blacklist=blacklist.get(number),
        )
        for number in bare
        if machine_id in (None, number)
    ]
    return tuple(records)


def gigabytes(megabytes: float | None) -> float | None:
    """Return the API's MB of main memory in GB."""
    return None if megabytes is None else megabytes / 1000.0


def _hours(connection: sqlite3.Connection) -> dict[tuple[int, str, int], float]:
    """How long each machine was rented in all, those that still are up to their newest row."""
    found = connection.execute(
        "SELECT machine_id, gpu_name, num_gpus,"
        " sum(max(ifnull(gone_at, last_seen) - began_at, 0.0)) / 3600.0"
        " FROM machine_rental JOIN machine_seen USING (machine_id, gpu_name, num_gpus)"
        " GROUP BY 1, 2, 3"
    )
    return {(row[0], row[1], row[2]): row[3] for row in found}


def _past(
    connection: sqlite3.Connection, where: str, values: tuple[int, ...]
) -> dict[tuple[int, str, int], dict[str, Any]]:
    """What the rentals of each machine and kind brought, as fields of its record."""
    rentals = connection.execute(
        "SELECT instance_id, machine_id, gpu_name, num_gpus, began_at, gone_at, failed_at"  # noqa: S608 - our own text
        f" FROM machine_rental{where} ORDER BY began_at",
        values,
    ).fetchall()
    chosen = f"instance_id IN (SELECT instance_id FROM machine_rental{where})"  # noqa: S608 - our own text
    rates: dict[int, list[tuple[str, float, float, float]]] = defaultdict(list)
    for instance_id, *rate in connection.execute(
        "SELECT instance_id, source, began_at, measured_at, proofs_per_hour FROM machine_rate"  # noqa: S608 - our own text
        f" WHERE {chosen} ORDER BY measured_at",
        values,
    ):
        rates[instance_id].append(tuple(rate))
    speeds = dict(
        connection.execute(
            "SELECT instance_id, (last_bytes - first_bytes) / (last_at - first_at)"  # noqa: S608 - our own text
            f" FROM machine_download WHERE {chosen} AND last_at > first_at"
            " AND last_bytes - first_bytes >= ?",
            (*values, LEAST_DOWNLOAD_BYTES),
        ).fetchall()
    )
    past: dict[tuple[int, str, int], dict[str, Any]] = {}
    for instance_id, machine_id, gpu_name, num_gpus, began_at, gone_at, failed_at in rentals:
        fields = past.setdefault(
            (machine_id, gpu_name, num_gpus),
            {
                "rentals": 0,
                "failures": 0,
                "rates": (),
                "running": (),
                "downloads": (),
                "worked_hours": (),
            },
        )
        measured = rates.get(instance_id, ())
        benchmarks = tuple(rate[3] for rate in measured if rate[0] == RateSource.BENCHMARK)
        had_chance = gone_at is not None and gone_at - began_at >= FAIR_CHANCE_SECONDS
        failed = not benchmarks and (had_chance or failed_at is not None)
        fields["rentals"] += bool(benchmarks) or failed
        fields["failures"] += failed
        fields["rates"] += benchmarks
        fields["running"] += tuple(
            RunningRate(instance_id, rate, measured_at - began, measured_at)
            for source, began, measured_at, rate in measured
            if source != RateSource.BENCHMARK
        )
        if benchmarks and gone_at is not None:
            benched = next(rate[2] for rate in measured if rate[0] == RateSource.BENCHMARK)
            fields["worked_hours"] += (max(gone_at - benched, 0.0) / 3600.0,)
        if instance_id in speeds:
            fields["downloads"] += (speeds[instance_id],)
    return past


def _worth_noting(reading: Reading) -> list[Rate]:
    noted = [
        rate
        for rate in reading.rates
        if rate.source is RateSource.BENCHMARK and rate.proofs_per_hour > 0
    ]
    runs = [
        rate
        for rate in reading.rates
        if rate.source is RateSource.COMPLETIONS and rate.window_seconds >= LEAST_RUN_SECONDS
    ]
    if runs and reading.stage is Stage.RUNNING:
        noted.append(max(runs, key=lambda rate: rate.window_seconds))
    return noted


def _write_rate(connection: sqlite3.Connection, instance_id: int, rate: Rate) -> None:
    """Write a measure, in place of an earlier one of the same thing."""
    began = rate.measured_at - rate.window_seconds
    same = (instance_id, str(rate.source), began - REFRESH_SECONDS, began + REFRESH_SECONDS)
    is_it = "WHERE instance_id = ? AND source = ? AND began_at BETWEEN ? AND ?"
    known = connection.execute(
        f"SELECT max(measured_at) FROM machine_rate {is_it}",  # noqa: S608 - our own text
        same,
    ).fetchone()[0]
    if known is not None and abs(rate.measured_at - known) < REFRESH_SECONDS:
        return
    connection.execute(f"DELETE FROM machine_rate {is_it}", same)  # noqa: S608 - our own text
    connection.execute(
        "INSERT INTO machine_rate (instance_id, source, began_at, measured_at, proofs_per_hour)"
        " VALUES (?, ?, ?, ?, ?)",
        (instance_id, str(rate.source), began, rate.measured_at, rate.proofs_per_hour),
    )


def _write_download(connection: sqlite3.Connection, reading: Reading) -> None:
    """Carry the download on; less than there was before is a new one."""
    progress = reading.progress
    if progress is None or progress.unit != "B" or progress.what != "parameters":
        return
    at = progress.updated_at
    if at is not None:
        connection.execute(
            "INSERT INTO machine_download (instance_id, first_at, first_bytes, last_at, last_bytes)"
            " VALUES (?1, ?2, ?3, ?2, ?3) ON CONFLICT DO UPDATE SET"
            " first_at = iif(?3 < last_bytes, ?2, first_at),"
            " first_bytes = iif(?3 < last_bytes, ?3, first_bytes),"
            " last_at = ?2, last_bytes = ?3 WHERE ?2 > last_at",
            (reading.instance_id, at, progress.done),
        )
