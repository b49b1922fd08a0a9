"""cuzk-daemon: jobs, partitions, GPU workers and what they print (facts: cuzk.md section 1)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fleetui.simulator.hosts.engine import Script, Signal, Task
from fleetui.simulator.hosts.machine import GIB, Machine, Process
from fleetui.simulator.hosts.parameters import C1_BYTES, FOLDER, POREP_PARAMS
from fleetui.simulator.hosts.tracing import Fields, trace

PCE_PATH = f"{FOLDER}/pce-porep-32g.bin"
PCE_BYTES = int(25.7 * GIB)
PORT, STATUS_PORT = 9820, 9821
PARTITIONS = 10
_SUMMARY = (
    "PreCompiledCircuit { inputs: 328, aux: 130169893, constraints: 130278869, "
    "A: {nnz: 309405051, avg/row: 2.4}, B: {nnz: 130327340, avg/row: 1.0}, "
    "C: {nnz: 282656500, avg/row: 2.2}, total_nnz: 722388891, mem: 25.7 GiB }"
)
_OTHER_PCE = (
    ("winning-32g", "pce-winning-post.bin"),
    ("wpost-32g", "pce-window-post.bin"),
    ("snap-32g", "pce-snap-deals-32g.bin"),
)


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
class _Partition:
    index: int
    state: str = "pending"
    since: float = 0.0
    synth_ms: int | None = None
    gpu_ms: int | None = None


@dataclass
class _Job:
    job_id: str
    started: float
    partitions: list[_Partition]
    left: Signal = field(default_factory=Signal)
    finished: float | None = None


@dataclass
class _Worker:
    worker_id: int
    gpu: int
    job: str | None = None
    partition: int | None = None
    since: float = 0.0


class _Slots:
    """A counted resource; who waits gets it in turn."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._queue: list[Signal] = []

    def take(self) -> Signal:
        signal = Signal()
        if self._free > 0:
            self._free -= 1
            signal.fire(value=True)
        else:
            self._queue.append(signal)
        return signal

    def give(self) -> None:
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


