"""An outage of the whole network: 1,000 hosts are cut off at once and come back.

One asyncssh server in this process plays all hosts, each at a loopback address of its own, and
counts the handshakes that it is in. The settings are those of a fleet (64 handshakes at once,
pauses of 1 to 60 s). Printed: most handshakes at once at the server, when the hosts were back
after the end of the outage, and that no byte is missing. Beside it the same without the gate.

    python benchmarks/ssh_outage.py --hosts 1000 --outage 20
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
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
from loopback_fleet import PATH, LoopbackFleet, make_client_key
from process_costs import percentile, verdict


class Keeper:
    """A link's sink: the bytes of its log, its state, and when it was last connected."""

    def __init__(self) -> None:
        self.log = bytearray()
        self.state = SshState.NONE
        self.connected_at = 0.0
        self.tries = 0

    def log_bytes(self, chunk: LogChunk, position: StreamPosition, kind: str) -> bool:
        """Keep the bytes, each once."""
        del position, kind
        if chunk.offset != len(self.log):
            raise ValueError(f"{chunk.offset} follows {len(self.log)}")
        self.log += chunk.data
        return True

    async def room(self) -> None:
        """Never needed: all is taken."""

    def lost(self, path: str, unread: int, at: float) -> None:
        """Fail: nothing is moved here."""
        raise ValueError(f"{path}: {unread} bytes lost at {at}")

    def probe(self, sections: Mapping[str, str], at: float) -> None:
        """Ignore looks."""

    def status(self, body: bytes | None, error: SafeText | None, at: float) -> None:
        """Ignore answers."""

    def outcome(self, outcome: SshOutcome) -> None:
        """Keep the state."""
        self.state, self.tries = outcome.state, outcome.attempts
        if outcome.state is SshState.CONNECTED:
            self.connected_at = time.monotonic()

    def host_key(self, instance_id: int, key: str) -> None:
        """Ignore keys."""


async def until(condition: Callable[[], bool]) -> float:
    """Wait for a condition; returns how long it took."""
    began = time.monotonic()
    while not condition():  # noqa: ASYNC110 - a benchmark may look at the clock
        await asyncio.sleep(0.05)
    return time.monotonic() - began


async def measure(hosts: int, outage: float, folder: Path, *, limit: int | None) -> list[str]:
    """Connect all, cut all off, let all come back."""
    fleet = LoopbackFleet()
    await fleet.heal()
    settings = SshSettings(
        key_files=(make_client_key(folder),), use_agent=False, first_look_seconds=1e6,
        follow_interval_seconds=5.0,
    )  # fmt: skip
    login, book, clock = Login(settings), HostKeyBook(), SystemClock()
    gate = HandshakeGate(settings.max_handshakes) if limit else HandshakeGate(10 * hosts)
    plan = FollowPlan(streams=(("daemon", PATH),))
    sinks = [Keeper() for _ in range(hosts)]
    verdicts = []
    async with asyncio.TaskGroup() as group:
        tasks = []
        for number, sink in enumerate(sinks):
            link = HostLink(number, settings, plan, book, sink, {}, gate, clock, login=login)
            link.set_addresses((fleet.address(number),))
            tasks.append(group.create_task(link.run(), name=f"link-{number}"))
        took = await until(lambda: all(sink.log.count(b"\n") >= 1 for sink in sinks))
        print(f"connect: {took:.1f} s, at most {fleet.most_handshakes} handshakes at once")
        first = fleet.most_handshakes
        await fleet.cut()
        await until(lambda: not any(sink.state is SshState.CONNECTED for sink in sinks))
        await asyncio.sleep(outage)
        tries = sorted(sink.tries for sink in sinks)
        print(f"outage of {outage:.0f} s: {tries[len(tries) // 2]} tries each in the middle")
        fleet.most_handshakes, fleet.logins = 0, 0
        healed = time.monotonic()
        await fleet.heal()
        await until(lambda: all(sink.log.count(b"\n") >= 2 for sink in sinks))
        back = [sink.connected_at - healed for sink in sinks]
        half, most = percentile(back, 0.5) / 1000, percentile(back, 0.99) / 1000
        print(
            f"back: p50 {half:.1f} s, p99 {most:.1f} s, the last {max(back):.1f} s;"
            f" {fleet.logins} logins"
        )
        if limit:
            verdicts += [
                verdict("handshakes at once, first connect", first, limit),
                verdict("handshakes at once, coming back", fleet.most_handshakes, limit),
            ]
        else:
            print(f"without a gate: {fleet.most_handshakes} handshakes at once, coming back")
        whole = sum(
            bytes(sink.log) == fleet.log_of(number) and sink.state is SshState.CONNECTED
            for number, sink in enumerate(sinks)
        )
        verdicts.append(verdict("hosts not back or not whole", hosts - whole, 0))
        for task in tasks:
            task.cancel()
    login.close()
    await fleet.cut()
    return verdicts


async def run(hosts: int, outage: float, folder: Path) -> None:
    """Measure with the gate, and without it."""
    print(f"{hosts} hosts; load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print("\n".join(await measure(hosts, outage, folder, limit=SshSettings().max_handshakes)))
    print("\n".join(await measure(hosts, outage, folder, limit=None)))


def main() -> None:
    """Print figures and verdicts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--outage", type=float, default=20.0, help="seconds")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(run(arguments.hosts, arguments.outage, Path(name)))


if __name__ == "__main__":
    main()
