"""What the SSH part costs at 1,000 hosts: our links against a pretended fleet in a child process.

Two asyncssh servers that answer every login and speak the frames of follow.sh play all hosts; each
host writes 10 lines of about 200 bytes a second. First nobody looks (twice a second all new lines
of a host in one frame), then somebody looks at every host (ten times a second, one line a packet).
By then all three channels of a connection are open: logs, looks (empty ones) and `/status`. Nothing
is stored: the figures are those of asyncssh and `fleetui.ssh` alone, beside the goals.
`ssh_ingest.py` does the same with a real sshd, a store, and OpenSSH clients beside it.

    python benchmarks/ssh_fleet.py --hosts 1000 --seconds 10
"""

import argparse
import asyncio
import gc
import os
import sys
import tempfile
import time
from array import array
from collections.abc import Mapping
from pathlib import Path

import asyncssh
import asyncssh.connection
from asyncssh.packet import SSHPacketLogger

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from fleetui.domain.clock import SystemClock
from fleetui.domain.host import SshOutcome, SshState
from fleetui.domain.instance import Route, SshAddress
from fleetui.domain.stream import LogChunk, StreamPosition
from fleetui.domain.text import SafeText
from fleetui.ssh.event_loop import paced_loop
from fleetui.ssh.gate import HandshakeGate
from fleetui.ssh.host_keys import HostKeyBook
from fleetui.ssh.link import HostLink
from fleetui.ssh.login import Login
from fleetui.ssh.scripts import FOLLOW_MARK
from fleetui.ssh.settings import FollowPlan, SshSettings
from process_costs import cpu_seconds, percentile, pss_mib, verdict

PATH = "/var/log/daemon.log"
LINE = b"%017.6f \x1b[32m INFO\x1b[0m \x1b[2mcuzk_core::engine\x1b[0m: partition GPU prove complete"
LINE += b" n=%09d worker=3 partition=7 elapsed_ms=41233 queue=12 " + b"." * 60 + b"\n"
LINES_A_SECOND = 10
MSG_IGNORE = 2
FLEET_PROCESSES = 2
STATUS_PORT = 9821
STATUS = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class PretendedDaemon(asyncssh.SSHTCPSession[bytes]):
    """Answers whatever it is asked with a status."""

    def connection_made(self, chan: asyncssh.SSHTCPChannel[bytes]) -> None:
        """Keep the channel."""
        self._chan = chan

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        """Answer."""
        del data, datatype
        self._chan.write(STATUS)


class PretendedHost(asyncssh.SSHServerSession[bytes]):
    """Answers follow.sh's orders with frames; a look gets an empty answer."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._offset = 0
        self._number = 0
        self._before = b""
        self._follows = False

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        """Keep the channel."""
        self._chan = chan

    def exec_requested(self, command: str) -> bool:
        """Accept all; only following does anything."""
        self._follows = FOLLOW_MARK in command
        return True

    def session_started(self) -> None:
        """Say the script's first line."""
        self._chan.write(b"\n@follow 1\n" if self._follows else b"\n@@ probe 1\n")
        self._began = self._loop.time()

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        """Take an order."""
        del datatype
        if not self._follows:
            self._chan.write(b"@@ done\n")
            return
        rounds, seconds = data.split()
        self._rounds, self._seconds = int(rounds), float(seconds)
        self._next = self._loop.time()
        self._look()

    def _look(self) -> None:
        if self._chan.is_closing():
            return
        due = int((self._loop.time() - self._began) * LINES_A_SECOND) + 1
        stamp = time.time()
        lines = b"".join(LINE % (stamp, number) for number in range(self._number, due))
        self._number = max(self._number, due)
        end = self._offset + len(lines)
        if lines:
            header = b"@file 1:2:3 %d %d %d %d %s\n" % (
                end, self._offset, len(self._before), len(lines), PATH.encode()
            )  # fmt: skip
            self._chan.write(b"%s%s%s\n@end 1:2:3 %d\n" % (header, self._before, lines, end))
            self._offset, self._before = end, lines[-128:]
        self._rounds -= 1
        if self._rounds <= 0:
            self._chan.write(b"@beat\n")
            return
        self._next += self._seconds
        self._loop.call_at(self._next, self._look)


