"""What a matched line makes happen in an instance's life."""

import re
from collections.abc import Iterator, Sequence

from fleetui.domain.host import DaemonStatus, Pipeline
from fleetui.domain.stage import Stage
from fleetui.domain.stream import Fact
from fleetui.profiles.model import Rule
from fleetui.reading.daemon_starts import SETTLED_SECONDS
from fleetui.reading.figures import figure
from fleetui.reading.stage_event import Happening

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_BEFORE_WORK = frozenset({Stage.PARAMS_DONE})
_STARTING = frozenset({Stage.DAEMON_START, Stage.DAEMON_RESTART})
_PROVING = frozenset({Stage.WARMUP, Stage.BENCH})
_FAILS: dict[str, frozenset[Stage]] = {
    "script_failed": _BEFORE_WORK | {Stage.C1_DOWNLOAD} | _STARTING | _PROVING,
    "input_failed": frozenset({Stage.C1_DOWNLOAD}),
    "bench_error": frozenset({Stage.C1_DOWNLOAD}) | _STARTING | _PROVING,
    "daemon_error": _STARTING,
}
"""Which stages a failing line can end, by its signal."""

_JOB = frozenset(
    {
        "request", "job_queued", "job_dispatched", "partition_synthesised", "partition_proved",
        "job_assembled", "proof_done",
    }
)  # fmt: skip
"""Each proves that the daemon works on a job; whoever comes late sees only the later ones."""

FREQUENT = _JOB | {
    "file_wanted", "file_progress", "file_fetched", "file_checked", "input_progress",
}  # fmt: skip
"""Signals of lines that come in crowds; one of a kind in a row is enough."""


def job_happening(job_id: str) -> Happening:
    """Return what a job with this id proves; the benchmark's client names its jobs by UUID."""
    is_benchmark = _UUID.match(job_id) is not None
    return Happening.BENCHMARK_JOB if is_benchmark else Happening.FLEET_JOB


def served_happenings(
    status: DaemonStatus, running: Sequence[Pipeline]
) -> Iterator[tuple[Happening, str]]:
    """Tell what one answer of the daemon proves, with the benchmark's job that proves it."""
    if status.uptime_secs >= SETTLED_SECONDS:
        yield Happening.DAEMON_READY, ""
    for pipeline in running:
        happening = job_happening(pipeline.job_id)
        yield happening, pipeline.job_id if happening is Happening.BENCHMARK_JOB else ""
    if status.counters.total_completed:
        yield Happening.PROVED, ""


def happening_of(rule: Rule, fact: Fact) -> tuple[Happening, Stage | None, frozenset[Stage]] | None:
    """Return the happening, the stage that it proves, and the stages that a failure can end."""
    none: frozenset[Stage] = frozenset()
    match rule.signal:
        case "boot":
            return Happening.BOOT, None, none
        case "bench_run":
            return Happening.BENCHMARK_RUN, None, none
        case "daemon_starting":
            return Happening.DAEMON_STARTING, None, none
        case "daemon_ready":
            return Happening.DAEMON_READY, None, none
        case "params_failed":
            return Happening.PARAMS_FAILED, None, none
        case signal if signal in _JOB:
            return job_happening(fact.fields.get("job", "")), None, none
        case "single_result" if fact.fields.get("status", "").upper() != "COMPLETED":
            return Happening.FAILED, None, frozenset({Stage.WARMUP})
        case "batch_summary" if fact.fields.get("completed") == "0":
            return Happening.FAILED, None, frozenset({Stage.BENCH})
        case "throughput" if figure(fact.fields.get("per_minute"), 0.0) <= 0:
            return Happening.FAILED, None, frozenset({Stage.BENCH})
    if rule.fails and rule.signal in _FAILS:
        return Happening.FAILED, None, _FAILS[rule.signal]
    if rule.stage is not None:
        return Happening.STAGE, rule.stage, none
    return None
