"""The daemon's `GET /status`, with its traps undone (facts: cuzk.md section 3.1)."""

from typing import Any

import msgspec

from fleetui.domain.codec import decode
from fleetui.domain.host import DaemonStatus, Pipeline
from fleetui.domain.text import sanitise

LONGEST_BODY = 1024 * 1024
LINGER_SECONDS = 45.0
"""A finished job stays listed for 30 s; longer means that it failed without saying so."""

_MOST_PIPELINES = 256
_MOST_PROOFS = 1 << 40
_STUCK_SECONDS = 600.0


def parse_status(body: bytes, at: float) -> DaemonStatus:
    """Read the body of a status answer that was received at `at`.

    Raises:
        ValueError: it is an error body, is not JSON, or has another shape; says which.
    """
    if len(body) > LONGEST_BODY:
        message = f"the status answer has {len(body)} bytes, more than {LONGEST_BODY}"
        raise ValueError(message)
    try:
        raw: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        head = sanitise(body[:80])
        message = f"the status answer is not JSON ({error}): {head!r}"
        raise ValueError(message) from error
    if not isinstance(raw, dict):
        message = f"the status answer is no object but {type(raw).__name__}"
        raise ValueError(message)  # noqa: TRY004 - a bad answer is a bad value, whatever its shape
    if "error" in raw and "uptime_secs" not in raw:
        message = f"the daemon answers with an error: {sanitise(str(raw['error']), 200)}"
        raise ValueError(message)
    try:
        status = decode(body, DaemonStatus)
    except (msgspec.DecodeError, RecursionError) as error:
        message = f"the status answer has another shape: {error}"
        raise ValueError(message) from error
    uptime = status.uptime_secs
    if not 0 <= uptime < 1e10:
        message = f"the status answer has an impossible uptime: {uptime}"
        raise ValueError(message)
    counters = status.counters
    counts = {"total_completed": counters.total_completed, "total_failed": counters.total_failed}
    for name, count in counts.items():
        if not 0 <= count < _MOST_PROOFS:
            message = f"the status answer has an impossible {name}: {count}"
            raise ValueError(message)
    pipelines = tuple(
        sorted(
            (_clean(pipeline) for pipeline in status.pipelines[:_MOST_PIPELINES]),
            key=lambda pipeline: (-pipeline.started_secs_ago, pipeline.job_id),
        )
    )
    return msgspec.structs.replace(status, pipelines=pipelines, at=at)


def is_running(pipeline: Pipeline, status: DaemonStatus) -> bool:
    """Tell whether a listed job is under way, as far as one answer can tell.

    It is not with a failed partition (it stays listed for ever), with all of them done
    (lingering, or failed at the very end), or when for long no partition works and the pool is
    idle.
    """
    states = {part.state for part in pipeline.partitions}
    if "failed" in states or _is_complete(pipeline):
        return False
    if states & {"synthesizing", "gpu", "synth_done"}:
        return True
    busy = any(worker.state == "proving" for worker in status.gpu_workers)
    return busy or pipeline.started_secs_ago < _STUCK_SECONDS


def has_failed(pipeline: Pipeline) -> bool:
    """Tell whether a listed job has failed: a partition did, or it is whole and never leaves."""
    return any(part.state == "failed" for part in pipeline.partitions) or (
        _is_complete(pipeline) and _done_for(pipeline) > LINGER_SECONDS + _STUCK_SECONDS
    )


def _clean(pipeline: Pipeline) -> Pipeline:
    """Make names safe and order the partitions; counts follow the partitions' own states."""
    parts = tuple(sorted(pipeline.partitions, key=lambda part: part.index))
    return msgspec.structs.replace(
        pipeline,
        job_id=str(sanitise(pipeline.job_id, 128)),
        proof_kind=str(sanitise(pipeline.proof_kind, 64)),
        partitions=parts,
        partitions_done=(
            sum(part.state == "done" for part in parts) if parts else pipeline.partitions_done
        ),
    )


def _is_complete(pipeline: Pipeline) -> bool:
    return bool(pipeline.total_partitions) and (
        pipeline.partitions_done >= pipeline.total_partitions
    )


def _done_for(pipeline: Pipeline) -> float:
    """How long ago the job began, less the longest it can have worked."""
    worked = sum((part.gpu_ms or 0) for part in pipeline.partitions) / 1000.0
    longest = max(((part.synth_ms or 0) / 1000.0 for part in pipeline.partitions), default=0.0)
    return pipeline.started_secs_ago - worked - longest * max(len(pipeline.partitions), 1)