class PretendedFleet(asyncssh.SSHServer):
    """Lets everybody in who has a key."""

    def begin_auth(self, username: str) -> bool:
        """Ask for a key."""
        del username
        return True

    def public_key_auth_supported(self) -> bool:
        """Take keys."""
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """Take any key."""
        del username, key
        return True

    def connection_requested(
        self, dest_host: str, dest_port: int, orig_host: str, orig_port: int
    ) -> PretendedDaemon:
        """Play a daemon."""
        del dest_host, dest_port, orig_host, orig_port
        return PretendedDaemon()

    def session_requested(self) -> PretendedHost:
        """Play a host."""
        return PretendedHost()


async def serve() -> None:
    """Play the fleet until killed; says its port first."""
    send = asyncssh.connection.SSHConnection.send_packet

    def send_as_openssh(
        connection: asyncssh.connection.SSHConnection,
        kind: int,
        *parts: bytes,
        handler: SSHPacketLogger | None = None,
    ) -> None:
        # OpenSSH sends no empty packets in between; a client that had to read them costs twice.
        if kind != MSG_IGNORE:
            send(connection, kind, *parts, handler=handler)

    vars(asyncssh.connection)["SSHConnection"].send_packet = send_as_openssh
    key = asyncssh.generate_private_key("ssh-ed25519")
    server = await asyncssh.listen(
        "127.0.0.1", 0, server_factory=PretendedFleet, server_host_keys=[key], encoding=None,
        compression_algs=None, login_timeout=120, backlog=1024,
    )  # fmt: skip
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


class CountingSink:
    """Counts bytes, checks that they join, takes the delay of each chunk's last line."""

    def __init__(self) -> None:
        self.received = 0
        self.frames = 0
        self.statuses = 0
        self.ends: dict[int, int] = {}
        # Of single precision and in one piece: what the benchmark keeps is no cost of a link.
        self.delays = array("f")
        self.failures: list[str] = []

    def log_bytes(self, chunk: LogChunk, position: StreamPosition, kind: str) -> bool:
        """Count."""
        del kind
        instance_id = chunk.stream.instance_id
        if chunk.offset != self.ends.get(instance_id, 0):
            self.failures.append(f"host {instance_id}: {chunk.offset} follows another offset")
        self.ends[instance_id] = position.offset
        self.received += len(chunk.data)
        self.frames += 1
        self.delays.append(time.time() - float(chunk.data[-len(LINE % (0, 0)) :][:17]))
        return True

    async def room(self) -> None:
        """Never needed: all is taken."""

    def lost(self, path: str, unread: int, at: float) -> None:
        """Count as a failure."""
        del unread, at
        self.failures.append(path)

    def probe(self, sections: Mapping[str, str], at: float) -> None:
        """Ignore looks."""

    def status(self, body: bytes | None, error: SafeText | None, at: float) -> None:
        """Count answers."""
        del at
        self.statuses += 1
        if body != b"{}":
            self.failures.append(f"status {error}")

    def outcome(self, outcome: SshOutcome) -> None:
        """Keep what went wrong."""
        if outcome.state not in {SshState.CONNECTED, SshState.CONNECTING} or outcome.detail:
            self.failures.append(f"{outcome.state} {outcome.detail}")

    def host_key(self, instance_id: int, key: str) -> None:
        """Ignore keys."""


async def steady(  # noqa: PLR0917 - one line of the output
    sink: CountingSink, hosts: int, seconds: float, goal: float, name: str, lines_a_packet: int
) -> str:
    """Measure what reading costs now.

    A busy machine makes the pretended fleet late, and it then sends more lines a packet than it
    should: the verdict is on the cost of a packet times the packets that were due.
    """
    del sink.delays[:]
    me = [os.getpid()]
    began, spent, received, frames = time.monotonic(), cpu_seconds(me), sink.received, sink.frames
    await asyncio.sleep(seconds)
    lasted = time.monotonic() - began
    cpu = (cpu_seconds(me) - spent) / lasted
    frames = sink.frames - frames
    lines = (sink.received - received) / len(LINE % (0, 0))
    print(
        f"{name}: {lines / lasted:.0f} of {hosts * LINES_A_SECOND} lines/s, "
        f"{lines / max(1, frames):.2f} a packet, {cpu * lasted / max(1, frames) * 1e6:.0f} us of "
        f"CPU a packet, p50 {percentile(sink.delays, 0.5):.1f} ms, "
        f"p99 {percentile(sink.delays, 0.99):.0f} ms from the host's write"
    )
    due = hosts * LINES_A_SECOND / lines_a_packet
    percent = cpu * lasted / max(1, frames) * due * 100
    return verdict(f"{name}, % of a core", percent, goal * hosts / 1000)


