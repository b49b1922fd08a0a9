"""benchmark.sh and cuzk-bench: input download, warmup proof, restart, batch (facts: section 2)."""

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from fleetui.simulator.hosts.daemon import PCE_PATH, PORT, Daemon, DaemonOptions, Outcome
from fleetui.simulator.hosts.engine import Script, Signal, Step
from fleetui.simulator.hosts.machine import Process
from fleetui.simulator.hosts.parameters import C1_BYTES, C1_URL
from fleetui.simulator.hosts.tracing import trace

if TYPE_CHECKING:
    from fleetui.simulator.hosts.workload import Workload

LOG = "/tmp/benchmark-full.log"  # noqa: S108 - a path on a pretend host
DAEMON_LOG = "/tmp/cuzk-bench-daemon.log"  # noqa: S108 - the same
CONFIG = "/tmp/cuzk-bench-config.toml"  # noqa: S108 - the same
C1_PATH = "/data/32gbench/c1.json"
_BROKEN = (
    'Error: Prove RPC failed\n\nCaused by:\n    0: status: Unknown, message: "transport error", details: [], '  # noqa: E501 - a line as it is printed
    "metadata: MetadataMap { headers: {} }\n    1: transport error\n    2: connection error\n"
    "    3: stream closed because of a broken pipe\n"
)


class _FailedError(Exception):
    """The script ends with an error."""


class _Batch:
    """The state of a batch; `moved` fires when a proof ends."""

    def __init__(self, count: int, width: int) -> None:
        self.free = min(count, width)
        self.started = 0
        self.finished = 0
        self.lost = False
        self.moved = Signal()
        self.results: dict[int, tuple[float, Outcome]] = {}


