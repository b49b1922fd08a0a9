"""Samples: as they came for 48 h, rolled up as they arrive to minutes for 30 days and hours.

A row has all figures of one instance in one bucket of 10 s, 1 min or 1 h. The finest holds the
newest sample in its 10 s, the others count, sum, min and max of each figure. Rows lie by time, so
a tick of the whole fleet writes few pages. One row a bucket in `fleet_sample_N` holds the fleet's
sum, and is the list of buckets for reading one instance.
"""

import sqlite3
from collections.abc import Sequence

import msgspec

from fleetui.domain.sample import FleetSample, Sample
from fleetui.store.schema import METRICS, RESOLUTIONS

RETENTION_SECONDS = {10: 48 * 3600, 60: 30 * 86_400}
"""How long a resolution is kept, for each bucket size in seconds; hours are kept for ever."""

POINT_LIMIT = 1_500
"""Most points of one instance's chart, so a day comes in minutes; more come coarser."""

SUMMED_LIMIT = 50_000
"""Most rows summed for steps below a minute; a longer time comes in minutes."""

_ABSURD = 1e9


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


_FINEST, *_ROLLED = RESOLUTIONS
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


def write_samples(connection: sqlite3.Connection, samples: Sequence[Sample]) -> None:
    """Add samples to their bucket of every resolution and sum up the buckets touched."""
    values = [(sample, _values(sample)) for sample in samples]
    connection.executemany(
        f"INSERT OR REPLACE INTO sample_{_FINEST} (at, instance_id, {', '.join(METRICS)})"  # noqa: S608 - our own names
        f" VALUES ({_places(2 + len(METRICS))})",
        [(_bucket(sample, _FINEST), sample.instance_id, *measured) for sample, measured in values],
    )
    for seconds in _ROLLED:
        connection.executemany(
            f"INSERT INTO sample_{seconds} (at, instance_id, {_COLUMNS})"  # noqa: S608 - our own names
            f" VALUES ({_places(2 + 4 * len(METRICS))}) ON CONFLICT DO UPDATE SET {_MERGE}",
            [
                (
                    _bucket(sample, seconds),
                    sample.instance_id,
                    *(part for value in measured for part in _counted(value)),
                )
                for sample, measured in values
            ],
        )
    for seconds in RESOLUTIONS:
        proofs, cost = _means(seconds)[:2]
        for bucket in {_bucket(sample, seconds) for sample in samples}:
            connection.execute(
                f"INSERT OR REPLACE INTO fleet_sample_{seconds}"  # noqa: S608 - our own names
                f" SELECT ?, sum({proofs}), sum({cost}),"
                f" count(coalesce({proofs}, {cost})) FROM sample_{seconds} s WHERE s.at = ?",
                (bucket, bucket),
            )


def read_samples(
    connection: sqlite3.Connection, instance_id: int, since: float
) -> tuple[Sample, ...]:
    """Read an instance's means in the finest resolution that reaches back to `since`.

    `at` is the bucket's start; the bucket that holds `since` is included.
    """
    seconds = _resolution(connection, since)
    columns = ", ".join(_means(seconds))
    return tuple(
        Sample(
            instance_id=instance_id,
            at=at,
            proofs_per_hour=proofs,
            cost_per_hour=cost,
            gpu_util=util,
            gpu_temp=temp,
        )
        for at, proofs, cost, util, temp in _read(connection, instance_id, since, seconds, columns)
    )


