"""cuzk-daemon: start, signals and end of the process (facts: cuzk.md sections 1.2 and 1.6)."""

import random
from collections.abc import Iterator
from typing import Any

from fleetui.simulator.hosts.daemon_state import (
    PCE_BYTES,
    PCE_PATH,
    PORT,
    STATUS_PORT,
    DaemonOptions,
    Outcome,
)
from fleetui.simulator.hosts.engine import Script, Signal
from fleetui.simulator.hosts.machine import Machine, Process
from fleetui.simulator.hosts.proving import Proving

__all__ = ["PCE_BYTES", "PCE_PATH", "PORT", "STATUS_PORT", "Daemon", "DaemonOptions", "Outcome"]


class Daemon(Proving):
    """One life of the daemon process."""

    def __init__(self, machine: Machine, process: Process, options: DaemonOptions) -> None:
        super().__init__(machine, process, options)
        process.on_signal = self._signalled
        process.ended.on_fire(self._dead)

    def run(self) -> Script:
        """Start up, then serve until the process is ended."""
        machine, hardware = self.machine, self.machine.hardware
        core, era = "cuzk_core::engine", self.options.era
        self._say("cuzk_daemon", "cuzk-daemon starting")
        self._say("cuzk_daemon", "configuration loaded", listen=f"127.0.0.1:{PORT}")
        self._say("cuzk_daemon", "set CUZK_GPU_THREADS for C++ groth16_pool", gpu_threads=32)
        yield 0.003
        self._say(
            "cuzk_daemon", "rayon global thread pool configured", rayon_threads=hardware.cores
        )
        if era == "N":
            self._say(
                "cuzk_core::config",
                "synthesis.partition_workers is deprecated — concurrency is now managed by the memory budget",  # noqa: E501 - a line as it is printed
                level_="WARN",
            )
            self._say(core, "memory budget initialized", total_budget_gib=hardware.memory_gib - 5)
            self._say(core, "CUDA pinned memory pool initialized")
        self._say(core, "starting cuzk engine", pipeline_enabled="true")
        self.born = machine.engine.now
        if era == "O":
            self._say(core, "preloading SRS via SrsManager (Phase 2)", circuit_ids="[Porep32G]")
            yield from self._load_srs()
            if not self._loaded.value:
                self._say(
                    core,
                    "SRS preload failed",
                    circuit_id="porep-32g",
                    error=self._srs_error(),
                    level_="WARN",
                )
            yield from self._load_pce()
        else:
            self._say(core, "evictor callback wired")
            yield 0.047
        self._workers_started()
        self._say("cuzk_daemon", "listening on TCP", addr=f"127.0.0.1:{PORT}")
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
            self._say(
                "cuzk_daemon", "status HTTP server listening", addr=f"127.0.0.1:{STATUS_PORT}"
            )
        self.process.rss_kib = max(self.process.rss_kib, 1_900_000)
        self.ready.fire()
        if self.options.crash_after is not None:
            yield self.options.crash_after
            machine.end(self.process, 1)
        yield Signal()

    def _workers_started(self) -> None:
        core, gpus = "cuzk_core::engine", self.machine.hardware.gpus
        total, slots = gpus * 2, self.options.workers
        if self.options.no_devices:
            self._say(
                core,
                "nvidia-smi not available, defaulting to single GPU (ordinal 0)",
                level_="WARN",
            )
        self._say(
            core,
            "initializing GPU workers",
            num_gpus=gpus,
            gpu_workers_per_device=2,
            total_workers=total,
            gpus=list(range(gpus)),
        )
        if self.options.era == "O":
            self._say(
                core,
                "starting pipeline: synthesis task + GPU workers",
                configured_lookahead=1,
                partition_workers=slots,
                effective_lookahead=slots,
                num_gpus=total,
            )
        else:
            self._say(core, "GPU queue target dispatch pacer enabled", gpu_queue_target=8)
            self._say(core, "synthesis priority dispatcher started (PI pacer)")
            self._say(
                core,
                "starting pipeline: synthesis task + GPU workers (budget-gated)",
                configured_lookahead=1,
                max_partitions_in_budget=self.machine.hardware.memory_gib // 14,
                effective_lookahead=32,
                synth_worker_count=18,
                num_gpus=total,
            )
        budget = " (budget-gated)" if self.options.era == "N" else ""
        more: dict[str, Any] = {} if budget else {"partition_workers": slots}
        self._say(
            core,
            f"synthesis dispatcher started{budget}",
            max_batch_size=1,
            max_batch_wait_ms=10000,
            slot_size=0,
            synthesis_concurrency=1,
            **more,
        )
        self._say(
            core,
            "spawning GPU workers with Phase 8 dual-worker interlock",
            gpu_workers_per_device=2,
        )
        self._say(core, "cuzk engine started", num_workers=total, pipeline="true")
        for worker in self._workers:
            self._say(
                core,
                "pipeline GPU worker started",
                worker_id=worker.worker_id,
                gpu=worker.gpu,
                sub_id=worker.worker_id % 2,
            )

    def _signalled(self, number: int) -> bool:
        if number != 2:
            return False
        # SIGINT ends the engine but not the process, which keeps its port (facts: section 1.2).
        self._say("cuzk_daemon", "received SIGINT, shutting down")
        self._say("cuzk_core::engine", "shutting down cuzk engine")
        for worker in self._workers:
            self._say(
                "cuzk_core::engine",
                "pipeline GPU worker received shutdown signal",
                worker_id=worker.worker_id,
            )
            self._say(
                "cuzk_core::engine", "pipeline GPU worker stopped", worker_id=worker.worker_id
            )
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
            machine.engine.schedule(2.5, self._free_port)

    def _free_port(self) -> None:
        if self.machine.ports.get(PORT) == 0:
            del self.machine.ports[PORT]


def uuids(source: random.Random) -> Iterator[str]:
    """Give version 4 UUIDs from a seeded source."""
    while True:
        text = f"{source.getrandbits(128):032x}"
        yield f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"
