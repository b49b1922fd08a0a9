"""The daemon's `GET /status`, with its traps undone (facts: cuzk.md section 3.1)."""

from typing import Any, TypeVar

import msgspec

from fleetui.domain.codec import decode
from fleetui.domain.host import DaemonStatus, GpuWorker, Partition, Pipeline, StatusMemory
from fleetui.domain.text import sanitise
from fleetui.reading.daemon_starts import SLACK_SECONDS
from fleetui.reading.jobs import MOST_PARTITIONS
from fleetui.reading.rates import MOST_PER_HOUR

LONGEST_BODY = 1024 * 1024
LINGER_SECONDS = 45.0
"""A finished job stays listed for 30 s; longer means that it failed without saying so."""

Figure = TypeVar("Figure", int, float)

_MOST_PIPELINES = 256
_MOST_WORKERS = 256
_MOST_QUEUED = 1 << 20
_MOST_BYTES = 1 << 60
_LONGEST_SECONDS = 10 * 366 * 86400.0
_MOST_AT_ONCE = 100
"""Proofs that a daemon may have counted however short it has been up."""
_STUCK_SECONDS = 600.0


def parse_status(body: bytes, at: float) -> DaemonStatus:
    """Read the body of a status answer that was received at `at`.

    A figure that cannot be is left out as not known; without a sound uptime and sound counts of
    proofs nothing can be told.

    Raises:
        ValueError: it is an error body, is not JSON, has another shape, or an impossible uptime
            or count; says which.
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
    if not 0 <= uptime <= _LONGEST_SECONDS:
        message = f"the status answer has an impossible uptime: {uptime}"
        raise ValueError(message)
    counters = status.counters
    counts = {"total_completed": counters.total_completed, "total_failed": counters.total_failed}
    for name, count in counts.items():
        if not 0 <= count <= _MOST_AT_ONCE + uptime / 3600.0 * MOST_PER_HOUR:
            message = f"the status answer has an impossible {name}: {count}"
            raise ValueError(message)
    pipelines = tuple(
        sorted(
            (_clean(pipeline, uptime) for pipeline in status.pipelines[:_MOST_PIPELINES]),
            key=lambda pipeline: (-(pipeline.started_secs_ago or 0.0), pipeline.job_id),
        )
    )
    memory = status.memory
    return msgspec.structs.replace(
        status,
        pipelines=pipelines,
        gpu_workers=tuple(
            _clean_worker(worker)
            for worker in status.gpu_workers[:_MOST_WORKERS]
            if worker.worker_id >= 0 and worker.gpu_ordinal >= 0
        ),
        memory=memory if _is_sound(memory) else StatusMemory(),
        synthesis=msgspec.structs.replace(
            status.synthesis, active=_synthesizing(status.synthesis.active, pipelines)
        ),
        counters=msgspec.structs.replace(
            counters, queue_depth=_within(counters.queue_depth, _MOST_QUEUED)
        ),
        at=at,
    )


def is_running(pipeline: Pipeline, status: DaemonStatus) -> bool:
    """Tell whether a listed job is under way, as far as one answer can tell.

    It is not with a failed partition (it stays listed for ever), with all of them done
    (lingering, or failed at the very end), or when for long no partition works and the pool is
    idle.
    """
    states = {part.state for part in pipeline.partitions}
    if "failed" in states or is_complete(pipeline):
        return False
    if states & {"synthesizing", "gpu", "synth_done"}:
        return True
    busy = any(worker.state == "proving" for worker in status.gpu_workers)
    return busy or (pipeline.started_secs_ago or 0.0) < _STUCK_SECONDS


def has_failed(pipeline: Pipeline) -> bool:
    """Tell whether a listed job has failed: a partition did, or it is whole and never leaves."""
    return any(part.state == "failed" for part in pipeline.partitions) or (
        is_complete(pipeline) and _done_for(pipeline) > LINGER_SECONDS + _STUCK_SECONDS
    )


def _within(value: Figure | None, most: Figure) -> Figure | None:
    return value if value is not None and 0 <= value <= most else None


def _is_sound(memory: StatusMemory) -> bool:
    parts = (memory.total_bytes, memory.used_bytes, memory.available_bytes)
    return all(0 <= part < _MOST_BYTES for part in parts)


def _synthesizing(active: int | None, pipelines: tuple[Pipeline, ...]) -> int | None:
    """Return how many partitions are in synthesis; each failed one is counted for ever."""
    if active is None or active < 0:
        return None
    parts = (part for pipeline in pipelines for part in pipeline.partitions)
    return min(active, sum(part.state == "synthesizing" for part in parts))


def _clean_worker(worker: GpuWorker) -> GpuWorker:
    job, partition = worker.current_job, worker.current_partition
    return msgspec.structs.replace(
        worker,
        state=str(sanitise(worker.state, 32)),
        current_job=None if job is None else str(sanitise(job, 128)),
        current_partition=_within(partition, MOST_PARTITIONS - 1),
        busy_secs=_within(worker.busy_secs, _LONGEST_SECONDS),
    )


def _clean(pipeline: Pipeline, uptime: float) -> Pipeline:
    """Make names safe and order the partitions; counts follow the partitions' own states."""
    known = {part.index: _clean_partition(part) for part in pipeline.partitions}
    parts = tuple(known[index] for index in sorted(known) if 0 <= index < MOST_PARTITIONS)
    total = pipeline.total_partitions
    if not len(parts) <= total <= MOST_PARTITIONS:
        total = len(parts)
    done = sum(part.state == "done" for part in parts) if parts else pipeline.partitions_done
    return msgspec.structs.replace(
        pipeline,
        job_id=str(sanitise(pipeline.job_id, 128)),
        proof_kind=str(sanitise(pipeline.proof_kind, 64)),
        started_secs_ago=_within(pipeline.started_secs_ago, uptime + SLACK_SECONDS),
        total_partitions=total,
        partitions=parts,
        partitions_done=min(max(done, 0), total),
    )


def _clean_partition(part: Partition) -> Partition:
    return msgspec.structs.replace(
        part,
        state=str(sanitise(part.state, 32)),
        synth_ms=_within(part.synth_ms, int(_LONGEST_SECONDS * 1000)),
        gpu_ms=_within(part.gpu_ms, int(_LONGEST_SECONDS * 1000)),
    )


def is_complete(pipeline: Pipeline) -> bool:
    """Tell whether all partitions of a listed job are done."""
    return bool(pipeline.total_partitions) and (
        pipeline.partitions_done >= pipeline.total_partitions
    )


def _done_for(pipeline: Pipeline) -> float:
    """How long ago the job began, less the longest it can have worked; 0 where not known."""
    worked = sum((part.gpu_ms or 0) for part in pipeline.partitions) / 1000.0
    longest = max(((part.synth_ms or 0) / 1000.0 for part in pipeline.partitions), default=0.0)
    began = pipeline.started_secs_ago
    return 0.0 if began is None else began - worked - longest * max(len(pipeline.partitions), 1)
