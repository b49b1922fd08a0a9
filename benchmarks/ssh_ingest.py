"""Log ingestion over SSH: our links beside one OpenSSH client process a host with `tail -F`.

Runs one real sshd on loopback, N files that grow by 10 lines a second each, and reads them twice:
with N `HostLink`s in one process, then with N `ssh` processes. Says what each reader cost. The N
hosts share this machine too (each costs about 1 % of a core, for the script's looks): keep N below
what the machine can carry, or `lines_per_second` falls.

    python benchmarks/ssh_ingest.py --hosts 100 --seconds 20
"""

import argparse
import asyncio
import gc
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from fleetui.domain.clock import SystemClock
from fleetui.domain.host import SshOutcome, SshState
from fleetui.domain.stream import LogChunk, StreamPosition
from fleetui.domain.text import SafeText
from fleetui.ssh.gate import HandshakeGate
from fleetui.ssh.host_keys import HostKeyBook
from fleetui.ssh.link import HostLink
from fleetui.ssh.login import Login
from fleetui.ssh.settings import FollowPlan, SshSettings
from openssh import Sshd, serving

LINE = b"2026-03-12T07:00:21.300000Z  INFO cuzk_core::engine: partition GPU prove complete n=%06d\n"
TICKS = os.sysconf("SC_CLK_TCK")
WRITER = """
import sys, time
folder, hosts, line = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode() + b"\\n"
files = [open(f"{folder}/{n}.log", "ab", buffering=0) for n in range(hosts)]
number, due = 0, time.monotonic()
while True:
    for file in files:
        file.write(line % number)
    number += 1
    due += 0.1
    time.sleep(max(0.0, due - time.monotonic()))
"""


class Counter:
    """A sink that counts."""

    def __init__(self) -> None:
        self.received = 0
        self.connected = 0

    async def log_bytes(self, chunk: LogChunk, position: StreamPosition, kind: str) -> None:
        """Count bytes."""
        del position, kind
        self.received += len(chunk.data)

    def lost(self, path: str, at: float) -> None:
        """Ignore losses."""

    def probe(self, sections: Mapping[str, str], at: float) -> None:
        """Ignore looks."""

    def status(self, body: bytes | None, error: SafeText | None, at: float) -> None:
        """Ignore answers."""

    def outcome(self, outcome: SshOutcome) -> None:
        """Count connections."""
        self.connected += outcome.state is SshState.CONNECTED

    def host_key(self, instance_id: int, key: str) -> None:
        """Ignore keys."""


def cpu_seconds(pids: list[int]) -> float:
    """Return user and system time of processes."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def pss_mib(pids: list[int]) -> float:
    """Return the memory of processes, shared pages counted in part."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / 1024


async def ours(server: Sshd, folder: Path, hosts: int, seconds: float) -> dict[str, float]:
    """Read with our links; looks are left out, as `tail` has none."""
    settings = SshSettings(
        key_files=(server.client_key,), use_agent=False, probe_interval_seconds=1e6
    )
    sink = Counter()
    login, gate, book = Login(settings), HandshakeGate(settings.max_handshakes), HostKeyBook()
    me = [os.getpid()]
    began, spent = time.monotonic(), cpu_seconds(me)
    async with asyncio.TaskGroup() as group:
        tasks = []
        for number in range(hosts):
            plan = FollowPlan(streams=(("daemon", f"{folder}/{number}.log"),))
            link = HostLink(
                number, settings, plan, book, sink, {}, gate, SystemClock(), login=login
            )
            link.set_addresses((server.address,))
            tasks.append(group.create_task(link.run(), name=f"link-{number}"))
        while sink.connected < hosts:  # noqa: ASYNC110 - a benchmark may look at the clock
            await asyncio.sleep(0.01)
        connect = time.monotonic() - began
        connect_cpu = cpu_seconds(me) - spent
        await asyncio.sleep(5)
        gc.freeze()
        began, spent, received = time.monotonic(), cpu_seconds(me), sink.received
        await asyncio.sleep(seconds)
        lasted = time.monotonic() - began
        result = {
            "connect_seconds": connect,
            "connect_cpu_ms_per_host": connect_cpu / hosts * 1000,
            "lines_per_second": (sink.received - received) / len(LINE % 0) / lasted,
            "cpu_percent": (cpu_seconds(me) - spent) / lasted * 100,
            "memory_mib": pss_mib(me),
        }
        for task in tasks:
            task.cancel()
    return result


async def rivals(server: Sshd, folder: Path, hosts: int, seconds: float) -> dict[str, float]:
    """Read with one `ssh ... tail -F` a host."""
    began = time.monotonic()
    processes = []
    received = 0

    async def drain(reader: asyncio.StreamReader) -> None:
        nonlocal received
        while data := await reader.read(65536):
            received += len(data)

    readers = []
    slots = asyncio.Semaphore(64)

    async def start(number: int) -> None:
        async with slots:
            process = await asyncio.create_subprocess_exec(
                "ssh", "-T", "-p", str(server.port), "-i", str(server.client_key),
                "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
                "-o", "LogLevel=ERROR", "-o", "IdentitiesOnly=yes", "-F", "none",
                "root@127.0.0.1", f"echo on; exec tail -c +1 -F {folder}/{number}.log",
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            processes.append(process)
            if process.stdout is None or await process.stdout.readline() != b"on\n":
                raise RuntimeError(f"the client of host {number} did not connect")
            readers.append(asyncio.create_task(drain(process.stdout)))

    async with asyncio.TaskGroup() as group:
        for number in range(hosts):
            group.create_task(start(number))
    connect = time.monotonic() - began
    pids = [process.pid for process in processes]
    connect_cpu = cpu_seconds(pids)
    await asyncio.sleep(5)
    began, spent, before = time.monotonic(), cpu_seconds(pids), received
    await asyncio.sleep(seconds)
    lasted = time.monotonic() - began
    result = {
        "connect_seconds": connect,
        "connect_cpu_ms_per_host": connect_cpu / hosts * 1000,
        "lines_per_second": (received - before) / len(LINE % 0) / lasted,
        "cpu_percent": (cpu_seconds(pids) - spent) / lasted * 100,
        "memory_mib": pss_mib(pids),
    }
    for process in processes:
        process.send_signal(signal.SIGTERM)
    await asyncio.gather(*(process.wait() for process in processes), *readers)
    return result


async def measure(hosts: int, seconds: float) -> dict[str, dict[str, float]]:
    """Run both readers after each other against the same writer."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sshd").mkdir()
        line = LINE.decode().rstrip("\n")
        with serving(folder / "sshd") as server:
            writer = await asyncio.create_subprocess_exec(
                sys.executable, "-c", WRITER, name, str(hosts), line
            )
            try:
                results = {"ours": await ours(server, folder, hosts, seconds)}
                results["ssh_processes"] = await rivals(server, folder, hosts, seconds)
            finally:
                writer.terminate()
                await writer.wait()
    return results


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20.0)
    arguments = parser.parse_args()
    results = asyncio.run(measure(arguments.hosts, arguments.seconds))
    rounded = {
        name: {key: round(value, 2) for key, value in figures.items()}
        for name, figures in results.items()
    }
    print(json.dumps({"hosts": arguments.hosts, **rounded}, indent=2))


if __name__ == "__main__":
    main()
