"""The container's scripts: entrypoint, benchmark and the proving run (facts: cuzk.md section 5)."""

import random as random_module
from collections.abc import Generator

from fleetui.simulator.hosts.benchmark import LOG, Benchmark
from fleetui.simulator.hosts.curio import Curio
from fleetui.simulator.hosts.daemon import PCE_BYTES, PCE_PATH, Daemon, DaemonOptions, uuids
from fleetui.simulator.hosts.engine import Script, Signal, Step
from fleetui.simulator.hosts.fetching import Fetch
from fleetui.simulator.hosts.machine import Machine, Process
from fleetui.simulator.hosts.parameters import FOLDER
from fleetui.simulator.hosts.plan import Plan
from fleetui.simulator.hosts.tracing import entrypoint

BENCHMARK = "/usr/local/bin/benchmark.sh"
RUN_LOG = "/tmp/cuzk.log"  # noqa: S108 - a path on a pretend host
SETUP_LOGS = ("/var/log/entrypoint.log", "/tmp/setup.log")  # noqa: S108 - the same


class Workload:
    """Runs a plan on a machine."""

    def __init__(self, machine: Machine, plan: Plan, instance_id: int) -> None:
        self.machine = machine
        self.plan = plan
        self.instance_id = instance_id
        self.daemon: Daemon | None = None
        self.uuids = uuids(machine.random)
        self.bench_rate: float | None = None
        self.running = False
        machine.programs = {
            "cuzk-daemon": self.daemon_program,
            BENCHMARK.rpartition("/")[2]: self.benchmark_program,
        }
        machine.files.write(BENCHMARK, b"#!/bin/bash\n# PoRep C2 benchmark for cuzk\n")

    def say(self, data: bytes) -> None:
        """Add bytes to the entrypoint's log and its copy."""
        if self.plan.run == "silent":
            return
        for path in SETUP_LOGS:
            self.machine.files.append(path, data)

    def tell(self, message: str) -> None:
        """Write an entrypoint line."""
        self.say(entrypoint(self.machine.engine.now, message))

    def start(self) -> None:
        """Start the container's processes."""
        machine = self.machine
        machine.spawn(["/bin/bash", "/.launch"], _forever)
        machine.spawn(["/usr/sbin/sshd", "-D"], _forever).wait_channel = "poll_schedule_timeout"
        machine.spawn(
            ["/bin/bash", "/usr/local/bin/entrypoint.sh"], self._entrypoint, output=SETUP_LOGS[0]
        )

    def daemon_program(self, process: Process) -> Script:
        """What runs when anything but the scripts starts `cuzk-daemon`."""
        daemon = Daemon(self.machine, process, self.options())
        self._serves(daemon)
        yield from daemon.run()

    def benchmark_program(self, process: Process) -> Script:
        """What runs when the entrypoint or anybody else starts `benchmark.sh`."""
        yield from Benchmark(self, process).run()

    def options(self) -> DaemonOptions:
        """Return how a daemon without a scripted fate behaves here."""
        plan = self.plan
        return DaemonOptions(
            era=plan.era, workers=plan.partition_workers, no_devices=plan.driver_too_old
        )

    def _serves(self, daemon: Daemon) -> None:
        if self.daemon is None or not self.daemon.alive:
            self.daemon = daemon

    def spawn_daemon(self, parent: int, log: str, config: str, options: DaemonOptions) -> Daemon:
        """Start a daemon as a child of a script."""
        made: list[Daemon] = []
        process = self.machine.spawn(
            ["cuzk-daemon", "--config", config],
            lambda _process: made[0].run(),
            parent=parent,
            output=log,
            environment={
                "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "FIL_PROOFS_PARAMETER_CACHE": FOLDER,
                "VAST_CONTAINERLABEL": f"C.{self.instance_id}",
            },
        )
        made.append(Daemon(self.machine, process, options))
        self._serves(made[0])
        return made[0]

    def _entrypoint(self, process: Process) -> Script:
        plan, machine = self.plan, self.machine
        process.wait_channel = "do_wait"
        yield 4.0
        self.tell(f"label=C.{self.instance_id} min_rate={plan.min_rate:.1f}")
        self.tell("Starting portavailc tunnel (ports 1234 1235 5433 9042)")
        tunnel = machine.spawn(
            ["portavailc", "-L", "1234,1235,5433,9042"], _forever, parent=process.pid
        )
        tunnel.wait_channel = "ep_poll"
        for port in (1235, 5433, 9042) if plan.run == "no_lotus" else (1234, 1235, 5433, 9042):
            machine.ports[port] = tunnel.pid
        yield 3.1
        self.tell(f"Registered uuid={next(self.uuids)} runner_id={machine.random.randint(11, 99)}")
        self.tell(
            "Fetching proving parameters (32GiB)"
            if plan.params != "incomplete"
            else "Fetching proving parameters (32)"
        )
        yield 0.3
        fetch = Fetch(machine, plan, self.say)
        worker = machine.spawn(
            ["curio", "fetch-params", "32GiB" if plan.params != "incomplete" else "32"],
            _forever,
            parent=process.pid,
            output=SETUP_LOGS[0],
        )
        worker.state = "Sl"
        yield from fetch.run()
        machine.end(worker, 1 if fetch.failed else 0)
        if fetch.failed:
            self.tell("curio fetch-params exited with 1, retrying in 60s")
            yield Signal()
        if plan.skip_to_run:
            machine.keep(PCE_PATH, PCE_BYTES)
            yield 1.2
        else:
            self.tell("Parameters ready, POST /param-done")
            self.tell(
                f"Starting benchmark (proofs={plan.proofs} concurrency={plan.concurrency} partition_workers={plan.partition_workers})"  # noqa: E501 - a line as it is printed
            )
            passed = yield from self._benchmark(process)
            if not passed:
                return
        yield from self._run(process)

    def _benchmark(self, process: Process) -> Generator[Step, object, bool]:
        plan = self.plan
        script = self.machine.spawn(
            ["/bin/bash", BENCHMARK], self.benchmark_program, parent=process.pid, output=LOG
        )
        yield script.ended
        rate = self.bench_rate
        if rate is None:
            if plan.after_failure == "wait":
                # It waits for its log shipper, a background child that never ends.
                yield Signal()
            self.tell("benchmark.sh exited with error")
            yield 0.8
            self.tell("POST /bench-done rate=0 -> passed=false")
            yield Signal()
            return False
        self.tell(f"benchmark.sh finished: {rate:.1f} proofs/hour")
        yield 0.3
        passed = rate >= plan.min_rate
        self.tell(f"POST /bench-done rate={rate:.1f} -> passed={'true' if passed else 'false'}")
        yield 0.9
        if not passed or plan.run == "none":
            yield Signal()
            return False
        return True

    def _run(self, process: Process) -> Script:
        self.running = True
        plan = self.plan
        if not plan.skip_to_run:
            self.tell("POST /running")
        else:
            self.tell("state=running, starting cuzk-daemon and curio")
        yield 1.0
        options = self.options()
        if plan.run == "crash_loop":
            options.crash_after = 25.0
        log = RUN_LOG if plan.run != "silent" else "/dev/null"
        self.spawn_daemon(process.pid, log, "/data/zk/cuzk.toml", options)
        curio = Curio(self, process)
        yield 10.0
        if plan.run == "xid":
            self.machine.engine.start(self._fall_off())
        if plan.run == "oddities":
            self.machine.engine.start(self._oddities())
        if plan.run == "crash_loop":
            self.machine.engine.start(self._respawn(process, options))
        yield from curio.run()

    def _respawn(self, process: Process, options: DaemonOptions) -> Script:
        while True:
            if self.daemon is not None and self.daemon.alive:
                yield self.daemon.process.ended
            status = self.daemon.process.status if self.daemon is not None else 0
            self.tell(f"cuzk-daemon exited with {status}, restarting in 5s")
            yield 5.0
            self.spawn_daemon(process.pid, RUN_LOG, "/data/zk/cuzk.toml", options)

    def _fall_off(self) -> Script:
        machine = self.machine
        machine.kernel_lines = [
            "[864000.118233] nvidia-uvm: Loaded the UVM driver, major device number 509."
        ]
        yield self.plan.fault_after
        since = machine.engine.now - machine.booted + 864_000
        address = f"0000:{0x21:02x}:00"
        machine.kernel_lines += [
            f"[{since:.6f}] NVRM: GPU at PCI:{address}: GPU-{machine.hostname[:8]}-0000",
            f"[{since:.6f}] NVRM: Xid (PCI:{address}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",  # noqa: E501 - a line as it is printed
            f"[{since:.6f}] NVRM: GPU {address}.0: GPU has fallen off the bus.",
        ]
        machine.gpus[0].lost = True
        daemon = self.daemon
        if daemon is not None and daemon.alive:
            machine.files.append(
                daemon.process.output,
                b"terminate called after throwing an instance of 'sppark_error'\n"
                b'  what():  cudaStreamSynchronize(stream)@sppark-0.1.14/sppark/util/gpu_t.cuh:77 failed: "unspecified launch failure"\n',  # noqa: E501 - a line as it is printed
            )
            machine.end(daemon.process, 134)

    def _oddities(self) -> Script:
        path = "/tmp/curio.log"  # noqa: S108 - a path on a pretend host
        random = random_module.Random(self.instance_id)  # noqa: S311 - a simulation
        while True:
            yield 20.0
            self.machine.files.append(
                path,
                b"hostile \xff\xfe\xc3( cut utf-8 \xe2\x82\n\x1b]0;owned\x07\x1b[2J\x1b[999;999Htitle and screen codes\n"  # noqa: E501 - a line as it is printed
                b"\x1b]52;c;aGVsbG8=\x07clipboard \x9b31m eight-bit CSI [red]markup[/red] \xe2\x80\xaeright to left\n"  # noqa: E501 - a line as it is printed
                b"long "
                + b"x" * random.randint(9000, 14_000)
                + b"\n\x00\x01\x02nul bytes\r\nprogress 1%\rprogress 55%\rprogress 99%\n",
            )


def _forever(process: Process) -> Script:
    del process
    yield Signal()
