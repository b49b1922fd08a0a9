"""How far the present stage is, as told by the logs and the daemon's status."""

from dataclasses import dataclass

from fleetui.domain.host import DaemonStatus
from fleetui.domain.stage import Progress, ProgressPart, Stage, StageSpan
from fleetui.domain.text import SafeText, sanitise
from fleetui.profiles.model import Profile
from fleetui.reading.download import Download, size
from fleetui.reading.figures import figure
from fleetui.reading.jobs import PARTITIONS, Jobs
from fleetui.reading.rates import Benchmark
from fleetui.reading.status import running_pipelines

_FRESH_STATUS_SECONDS = 60.0


@dataclass(slots=True)
class Batch:
    """One run of cuzk-bench's batch; silent for the first N-J proofs (cuzk.md section 2)."""

    started_at: float
    count: int | None = None
    concurrency: int | None = None
    reported: int = 0
    completed: int | None = None
    failed: int | None = None
    seconds: float = 0.0


class Work:
    """Everything the signals of the log say about the work under way."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self.download = Download(profile)
        self.jobs = Jobs()
        self.batch: Batch | None = None
        self.benchmark: Benchmark | None = None
        self._planned: tuple[int | None, int | None] = (None, None)
        self._input: tuple[float, float | None, float] | None = None
        self._loading: dict[str, float] = {}
        self._took: dict[str, float] = {}

    def take(self, signal: str, fields: dict[str, str], at: float, arrived: float) -> None:
        """Take one signal; `at` is the line's time, `arrived` when its bytes came."""
        if signal.startswith("file_"):
            self.download.take(signal, fields, arrived)
        elif signal in ("boot", "params_failed"):
            self.download = Download(self._profile)
        elif signal == "bench_run":
            self._planned = (_number(fields, "proofs"), _number(fields, "concurrency"))
        elif signal in ("input_wanted", "input_progress", "input_failed"):
            self._input_moved(signal, fields, arrived)
        elif signal.startswith("batch_") or signal == "throughput":
            self._batch(signal, fields, at)
        elif signal in _LOADS or signal in _LOADED:
            self._loads(signal, fields, at)
        else:
            self.jobs.take(signal, fields, at)
            if signal == "daemon_starting":
                self._loading.clear()

    def progress(
        self, span: StageSpan | None, status: DaemonStatus | None, now: float
    ) -> Progress | None:
        """Return how far the present stage is; `None` where nothing can be counted."""
        stage = None if span is None else span.stage
        started = None if span is None else span.started_at
        if stage is Stage.PARAM_FETCH:
            return self.download.progress()
        if stage is Stage.C1_DOWNLOAD:
            return self._input_progress()
        if stage in (Stage.DAEMON_START, Stage.DAEMON_RESTART):
            return self._load_progress(now)
        if stage is Stage.WARMUP:
            return self._warmup(started, now)
        if stage is Stage.BENCH:
            return self._bench(started, now)
        if stage is Stage.RUNNING:
            return self._running(status, now)
        return None

    def _input_moved(self, signal: str, fields: dict[str, str], at: float) -> None:
        if signal == "input_failed":
            self._input = None
            return
        percent = figure(fields.get("percent"), 0.0)
        speed = size(fields.get("speed", "").upper())
        if speed is None and self._input is not None and at > self._input[2]:
            gained = (percent - self._input[0]) / 100.0 * (self._profile.input_bytes or 0.0)
            speed = max(gained, 0.0) / (at - self._input[2]) or self._input[1]
        elif speed is None and self._input is not None:
            speed = self._input[1]
        self._input = (min(percent, 100.0), speed, at)

    def _input_progress(self) -> Progress | None:
        if self._input is None or self._profile.input_bytes is None:
            return None
        percent, speed, at = self._input
        total = self._profile.input_bytes
        left = total * (1 - percent / 100.0)
        return Progress(
            what=SafeText("proof input"),
            done=total * percent / 100.0,
            total=total,
            unit="B",
            updated_at=at,
            per_second=speed,
            eta_seconds=left / speed if speed else None,
        )

    def _loads(self, signal: str, fields: dict[str, str], at: float) -> None:
        if signal in _LOADS:
            self._loading[_LOADS[signal]] = at
            return
        what = _LOADED[signal]
        began = self._loading.pop(what, None)
        took = _number(fields, "elapsed_ms") or _number(fields, "extract_ms")
        if took is not None:
            self._took[what] = took / 1000.0
        elif began is not None:
            self._took[what] = max(at - began, 0.0)

    def _load_progress(self, now: float) -> Progress | None:
        if not self._loading:
            return None
        what, began = max(self._loading.items(), key=lambda entry: entry[1])
        took = self._took.get(what)
        left = None if took is None else max(took - (now - began), 0.0)
        return Progress(
            what=SafeText(what),
            done=0.0,
            total=None,
            unit="B",
            updated_at=began,
            eta_seconds=left,
            parts=self._load_parts(),
        )

    def _load_parts(self) -> tuple[ProgressPart, ...]:
        return tuple(
            ProgressPart(name=SafeText(what), done=0.0, state=SafeText("under way"))
            for what in sorted(self._loading)
        )

    def _warmup(self, started: float | None, now: float) -> Progress:
        job = max(self.jobs.running.values(), key=lambda job: job.queued_at, default=None)
        if job is None:
            was_done = started is not None and self.jobs.proofs_since(started) > 0
            done, total, work = float(PARTITIONS if was_done else 0), float(PARTITIONS), None
            updated, began = self.jobs.last_move(), started
        else:
            done, total, work = float(len(job.proved)), float(job.partitions), job.work
            updated, began = job.moved_at, job.started_at or job.queued_at
        pace, eta = _pace(work, total, began, now)
        return Progress(
            what=SafeText("warm-up proof"),
            done=done,
            total=total,
            unit="partitions",
            updated_at=updated,
            per_second=pace,
            eta_seconds=eta,
            eta_low_seconds=None if eta is None else eta * 0.6,
            eta_high_seconds=None if eta is None else eta * 1.8,
            parts=(*self.jobs.parts(), *self._load_parts()),
        )

    def _bench(self, started: float | None, now: float) -> Progress:
        batch = self.batch
        since = batch.started_at if batch is not None else started
        count = batch.count if batch is not None and batch.count else self._planned[0]
        proofs = 0 if since is None else self.jobs.proofs_since(since)
        done = float(max(proofs, batch.reported if batch is not None else 0))
        work = done + sum(job.work / job.partitions for job in self.jobs.running.values())
        pace, eta = _pace(work, None if count is None else float(count), since, now)
        concurrency = (batch.concurrency if batch is not None else None) or self._planned[1]
        what = "benchmark" if concurrency is None else f"benchmark, {concurrency} at once"
        return Progress(
            what=SafeText(what),
            done=done if count is None else min(done, float(count)),
            total=None if count is None else float(count),
            unit="proofs",
            updated_at=self.jobs.last_move(),
            per_second=pace,
            eta_seconds=eta,
            eta_low_seconds=None if eta is None else eta * 0.7,
            eta_high_seconds=None if eta is None else eta * 1.5,
            parts=self.jobs.parts(),
        )

    def _running(self, status: DaemonStatus | None, now: float) -> Progress | None:
        parts = self.jobs.parts()
        updated = self.jobs.last_move()
        fresh = status is not None and now - (status.at or 0.0) <= _FRESH_STATUS_SECONDS
        if status is not None and fresh and (status.pipelines or not parts):
            parts = tuple(
                ProgressPart(
                    name=sanitise(pipeline.job_id, 128),
                    done=float(pipeline.partitions_done),
                    total=float(pipeline.total_partitions),
                    state=SafeText("proving"),
                )
                for pipeline in running_pipelines(status)
            )
            updated = status.at
        if not parts:
            return None
        return Progress(
            what=SafeText("1 proof" if len(parts) == 1 else f"{len(parts)} proofs"),
            done=sum(part.done for part in parts),
            total=sum(part.total or 0.0 for part in parts) or None,
            unit="partitions",
            updated_at=updated,
            parts=parts,
        )

    def _batch(self, signal: str, fields: dict[str, str], at: float) -> None:
        if signal == "batch_start":
            self.batch = Batch(at)
        batch = self.batch
        if batch is None:
            # First seen in the middle of a batch: its beginning is not known.
            batch = self.batch = Batch(at)
        match signal:
            case "batch_size":
                batch.count = _number(fields, "count") or batch.count
                batch.concurrency = _number(fields, "concurrency") or batch.concurrency
            case "batch_proof":
                batch.reported = max(batch.reported, _number(fields, "index") or 0)
                batch.count = _number(fields, "count") or batch.count
            case "batch_summary":
                batch.completed = _number(fields, "completed", batch.completed)
                batch.failed = _number(fields, "failed", batch.failed)
                batch.seconds = figure(fields.get("seconds"), batch.seconds)
            case "throughput":
                self._throughput(batch, fields, at)
            case _:
                pass

    def _throughput(self, batch: Batch, fields: dict[str, str], at: float) -> None:
        per_minute = figure(fields.get("per_minute"), 0.0)
        if per_minute <= 0:
            return
        # The summary carries no time: it ends as long after its start as it says.
        ended = max(at, batch.started_at + batch.seconds)
        self.benchmark = Benchmark(per_minute, ended, batch.completed or 0, batch.seconds)


_LOADS = {
    "srs_loading": "loading the SRS",
    "pce_loading": "loading the PCE",
    "pce_extracting": "extracting the PCE",
}
_LOADED = {
    "srs_loaded": "loading the SRS",
    "pce_loaded": "loading the PCE",
    "pce_extracted": "extracting the PCE",
    "pce_finished": "extracting the PCE",
}


def _pace(
    work: float | None, total: float | None, began: float | None, now: float
) -> tuple[float | None, float | None]:
    """Return work a second since `began`, and the seconds left at that pace."""
    if work is None or not work > 0 or began is None or now - began < 1:
        return None, None
    pace = work / (now - began)
    return pace, None if total is None else max(total - work, 0.0) / pace


def _number(fields: dict[str, str], name: str, other: int | None = None) -> int | None:
    text = fields.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 16 else other
