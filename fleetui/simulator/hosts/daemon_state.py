"""What a daemon knows: jobs, partitions, workers; how it prints and what /status says of it."""

import json
from dataclasses import dataclass, field
from typing import Any

from fleetui.simulator.hosts.engine import Signal, Task
from fleetui.simulator.hosts.machine import GIB, Machine, Process
from fleetui.simulator.hosts.parameters import FOLDER
from fleetui.simulator.hosts.tracing import Fields, trace

Span = tuple[str, Fields] | None
PCE_PATH = f"{FOLDER}/pce-porep-32g.bin"
PCE_BYTES = int(25.7 * GIB)
PORT, STATUS_PORT = 9820, 9821
PARTITIONS = 10


@dataclass(frozen=True)
class Outcome:
    """How a request ended: `ok`, `failed` (with the daemon's message) or `lost` (it died)."""

    kind: str
    job_id: str
    message: str = ""
    total_ms: int = 0
    queue_ms: int = 0
    synth_ms: int = 0
    gpu_ms: int = 0


@dataclass
class Partition:
    """One of ten parts of a proof; `since` is when its state began."""

    index: int
    state: str = "pending"
    since: float = 0.0
    synth_ms: int | None = None
    gpu_ms: int | None = None


@dataclass
class Job:
    """A request being proved; `left` fires when its last partition is done."""

    job_id: str
    started: float
    partitions: list[Partition]
    left: Signal = field(default_factory=Signal)
    finished: float | None = None


@dataclass
class Worker:
    """A GPU worker and what it works on."""

    worker_id: int
    gpu: int
    job: str | None = None
    partition: int | None = None
    since: float = 0.0


