"""Samples of a fleet: what a tick costs to write, what a day takes on disk, what a chart costs.

Run: python benchmarks/store_samples.py [instances] [days]. First ticks are written one by one as
the collector does it, one sample of every instance each 10 s of the fleet's time in one
transaction; they tell the size of a day. Then the store is filled by SQL with the rest of what it
keeps: 48 h of samples, minutes of so many days (of the 30 that are kept), hours of 90 days. Each
chart is read several times after one first time; the median counts. Goals: a day of 1,000
instances below 500 MB, a day's chart of one instance below 10 ms.
"""

import math
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from fleetui.domain.sample import Sample
from fleetui.store.connection import prepare_connection
from fleetui.store.sample_tables import read_fleet_samples, read_samples, write_samples
from fleetui.store.schema import METRICS

END = 1_796_000_400.0 // 3600 * 3600
TICK_SECONDS = 10
TICKED_SECONDS = 1_800
FIRST_INSTANCE = 40_000_000
FILL_SECONDS = 100.0
ROUNDS = 15


def tick(at: float, instances: int) -> list[Sample]:
    """Return one sample of every instance; rates move, prices stand, cards read whole numbers."""
    return [
        Sample(
            instance_id=FIRST_INSTANCE + number,
            at=at + number / instances,
            proofs_per_hour=6.0 + math.sin(at / 900 + number),
            cost_per_hour=0.25 + number / 10_000,
            gpu_util=float(int(at + number) % 100),
            gpu_temp=float(55 + number % 20),
        )
        for number in range(instances)
    ]


def ticked(connection: sqlite3.Connection, instances: int) -> list[float]:
    """Write the newest ticks; return the seconds each took."""
    taken = []
    for number in range(TICKED_SECONDS // TICK_SECONDS):
        samples = tick(END - TICKED_SECONDS + number * TICK_SECONDS, instances)
        start = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        write_samples(connection, samples)
        connection.execute("COMMIT")
        taken.append(time.perf_counter() - start)
    return taken


def table_bytes(connection: sqlite3.Connection, seconds: int) -> tuple[int, int]:
    """Return bytes and rows of one resolution's table, by its pages."""
    (pages,) = connection.execute(
        "SELECT count(*) FROM dbstat WHERE name = ?", (f"sample_{seconds}",)
    ).fetchone()
    (rows,) = connection.execute(f"SELECT count(*) FROM sample_{seconds}").fetchone()  # noqa: S608 - our own names
    (page,) = connection.execute("PRAGMA page_size").fetchone()
    return pages * page, rows


def filled(connection: sqlite3.Connection, instances: int, seconds: int, span: float) -> float:
    """Fill a table from the newest backwards; return how many seconds of the fleet it now has."""
    step = max(1, 500_000 // instances)
    deadline = time.perf_counter() + FILL_SECONDS
    newest = int(END - TICKED_SECONDS) // seconds
    wanted = int(span / seconds)
    figures = ("6000 + (b * 7 + i) % 970", "250000 + i * 100", "(b + i) % 100 * 10", "550 + i % 20")
    columns = ", ".join(figures)
    if seconds > TICK_SECONDS:
        columns = ", ".join(f"6, 6 * ({one}), ({one}), ({one}) + 30" for one in figures)
    done = 0
    while done < wanted and time.perf_counter() < deadline:
        part = min(step, wanted - done)
        low = newest - done - part
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            f"INSERT INTO sample_{seconds}"  # noqa: S608 - our own names
            " WITH RECURSIVE bucket(b) AS"
            " (SELECT :low UNION ALL SELECT b + 1 FROM bucket WHERE b + 1 < :high),"
            " instance(i) AS"
            " (SELECT 0 UNION ALL SELECT i + 1 FROM instance WHERE i + 1 < :instances)"
            f" SELECT b * {seconds}, i + :first, {columns} FROM bucket CROSS JOIN instance",
            {"low": low, "high": low + part, "instances": instances, "first": FIRST_INSTANCE},
        )
        connection.execute(
            f"INSERT INTO fleet_sample_{seconds}"  # noqa: S608 - our own names
            " WITH RECURSIVE bucket(b) AS"
            " (SELECT :low UNION ALL SELECT b + 1 FROM bucket WHERE b + 1 < :high)"
            f" SELECT b * {seconds}, 6000.0, 300.0, :instances FROM bucket",
            {"low": low, "high": low + part, "instances": instances},
        )
        connection.execute("COMMIT")
        done += part
    return done * float(seconds)


def median_ms(work: Callable[[], object]) -> float:
    """Return the median of some rounds after a first one that warms the caches."""
    work()
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1e3


def main() -> None:
    """Write, fill, then read the charts."""
    instances = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    days = float(sys.argv[2]) if len(sys.argv) > 2 else 30.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.db"
        connection = sqlite3.connect(path, isolation_level=None, cached_statements=256)
        prepare_connection(connection, path, viewer=False)
        taken = ticked(connection, instances)
        print(f"{instances} instances, {len(METRICS)} figures each, a tick every {TICK_SECONDS} s")
        print(f"write a tick: median {statistics.median(taken) * 1e3:.1f} ms, worst", end=" ")
        print(f"{max(taken) * 1e3:.1f} ms; {instances * len(taken) / sum(taken):,.0f} samples/s")
        whole = 0.0
        for seconds in (10, 60, 3600):
            size, rows = table_bytes(connection, seconds)
            day = size / rows * 1_000 * 86_400 / seconds
            whole += day
            print(
                f"  {seconds:>4} s: {size / rows:5.1f} bytes a row, {day / 1e6:5.1f} MB a day",
                end="",
            )
            print(" of 1,000 instances")
        print(f"a day of 1,000 instances: {whole / 1e6:.0f} MB (goal: below 500)")
        for seconds, span in ((60, days * 86_400), (10, 48 * 3600.0), (3600, 90 * 86_400.0)):
            start = time.perf_counter()
            reached = filled(connection, instances, seconds, span)
            print(
                f"filled {seconds:>4} s: {reached / 86_400:.1f} of {span / 86_400:.1f} days in",
                end="",
            )
            print(f" {time.perf_counter() - start:.0f} s")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        print(f"file: {path.stat().st_size / 1e6:,.0f} MB")
        instance = FIRST_INSTANCE + instances // 3
        for name, hours in (("1 h", 1), ("4 h", 4), ("24 h", 24), ("30 days", 720)):
            since = END - hours * 3600
            points = len(read_samples(connection, instance, since))
            one = median_ms(partial(read_samples, connection, instance, since))
            fleet = median_ms(partial(read_fleet_samples, connection, since, hours * 15.0))
            print(f"{name:<8} one instance {one:7.2f} ms ({points} points)   fleet {fleet:7.2f} ms")
        connection.close()


if __name__ == "__main__":
    main()
