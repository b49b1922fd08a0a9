"""How far the present stage is, as told by the logs and the daemon's status."""

from collections.abc import Callable
from dataclasses import replace
from math import sqrt

from fleetui.domain.host import Pipeline
from fleetui.domain.stage import Progress, ProgressPart, Stage, StageSpan
from fleetui.domain.text import SafeText, sanitise
from fleetui.profiles.model import Profile
from fleetui.reading import loads
from fleetui.reading.batch import Batch
from fleetui.reading.download import Download
from fleetui.reading.eta import Eta, from_times, progress_with, recent_pace
from fleetui.reading.figures import whole
from fleetui.reading.jobs import PARTITIONS, Jobs
from fleetui.reading.proof_input import ProofInput
from fleetui.reading.rates import Benchmark
from fleetui.reading.status_watch import STUCK_SECONDS, StatusWatch


class Work:
    """Everything the signals of the log say about the work under way."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._input = ProofInput(profile.input_bytes)
        self._loads = loads.Loads()
        self._planned: tuple[int | None, int | None] = (None, None)
        self.download = Download(profile)
        self.jobs = Jobs()
        self.batch: Batch | None = None
        self.benchmark: Benchmark | None = None

    def take(self, signal: str, fields: dict[str, str], at: float, arrived: float) -> None:
        """Take one signal; `at` is the line's time, `arrived` when its bytes came."""
        if signal.startswith("file_"):
            self.download.take(signal, fields, arrived)
        elif signal in ("boot", "params_failed"):
            self.download = Download(self._profile)
        elif signal == "bench_run":
            self._planned = (whole(fields, "proofs"), whole(fields, "concurrency"))
        elif signal.startswith("input_"):
            self._input.take(signal, fields, arrived)
        elif signal.startswith("batch_") or signal == "throughput":
            if self.batch is None or signal == "batch_start":
                # First seen in the middle of a batch, its beginning is not known.
                self.batch = Batch(at)
            self.batch.take(signal, fields)
            if signal == "throughput":
                self.benchmark = self.batch.benchmark(fields, at, arrived) or self.benchmark
        elif signal in loads.SIGNALS:
            self._loads.take(signal, fields, at)
        else:
            self.jobs.take(signal, fields, at)
            if signal == "daemon_starting":
                self._loads.restart()

    def move(self, moved: Callable[[float], float]) -> None:
        """Date everything anew that the log dated; `moved` says how."""
        self.jobs.move(moved)
        self._loads.move(moved)
        if self.batch is not None:
            self.batch.started_at = moved(self.batch.started_at)
        if self.benchmark is not None:
            self.benchmark = replace(self.benchmark, at=moved(self.benchmark.at))

    def progress(self, span: StageSpan | None, daemon: StatusWatch, now: float) -> Progress | None:
        """Return how far the present stage is; `None` where nothing can be counted."""
        stage = None if span is None else span.stage
        started = None if span is None else span.started_at
        if stage is Stage.PARAM_FETCH:
            return self.download.progress(now)
        if stage is Stage.C1_DOWNLOAD:
            return self._input.progress(now)
        if stage in (Stage.DAEMON_START, Stage.DAEMON_RESTART):
            return self._loads.progress(now)
        if stage is Stage.WARMUP:
            return self._warmup(started, now)
        if stage is Stage.BENCH:
            return self._bench(started, daemon, now)
        if stage is Stage.RUNNING:
            return self._running(daemon, now)
        return None

    def _warmup(self, started: float | None, now: float) -> Progress:
        job = max(self.jobs.running.values(), key=lambda job: job.queued_at, default=None)
        parts = (*self.jobs.parts(), *self._loads.parts())
        if job is None:
            was_done = started is not None and self.jobs.done.since(started) > 0
            return progress_with(
                None,
                "warm-up proof",
                done=float(PARTITIONS if was_done else 0),
                total=float(PARTITIONS),
                unit="partitions",
                updated_at=self.jobs.last_move(),
                parts=parts,
            )
        proved = float(len(job.proved))
        pace, eta = self._paces(
            proved, job.work, float(job.partitions), job.started_at or job.queued_at, now
        )
        workers = "" if job.workers is None else f", {job.workers} partition workers"
        return progress_with(
            eta,
            f"warm-up proof{workers}",
            done=proved,
            total=float(job.partitions),
            unit="partitions",
            updated_at=job.moved_at,
            pace=pace,
            parts=parts,
        )

    def _bench(self, started: float | None, daemon: StatusWatch, now: float) -> Progress:
        batch = self.batch
        since = batch.started_at if batch is not None else started
        count = batch.count if batch is not None and batch.count else self._planned[0]
        proofs = 0 if since is None else self.jobs.done.since(since)
        if since is not None and not self.jobs.has_log:
            proofs = daemon.counters.completed_since(since)
        reported = batch.reported if batch is not None else 0
        done = float(max(proofs, reported))
        pace, eta = None, None
        if since is not None and count is not None:
            running = self.jobs.running.values()
            # Proofs of before it was first looked at tell nothing of the pace.
            unseen = max(reported - proofs, 0)
            pace, eta = self._paces(
                PARTITIONS * (proofs + sum(len(job.proved) / job.partitions for job in running)),
                PARTITIONS * (proofs + sum(job.work / job.partitions for job in running)),
                PARTITIONS * float(count - unseen),
                since,
                now,
            )
        concurrency = (batch.concurrency if batch is not None else None) or self._planned[1]
        return progress_with(
            eta,
            "benchmark" if concurrency is None else f"benchmark, {concurrency} at once",
            done=done if count is None else min(done, float(count)),
            total=None if count is None else float(count),
            unit="proofs",
            updated_at=self.jobs.last_move(),
            pace=None if pace is None else pace / PARTITIONS,
            parts=self.jobs.parts() or _parts(daemon.running(), "proving"),
        )

    def _paces(
        self, proved: float, work: float, total: float, since: float, now: float
    ) -> tuple[float | None, Eta | None]:
        """Return partitions a second since then, and how long the rest will take.

        Several ways to see it: what is proved, that with what is ready for the GPU, how quick it
        went of late, and how quick it goes when it goes: partitions come in waves. Without a
        proved one nothing is measured.
        """
        length = now - since
        if proved <= 0 or length < 1:
            return None, None
        moments = self.jobs.proved_since(since)
        recent = recent_pace(moments, now)
        times = [(total - proved) / (proved / length), (total - work) / (work / length)]
        if recent is not None:
            times.append((total - proved) / recent)
        if len(moments) > 2 and moments[-1] > moments[0]:
            times.append((total - proved) * (moments[-1] - moments[0]) / (len(moments) - 1))
        return proved / length, from_times(times, 0.05 + 1.0 / sqrt(proved + 4.0))

    def _running(self, daemon: StatusWatch, now: float) -> Progress | None:
        stuck = self.jobs.stuck(now, self._profile.silence_limits.get(Stage.RUNNING, STUCK_SECONDS))
        known = self.jobs.parts(stuck)
        parts, failed = known[: len(known) - len(stuck)], known[len(known) - len(stuck) :]
        unlisted = self.jobs.unlisted
        updated = self.jobs.last_move()
        status = daemon.newest
        if status is not None and daemon.is_fresh(now) and (status.pipelines or not parts):
            parts = _parts(daemon.running(), "proving")
            failed = _parts(daemon.failed(), "failed")
            unlisted = 0
            updated = status.at
        if not parts and not failed:
            return None
        return progress_with(
            None,
            _count_words(len(parts), len(failed), unlisted),
            done=sum(part.done for part in parts),
            total=sum(part.total or 0.0 for part in parts) or None,
            unit="partitions",
            updated_at=updated,
            parts=parts + failed,
        )


def _count_words(running: int, failed: int, unlisted: int) -> str:
    words = "1 proof" if running == 1 else f"{running} proofs"
    words += f", {failed} stuck or failed" if failed else ""
    return words + (f", {unlisted} older ones not listed" if unlisted else "")


_CELLS = {"synthesizing": "s", "synth_done": "r", "gpu": "g", "done": "d", "failed": "f"}


def _parts(pipelines: tuple[Pipeline, ...], state: str) -> tuple[ProgressPart, ...]:
    return tuple(
        ProgressPart(
            name=sanitise(pipeline.job_id, 128),
            done=float(pipeline.partitions_done),
            total=float(pipeline.total_partitions) or None,
            state=SafeText(state),
            cells="".join(_CELLS.get(part.state, ".") for part in pipeline.partitions),
        )
        for pipeline in pipelines
    )
