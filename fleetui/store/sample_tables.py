"""Samples in buckets of 10 s, 1 min and 1 h, rolled up as they arrive: count, sum, min, max.

Rows lie by time, so a tick of the whole fleet writes few pages. One row a bucket in
`fleet_sample_N` holds the fleet's sum, and is the list of buckets for reading one instance.
"""

import math
import sqlite3
from collections.abc import Sequence

import msgspec

from fleetui.domain.sample import FleetSample, Sample
from fleetui.store.schema import METRICS, RESOLUTIONS

RETENTION_SECONDS = {10: 6 * 3600, 60: 72 * 3600, 3600: 180 * 86_400}
"""How long each resolution is kept, for each bucket size in seconds."""

POINT_LIMIT = 1_000
"""Most points of one instance's chart; a longer time comes in a coarser resolution."""

SUMMED_LIMIT = 50_000
"""Most rows summed for steps below a minute; a longer time comes in minutes."""


class Spread(msgspec.Struct, frozen=True):
    """Least, mean and greatest value of one metric in one bucket, `None` when not measured."""

    least: float | None
    mean: float | None
    greatest: float | None


class SampleSpread(msgspec.Struct, frozen=True, kw_only=True):
    """One instance's bucket: `at` is its start, `seconds` its length."""

    instance_id: int
    at: float
    seconds: int
    proofs_per_hour: Spread
    cost_per_hour: Spread
    gpu_util: Spread
    gpu_temp: Spread


_COLUMNS = ", ".join(f"{name}_n, {name}_sum, {name}_min, {name}_max" for name in METRICS)
_MERGE = ", ".join(
    f"{name}_n = {name}_n + excluded.{name}_n,"
    f" {name}_sum = ifnull({name}_sum + excluded.{name}_sum,"
    f" ifnull({name}_sum, excluded.{name}_sum)),"
    f" {name}_min = min(ifnull({name}_min, excluded.{name}_min),"
    f" ifnull(excluded.{name}_min, {name}_min)),"
    f" {name}_max = max(ifnull({name}_max, excluded.{name}_max),"
    f" ifnull(excluded.{name}_max, {name}_max))"
    for name in METRICS
)
_PLACES = ", ".join("?" for _ in range(2 + 4 * len(METRICS)))


