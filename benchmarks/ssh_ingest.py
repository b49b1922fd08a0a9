"""Log ingestion over SSH: our links beside one OpenSSH client process a host with `tail -F`.

Runs one real sshd on loopback, N files of which some grow by 10 lines a second, and reads them
twice: with N `HostLink`s in one process, into a real store, then with N `ssh` processes. Says what
each reader cost, how long a line takes to the store, and whether the goals are met. At the end our
links go on for a while with nothing stored: that is the SSH part.

The N hosts share this machine, and looking at a growing file twice a second costs a host 0.7 % of a
core: no more files grow (`--growing`) than two cores carry. What the cores were busy with is shown;
when nothing was idle, delays and connect times are those of a queue and are not judged.

    python benchmarks/ssh_ingest.py --hosts 100 300 --seconds 12
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
from typing import cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from fleetui.collector.health import HealthBoard
from fleetui.collector.publisher import Publisher
from fleetui.domain.clock import SystemClock
from fleetui.domain.host import SshOutcome
from fleetui.domain.stream import LogChunk, StreamPosition
from fleetui.domain.text import SafeText
from fleetui.ssh.event_loop import paced_loop
from fleetui.ssh.gate import HandshakeGate
from fleetui.ssh.host_keys import HostKeyBook
from fleetui.ssh.link import HostLink
from fleetui.ssh.login import Login
from fleetui.ssh.settings import FollowPlan, SshSettings
from fleetui.store.interface import Batch, CollectorStore, Lease
from fleetui.store.sqlite import SqliteStore
from openssh import Sshd, serving
from process_costs import (
    Machine,
    cpu_seconds,
    cpu_seconds_with_ended,
    percentile,
    pss_mib,
    verdict,
)

LINE = b"%017.6f  INFO cuzk_core::engine: partition GPU prove complete n=%06d\n"
LINE_BYTES = len(LINE % (time.time(), 0))
INOTIFY_LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
WRITER = """
import sys, time
folder, hosts, line = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode() + b"\\n"
files = [open(f"{folder}/{n}.log", "ab", buffering=0) for n in range(hosts)]
files = files[:int(sys.argv[4])]
number, due = 0, time.monotonic()
while True:
    for file in files:
        file.write(line % (time.time(), number))
    number += 1
    due += 0.1
    time.sleep(max(0.0, due - time.monotonic()))  # the writer's pace, in a process of its own
"""
WATCHED = 0
IDLE = "idle, % of a core"
SATURATED = 10.0
"""Per cent of one core that must be left for a delay to be the reader's and not the queue's."""


class Sink:
    """Hands bytes to a publisher while `stored`; counts them and the hosts heard of."""

    def __init__(self, publisher: Publisher) -> None:
        self.publisher = publisher
        self.stored = True
        self.received = 0
        self.frames = 0
        self.heard: set[int] = set()

    def log_bytes(self, chunk: LogChunk, position: StreamPosition, kind: str) -> bool:
        """Queue bytes for the store."""
        del kind
        if self.stored:
            self.publisher.add_bytes(chunk, position)
        if self.stored and chunk.stream.instance_id == WATCHED:
            self.publisher.hurry()
        self.received += len(chunk.data)
        self.frames += 1
        self.heard.add(chunk.stream.instance_id)
        return True

    async def room(self) -> None:
        """Never needed: all is taken."""

    def lost(self, path: str, unread: int, at: float) -> None:
        """Ignore losses."""

    def probe(self, sections: Mapping[str, str], at: float) -> None:
        """Ignore looks."""

    def status(self, body: bytes | None, error: SafeText | None, at: float) -> None:
        """Ignore answers."""

    def outcome(self, outcome: SshOutcome) -> None:
        """Ignore outcomes."""

    def host_key(self, instance_id: int, key: str) -> None:
        """Ignore keys."""


class TimedStore:
    """Takes the time from each line's own stamp to the commit of its batch."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.timing = False
        self.delays: dict[bool, list[float]] = {True: [], False: []}

    async def publish(self, lease: Lease, batch: Batch) -> int:
        """Publish, then read the stamps."""
        revision = await self._store.publish(lease, batch)
        now = time.time()
        for chunk in batch.chunks if self.timing else ():
            first = -chunk.offset % LINE_BYTES
            delays = self.delays[chunk.stream.instance_id == WATCHED]
            for start in range(first, len(chunk.data) - LINE_BYTES + 1, LINE_BYTES):
                delays.append(now - float(chunk.data[start : start + 17]))
        return revision