def read_spreads(
    connection: sqlite3.Connection, instance_id: int, since: float
) -> tuple[SampleSpread, ...]:
    """Read an instance's buckets with least, mean and greatest values, like `read_samples`."""
    seconds = _resolution(connection, since)
    names = [
        (mean, mean, mean)
        if seconds == _FINEST
        else (f"s.{name}_min / {parts}.0", mean, f"s.{name}_max / {parts}.0")
        for (name, parts), mean in zip(METRICS.items(), _means(seconds), strict=True)
    ]
    columns = ", ".join(name for three in names for name in three)
    return tuple(
        SampleSpread(
            instance_id=instance_id,
            at=row[0],
            seconds=seconds,
            proofs_per_hour=Spread(*row[1:4]),
            cost_per_hour=Spread(*row[4:7]),
            gpu_util=Spread(*row[7:10]),
            gpu_temp=Spread(*row[10:13]),
        )
        for row in _read(connection, instance_id, since, seconds, columns)
    )


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
    if seconds == _FINEST:
        proofs, cost = _means(_FINEST)[:2]
        query = (
            "SELECT step, sum(proofs), sum(cost), sum(known) FROM ("  # noqa: S608 - our own names
            " SELECT CAST(at / :step AS INTEGER) AS step,"
            f" avg({proofs}) AS proofs, avg({cost}) AS cost,"
            f" count(coalesce({proofs}, {cost})) > 0 AS known"
            f" FROM sample_{seconds} s WHERE at > :since GROUP BY 1, instance_id)"
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


def read_proofs(connection: sqlite3.Connection, since_day: int) -> dict[tuple[int, int], float]:
    """Return the proofs of each instance on each day (UTC, counted from the epoch).

    Of an hour it is the mean of the measured rates for as much of it as they were measured: the
    fleet's minutes with samples, and of these the share in which the instance had a rate.
    """
    hours, minutes = RESOLUTIONS[-1], RESOLUTIONS[1]
    parts = METRICS["proofs_per_hour"]
    found = connection.execute(
        "SELECT s.instance_id, s.at / 86400,"  # noqa: S608 - our own names
        f" sum(s.proofs_per_hour_sum / {parts}.0 / s.proofs_per_hour_n"
        "  * s.proofs_per_hour_n / f.most * f.share)"
        f" FROM sample_{hours} s JOIN ("
        f"  SELECT at, max(max(proofs_per_hour_n, cost_per_hour_n)) AS most,"
        f"  (SELECT iif(count(*) = 0, 1.0, count(*) * {minutes}.0 / {hours})"
        f"   FROM fleet_sample_{minutes} m WHERE m.at >= h.at AND m.at < h.at + {hours}) AS share"
        f"  FROM sample_{hours} h WHERE h.at >= :since GROUP BY h.at"
        " ) f ON f.at = s.at"
        " WHERE s.at >= :since AND s.proofs_per_hour_n > 0 GROUP BY 1, 2",
        {"since": since_day * 86_400},
    )
    return {(instance_id, day): proofs for instance_id, day, proofs in found}


def prune_samples(connection: sqlite3.Connection, at: float) -> None:
    """Remove what is older than its resolution is kept."""
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


def _resolution(connection: sqlite3.Connection, since: float) -> int:
    """Return the finest resolution for one instance's points since then."""
    return next(
        (
            size
            for size in RESOLUTIONS
            if _reaches(connection, size, since) and _buckets(connection, size, since) < POINT_LIMIT
        ),
        RESOLUTIONS[-1],
    )


def _read(
    connection: sqlite3.Connection, instance_id: int, since: float, seconds: int, columns: str
) -> sqlite3.Cursor:
    return connection.execute(
        f"SELECT CAST(s.at AS REAL), {columns} FROM fleet_sample_{seconds} f"  # noqa: S608 - our own names
        f" CROSS JOIN sample_{seconds} s ON s.at = f.at AND s.instance_id = ?"
        " WHERE f.at > ? ORDER BY f.at",
        (instance_id, since - seconds),
    )


def _means(seconds: int) -> tuple[str, ...]:
    """Expressions of a resolution's means, in the order of `METRICS`."""
    return tuple(
        f"s.{name} / {parts}.0" if seconds == _FINEST else f"s.{name}_sum / {parts}.0 / s.{name}_n"
        for name, parts in METRICS.items()
    )


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


def _bucket(sample: Sample, seconds: int) -> int:
    return int(sample.at // seconds) * seconds


def _values(sample: Sample) -> list[int | None]:
    """The figures in their parts; what is not finite or absurdly large is not measured."""
    values: list[int | None] = []
    for name, parts in METRICS.items():
        value: float | None = getattr(sample, name)
        known = value is not None and abs(value) < _ABSURD
        values.append(round(value * parts) if known and value is not None else None)
    return values


def _counted(value: int | None) -> tuple[int, int | None, int | None, int | None]:
    return int(value is not None), value, value, value


def _places(count: int) -> str:
    return ", ".join("?" * count)
