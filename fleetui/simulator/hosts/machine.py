"""One virtual machine: files, processes, GPUs, memory, disk and ports."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fleetui.domain.clock import Clock
from fleetui.simulator.hosts.engine import Engine, Script, Signal, Task
from fleetui.simulator.hosts.files import Files, Node

GIB = 1 << 30
DMESG_REFUSED = "dmesg: read kernel buffer failed: Operation not permitted"


@dataclass
class Process:
    """A process. `task` is what it does; `output` the file behind its stdout."""

    pid: int
    ppid: int
    args: list[str]
    started: float
    rss_kib: int = 3900
    wait_channel: str = "hrtimer_nanosleep"
    state: str = "S"
    user: str = "root"
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/root"
    output: str = "/dev/null"
    task: Task | None = None
    on_signal: Callable[[int], bool] | None = None
    ended: Signal = field(default_factory=Signal)
    status: int | None = None

    @property
    def comm(self) -> str:
        """The name as the kernel has it (15 bytes)."""
        return self.args[0].rsplit("/", 1)[-1].strip("-").removesuffix(":")[:15]

    @property
    def command(self) -> str:
        """All arguments as `ps` shows them."""
        return f"[{self.comm}] <defunct>" if self.state == "Z" else " ".join(self.args)


@dataclass
class Gpu:
    """One GPU; `load` returns its utilisation share now."""

    index: int
    name: str
    memory_mib: int
    power_limit: float
    busy: int = 0
    memory_used_mib: int = 2
    lost: bool = False


@dataclass(frozen=True)
class Hardware:
    """What a host is built of."""

    gpu_name: str
    gpus: int
    gpu_memory_mib: int
    power_limit: float
    cores: int
    memory_gib: int
    limit_gib: int
    disk_gib: int
    driver: str
    cuda: str
    cpu_name: str
    compute_capability: int
    speed: float


class Machine:
    """A host's state, lived forward to the clock's present whenever it is looked at."""

    def __init__(self, hardware: Hardware, seed: int, clock: Clock, started_at: float) -> None:
        self.hardware = hardware
        self.clock = clock
        self.random = random.Random(seed)  # noqa: S311 - a simulation, repeatable on purpose
        self.engine = Engine(started_at)
        self.booted = started_at
        self.hostname = f"{self.random.getrandbits(48):012x}"
        self.files = Files(self.sync, lambda: self.engine.now, 1_000_000 + seed % 900_000)
        self.processes: dict[int, Process] = {}
        self.programs: dict[str, Callable[[Process], Script]] = {}
        self.ports: dict[int, int] = {}
        self.gpus: list[Gpu] = []
        self.oom_kills = 0
        self.disk_used_kib = 0
        self._kept: set[str] = set()
        self.kernel_lines: list[str] | None = None
        self.nvidia_smi_failure = ""
        self.frozen = False
        self._next_pid = 360
        self._syncing = False
        self.files.virtual = self._virtual
        self.files.virtual_names = self._virtual_names
        self.restore()

    def restore(self) -> None:
        """Put the machine in the state of a fresh container."""
        hardware = self.hardware
        self.gpus = [
            Gpu(index, hardware.gpu_name, hardware.gpu_memory_mib, hardware.power_limit)
            for index in range(hardware.gpus)
        ]
        self.oom_kills = 0
        self.ports = {22: 4096}
        self.disk_used_kib = 19 * GIB // 1024
        self._kept.clear()
        for folder in ("/root", "/tmp", "/var/log", "/var/tmp", "/data", "/usr/local/bin"):  # noqa: S108 - virtual
            self.files.folder(folder)
        for folder in ("/etc", "/usr/bin", "/dev", "/proc", "/sys/fs/cgroup", "/workspace"):
            self.files.folder(folder)
        self.files.device_file("/dev/null", lambda: b"")
        self.files.device_file("/dev/zero", lambda: bytes(65_536))
        self.files.write("/etc/hostname", self.hostname.encode() + b"\n")
        self.files.write(
            "/etc/os-release", b'PRETTY_NAME="Ubuntu 24.04.2 LTS"\nID=ubuntu\nVERSION_ID="24.04"\n'
        )

    def keep(self, path: str, size: int) -> None:
        """Have a large file in full on the disk; its bytes take room once."""
        self.files.sized(path, size)
        if path not in self._kept:
            self._kept.add(path)
            self.disk_used_kib += size // 1024

    def sync(self) -> None:
        """Live up to the present."""
        if not self._syncing and not self.frozen:
            self._syncing = True
            try:
                self.engine.advance(self.clock.now())
            finally:
                self._syncing = False

    # ------------------------------------------------------------------ processes

    def next_pid(self) -> int:
        """Return a fresh process id."""
        self._next_pid += 1
        return self._next_pid

    def has_program(self, name: str) -> bool:
        """Say whether a program of this name is installed."""
        return name in self.programs

    def spawn(
        self,
        args: list[str],
        script: Callable[[Process], Script] | None = None,
        *,
        parent: int = 1,
        output: str = "/dev/null",
        environment: Mapping[str, str] | None = None,
        folder: str = "/root",
    ) -> Process:
        """Start a process that runs `script`, or the installed program of its name."""
        process = Process(
            pid=1 if not self.processes else self.next_pid(),
            ppid=parent if self.processes else 0,
            args=args,
            started=self.engine.now,
            environment=dict(environment or {}),
            folder=folder,
            output=output,
        )
        self.processes[process.pid] = process
        chosen = script or self.programs.get(process.comm)
        if chosen is not None:
            process.task = self.engine.start(self._life(process, chosen))
        return process

    def _life(self, process: Process, script: Callable[[Process], Script]) -> Script:
        yield from script(process)
        self.end(process, 0)

    def end(self, process: Process, status: int) -> None:
        """End a process with an exit status (128 + signal when killed)."""
        if process.status is not None:
            return
        process.status = status
        self.processes.pop(process.pid, None)
        self.ports = {port: pid for port, pid in self.ports.items() if pid != process.pid}
        for other in self.processes.values():
            if other.ppid == process.pid:
                other.ppid = 1
        if process.task is not None:
            process.task.cancel()
        process.ended.fire(status)

    def signal(self, pid: int, number: int) -> bool:
        """Send a signal; False when there is no such process."""
        process = self.processes.get(pid)
        if process is None:
            return False
        if number == 0 or pid == 1:
            return True
        if number != 9 and process.on_signal is not None and process.on_signal(number):
            return True
        if number not in {17, 18, 28}:
            self.end(process, 128 + number)
        return True

    def find(self, comm: str) -> list[Process]:
        """Return the processes of a name."""
        self.sync()
        return [process for process in self.processes.values() if process.comm == comm]

    # ------------------------------------------------------------------ figures

    def memory_used(self) -> int:
        """Return the bytes all processes hold."""
        return sum(process.rss_kib for process in self.processes.values()) * 1024

    def gpu_rows(self) -> list[dict[str, str]]:
        """Return one row a GPU with every `nvidia-smi --query-gpu` field known."""
        now = self.engine.now
        rows = []
        for gpu in self.gpus:
            wobble = random.Random(f"{self.hostname}{gpu.index}{int(now / 5)}").random()  # noqa: S311 - a simulation
            share = 0.0 if not gpu.busy else min(1.0, 0.82 + 0.18 * wobble)
            used = gpu.memory_used_mib
            watts = gpu.power_limit * (0.12 + 0.8 * share) - 3 * wobble
            rows.append(
                {
                    "index": str(gpu.index),
                    "name": f"NVIDIA {gpu.name}" if not gpu.name.startswith("NVIDIA") else gpu.name,
                    "uuid": f"GPU-{self.hostname[:8]}-{gpu.index:04x}",
                    "driver_version": self.hardware.driver,
                    "pci.bus_id": f"00000000:{0x21 + gpu.index * 0x20:02X}:00.0",
                    "pstate": "P2" if share else "P8",
                    "utilization.gpu": f"{share * 100:.0f} %",
                    "utilization.memory": f"{share * 45:.0f} %",
                    "memory.used": f"{used} MiB",
                    "memory.free": f"{gpu.memory_mib - used} MiB",
                    "memory.total": f"{gpu.memory_mib} MiB",
                    "temperature.gpu": f"{34 + 38 * share + 3 * wobble:.0f}",
                    "power.draw": f"{watts:.2f} W",
                    "power.limit": f"{gpu.power_limit:.2f} W",
                    "clocks.sm": f"{2400 + 90 * wobble if share else 210:.0f} MHz",
                    "clocks.mem": f"{14_001 if share else 405} MHz",
                    "clocks_event_reasons.active": "0x0000000000000000"
                    if share
                    else "0x0000000000000001",
                    "clocks_throttle_reasons.active": "0x0000000000000000"
                    if share
                    else "0x0000000000000001",
                    "ecc.errors.uncorrected.volatile.total": "[N/A]",
                    "fan.speed": f"{30 + 40 * share:.0f} %",
                    "compute_cap": f"{self.hardware.compute_capability / 100:.1f}",
                    "lost": "1" if gpu.lost else "",
                }
            )
        return rows

    # ------------------------------------------------------------------ /proc and /sys

    def _virtual_names(self, path: str) -> list[str]:
        if path == "/proc":
            return [str(pid) for pid in self.processes] + [
                "loadavg",
                "meminfo",
                "uptime",
                "cpuinfo",
            ]
        if path == "/sys/fs/cgroup":
            return ["memory.events", "memory.max", "memory.current"]
        return []

    def _virtual(self, path: str) -> Node | None:
        parts = path.split("/")
        if len(parts) >= 3 and parts[1] == "proc" and parts[2].isdigit():
            return self._process_node(int(parts[2]), "/".join(parts[3:]))
        texts: dict[str, Callable[[], str]] = {
            "/sys/fs/cgroup/memory.events": self._memory_events,
            "/sys/fs/cgroup/memory.max": lambda: f"{self.hardware.limit_gib * GIB}\n",
            "/sys/fs/cgroup/memory.current": lambda: f"{self.memory_used() + GIB}\n",
            "/proc/loadavg": self._load,
            "/proc/uptime": lambda: f"{self.engine.now - self.booted + 864_000:.2f} 0.00\n",
            "/proc/meminfo": lambda: (
                f"MemTotal:       {self.hardware.memory_gib << 20} kB\n"
                f"MemFree:        {(self.hardware.memory_gib << 20) - self.memory_used() // 1024} kB\n"  # noqa: E501 - a line as it is printed
                f"MemAvailable:   {(self.hardware.memory_gib << 20) - self.memory_used() // 1024} kB\n"  # noqa: E501 - a line as it is printed
            ),
            "/proc/cpuinfo": lambda: "".join(
                f"processor\t: {core}\nmodel name\t: {self.hardware.cpu_name}\n\n"
                for core in range(self.hardware.cores)
            ),
            "/proc/net/tcp": self._tcp,
        }
        text = texts.get(path)
        return None if text is None else self._made(text)

    def _made(self, text: Callable[[], str]) -> Node:
        return Node(4_026_531_840, self.booted, make=lambda: text().encode("latin-1"))

    def _memory_events(self) -> str:
        count = self.oom_kills
        return (
            f"low 0\nhigh 0\nmax {count * 214}\noom {count}\noom_kill {count}\noom_group_kill 0\n"
        )

    def _load(self) -> str:
        load = 0.4 + sum(0.9 * p.state.startswith("R") for p in self.processes.values())
        load += self.hardware.cores * 0.6 * bool(sum(gpu.busy for gpu in self.gpus))
        return f"{load:.2f} {load * 0.9:.2f} {load * 0.8:.2f} 2/{200 + len(self.processes)} {self._next_pid}\n"  # noqa: E501 - a line as it is printed

    def _tcp(self) -> str:
        lines = ["  sl  local_address rem_address   st tx_queue rx_queue\n"]
        for index, port in enumerate(sorted(self.ports)):
            lines.append(f"{index:4}: 0100007F:{port:04X} 00000000:0000 0A 00000000:00000000\n")
        return "".join(lines)

    def _process_node(self, pid: int, rest: str) -> Node | None:
        process = self.processes.get(pid)
        if process is None:
            return None
        if rest in {"", "fd"}:
            return Node(pid + 2_000_000, process.started, folder=True)
        links = {"cwd": process.folder, "exe": f"/usr/local/bin/{process.comm}"}
        links |= {"fd/0": "/dev/null", "fd/1": process.output, "fd/2": process.output}
        if rest in links:
            return Node(pid + 3_000_000, process.started, link=links[rest])
        environment = "".join(f"{key}={value}\0" for key, value in process.environment.items())
        texts = {
            "cmdline": "".join(f"{word}\0" for word in process.args),
            "environ": environment,
            "comm": process.comm + "\n",
            "wchan": process.wait_channel,
            "status": f"Name:\t{process.comm}\nState:\t{process.state[0]}\nPid:\t{pid}\n"
            f"PPid:\t{process.ppid}\nVmRSS:\t{process.rss_kib} kB\n",
        }
        text = texts.get(rest)
        return None if text is None else self._made(lambda: text)