def machine(server: Sshd, readers: list[int], writer: int) -> Machine:
    """Watch what the cores are busy with."""
    return Machine(
        {
            "reader": lambda: cpu_seconds(readers),
            "sshd": lambda: cpu_seconds_with_ended(server.own_processes()),
            "hosts' shells and tools": lambda: cpu_seconds_with_ended(server.run_on_host()),
            "writer": lambda: cpu_seconds([writer]),
        }
    )


async def ours(
    server: Sshd, folder: Path, hosts: int, seconds: float, writer: int
) -> dict[str, float]:
    """Read with our links; looks are left out, as `tail` has none."""
    settings = SshSettings(
        key_files=(server.client_key,), use_agent=False, first_look_seconds=1e6,
        watched_probe_seconds=1e6,
    )  # fmt: skip
    clock = SystemClock()
    real_store = await SqliteStore.open(folder / "store" / "fleet.db", clock=clock)
    lease = await real_store.take_lease("benchmark", 600.0)
    if lease is None:
        raise RuntimeError("the store of this benchmark is held by somebody else")
    store = TimedStore(real_store)
    publisher = Publisher(
        cast("CollectorStore", store), lease, clock=clock, health=HealthBoard("benchmark", clock),
        tick_seconds=0.3, pending_bytes=64 << 20, pending_bytes_per_instance=2 << 20,
    )  # fmt: skip
    sink = Sink(publisher)
    login, gate, book = Login(settings), HandshakeGate(settings.max_handshakes), HostKeyBook()
    me = [os.getpid()]
    memory = pss_mib(me)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(publisher.run(), name="publisher")]
        began, spent = time.monotonic(), cpu_seconds(me)
        for number in range(hosts):
            plan = FollowPlan(streams=(("daemon", f"{folder}/{number}.log"),))
            link = HostLink(number, settings, plan, book, sink, {}, gate, clock, login=login)
            link.set_addresses((server.address,))
            link.set_watched(number == WATCHED)
            tasks.append(group.create_task(link.run(), name=f"link-{number}"))
        while len(sink.heard) < hosts:  # noqa: ASYNC110 - a benchmark may look at the clock
            await asyncio.sleep(0.01)
        connect = time.monotonic() - began
        connect_cpu = cpu_seconds(me) - spent
        await asyncio.sleep(5)
        gc.freeze()
        began, spent, received = time.monotonic(), cpu_seconds(me), sink.received
        loop_spent, busy = time.thread_time(), machine(server, me, writer)
        store.timing = True
        await asyncio.sleep(seconds)
        store.timing = False
        lasted = time.monotonic() - began
        shares = busy.shares()
        result = {
            "connect_seconds": connect,
            "connect_cpu_ms_per_host": connect_cpu / hosts * 1000,
            "lines_per_second": (sink.received - received) / LINE_BYTES / lasted,
            "cpu_percent": (cpu_seconds(me) - spent) / lasted * 100,
            "loop_cpu_percent": (time.thread_time() - loop_spent) / lasted * 100,
            "script_cpu_percent_per_host": shares["hosts' shells and tools"] / hosts,
            "memory_mib": pss_mib(me),
            "memory_kib_per_host": (pss_mib(me) - memory) / hosts * 1024,
            "watched_p50_ms": percentile(store.delays[True], 0.5),
            "watched_p99_ms": percentile(store.delays[True], 0.99),
            "others_p50_ms": percentile(store.delays[False], 0.5),
            "others_p99_ms": percentile(store.delays[False], 0.99),
            **{f"{name}, % of a core": share for name, share in shares.items()},
        }  # fmt: skip
        sink.stored = False
        await asyncio.sleep(1)
        began, spent, frames = time.monotonic(), cpu_seconds(me), sink.frames
        await asyncio.sleep(seconds / 2)
        lasted = time.monotonic() - began
        ssh_cpu = cpu_seconds(me) - spent
        result["ssh_cpu_percent"] = ssh_cpu / lasted * 100
        result["store_cpu_percent"] = result["cpu_percent"] - result["ssh_cpu_percent"]
        result["ssh_us_per_frame"] = ssh_cpu / (sink.frames - frames) * 1e6
        for task in tasks:
            task.cancel()
    await real_store.close()
    return result


async def rivals(
    server: Sshd, folder: Path, hosts: int, seconds: float, writer: int
) -> dict[str, float]:
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
                "root@127.0.0.1", f"echo on; exec tail -c +1 -F {folder}/{number}.log 2>/dev/null",
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
    busy = machine(server, pids, writer)
    await asyncio.sleep(seconds)
    lasted = time.monotonic() - began
    result = {
        "connect_seconds": connect,
        "connect_cpu_ms_per_host": connect_cpu / hosts * 1000,
        "lines_per_second": (received - before) / LINE_BYTES / lasted,
        "cpu_percent": (cpu_seconds(pids) - spent) / lasted * 100,
        "memory_mib": pss_mib(pids),
        **{f"{name}, % of a core": share for name, share in busy.shares().items()},
    }
    for process in processes:
        process.send_signal(signal.SIGTERM)
    await asyncio.gather(*(process.wait() for process in processes), *readers)
    return result