class Benchmark:
    """One run of benchmark.sh, as the process that runs it."""

    def __init__(self, workload: "Workload", script: Process) -> None:
        self._workload = workload
        self._machine = workload.machine
        self._plan = workload.plan
        self._script = script
        self._daemon: Daemon | None = None

    def _raw(self, text: str) -> None:
        self._machine.files.append(LOG, text.encode())

    def _say(self, message: str, **fields: object) -> None:
        self._machine.files.append(
            LOG,
            trace(self._machine.engine.now, "INFO", "cuzk_bench", message, tuple(fields.items())),
        )

    def run(self) -> Script:
        """Run it; leaves `workload.bench_rate`, None after a failure or when it is killed."""
        self._workload.bench_rate = None
        self._script.wait_channel = "do_wait"
        daemon = self._workload.daemon
        if daemon is not None and daemon.alive:
            # Its `start_daemon` ends an existing one first.
            self._machine.end(daemon.process, 143)
        try:
            yield from self._download()
            yield from self._warmup()
            yield from self._batch()
        except _FailedError:
            self._workload.bench_rate = None
        if self._daemon is not None and self._daemon.alive:
            self._machine.end(self._daemon.process, 143)
        self._machine.end(self._script, 0 if self._workload.bench_rate is not None else 1)

    def _download(self) -> Script:
        machine, plan = self._machine, self._plan
        yield 0.2
        self._raw(
            f"=== cuzk PoRep C2 benchmark ===\nC1 output not found at {C1_PATH}\nDownloading from {C1_URL} ...\n"  # noqa: E501 - a line as it is printed
        )
        yield 0.6
        if plan.c1 == "missing":
            self._raw("curl: (22) The requested URL returned error: 404\n")
            raise _FailedError
        width = 79
        self._raw(f"\r#=#=#{' ' * (width - 5)}\r{' ' * (width - 7)} {0.0:5.1f}%")
        machine.files.folder("/data/32gbench")
        end = 58.0 if plan.c1 == "truncated" else 100.0
        share = 0.0
        while share < end:
            yield 0.1
            share = min(end, share + machine.random.uniform(1.5, 4.5))
            bar = "#" * int((width - 7) * share / 100)
            self._raw(f"\r{bar:<{width - 7}} {share:5.1f}%")
            machine.files.sized(C1_PATH, int(C1_BYTES * share / 100))
        self._raw("\n")
        machine.keep(C1_PATH, C1_BYTES)

    def _config(self, workers: int) -> None:
        self._machine.files.write(
            CONFIG,
            (
                f'[daemon]\nlisten = "127.0.0.1:{PORT}"\n\n[srs]\nparam_cache = "/var/tmp/filecoin-proof-parameters"\n'  # noqa: E501 - a line as it is printed
                'preload = ["porep-32g"]\n\n[gpus]\ngpu_threads = 32\ngpu_workers_per_device = 2\n\n'  # noqa: E501 - a line as it is printed
                f"[synthesis]\npartition_workers = {workers}\n"
            ).encode(),
        )

    def _start_daemon(self, options: DaemonOptions) -> Script:
        self._config(options.workers)
        parent = self._script.pid
        self._daemon = self._workload.spawn_daemon(parent, DAEMON_LOG, CONFIG, options)
        yield (self._daemon.ready, 300.0)

    def _warmup(self) -> Script:
        plan, machine = self._plan, self._machine
        cold = not machine.files.size(PCE_PATH)
        workers = plan.warmup_workers if cold else plan.partition_workers
        if cold:
            self._raw(f"No PCE cache at {PCE_PATH}: warmup with partition_workers={workers}\n")
        self._raw("Starting cuzk-daemon ...\n")
        deaths = {"silent_death": "silent", "oom": "oom", "vram": "vram"}
        options = DaemonOptions(
            era=plan.era,
            workers=workers,
            death=deaths.get(plan.warmup, ""),
            death_after=machine.random.uniform(4.0, 35.0),
            broken_input=plan.c1 == "truncated",
            no_devices=plan.driver_too_old,
        )
        yield from self._start_daemon(options)
        yield 0.4
        self._raw("cuzk-daemon ready\n--- Warmup proof ---\n")
        yield 0.3
        outcome = yield from self._prove_one()
        if outcome.kind == "lost":
            if plan.warmup == "oom" and self._daemon is not None:
                self._raw(
                    f"/usr/local/bin/benchmark.sh: line 118: {self._daemon.process.pid:5} Killed                  cuzk-daemon --config {CONFIG} >> {DAEMON_LOG} 2>&1\n"  # noqa: E501 - a line as it is printed
                )
            self._raw(_BROKEN)
            raise _FailedError
        self._result(outcome)
        if outcome.kind == "failed":
            self._raw("Warmup proof failed\n")
            raise _FailedError
        if cold:
            yield from self._restart()

    def _prove_one(self) -> Generator[Step, Any, Outcome]:
        machine = self._machine
        self._say("loading C1 output", path=C1_PATH)
        yield 0.04
        self._say("submitting proof", proof_type="porep")
        client = machine.spawn(
            ["cuzk-bench", "single", "-t", "porep", "--c1", C1_PATH],
            _idle,
            parent=self._script.pid,
            output=LOG,
        )
        client.state = "Sl"
        client.wait_channel = "ep_poll"
        yield 0.22
        if self._daemon is None:
            raise _FailedError
        outcome: Outcome = yield self._daemon.prove(next(self._workload.uuids))
        machine.end(client, 0 if outcome.kind != "lost" else 1)
        return outcome

    def _result(self, outcome: Outcome) -> None:
        proof = f"{self._machine.random.getrandbits(1024):0256x}"
        status = "COMPLETED" if outcome.kind == "ok" else "FAILED"
        self._raw(f"\n=== Proof Result ===\nstatus:    {status}\njob_id:    {outcome.job_id}\n")
        if outcome.kind != "ok":
            self._raw(f"error:     {outcome.message}\n")
            return
        self._raw(
            f"timings:   total={outcome.total_ms} ms (queue={outcome.queue_ms} ms, srs=0 ms, synth={outcome.synth_ms} ms, gpu={outcome.gpu_ms} ms)\n"  # noqa: E501 - a line as it is printed
            f"wall time: {outcome.total_ms + 820} ms\nproof:     1920 bytes (hex: {proof}...)\n"
        )

    def _restart(self) -> Script:
        plan, machine = self._plan, self._machine
        yield 1.2
        self._raw(
            f"\nRestarting daemon with full partition_workers={plan.partition_workers} for benchmark...\n"  # noqa: E501 - a line as it is printed
        )
        old = self._daemon
        if plan.restart == "port_in_use":
            # It did not wait for the old one, which keeps its port.
            self._config(plan.partition_workers)
            second = self._workload.spawn_daemon(
                self._script.pid,
                DAEMON_LOG,
                CONFIG,
                DaemonOptions(era=plan.era, workers=plan.partition_workers),
            )
            yield second.process.ended
            self._raw("cuzk-daemon did not become ready\n")
            if old is not None:
                machine.end(old.process, 143)
            raise _FailedError
        if old is not None:
            machine.end(old.process, 143)
        yield machine.random.uniform(6.0, 12.0)
        yield from self._start_daemon(DaemonOptions(era=plan.era, workers=plan.partition_workers))
        yield 0.3
        self._raw("cuzk-daemon ready\n\n")

    def _batch(self) -> Script:
        plan, machine = self._plan, self._machine
        count, width = plan.proofs, plan.concurrency
        self._say("loading C1 output", path=C1_PATH)
        self._raw(
            f"=== Batch Benchmark ===\nproof type:  porep\ncount:       {count}\nconcurrency: {width}\n\n"  # noqa: E501 - a line as it is printed
        )
        if plan.bench == "hang":
            yield Signal()
        client = machine.spawn(
            [
                "cuzk-bench",
                "batch",
                "-t",
                "porep",
                "--c1",
                C1_PATH,
                "-c",
                str(count),
                "-j",
                str(width),
            ],
            _idle,
            parent=self._script.pid,
            output=LOG,
        )
        client.state = "Sl"
        client.wait_channel = "ep_poll"
        batch = _Batch(count, width)
        began = machine.engine.now
        printed = 0
        while batch.finished < count:
            while batch.started < count and batch.free > 0:
                batch.free -= 1
                machine.engine.start(self._work(batch, batch.started))
                batch.started += 1
            # The client prints nothing before its last proof has been handed in.
            while batch.started == count and batch.results.get(printed) is not None:
                self._proof_line(printed, count, batch.results[printed])
                printed += 1
            batch.moved = Signal()
            yield batch.moved
            if batch.lost:
                machine.end(client, 1)
                self._raw(_BROKEN)
                raise _FailedError
        for index in range(printed, count):
            self._proof_line(index, count, batch.results[index])
        machine.end(client, 0)
        self._summary(machine.engine.now - began, [batch.results[index] for index in range(count)])

    def _work(self, batch: "_Batch", index: int) -> Script:
        started = self._machine.engine.now
        if self._daemon is None:
            return
        outcome: Outcome = yield self._daemon.prove(next(self._workload.uuids))
        if outcome.kind == "lost":
            batch.lost = True
        else:
            batch.results[index] = (self._machine.engine.now - started, outcome)
            batch.finished += 1
            batch.free += 1
        batch.moved.fire()

    def _proof_line(self, index: int, count: int, row: tuple[float, Outcome]) -> None:
        status = "COMPLETED" if row[1].kind == "ok" else "FAILED"
        self._raw(
            f"  [{index + 1}/{count}] {status} — {row[0]:.1f}s (prove={row[1].gpu_ms} ms, queue={row[1].queue_ms} ms)\n"  # noqa: E501 - a line as it is printed
        )

    def _summary(self, total: float, rows: list[tuple[float, Outcome]]) -> None:
        walls = [row[0] for row in rows]
        proves = [row[1].gpu_ms / 1000 for row in rows]
        per_minute = len(rows) * 60 / total

        def spread(values: list[float]) -> str:
            return f"avg={sum(values) / len(values):.1f}s min={min(values):.1f}s max={max(values):.1f}s"  # noqa: E501 - a line as it is printed

        self._workload.bench_rate = round(per_minute * 60, 1)
        self._raw(
            f"\n=== Batch Summary ===\ntotal time:    {total:.1f}s\ncompleted:     {len(rows)}\nfailed:        0\n"  # noqa: E501 - a line as it is printed
            f"wall time:     {spread(walls)}\nprove time:    {spread(proves)}\n"
            f"throughput:    {per_minute:.3f} proofs/min ({60 / per_minute:.1f}s/proof)\nRATE={self._workload.bench_rate:.1f}\n"  # noqa: E501 - a line as it is printed
        )


def _idle(process: Process) -> Script:
    del process
    yield Signal()
