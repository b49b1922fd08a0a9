"""What can move an instance from stage to stage."""

from dataclasses import dataclass, field
from enum import StrEnum

from fleetui.domain.finding import Evidence
from fleetui.domain.stage import Stage


class Happening(StrEnum):
    """What can move an instance from stage to stage."""

    BOOT = "boot"
    STAGE = "stage"
    BENCHMARK_RUN = "bench_run"
    DAEMON_STARTING = "daemon_starting"
    DAEMON_READY = "daemon_ready"
    FLEET_JOB = "fleet_job"
    """The daemon took work that curio names (facts: cuzk.md section 2, trap 5)."""
    BENCHMARK_JOB = "benchmark_job"
    PROVED = "proved"
    """The daemon counts proofs that nobody was seen to ask for."""
    FAILED = "failed"
    PARAMS_FAILED = "params_failed"


@dataclass(frozen=True, order=True, slots=True)
class StageEvent:
    """One happening. `stages` limits a failure to the stages that it can end.

    `job` is the benchmark's job that it is about. `daemon_since` is when the daemon that was
    asked had started, of what its own answers tell.
    """

    at: float
    order: int
    happening: Happening = field(compare=False)
    stage: Stage | None = field(default=None, compare=False)
    stages: frozenset[Stage] = field(default=frozenset(), compare=False)
    evidence: Evidence | None = field(default=None, compare=False)
    job: str = field(default="", compare=False)
    daemon_since: float | None = field(default=None, compare=False)
