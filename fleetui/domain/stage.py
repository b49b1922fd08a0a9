"""Where an instance is in its life, and how far it is there."""

from enum import StrEnum

import msgspec

from fleetui.domain.finding import Evidence
from fleetui.domain.text import SafeText


class Stage(StrEnum):
    """The stages of a proving instance, in the order of a healthy life."""

    LOADING = "loading"
    BOOT = "boot"
    PARAM_FETCH = "param_fetch"
    PARAMS_DONE = "params_done"
    C1_DOWNLOAD = "c1_download"
    DAEMON_START = "daemon_start"
    WARMUP = "warmup"
    DAEMON_RESTART = "daemon_restart"
    BENCH = "bench"
    BENCH_DONE = "bench_done"
    RUNNING = "running"
    FAILED = "failed"
    STOPPED = "stopped"
    GONE = "gone"


class Outcome(StrEnum):
    """How a stage ended, or that it has not."""

    ACTIVE = "active"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"


class StageSpan(msgspec.Struct, frozen=True, kw_only=True):
    """One stay in a stage. A re-run of a stage is a new attempt (1, 2, ...)."""

    stage: Stage
    attempt: int = 1
    started_at: float | None = None
    ended_at: float | None = None
    outcome: Outcome = Outcome.ACTIVE
    evidence: Evidence | None = None


class ProgressPart(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of a progress: a file of a download, a proof of a benchmark.

    `cells` has one letter a partition of a proof: `.` pending, `s` in synthesis, `r` ready for
    the GPU, `g` on it, `d` done, `f` failed.
    """

    name: SafeText
    done: float
    total: float | None = None
    per_second: float | None = None
    state: SafeText | None = None
    cells: str = ""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far the present stage is. `unit` is `B`, `partitions` or `proofs`."""

    what: SafeText
    done: float
    total: float | None
    unit: str
    updated_at: float | None = None
    per_second: float | None = None
    eta_seconds: float | None = None
    eta_low_seconds: float | None = None
    eta_high_seconds: float | None = None
    parts: tuple[ProgressPart, ...] = ()

    @property
    def fraction(self) -> float | None:
        """Done part between 0 and 1, or `None` when the total is not known."""
        if not self.total:
            return None
        return min(max(self.done / self.total, 0.0), 1.0)