def write_samples(connection: sqlite3.Connection, samples: Sequence[Sample]) -> None:
    """Add samples to their bucket of every resolution and sum up the buckets touched."""
    values = [(sample, _values(sample)) for sample in samples]
    for seconds in RESOLUTIONS:
        rows = [
            (int(sample.at // seconds) * seconds, sample.instance_id, *measured)
            for sample, measured in values
        ]
        connection.executemany(
            f"INSERT INTO sample_{seconds} (at, instance_id, {_COLUMNS}) VALUES ({_PLACES})"  # noqa: S608 - our own names
            f" ON CONFLICT DO UPDATE SET {_MERGE}",
            rows,
        )
        for bucket in {row[0] for row in rows}:
            connection.execute(
                f"INSERT OR REPLACE INTO fleet_sample_{seconds}"  # noqa: S608 - our own names
                " SELECT ?, sum(proofs_per_hour_sum / proofs_per_hour_n),"
                " sum(cost_per_hour_sum / cost_per_hour_n),"
                " ifnull(sum(proofs_per_hour_n + cost_per_hour_n > 0), 0)"
                f" FROM sample_{seconds} WHERE at = ?",
                (bucket, bucket),
            )


def read_samples(
    connection: sqlite3.Connection, instance_id: int, since: float
) -> tuple[Sample, ...]:
    """Read an instance's means in the finest resolution that reaches back to `since`.

    `at` is the bucket's start; the bucket that holds `since` is included.
    """
    return tuple(
        Sample(
            instance_id=instance_id,
            at=point.at,
            proofs_per_hour=point.proofs_per_hour.mean,
            cost_per_hour=point.cost_per_hour.mean,
            gpu_util=point.gpu_util.mean,
            gpu_temp=point.gpu_temp.mean,
        )
        for point in read_spreads(connection, instance_id, since)
    )


def read_spreads(
    connection: sqlite3.Connection, instance_id: int, since: float
) -> tuple[SampleSpread, ...]:
    """Read an instance's buckets with least, mean and greatest values, like `read_samples`."""
    seconds = next(
        (
            size
            for size in RESOLUTIONS
            if _reaches(connection, size, since) and _buckets(connection, size, since) < POINT_LIMIT
        ),
        RESOLUTIONS[-1],
    )
    found = connection.execute(
        f"SELECT s.at, {_COLUMNS} FROM fleet_sample_{seconds} f"  # noqa: S608 - our own names
        f" CROSS JOIN sample_{seconds} s ON s.at = f.at AND s.instance_id = ?"
        " WHERE f.at > ? ORDER BY f.at",
        (instance_id, since - seconds),
    )
    return tuple(_spread(instance_id, seconds, row) for row in found)


def read_fleet_samples(
    connection: sqlite3.Connection, since: float, step_seconds: float
) -> tuple[FleetSample, ...]:
    """Read the fleet's sums in steps (10 s at least).

    Below a minute a step sums the instances' means in it, as long as that is little work; else
    it is a minute at least and shows the mean of its buckets' sums, and the greatest number of
    instances in one of them.
    """
    step = max(step_seconds, float(RESOLUTIONS[0]))
    if step < RESOLUTIONS[1] and _rows(connection, since) > SUMMED_LIMIT:
        step = float(RESOLUTIONS[1])
    fitting = [seconds for seconds in reversed(RESOLUTIONS) if seconds <= step]
    coarser = [seconds for seconds in RESOLUTIONS if seconds > step]
    seconds = next(
        (size for size in fitting[:1] + coarser if _reaches(connection, size, since)),
        RESOLUTIONS[-1],
    )
    step = max(step, float(seconds))
    if seconds == RESOLUTIONS[0]:
        query = (
            "SELECT step, sum(proofs), sum(cost), sum(known) FROM ("  # noqa: S608 - our own names
            " SELECT CAST(at / :step AS INTEGER) AS step,"
            " sum(proofs_per_hour_sum) / sum(proofs_per_hour_n) AS proofs,"
            " sum(cost_per_hour_sum) / sum(cost_per_hour_n) AS cost,"
            " sum(proofs_per_hour_n + cost_per_hour_n) > 0 AS known"
            f" FROM sample_{seconds} WHERE at > :since GROUP BY 1, instance_id)"
            " GROUP BY 1 ORDER BY 1"
        )
    else:
        query = (
            "SELECT CAST(at / :step AS INTEGER), avg(proofs_per_hour), avg(cost_per_hour),"  # noqa: S608 - our own names
            f" max(instances) FROM fleet_sample_{seconds} WHERE at > :since"
            " GROUP BY 1 ORDER BY 1"
        )
    found = connection.execute(query, {"step": step, "since": since - seconds})
    return tuple(
        FleetSample(at=number * step, proofs_per_hour=proofs, cost_per_hour=cost, instances=known)
        for number, proofs, cost, known in found
    )


def prune_samples(connection: sqlite3.Connection, at: float) -> None:
    """Remove what is older than its resolution's retention."""
    for seconds, kept in RETENTION_SECONDS.items():
        for table in (f"sample_{seconds}", f"fleet_sample_{seconds}"):
            connection.execute(f"DELETE FROM {table} WHERE at < ?", (int(at) - kept,))  # noqa: S608 - our own names


def _reaches(connection: sqlite3.Connection, seconds: int, since: float) -> bool:
    """Tell whether a resolution still has what happened since then, as far as any has."""
    oldest, coarsest = (
        connection.execute(f"SELECT min(at) FROM fleet_sample_{size}").fetchone()[0]  # noqa: S608 - our own names
        for size in (seconds, RESOLUTIONS[-1])
    )
    if oldest is None or coarsest is None:
        return oldest is None and coarsest is None
    return bool(oldest <= since or oldest < coarsest + RESOLUTIONS[-1])


def _buckets(connection: sqlite3.Connection, seconds: int, since: float) -> int:
    count: int = connection.execute(
        f"SELECT count(*) FROM fleet_sample_{seconds} WHERE at > ?",  # noqa: S608 - our own names
        (since - seconds,),
    ).fetchone()[0]
    return count


def _rows(connection: sqlite3.Connection, since: float) -> int:
    count: int = connection.execute(
        f"SELECT ifnull(sum(instances), 0) FROM fleet_sample_{RESOLUTIONS[0]} WHERE at > ?",  # noqa: S608 - our own names
        (since - RESOLUTIONS[0],),
    ).fetchone()[0]
    return count


def _values(sample: Sample) -> tuple[float | None, ...]:
    values: list[float | None] = []
    for name in METRICS:
        value: float | None = getattr(sample, name)
        if value is None or not math.isfinite(value):
            values += (0, None, None, None)
        else:
            values += (1, value, value, value)
    return tuple(values)


def _spread(instance_id: int, seconds: int, row: tuple[float, ...]) -> SampleSpread:
    spreads = {
        name: Spread(least, total / count if count else None, greatest)
        for name, (count, total, least, greatest) in zip(
            METRICS, (row[start : start + 4] for start in range(1, len(row), 4)), strict=True
        )
    }
    return SampleSpread(instance_id=instance_id, at=float(row[0]), seconds=seconds, **spreads)