class Daemon:
    """One life of the daemon process."""

    def __init__(self, machine: Machine, process: Process, options: DaemonOptions) -> None:
        self.machine = machine
        self.process = process
        self.options = options
        self.ready = Signal()
        self.born = machine.engine.now
        self.completed = 0
        self._jobs: dict[str, _Job] = {}
        self._pending: dict[str, Signal] = {}
        self._tasks: list[Task] = []
        self._loaded = Signal()
        self._loading = False
        self._pce = False
        self._extracting = False
        self._sequence = 0
        self._hint = False
        self._synths = _Slots(max(1, options.workers if options.era == "O" else min(18, options.workers)))
        gpus = machine.hardware.gpus
        self._workers = [_Worker(index, index // 2) for index in range(gpus * 2)]
        self._idle = list(self._workers)
        self._waiting: list[Signal] = []
        self._locks = [_Slots(1) for _ in range(gpus)]
        process.rss_kib = 180_000
        process.state = "Sl"
        process.wait_channel = "futex_wait_queue"
        process.on_signal = self._signalled
        process.ended.on_fire(self._dead)

    # ------------------------------------------------------------------ output

    def _raw(self, text: str) -> None:
        self.machine.files.append(self.process.output, text.encode())

    def _say(
        self, target: str, message: str, *fields: tuple[str, object], level: str = "INFO",
        span: tuple[str, Fields] | None = None,
    ) -> None:
        self.machine.files.append(
            self.process.output, trace(self.machine.engine.now, level, target, message, fields, span)
        )

    def _timeline(self, event: str, job: str, detail: str) -> None:
        milliseconds = int((self.machine.engine.now - self.born) * 1000)
        self._raw(f"TIMELINE,{milliseconds},{event},{job},{detail}\n")

    def _vary(self, middle: float, share: float = 0.08) -> float:
        return middle * (1 + share * (2 * self.machine.random.random() - 1))

    # ------------------------------------------------------------------ life

    def run(self) -> Script:
        """Start up, then serve until the process is ended."""
        machine, hardware = self.machine, self.machine.hardware
        core, era = "cuzk_core::engine", self.options.era
        self._say("cuzk_daemon", "cuzk-daemon starting")
        self._say("cuzk_daemon", "configuration loaded", ("listen", f"127.0.0.1:{PORT}"))
        self._say("cuzk_daemon", "set CUZK_GPU_THREADS for C++ groth16_pool", ("gpu_threads", 32))
        yield 0.003
        self._say("cuzk_daemon", "rayon global thread pool configured", ("rayon_threads", hardware.cores))
        if era == "N":
            self._say("cuzk_core::config", "synthesis.partition_workers is deprecated — concurrency is now managed by the memory budget", level="WARN")
            self._say(core, "memory budget initialized", ("total_budget_gib", hardware.memory_gib - 5))
            self._say(core, "CUDA pinned memory pool initialized")
        self._say(core, "starting cuzk engine", ("pipeline_enabled", "true"))
        self.born = machine.engine.now
        if era == "O":
            self._say(core, "preloading SRS via SrsManager (Phase 2)", ("circuit_ids", "[Porep32G]"))
            yield from self._load_srs()
            if not self._loaded.value:
                self._say(core, "SRS preload failed", ("circuit_id", "porep-32g"), ("error", self._srs_error()), level="WARN")
            yield from self._load_pce()
        else:
            self._say(core, "evictor callback wired")
            yield 0.047
        self._workers_started()
        self._say("cuzk_daemon", "listening on TCP", ("addr", f"127.0.0.1:{PORT}"))
        self._say("cuzk_daemon", f"cuzk-daemon ready, serving on 127.0.0.1:{PORT}")
        yield 0.002
        if PORT in machine.ports:
            self._raw(
                "Error: gRPC server error\n\nCaused by:\n    0: transport error\n"
                "    1: Address already in use (os error 98)\n"
            )
            machine.end(self.process, 1)
            yield 0.0
        machine.ports[PORT] = self.process.pid
        if era == "N":
            machine.ports[STATUS_PORT] = self.process.pid
            self._say("cuzk_daemon", "status HTTP server listening", ("addr", f"127.0.0.1:{STATUS_PORT}"))
        self.process.rss_kib = max(self.process.rss_kib, 1_900_000)
        self.ready.fire()
        if self.options.crash_after is not None:
            yield self.options.crash_after
            self._abort()
        yield Signal()

    def _srs_error(self) -> str:
        path = f"{FOLDER}/{POREP_PARAMS}"
        if not self.machine.files.size(path):
            return f"SRS param file not found for Porep32G: {path}"
        return f"failed to load SRS from {path}"

    def _load_srs(self) -> Script:
        path = f"{FOLDER}/{POREP_PARAMS}"
        self._loading = True
        if not self.machine.files.size(path):
            self._loaded.fire(value=False)
            return
        self._say("cuzk_core::srs_manager", "loading SRS from disk", ("circuit_id", "porep-32g"), ("path", path), ("file_size_gib", 44))
        seconds = self._vary(19.0, 0.2) / self.machine.hardware.speed
        if self.options.no_devices:
            yield 1.5
            self._raw(
                "thread 'tokio-runtime-worker' panicked at supraseal-c2/src/lib.rs:155:9:\n"
                'cudaGetDeviceCount(&n)@sppark-0.1.14/sppark/util/all_gpus.cpp:31 failed: "CUDA driver version is insufficient for CUDA runtime version"\n'
                "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"
            )
            self._loaded.fire(value=False)
            return
        yield seconds
        self.process.rss_kib += 44 << 20
        extra: tuple[tuple[str, object], ...] = ()
        if self.options.era == "N":
            extra = (("budget_used_gib", 44), ("budget_available_gib", self.machine.hardware.memory_gib - 49))
        self._say("cuzk_core::srs_manager", "SRS loaded successfully", ("circuit_id", "porep-32g"), ("elapsed_ms", int(seconds * 1000)), *extra)
        if self.options.era == "O":
            self._say("cuzk_core::engine", "SRS preloaded (Phase 2)", ("circuit_id", "porep-32g"), ("elapsed_ms", int(seconds * 1000)))
        for gpu in self.machine.gpus:
            gpu.memory_used_mib = 1450
        self._loaded.fire(value=True)

    def _load_pce(self) -> Script:
        pipeline, disk = "cuzk_core::pipeline", "cuzk_pce::disk"
        if self.machine.files.size(PCE_PATH):
            self._say(disk, "loading PCE from disk", ("path", PCE_PATH), ("file_size_gib", '"25.7"'))
            self._say(disk, "PCE file header valid, loading raw data", ("num_inputs", 328), ("num_aux", 130169893), ("num_constraints", 130278869), ("total_nnz", 722388891))
            seconds = self._vary(9.2)
            yield seconds
            self._say(disk, "PCE loaded from disk (raw format)", ("path", PCE_PATH), ("duration_ms", int(seconds * 1000)), ("read_speed_gbs", f'"{27.6 / seconds:.1f}"'), ("summary", _SUMMARY))
            self.process.rss_kib += 26 << 20
            self._pce = True
        else:
            self._say(pipeline, "PCE file not found on disk", ("circuit_id", "porep-32g"), ("path", PCE_PATH))
        for circuit, name in _OTHER_PCE:
            self._say(pipeline, "PCE file not found on disk", ("circuit_id", circuit), ("path", f"{FOLDER}/{name}"))
        count = int(self._pce)
        self._say(pipeline, "PCE disk preload complete", ("loaded", count), ("total", 4))
        self._say("cuzk_core::engine", "PCE disk preload complete", ("loaded", count))
        if self._pce:
            self._say(pipeline, "PCE loaded from disk into cache", ("circuit_id", "porep-32g"))
        yield 0.04

    def _workers_started(self) -> None:
        core, gpus = "cuzk_core::engine", self.machine.hardware.gpus
        total, slots = gpus * 2, self.options.workers
        if self.options.no_devices:
            self._say(core, "nvidia-smi not available, defaulting to single GPU (ordinal 0)", level="WARN")
        self._say(core, "initializing GPU workers", ("num_gpus", gpus), ("gpu_workers_per_device", 2), ("total_workers", total), ("gpus", list(range(gpus))))
        if self.options.era == "O":
            self._say(core, "starting pipeline: synthesis task + GPU workers", ("configured_lookahead", 1), ("partition_workers", slots), ("effective_lookahead", slots), ("num_gpus", total))
        else:
            self._say(core, "GPU queue target dispatch pacer enabled", ("gpu_queue_target", 8))
            self._say(core, "synthesis priority dispatcher started (PI pacer)")
            self._say(core, "starting pipeline: synthesis task + GPU workers (budget-gated)", ("configured_lookahead", 1), ("max_partitions_in_budget", self.machine.hardware.memory_gib // 14), ("effective_lookahead", 32), ("synth_worker_count", 18), ("num_gpus", total))
        budget = " (budget-gated)" if self.options.era == "N" else ""
        more: tuple[tuple[str, object], ...] = () if budget else (("partition_workers", slots),)
        self._say(core, f"synthesis dispatcher started{budget}", ("max_batch_size", 1), ("max_batch_wait_ms", 10000), ("slot_size", 0), ("synthesis_concurrency", 1), *more)
        self._say(core, "spawning GPU workers with Phase 8 dual-worker interlock", ("gpu_workers_per_device", 2))
        self._say(core, "cuzk engine started", ("num_workers", total), ("pipeline", "true"))
        for worker in self._workers:
            self._say(core, "pipeline GPU worker started", ("worker_id", worker.worker_id), ("gpu", worker.gpu), ("sub_id", worker.worker_id % 2))

    def _signalled(self, number: int) -> bool:
        if number != 2:
            return False
        # SIGINT ends the engine but not the process, which keeps its port (facts: section 1.2).
        self._say("cuzk_daemon", "received SIGINT, shutting down")
        self._say("cuzk_core::engine", "shutting down cuzk engine")
        for worker in self._workers:
            self._say("cuzk_core::engine", "pipeline GPU worker received shutdown signal", ("worker_id", worker.worker_id))
            self._say("cuzk_core::engine", "pipeline GPU worker stopped", ("worker_id", worker.worker_id))
        for task in self._tasks:
            task.cancel()
        self._quiet()
        return True

    def _quiet(self) -> None:
        for gpu in self.machine.gpus:
            gpu.busy = 0

    def _dead(self) -> None:
        machine = self.machine
        for task in self._tasks:
            task.cancel()
        self._quiet()
        for gpu in machine.gpus:
            gpu.memory_used_mib = 2
        self.ready.fire()
        for job_id, signal in list(self._pending.items()):
            signal.fire(Outcome("lost", job_id))
        self._pending.clear()
        if machine.ports.get(PORT) is None and self.process.rss_kib > 30 << 20:
            # Memory is torn down before the sockets: the port stays taken for seconds.
            machine.ports[PORT] = 0
            machine.engine.schedule(
                2.5, lambda: machine.ports.pop(PORT) if machine.ports.get(PORT) == 0 else None
            )

    def _abort(self) -> None:
        self._raw(
            "terminate called after throwing an instance of 'sppark_error'\n"
            '  what():  cudaStreamSynchronize(stream)@sppark-0.1.14/sppark/util/gpu_t.cuh:77 failed: "an illegal memory access was encountered"\n'
        )
        self.machine.end(self.process, 134)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.process.status is None

    # ------------------------------------------------------------------ requests

    def prove(self, job_id: str) -> Signal:
        """Ask for a PoRep proof; the signal fires with an Outcome."""
        done = Signal()
        if not self.alive or not self.ready.fired:
            done.fire(Outcome("lost", job_id))
            return done
        self._pending[job_id] = done
        self._tasks = [task for task in self._tasks if not task.done]
        self._tasks.append(self.machine.engine.start(self._job(job_id, done)))
        return done

    def _finish(self, outcome: Outcome) -> None:
        signal = self._pending.pop(outcome.job_id, None)
        if signal is not None:
            signal.fire(outcome)

    def _job(self, job_id: str, done: Signal) -> Script:
        del done
        engine, core, scheduler = self.machine.engine, "cuzk_core::engine", "cuzk_core::scheduler"
        asked = engine.now
        self._say("cuzk_server::service", "Prove", ("request_id", job_id), ("proof_kind", 1), ("input_size", C1_BYTES))
        self._say(scheduler, "job enqueued", ("job_id", job_id), ("proof_kind", "porep-c2"), ("priority", "Normal"), ("queue_position", 0))
        self._say(scheduler, "job dequeued for proving", ("job_id", job_id), ("proof_kind", "porep-c2"))
        span = ("synth_single", (("proof_kind", "porep-c2"),))
        self._say(core, "processing batch", ("batch_size", 1), ("proof_kind", "porep-c2"), ("slot_size", 0), span=span)
        if not self._loading:
            yield 0.9
            yield from self._load_srs()
        elif not self._loaded.fired:
            yield self._loaded
        yield self._vary(1.5)
        fault = "failed to parse C1 output wrapper JSON" if self.options.broken_input else ""
        if not fault and not self._loaded.value:
            fault = f"C1 parse failed: {self._srs_error()}"
        if fault:
            self._say(core, "Phase 7: C1 parse/SRS load failed", ("error", fault), level="ERROR", span=span)
            self._say("cuzk_server::service", "prove failed", ("error", fault), level="ERROR")
            self._finish(Outcome("failed", job_id, fault))
            return
        queue_ms = int((engine.now - asked) * 1000)
        job = _Job(job_id, engine.now, [_Partition(index) for index in range(PARTITIONS)])
        self._jobs[job_id] = job
        if self.options.era == "O":
            self._say(core, "Phase 7: dispatching per-partition synthesis", ("job_id", job_id), ("num_partitions", PARTITIONS), ("partition_workers", self.options.workers), span=span)
        else:
            self._say(core, "dispatching per-partition synthesis (budget-gated)", ("job_id", job_id), ("num_partitions", PARTITIONS), ("budget_available_gib", max(0, self.machine.hardware.memory_gib - 49 - 14 * self._synthesizing())), span=span)
        if not self._pce and not self._extracting:
            self._extracting = True
            self._tasks.append(engine.start(self._extract()))
        if self.options.era == "N":
            self._say(core, "assigned pipeline sequence number", ("job_id", job_id), ("job_seq", self._sequence), span=span)
            self._sequence += 1
        if self.options.death:
            self._tasks.append(engine.start(self._die()))
        for partition in job.partitions:
            self._tasks.append(engine.start(self._partition(job, partition)))
        yield job.left
        yield from self._assemble(job, queue_ms)

    def _die(self) -> Script:
        yield self.options.death_after
        if self.options.death == "vram":
            return
        if self.options.death == "oom":
            self.machine.oom_kills += 1
        self.machine.end(self.process, 137)

    def _assemble(self, job: _Job, queue_ms: int) -> Script:
        core, prover, job_id = "cuzk_core::engine", "cuzk_core::prover", job.job_id
        total = int((self.machine.engine.now - job.started) * 1000)
        synth = sum(partition.synth_ms or 0 for partition in job.partitions)
        gpu = sum(partition.gpu_ms or 0 for partition in job.partitions)
        self._say(core, "Phase 7: all partitions complete, proof assembled", ("job_id", job_id), ("proof_len", 1920), ("total_ms", total), ("synth_ms", synth), ("gpu_ms", gpu))
        yield 0.63
        span = ("verify_porep_proof", (("job_id", f'"{job_id}"'),))
        self._say(prover, "PoRep proof self-check PASSED", ("job_id", f'"{job_id}"'), span=span)
        self._say(core, "Phase 7: PoRep proof self-check PASSED", ("job_id", job_id))
        job.finished = self.machine.engine.now
        self.completed += 1
        self._finish(Outcome("ok", job_id, "", total + queue_ms, queue_ms, synth, gpu))
        self.machine.engine.schedule(30.0, lambda: self._jobs.pop(job_id, None) and None)

    def _extract(self) -> Script:
        core, pipeline = "cuzk_core::engine", "cuzk_core::pipeline"
        self._say(core, "background PCE extraction starting for PoRep 32G")
        seconds = self._vary(70.0) / self.machine.hardware.speed
        self.process.rss_kib += 14 << 20
        yield seconds
        self._say(pipeline, "PCE extraction complete", ("circuit_id", "porep-32g"), ("extract_ms", int(seconds * 1000)), ("summary", _SUMMARY))
        self.process.rss_kib += 12 << 20
        self.machine.files.sized(PCE_PATH + ".tmp", PCE_BYTES // 2)
        seconds = self._vary(31.0)
        yield seconds
        self.machine.files.remove(PCE_PATH + ".tmp")
        self.machine.files.sized(PCE_PATH, PCE_BYTES)
        self.machine.disk_used_kib += PCE_BYTES // 1024
        self._say("cuzk_pce::disk", "PCE saved to disk (raw format)", ("path", PCE_PATH), ("file_size_gib", '"25.7"'), ("duration_ms", int(seconds * 1000)), ("write_speed_gbs", f'"{27.6 / seconds:.1f}"'))
        if self.options.era == "O":
            self._say(pipeline, "PCE saved to disk for future daemon starts", ("circuit_id", "porep-32g"), ("path", PCE_PATH))
        else:
            self._say(pipeline, "PCE saved to disk", ("circuit_id", "porep-32g"), ("path", PCE_PATH))
            self._say(pipeline, "PCE cached", ("circuit_id", "porep-32g"), ("size_gib", 25), ("budget_used_gib", 69))
        self._pce = True
        self._say(core, "background PCE extraction complete")

    # ------------------------------------------------------------------ partitions

    def _partition(self, job: _Job, partition: _Partition) -> Script:
        engine, core, pipeline = self.machine.engine, "cuzk_core::engine", "cuzk_core::pipeline"
        job_id, index = job.job_id, partition.index
        yield self._synths.take()
        yield self._vary(0.004, 0.9)
        started = engine.now
        partition.state, partition.since = "synthesizing", started
        self.process.rss_kib += 13 << 20
        self.process.state = "Rl"
        self._timeline("SYNTH_START", job_id, f"partition={index}")
        yield 0.31
        span = ("synthesize_partition", (("job_id", f'"{job_id}"'), ("partition", index)))
        fast = self._pce and self.options.era == "O"
        if fast:
            self._say(pipeline, "using PCE fast path for synthesis", ("circuit_id", "porep-32g"), span=span)
        else:
            self._say(pipeline, "using standard synthesis path (synthesize_with_hint)", ("circuit_id", "porep-32g"), span=span)
            hint = "using cached capacity hint for synthesis" if self._hint else "no capacity hint cached — first synthesis will grow organically"
            self._say(pipeline, hint, ("circuit_id", "porep-32g"), span=span)
        seconds = self._vary(42.0 if fast else 60.0, 0.12) / self.machine.hardware.speed
        yield seconds
        if fast:
            witness = int(seconds * 720)
            self._say(pipeline, "PCE witness generation complete (WitnessCS)", ("circuit_id", "porep-32g"), ("witness_ms", witness), ("num_circuits", 1), span=span)
            self._say(pipeline, "PCE synthesis complete (witness + eval)", ("circuit_id", "porep-32g"), ("total_pce_ms", int(seconds * 1000)), ("witness_ms", witness), ("eval_ms", int(seconds * 1000) - witness), span=span)
        else:
            self._say("bellperson::groth16::prover::supraseal", f"synthesis time: {seconds:.9f}s", span=span)
            self._say("bellperson::groth16::prover::supraseal", "starting proof timer", span=span)
            if not self._hint:
                self._hint = True
                self._say(pipeline, "cached synthesis capacity hint", ("circuit_id", "porep-32g"), ("num_constraints", 130278869), ("num_aux", 130169893), ("num_inputs", 328), span=span)
        yield 0.4
        synth_ms = int((engine.now - started) * 1000)
        pinned: tuple[tuple[str, object], ...] = (("is_pinned", "false"),) if self.options.era == "N" else ()
        self._say(pipeline, "partition synthesis complete", ("partition", index), ("synth_ms", synth_ms), *pinned, span=span)
        self._timeline("SYNTH_END", job_id, f"partition={index},synth_ms={synth_ms}")
        ending = "sending to GPU" if self.options.era == "O" else "pushing to GPU queue"
        self._say(core, f"partition synthesis complete, {ending}", ("job_id", job_id), ("partition", index), ("synth_ms", synth_ms))
        self._timeline("CHAN_SEND" if self.options.era == "O" else "GPU_QUEUE", job_id, f"partition={index}")
        partition.state, partition.synth_ms, partition.since = "synth_done", synth_ms, engine.now
        self._synths.give()
        while not self._idle:
            turn = Signal()
            self._waiting.append(turn)
            yield turn
        worker = self._idle.pop(0)
        yield from self._gpu(job, partition, worker)
        self._idle.append(worker)
        if self._waiting:
            self._waiting.pop(0).fire()
        if all(other.state == "done" for other in job.partitions):
            job.left.fire()

    def _gpu(self, job: _Job, partition: _Partition, worker: _Worker) -> Script:
        engine, core, job_id, index = self.machine.engine, "cuzk_core::engine", job.job_id, partition.index
        started = engine.now
        worker.job, worker.partition, worker.since = job_id, index, started
        partition.state, partition.since = "gpu", started
        detail = f"worker={worker.worker_id},partition={index}"
        self._timeline("GPU_PICKUP", job_id, detail)
        span = ("gpu_worker", (("worker_id", worker.worker_id), ("gpu", worker.gpu), ("job_id", job_id), ("proof_kind", "porep-c2"), ("batch_size", 1), ("partition", f"Some({index})")))
        if self.options.era == "O":
            self._say(core, "GPU worker picked up synthesized proof", ("batched", "false"), ("partitioned", "true"), ("partition", f"Some({index})"), span=span)
        else:
            self._say(core, "GPU_TIMING hot_path pre-prove overhead", ("worker_id", worker.worker_id), ("partition", f"Some({index})"), ("status_ms", 0), ("fail_check_ms", 0), ("mark_busy_ms", 0), ("total_overhead_ms", 0), span=span)
        self._timeline("GPU_START", job_id, detail)
        random = self.machine.random
        self._raw(f"CUZK_TIMING: split_vectors_ms={random.randint(60, 120)} setup_to_split_ms={random.randint(60, 120)}\n")
        yield self._locks[worker.gpu].take()
        gpu = self.machine.gpus[worker.gpu]
        gpu.busy += 1
        gpu.memory_used_mib = min(gpu.memory_mib - 900, 13_800)
        if self.options.death == "vram":
            yield 1.2
            yield from self._out_of_memory(job, partition, worker)
            return
        kernel = self._vary(5.7, 0.05) / self.machine.hardware.speed
        ntt = int(kernel * 440)
        yield kernel * 0.45
        self._raw(
            f"CUZK_NTT_H: d_b_alloc=0ms ntt_kernels={ntt * 42 // 100}ms coset_intt_sync={ntt // 20}ms msm_init={ntt // 50}ms "
            f"msm_invoke={ntt * 49 // 100}ms msm_dtor={ntt // 50}ms total={ntt}ms\nCUZK_TIMING: gpu_tid=0 ntt_msm_h_ms={ntt + 3}\n"
        )
        yield kernel * 0.55
        self._raw(
            f"CUZK_TIMING: gpu_tid=0 batch_add_ms={int(kernel * 310)}\n"
            f"CUZK_TIMING: gpu_tid=0 tail_msm_ms={int(kernel * 230)} gpu_total_ms={int(kernel * 1000)}\n"
        )
        gpu.busy = max(0, gpu.busy - 1)
        self._locks[worker.gpu].give()
        tail = self._vary(1.4, 0.2)
        yield tail
        self._raw(f"CUZK_TIMING: b_g2_msm_ms={int(tail * 1000)} num_circuits=1\n")
        gpu_ms = int((engine.now - started) * 1000)
        self._say("cuzk_core::pipeline", "GPU prove complete (split)", ("proof_count", 1), ("proof_bytes", 192), ("gpu_ms", gpu_ms))
        self._timeline("GPU_END", job_id, f"{detail},gpu_ms={gpu_ms}")
        self._say(core, "partition GPU prove complete", ("job_id", job_id), ("partition", index), ("gpu_ms", gpu_ms), ("filled", 0))
        self._raw(f"CUZK_TIMING: async_dealloc_ms={random.randint(180, 420)}\n")
        partition.state, partition.gpu_ms = "done", gpu_ms
        self.process.rss_kib = max(60 << 20, self.process.rss_kib - (13 << 20))
        worker.job = worker.partition = None

    def _out_of_memory(self, job: _Job, partition: _Partition, worker: _Worker) -> Script:
        text = 'cudaGetLastError()@sppark-0.1.14/sppark/ntt/kernels/gs_mixed_radix_wide.cu:220 failed: "out of memory"'
        self._raw(
            f"thread 'tokio-runtime-worker' panicked at supraseal-c2/src/lib.rs:316:9:\n{text}\n"
            "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"
        )
        escaped = text.replace('"', '\\"')
        error = f'task 214 panicked with message "{escaped}"'
        self._say("cuzk_core::engine", "GPU prove start task panicked", ("error", error), level="ERROR")
        self.machine.gpus[worker.gpu].busy = 0
        self._locks[worker.gpu].give()
        worker.job = worker.partition = None
        message = f"GPU prove start panicked: {error}"
        if job.job_id in self._pending:
            self._say("cuzk_server::service", "prove failed", ("error", message), level="ERROR")
        self._finish(Outcome("failed", job.job_id, message))
        partition.state = "gpu"
        yield 0.0

    def _synthesizing(self) -> int:
        return sum(p.state == "synthesizing" for job in self._jobs.values() for p in job.partitions)

    # ------------------------------------------------------------------ /status

    def status(self) -> bytes:
        """Return the body of GET /status (facts: cuzk.md section 3.1)."""
        now = self.machine.engine.now
        total = self.machine.hardware.memory_gib * GIB - 5 * GIB
        synthesizing = self._synthesizing()
        loaded = self._loaded.fired and bool(self._loaded.value)
        used = min(total, (44 * GIB if loaded else 0) + synthesizing * 14 * GIB + (26 * GIB if self._pce else 0))
        jobs = [self._job_view(job, now) for job in self._jobs.values()]
        states = [p.state for job in self._jobs.values() for p in job.partitions]
        view = {
            "uptime_secs": round(now - self.born, 2),
            "memory": {"total_bytes": total, "used_bytes": used, "available_bytes": total - used},
            "synthesis": {"max_concurrent": total // (9 * GIB), "active": synthesizing},
            "pipelines": jobs,
            "gpu_workers": [self._worker_view(worker, now) for worker in self._workers],
            "allocations": {
                "srs": [{"circuit_id": "porep-32g", "bytes": int(44.1 * GIB), "last_used_secs_ago": 0.0, "evictable": not jobs}] if loaded else [],
                "pce": [{"circuit_id": "porep-32g", "bytes": PCE_BYTES, "last_used_secs_ago": round(now - self.born, 1), "evictable": True}] if self._pce else [],
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

    def _worker_view(self, worker: _Worker, now: float) -> dict[str, Any]:
        busy = worker.job is not None
        return {
            "worker_id": worker.worker_id,
            "gpu_ordinal": worker.gpu,
            "state": "proving" if busy else "idle",
            "current_job": worker.job,
            "current_partition": worker.partition,
            "busy_secs": round(now - worker.since, 2) if busy else None,
        }

    def _job_view(self, job: _Job, now: float) -> dict[str, Any]:
        def partition_view(partition: _Partition) -> dict[str, Any]:
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


def uuids(random: Any) -> Iterator[str]:  # noqa: ANN401 - random.Random or alike
    """Give version 4 UUIDs from a seeded source."""
    while True:
        text = f"{random.getrandbits(128):032x}"
        yield f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"