async def measure(hosts: int, growing: int, seconds: float) -> dict[str, dict[str, float]]:
    """Run both readers after each other against the same writer."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sshd").mkdir()
        (folder / "store").mkdir()
        line = LINE.decode().rstrip("\n")
        (folder / "home").mkdir()
        # An account's .bashrc is no part of the measure, and a heavy one would be all of it.
        home = f"SetEnv HOME={folder / 'home'}"
        with serving(folder / "sshd", options=(home,)) as server:
            writer = await asyncio.create_subprocess_exec(
                sys.executable, "-c", WRITER, name, str(hosts), line, str(growing)
            )
            try:
                results = {"ours": await ours(server, folder, hosts, seconds, writer.pid)}
                show(hosts, "ours", results["ours"])
                results["ssh_processes"] = await rivals(server, folder, hosts, seconds, writer.pid)
                show(hosts, "ssh_processes", results["ssh_processes"])
            finally:
                writer.terminate()
                await writer.wait()
    return results


def show(hosts: int, name: str, figures: dict[str, float]) -> None:
    """Print what one reader cost, as soon as it is known."""
    rounded = {key: round(value, 2) for key, value in figures.items()}
    print(json.dumps({"hosts": hosts, "reader": name, **rounded}, indent=2), flush=True)


def verdicts(ours: dict[str, float], rival: dict[str, float]) -> list[str]:
    """Compare with the goals."""
    lines = [
        verdict("connect CPU against ssh", _ratio(ours, rival, "connect_cpu_ms_per_host"), 1 / 12),
        verdict("memory against ssh", _ratio(ours, rival, "memory_mib"), 1 / 6),
        verdict("connect time against ssh", _ratio(ours, rival, "connect_seconds"), 1 / 2),
        verdict("connect CPU, ms a host", ours["connect_cpu_ms_per_host"], 3.0),
        verdict("memory, KiB a host (store and queues counted)", ours["memory_kib_per_host"], 40.0),
        verdict("host's own CPU, % of a core", ours["script_cpu_percent_per_host"], 1.0),
    ]
    if ours[IDLE] < SATURATED:
        return [*lines, f"line to store: not judged, {saturation(ours)}"]
    return [
        *lines,
        verdict("line to store, watched, p50 ms", ours["watched_p50_ms"], 100.0),
        verdict("line to store, watched, p99 ms", ours["watched_p99_ms"], 1000.0),
        verdict("line to store, others, p50 ms", ours["others_p50_ms"], 500.0),
        verdict("line to store, others, p99 ms", ours["others_p99_ms"], 1000.0),
    ]


def saturation(figures: dict[str, float]) -> str:
    """Say what keeps the cores busy, the heaviest first."""
    ending = ", % of a core"
    parts = {
        name.removesuffix(ending): share
        for name, share in figures.items()
        if name.endswith(ending) and name != IDLE
    }
    heaviest = sorted(parts.items(), key=lambda part: -part[1])
    shown = ", ".join(f"{name} {share:.0f} %" for name, share in heaviest)
    return f"the {os.cpu_count()} cores are saturated (of one core: {shown})"


def _ratio(ours: dict[str, float], rival: dict[str, float], name: str) -> float:
    return ours[name] / rival[name]


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--hosts", type=int, nargs="+", default=[100, 300])
    parser.add_argument("--growing", type=int, default=60, help="files that grow, at most")
    parser.add_argument("--seconds", type=float, default=12.0)
    arguments = parser.parse_args()
    for hosts in arguments.hosts:
        growing = min(hosts, arguments.growing)
        with asyncio.Runner(loop_factory=paced_loop) as runner:
            results = runner.run(measure(hosts, growing, arguments.seconds))
        print("\n".join(verdicts(results["ours"], results["ssh_processes"])))
        watches = int(INOTIFY_LIMIT.read_text())
        if hosts > watches:
            print(
                f"at most {watches} of the {hosts} `tail`s could watch (fs.inotify."
                "max_user_instances); the others polled once a second, which costs ssh less"
            )
        for name, figures in results.items():
            came, due = figures["lines_per_second"], 10 * growing
            if came < 0.95 * due:
                print(f"{name}: only {came:.0f} of {due} lines/s came; {saturation(figures)}")


if __name__ == "__main__":
    main()
