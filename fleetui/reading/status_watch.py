"""The daemon's answers over time: what moves, what is stuck, what has failed in silence.

One answer alone cannot tell a slow job from a lost one: after an error on a GPU its partition
stays in `gpu` for ever (facts: cuzk.md section 3.1).
"""

from statistics import median

from fleetui.domain.host import DaemonStatus, Pipeline
from fleetui.reading.daemon_starts import DaemonStarts, clock_step
from fleetui.reading.rates import StatusCounters
from fleetui.reading.status import LINGER_SECONDS, has_failed, is_complete, is_running

STUCK_SECONDS = 600.0
"""A job without a change for so long, or five times its usual GPU time if that is more, is lost."""

_FRESH_SECONDS = 60.0


class StatusWatch:
    """Keeps the newest good answer, and when each of its jobs last moved."""

    def __init__(self) -> None:
        self.newest: DaemonStatus | None = None
        self.counters = StatusCounters()
        self.starts = DaemonStarts()
        self._moved: dict[str, tuple[tuple[str, ...], float]] = {}

    def take(self, status: DaemonStatus) -> None:
        """Take one answer with its time."""
        if self.newest is not None:
            step = clock_step(status, self.newest)
            if step:
                self._move(step)
        self.starts.take(status, len(self.running()))
        self.newest = status
        self.counters.take(status)
        moved: dict[str, tuple[tuple[str, ...], float]] = {}
        for job in status.pipelines:
            states = tuple(part.state for part in job.partitions)
            known = self._moved.get(job.job_id)
            is_same = known is not None and known[0] == states
            moved[job.job_id] = known if known is not None and is_same else (states, status.at or 0)
        self._moved = moved

    def is_fresh(self, now: float) -> bool:
        """Tell whether the newest answer is of now."""
        return self.newest is not None and now - (self.newest.at or 0.0) <= _FRESH_SECONDS

    def running(self) -> tuple[Pipeline, ...]:
        """Return the jobs that are really under way, the oldest first."""
        status = self.newest
        if status is None:
            return ()
        return tuple(
            job for job in status.pipelines if is_running(job, status) and not self._is_stuck(job)
        )

    def failed(self) -> tuple[Pipeline, ...]:
        """Return the jobs that failed, though no counter tells of them."""
        jobs = () if self.newest is None else self.newest.pipelines
        return tuple(
            job for job in jobs if has_failed(job) or self._has_lingered(job) or self._is_stuck(job)
        )

    def _move(self, seconds: float) -> None:
        """Our own clock was set by so much: what was dated by it goes along."""
        self.starts.move(seconds)
        self.counters.move(seconds)
        self._moved = {name: (states, at + seconds) for name, (states, at) in self._moved.items()}

    def _has_lingered(self, job: Pipeline) -> bool:
        """Whether a job was whole for longer than one that is done stays listed."""
        known = self._moved.get(job.job_id)
        if known is None or self.newest is None or not is_complete(job):
            return False
        return (self.newest.at or 0.0) - known[1] > LINGER_SECONDS

    def _is_stuck(self, job: Pipeline) -> bool:
        known = self._moved.get(job.job_id)
        if known is None or self.newest is None:
            return False
        times = [
            part.gpu_ms / 1000.0 for part in job.partitions if part.gpu_ms and part.state == "done"
        ]
        patience = max(STUCK_SECONDS, 5.0 * median(times) if times else 0.0)
        return (self.newest.at or 0.0) - known[1] > patience
