"""The proofs under way and done, from the daemon's log."""

from collections import deque
from dataclasses import dataclass, field

from fleetui.domain.stage import ProgressPart
from fleetui.domain.text import SafeText, sanitise

_MOST_JOBS = 64
_MOST_DONE = 8192
_REMEMBERED = 256
PARTITIONS = 10
"""Partitions of a PoRep; a SnapDeals update has 16 (facts: cuzk.md section 3.1)."""


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


@dataclass(frozen=True, slots=True)
class Done:
    """One proof that passed its self-check."""

    job_id: str
    at: float


class Jobs:
    """Follows the jobs of one daemon over its restarts."""

    def __init__(self) -> None:
        self.running: dict[str, Job] = {}
        self.done: deque[Done] = deque(maxlen=_MOST_DONE)
        self.failed = 0
        self.started_at: float | None = None
        self.has_log = False
        """Whether any line of a daemon was read."""
        self.proved_at: deque[float] = deque(maxlen=_MOST_DONE)
        """When partitions were proved, in the order of the log."""
        self._finished: deque[str] = deque(maxlen=_REMEMBERED)

    def take(self, signal: str, fields: dict[str, str], at: float) -> bool:
        """Take one signal of a daemon log; tell whether it was one of a job."""
        if signal == "daemon_starting":
            self.has_log = True
            self.running.clear()
            self.started_at = at
            return True
        job_id = fields.get("job", "").strip('"')
        if not job_id:
            if signal == "job_failed":
                self.failed += 1
            return signal == "job_failed"
        self.has_log = True
        if signal in ("request", "job_queued"):
            self._job(job_id, fields.get("kind"), at)
        elif signal == "proof_done":
            self._finish(job_id, at)
        elif signal == "job_failed":
            if self.running.pop(job_id, None) is not None:
                self.failed += 1
        else:
            self._moved(signal, job_id, fields, at)
        return True

    def proofs_since(self, since: float) -> int:
        """How many proofs were done at or after `since`."""
        return sum(done.at >= since for done in self.done)

    def proved_since(self, since: float) -> list[float]:
        """When partitions were proved at or after `since`, ascending."""
        return sorted(at for at in self.proved_at if at >= since)

    def last_move(self) -> float | None:
        """When any job last got on."""
        moves = [job.moved_at for job in self.running.values()]
        moves += [self.done[-1].at] if self.done else []
        return max(moves, default=None)

    def parts(self) -> tuple[ProgressPart, ...]:
        """The running jobs, the oldest first."""
        jobs = sorted(self.running.values(), key=lambda job: (job.queued_at, job.job_id))
        return tuple(
            ProgressPart(
                name=sanitise(job.job_id, 128),
                done=float(len(job.proved)),
                total=float(job.partitions),
                state=SafeText("assembled" if job.is_assembled else "proving")
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
            job = self.running[job_id] = Job(job_id, kind or "", at, moved_at=at)
        if kind:
            job.kind = kind
            if kind.startswith("snap"):
                job.partitions = 16
        return job

    def _moved(self, signal: str, job_id: str, fields: dict[str, str], at: float) -> None:
        if job_id in self._finished:
            return
        job = self._job(job_id, None, at)
        job.moved_at = at
        if job.started_at is None:
            job.started_at = at
        part = fields.get("partition")
        if signal == "job_dispatched":
            job.started_at = at
            job.partitions = max(1, min(int(fields.get("partitions", PARTITIONS)), 4096))
        elif signal == "partition_synthesised" and part:
            job.synthesised.add(int(part))
        elif signal == "partition_proved" and part and int(part) not in job.proved:
            job.proved.add(int(part))
            self.proved_at.append(at)
        elif signal == "job_assembled":
            job.is_assembled = True
            job.proved.update(range(job.partitions))
            if job.kind.startswith("snap") or job_id.startswith("snap-"):
                # Snap proofs have no self-check (facts: cuzk.md section 1.2).
                self._finish(job_id, at)

    def _finish(self, job_id: str, at: float) -> None:
        self.running.pop(job_id, None)
        if job_id not in self._finished:
            self._finished.append(job_id)
            self.done.append(Done(job_id, at))