class Slots:
    """A counted resource; who waits gets it in turn."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._queue: list[Signal] = []

    def take(self) -> Signal:
        """Ask for one; the signal fires when it is ours."""
        signal = Signal()
        if self._free > 0:
            self._free -= 1
            signal.fire(value=True)
        else:
            self._queue.append(signal)
        return signal

    def give(self) -> None:
        """Hand one back."""
        if self._queue:
            self._queue.pop(0).fire(value=True)
        else:
            self._free += 1


@dataclass
class DaemonOptions:
    """How the next daemon behaves. `death` ends it in its first job: silent, oom or vram."""

    era: str = "O"
    workers: int = 16
    death: str = ""
    death_after: float = 20.0
    broken_input: bool = False
    no_devices: bool = False
    crash_after: float | None = None


class DaemonState:
    """The state of one life of the daemon process."""

    def __init__(self, machine: Machine, process: Process, options: DaemonOptions) -> None:
        self.machine = machine
        self.process = process
        self.options = options
        self.ready = Signal()
        self.born = machine.engine.now
        self.completed = 0
        self._jobs: dict[str, Job] = {}
        self._pending: dict[str, Signal] = {}
        self._tasks: list[Task] = []
        self._loaded = Signal()
        self._loading = False
        self._pce = False
        self._extracting = False
        self._sequence = 0
        self._hint = False
        self._synths = Slots(
            max(1, options.workers if options.era == "O" else min(18, options.workers))
        )
        gpus = machine.hardware.gpus
        self._workers = [Worker(index, index // 2) for index in range(gpus * 2)]
        self._idle = list(self._workers)
        self._waiting: list[Signal] = []
        self._locks = [Slots(1) for _ in range(gpus)]
        process.rss_kib = 180_000
        process.state = "Sl"
        process.wait_channel = "futex_wait_queue"

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.process.status is None

    def _raw(self, text: str) -> None:
        self.machine.files.append(self.process.output, text.encode())

    def _say(
        self,
        target: str,
        message: str,
        /,
        *,
        level_: str = "INFO",
        span_: Span = None,
        **fields: object,
    ) -> None:
        now = self.machine.engine.now
        line = trace(now, level_, target, message, tuple(fields.items()), span=span_)
        self.machine.files.append(self.process.output, line)

    def _timeline(self, event: str, job: str, detail: str) -> None:
        milliseconds = int((self.machine.engine.now - self.born) * 1000)
        self._raw(f"TIMELINE,{milliseconds},{event},{job},{detail}\n")

    def _grow(self, gib: int) -> None:
        most = int(self.machine.hardware.limit_gib * 0.85) << 20
        self.process.rss_kib = min(most, self.process.rss_kib + (gib << 20))

    def _vary(self, middle: float, share: float = 0.08) -> float:
        return middle * (1 + share * (2 * self.machine.random.random() - 1))

    def _budget_left(self) -> int:
        return max(0, self.machine.hardware.memory_gib - 49 - 14 * self._synthesizing())

    def _synthesizing(self) -> int:
        return sum(p.state == "synthesizing" for job in self._jobs.values() for p in job.partitions)

    # ------------------------------------------------------------------ /status

    def status(self) -> bytes:
        """Return the body of GET /status (facts: cuzk.md section 3.1)."""
        now = self.machine.engine.now
        total = self.machine.hardware.memory_gib * GIB - 5 * GIB
        synthesizing = self._synthesizing()
        loaded = self._loaded.fired and bool(self._loaded.value)
        used = min(
            total,
            (44 * GIB if loaded else 0) + synthesizing * 14 * GIB + (26 * GIB if self._pce else 0),
        )
        jobs = [self._job_view(job, now) for job in self._jobs.values()]
        states = [p.state for job in self._jobs.values() for p in job.partitions]
        view = {
            "uptime_secs": round(now - self.born, 2),
            "memory": {"total_bytes": total, "used_bytes": used, "available_bytes": total - used},
            "synthesis": {"max_concurrent": total // (9 * GIB), "active": synthesizing},
            "pipelines": jobs,
            "gpu_workers": [self._worker_view(worker, now) for worker in self._workers],
            "allocations": {
                "srs": [
                    {
                        "circuit_id": "porep-32g",
                        "bytes": int(44.1 * GIB),
                        "last_used_secs_ago": 0.0,
                        "evictable": not jobs,
                    }
                ]
                if loaded
                else [],
                "pce": [
                    {
                        "circuit_id": "porep-32g",
                        "bytes": PCE_BYTES,
                        "last_used_secs_ago": round(now - self.born, 1),
                        "evictable": True,
                    }
                ]
                if self._pce
                else [],
            },
            "counters": {
                "total_completed": self.completed,
                "total_failed": 0,
                "completed_by_kind": {"porep-c2": self.completed} if self.completed else {},
                "failed_by_kind": {},
                "queue_depth": 0,
            },
            "buffers": {
                "synth_in_flight": synthesizing,
                "provers_in_flight": states.count("synth_done") + states.count("gpu"),
                "aux_in_flight": states.count("synth_done") + states.count("gpu"),
                "shells_in_flight": 0,
                "pending_handles": states.count("gpu"),
            },
        }
        return json.dumps(view, separators=(",", ":")).encode()

    def _worker_view(self, worker: Worker, now: float) -> dict[str, Any]:
        busy = worker.job is not None
        return {
            "worker_id": worker.worker_id,
            "gpu_ordinal": worker.gpu,
            "state": "proving" if busy else "idle",
            "current_job": worker.job,
            "current_partition": worker.partition,
            "busy_secs": round(now - worker.since, 2) if busy else None,
        }

    def _job_view(self, job: Job, now: float) -> dict[str, Any]:
        def partition_view(partition: Partition) -> dict[str, Any]:
            running = int((now - partition.since) * 1000)
            return {
                "index": partition.index,
                "state": partition.state,
                "synth_ms": running if partition.state == "synthesizing" else partition.synth_ms,
                "gpu_ms": running if partition.state == "gpu" else partition.gpu_ms,
            }

        return {
            "job_id": job.job_id,
            "proof_kind": "porep-c2",
            "started_secs_ago": round(now - job.started, 2),
            "total_partitions": PARTITIONS,
            "partitions_done": sum(p.state == "done" for p in job.partitions),
            "partitions": [partition_view(partition) for partition in job.partitions],
        }
