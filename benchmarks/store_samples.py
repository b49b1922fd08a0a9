"""Samples of a fleet: what a tick costs to write, what it takes on disk, what a chart costs.

Run: python benchmarks/store_samples.py [instances] [hours]. One tick is one sample of every
instance each 10 s of the fleet's time, in one transaction.
"""

import math
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

from fleetui.domain.sample import Sample
from fleetui.store.connection import prepare_connection
from fleetui.store.sample_tables import (
    prune_samples,
    read_fleet_samples,
    read_samples,
    write_samples,
)

START = 1_796_000_400.0
TICK_SECONDS = 10


def tick(at: float, instances: int) -> list[Sample]:
    """Return one sample of every instance."""
    return [
        Sample(
            instance_id=40_000_000 + number,
            at=at,
            proofs_per_hour=6.0 + math.sin(at / 900 + number),
            cost_per_hour=0.25 + number / 10_000,
            gpu_util=float(int(at + number) % 100),
            gpu_temp=float(55 + number % 20),
        )
        for number in range(instances)
    ]


def timed(connection: sqlite3.Connection, instances: int, hours: float) -> list[float]:
    """Write all ticks; return the seconds each took."""
    taken = []
    for number in range(int(hours * 3600 / TICK_SECONDS)):
        at = START + number * TICK_SECONDS
        samples = tick(at, instances)
        start = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        write_samples(connection, samples)
        if number % 6 == 0:
            prune_samples(connection, at)
        connection.execute("COMMIT")
        taken.append(time.perf_counter() - start)
    return taken


def main() -> None:
    """Write, then read the charts."""
    instances = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    hours = float(sys.argv[2]) if len(sys.argv) > 2 else 2.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.db"
        connection = sqlite3.connect(path, isolation_level=None, cached_statements=256)
        prepare_connection(connection, path, viewer=False)
        taken = timed(connection, instances, hours)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        count = instances * len(taken)
        print(f"{instances} instances, {hours} h, a tick every {TICK_SECONDS} s: {count:,} samples")
        print(f"write a tick: median {statistics.median(taken) * 1e3:.1f} ms, worst", end=" ")
        print(f"{max(taken) * 1e3:.1f} ms; {count / sum(taken):,.0f} samples/s")
        print(f"disk, all three resolutions: {path.stat().st_size / count:.1f} bytes a sample")
        now = START + hours * 3600
        for name, since, step in (
            ("1 h", now - 3600, 10.0),
            ("all, minutes", START, 60.0),
            ("all, hours", START, 3600.0),
        ):
            start = time.perf_counter()
            points = read_samples(connection, 40_000_000, since)
            one = time.perf_counter() - start
            start = time.perf_counter()
            sums = read_fleet_samples(connection, since, step)
            fleet = time.perf_counter() - start
            print(
                f"{name:<14} one instance {one * 1e3:7.2f} ms ({len(points)} points)"
                f"   fleet {fleet * 1e3:7.2f} ms ({len(sums)} steps)"
            )
        connection.close()


if __name__ == "__main__":
    main()
