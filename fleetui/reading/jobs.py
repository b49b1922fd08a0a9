"""The proofs under way and done, from the daemon's log."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from fleetui.domain.stage import ProgressPart
from fleetui.domain.text import SafeText, sanitise
from fleetui.reading.completions import Completions
from fleetui.reading.figures import whole

_MOST_JOBS = 64
_MOST_PROVED = 8192
_REMEMBERED = 256
PARTITIONS = 10
"""Partitions of a PoRep (facts: cuzk.md section 3.1)."""
_SNAP_PARTITIONS = 16
MOST_PARTITIONS = 256
"""More than any proof has: a larger number is none."""


@dataclass(slots=True)
class Job:
    """One proof that the daemon works on. Times are those of the log."""

    job_id: str
    kind: str
    queued_at: float
    partitions: int = PARTITIONS
    started_at: float | None = None
    synthesised: set[int] = field(default_factory=set)
    proved: set[int] = field(default_factory=set)
    moved_at: float = 0.0
    is_assembled: bool = False
    workers: int | None = None
    """How many of its partitions may be in synthesis at once, where a fixed number is."""

    @property
    def work(self) -> float:
        """Partitions done, where a synthesised one counts for most of one."""
        return len(self.proved) + 0.8 * len(self.synthesised - self.proved)

    @property
    def cells(self) -> str:
        """One letter a partition: `.` not known to have begun, `r` synthesised, `d` proved."""
        return "".join(
            "d" if number in self.proved else "r" if number in self.synthesised else "."
            for number in range(self.partitions)
        )


class Jobs:
    """Follows the jobs of one daemon over its restarts."""

    def __init__(self) -> None:
        self.running: dict[str, Job] = {}
        self.done = Completions()
        """Proofs that passed their self-check."""
        self.failed = 0
        self.unlisted = 0
        """Jobs of this daemon that were left out, as there were too many."""
        self.started_at: float | None = None
        self.has_log = False
        """Whether any line of a daemon was read."""
        self.proved_at: deque[float] = deque(maxlen=_MOST_PROVED)
        """When partitions were proved, in the order of the log."""
        self._finished: deque[str] = deque(maxlen=_REMEMBERED)
        self._failed: deque[str] = deque(maxlen=_REMEMBERED)

    def take(self, signal: str, fields: dict[str, str], at: float) -> bool:
        """Take one signal of a daemon log; tell whether it was one of a job."""
        if signal == "daemon_starting":
            self.has_log = True
            self.running.clear()
            self.unlisted = 0
            self.started_at = at
            return True
        job_id = fields.get("job", "").strip('"')
        if not job_id and signal in ("job_unreadable", "gpu_start_failed"):
            self._fail(self._guilty(signal))
            return True
        if not job_id:
            if signal == "job_failed":
                self.failed += 1
            return signal == "job_failed"
        self.has_log = True
        if signal in ("request", "job_queued"):
            # Older curio gives all proofs of a sector one name (facts: cuzk.md section 2).
            for ended in (self._failed, self._finished):
                if job_id in ended:
                    ended.remove(job_id)
            self._job(job_id, fields.get("kind"), at)
        elif signal == "proof_done":
            self._finish(job_id, at)
        elif signal in ("job_failed", "gpu_start_failed"):
            self._fail(job_id)
        else:
            self._moved(signal, job_id, fields, at)
        return True

    def move(self, moved: Callable[[float], float]) -> None:
        """Date everything anew."""
        for job in self.running.values():
            job.queued_at, job.moved_at = moved(job.queued_at), moved(job.moved_at)
            job.started_at = None if job.started_at is None else moved(job.started_at)
        self.done.move(moved)
        self.proved_at = deque(map(moved, self.proved_at), _MOST_PROVED)
        self.started_at = None if self.started_at is None else moved(self.started_at)

    def proved_since(self, since: float) -> list[float]:
        """When partitions were proved at or after `since`, ascending."""
        return sorted(at for at in self.proved_at if at >= since)

    def last_move(self) -> float | None:
        """When any job last got on."""
        moves = [job.moved_at for job in self.running.values()]
        moves += [] if self.done.newest is None else [self.done.newest]
        return max(moves, default=None)

    def stuck(self, now: float, patience: float) -> frozenset[str]:
        """Return the jobs that began and of which nothing was said for so many seconds."""
        return frozenset(
            job.job_id
            for job in self.running.values()
            if job.started_at is not None and now - job.moved_at > patience
        )

    def parts(self, stuck: frozenset[str] = frozenset()) -> tuple[ProgressPart, ...]:
        """The running jobs, the oldest first; those that are `stuck` come last and say so."""
        jobs = sorted(
            self.running.values(), key=lambda job: (job.job_id in stuck, job.queued_at, job.job_id)
        )
        return tuple(
            ProgressPart(
                name=sanitise(job.job_id, 128),
                done=float(len(job.proved)),
                total=float(job.partitions),
                state=SafeText("stuck")
                if job.job_id in stuck
                else SafeText("assembled" if job.is_assembled else "proving")
                if job.started_at is not None
                else SafeText("queued"),
                cells=job.cells,
            )
            for job in jobs
        )

    def _job(self, job_id: str, kind: str | None, at: float) -> Job:
        job = self.running.get(job_id)
        if job is None:
            if len(self.running) >= _MOST_JOBS:
                del self.running[next(iter(self.running))]
                self.unlisted += 1
            job = self.running[job_id] = Job(job_id, kind or "", at, moved_at=at)
            if job_id.startswith(("snap", "ps-snap")):
                job.partitions = _SNAP_PARTITIONS
        if kind:
            job.kind = kind
            if kind.startswith("snap"):
                job.partitions = _SNAP_PARTITIONS
        return job

    def _moved(self, signal: str, job_id: str, fields: dict[str, str], at: float) -> None:
        if job_id in self._finished or job_id in self._failed:
            return
        job = self._job(job_id, None, at)
        job.moved_at = at
        if job.started_at is None:
            job.started_at = at
        number = whole(fields, "partition")
        if signal == "job_dispatched":
            job.started_at = at
            count = whole(fields, "partitions", 0) or 0
            if 0 < count <= MOST_PARTITIONS:
                job.partitions = count
            workers = whole(fields, "workers", 0) or 0
            job.workers = workers if 0 < workers <= MOST_PARTITIONS else None
        elif number is not None and number < MOST_PARTITIONS:
            if number >= job.partitions:
                # First seen from the middle, only its partitions tell that it is no PoRep.
                job.partitions = max(_SNAP_PARTITIONS, number + 1)
            if signal == "partition_synthesised":
                job.synthesised.add(number)
            elif signal == "partition_proved" and number not in job.proved:
                job.proved.add(number)
                self.proved_at.append(at)
        elif signal == "job_assembled":
            job.is_assembled = True
            job.proved.update(range(job.partitions))
            if job.kind.startswith("snap") or job_id.startswith("snap-"):
                # Snap proofs have no self-check (facts: cuzk.md section 1.2).
                self._finish(job_id, at)

    def _guilty(self, signal: str) -> str | None:
        """Return the job that a line without a name is about, where only one can be meant.

        Jobs are read in the order of the queue; on the GPU are those that have begun.
        """
        if signal == "job_unreadable":
            waiting = [job for job in self.running.values() if job.started_at is None]
            return min(waiting, key=lambda job: job.queued_at).job_id if waiting else None
        begun = [job.job_id for job in self.running.values() if job.started_at is not None]
        return begun[0] if len(begun) == 1 else None

    def _fail(self, job_id: str | None) -> None:
        """Count a failure once; what the job still says is no work any more."""
        if job_id is None:
            self.failed += 1
            return
        known = (*self._failed, *self._finished)
        if self.running.pop(job_id, None) is not None or job_id not in known:
            self.failed += 1
            self._failed.append(job_id)

    def _finish(self, job_id: str, at: float) -> None:
        self.running.pop(job_id, None)
        if job_id not in self._finished:
            self._finished.append(job_id)
            self.done.add(at)