async def measure(hosts: int, seconds: float, ports: list[int], key: Path) -> list[str]:
    """Connect all, read in both ways."""
    settings = SshSettings(
        key_files=(key,), use_agent=False, first_look_seconds=1e6, watched_probe_seconds=1e6,
        watched_beat_seconds=5.0, status_interval_seconds=1e6, watched_status_seconds=1e6,
    )  # fmt: skip
    sink, clock, me = CountingSink(), SystemClock(), [os.getpid()]
    login, book = Login(settings), HostKeyBook()
    gate = HandshakeGate(settings.max_handshakes, host_limit=settings.max_handshakes)
    plan = FollowPlan(streams=(("daemon", PATH),), status_port=STATUS_PORT)
    memory = pss_mib(me)
    verdicts = []
    async with asyncio.TaskGroup() as group:
        began, spent = time.monotonic(), cpu_seconds(me)
        links = []
        for number in range(hosts):
            link = HostLink(number, settings, plan, book, sink, {}, gate, clock, login=login)
            port = ports[number % len(ports)]
            link.set_addresses((SshAddress("127.0.0.1", port, Route.DIRECT),))
            links.append((link, group.create_task(link.run(), name=f"link-{number}")))
        while len(sink.ends) < hosts:  # noqa: ASYNC110 - a benchmark may look at the clock
            await asyncio.sleep(0.02)
        connect, connect_cpu = time.monotonic() - began, cpu_seconds(me) - spent
        print(f"connect: {hosts} hosts in {connect:.2f} s")
        verdicts.append(verdict("connect CPU, ms a host", connect_cpu / hosts * 1000, 3.0))
        began = time.monotonic()
        gc.collect()
        gc.freeze()
        print(
            f"one look of the garbage collector at all: {(time.monotonic() - began) * 1e3:.0f} ms"
        )
        await asyncio.sleep(3)
        verdicts.append(await steady(sink, hosts, seconds, 15.0, "batched frames", 5))
        for link, _ in links:
            link.set_watched(True)
            # As spread as first looks are: all at once would measure the heap's peak.
            await asyncio.sleep(0.003)
        await asyncio.sleep(settings.beat_seconds + 2)
        kilobytes = (pss_mib(me) - memory) * 1048.576 / hosts
        verdicts.append(verdict("memory of three channels, kB a host", kilobytes, 40.0))
        print(f"daemons that answered: {sink.statuses} of {hosts}")
        verdicts.append(await steady(sink, hosts, seconds, 35.0, "one line a packet", 1))
        for _, task in links:
            task.cancel()
    verdicts.append(verdict("lost, doubled or failed", len(sink.failures), 0))
    print("\n".join(sink.failures[:5]), end="\n" if sink.failures else "")
    return verdicts


async def run(hosts: int, seconds: float, folder: Path) -> None:
    """Start the fleet and read it."""
    key = folder / "key"
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(str(key))
    fleet: list[asyncio.subprocess.Process] = []
    ports: list[int] = []
    try:
        for _ in range(FLEET_PROCESSES):
            fleet.append(
                await asyncio.create_subprocess_exec(
                    sys.executable, __file__, "--serve", stdout=asyncio.subprocess.PIPE
                )
            )
            if fleet[-1].stdout:
                ports.append(int(await fleet[-1].stdout.readline()))
        print(f"{hosts} hosts; load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        print("\n".join(await measure(hosts, seconds, ports, key)))
    finally:
        for process in fleet:
            process.terminate()
            await process.wait()


def main() -> None:
    """Print figures and verdicts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--serve", action="store_true", help="play the fleet (used by itself)")
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve())
        return
    with (
        tempfile.TemporaryDirectory() as name,
        asyncio.Runner(loop_factory=paced_loop) as runner,
    ):
        runner.run(run(arguments.hosts, arguments.seconds, Path(name)))


if __name__ == "__main__":
    main()
