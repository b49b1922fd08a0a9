"""What the pulse shows beside the charts: stages, failures and downloads over time. Pure."""

from collections.abc import Iterable, Sequence

from fleetui.domain.finding import Severity
from fleetui.domain.finding_record import FindingRecord
from fleetui.domain.reading import Reading
from fleetui.domain.stage import Stage, StageSpan


def moments(since: float, now: float, count: int) -> list[float]:
    """Return `count` times from `since` to `now`, both included."""
    step = (now - since) / max(count - 1, 1)
    return [*(since + step * index for index in range(count - 1)), now]


def stages_over_time(
    readings: Iterable[Reading], times: Sequence[float]
) -> dict[Stage, list[float | None]]:
    """Count the live instances in each stage at each time, from the stages they went through.

    Instances that are gone are not counted: nothing is kept of them here.
    """
    counts: dict[Stage, list[float | None]] = {}
    for reading in readings:
        for index, at in enumerate(times):
            stage = _stage_at(reading.spans, at)
            if stage is not None:
                line = counts.setdefault(stage, [0.0] * len(times))
                line[index] = (line[index] or 0.0) + 1
    return counts


def _stage_at(spans: Sequence[StageSpan], at: float) -> Stage | None:
    """Return the newest stage that had begun by then; `None` before the first one."""
    begun = [span for span in spans if span.started_at is not None and span.started_at <= at]
    return begun[-1].stage if begun else None


def failures_over_time(
    records: Iterable[FindingRecord], times: Sequence[float]
) -> list[float | None]:
    """Count the critical and warning findings that stood at each time."""
    spans = [
        (record.opened_at, record.resolved_at)
        for record in records
        if record.finding.severity in (Severity.CRITICAL, Severity.WARNING)
    ]
    return [
        float(sum(start <= at and (end is None or end > at) for start, end in spans))
        for at in times
    ]


def download_speed(readings: Iterable[Reading]) -> tuple[float, int]:
    """Return bytes a second of all downloads under way, and how many they are."""
    speeds = [
        reading.progress.per_second
        for reading in readings
        if reading.progress is not None
        and reading.progress.unit == "B"
        and reading.progress.per_second
    ]
    return sum(speeds), len(speeds)
