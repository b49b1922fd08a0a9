"""Many links to one OpenSSH server with its default limits, and a whole network that goes away."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cutting import far_server
from fleetui.domain.clock import SystemClock
from fleetui.domain.host import SshState
from fleetui.domain.instance import SshAddress
from fleetui.ssh.gate import HandshakeGate
from fleetui.ssh.host_keys import HostKeyBook
from fleetui.ssh.link import HostLink
from fleetui.ssh.login import LoggedIn, Login
from fleetui.ssh.settings import FollowPlan, SshSettings
from link_stage import Recorder, quick, until
from openssh import serving

LINKS = 32
CALM: dict[str, object] = {"follow_interval_seconds": 1.5, "probe_interval_seconds": 600.0}
DEFAULTS = ("MaxSessions 10", "MaxStartups 10:30:100", "LogLevel VERBOSE")


class CountingLogin(Login):
    """Counts the logins under way and each instance's tries."""

    def __init__(self, settings: SshSettings) -> None:
        super().__init__(settings)
        self.under_way = 0
        self.most = 0
        self.tries = 0

    async def connect(self, address: SshAddress, expected_key: str | None) -> LoggedIn:
        self.tries += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            return await super().connect(address, expected_key)
        finally:
            self.under_way -= 1


class Fleet:
    """Links that share a gate, a login and a book, each with a sink and a file of its own."""

    def __init__(
        self, folder: Path, settings: SshSettings, gate: HandshakeGate, *, links: int
    ) -> None:
        self.login = CountingLogin(settings)
        self.sinks = [Recorder() for _ in range(links)]
        self.logs = [folder / f"{number}.log" for number in range(links)]
        self._settings = settings
        self._gate = gate

    @asynccontextmanager
    async def running(self, address: SshAddress) -> AsyncIterator[None]:
        book = HostKeyBook()
        tasks = []
        for number, (sink, log) in enumerate(zip(self.sinks, self.logs, strict=True)):
            link = HostLink(
                number,
                self._settings,
                profile=FollowPlan(streams=(("bench", str(log)),)),
                host_keys=book,
                sink=sink,
                resume={},
                gate=self._gate,
                clock=SystemClock(),
                login=self.login,
                jitter=random.Random(number).random,  # noqa: S311 - pauses of a test
            )
            link.set_addresses((address,))
            tasks.append(asyncio.create_task(link.run(), name=f"link {number}"))
        try:
            yield
            assert not any(task.done() for task in tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def count(self, state: SshState) -> int:
        return sum(sink.state is state for sink in self.sinks)

    def lost(self) -> int:
        return sum(sink.seen(SshState.LOST) for sink in self.sinks)

    def write(self, line: bytes) -> None:
        for log in self.logs:
            with log.open("ab") as file:
                file.write(line)

    def hold(self, text: bytes) -> bool:
        return all(sink.text(log) == text for sink, log in zip(self.sinks, self.logs, strict=True))


async def test_all_come_back_after_an_outage_of_the_whole_network(tmp_path: Path) -> None:
    async with far_server(tmp_path / "sshd", namespace=True, options=DEFAULTS) as far:
        settings = quick(far.sshd, keepalive_seconds=1.0, connect_timeout=3.0, **CALM)
        gate = HandshakeGate(spread_seconds=0.05)
        fleet = Fleet(tmp_path, settings, gate, links=LINKS)
        fleet.write(b"before\n")
        async with fleet.running(far.address):
            await until(lambda: fleet.hold(b"before\n"), "all connected", 120)
            assert "past MaxStartups" not in far.sshd.log_text()
            await far.network.cut()
            fleet.write(b"meanwhile\n")
            await until(lambda: fleet.lost() == LINKS, "all lost", 120)
            await until(lambda: fleet.count(SshState.TIMED_OUT) > 0, "tries that find no way")
            tries = fleet.login.tries
            await far.network.heal()
            fleet.write(b"after\n")
            await until(lambda: fleet.hold(b"before\nmeanwhile\nafter\n"), "all back", 120)
            # No storm: never more than eight at one host, and few tries for each.
            assert fleet.login.most <= 8
            assert fleet.login.tries - tries <= 3 * LINKS
            assert fleet.count(SshState.CONNECTED) == LINKS


async def test_a_server_that_drops_logins_lets_all_in_at_last(tmp_path: Path) -> None:
    options = ("MaxStartups 2:50:4", "LogLevel VERBOSE")
    with serving(tmp_path / "sshd", options=options) as sshd:
        links = 10
        gate = HandshakeGate(host_limit=links, spread_seconds=0.0)
        fleet = Fleet(tmp_path, quick(sshd, **CALM), gate, links=links)
        fleet.write(b"a line\n")
        async with fleet.running(sshd.address):
            await until(lambda: fleet.hold(b"a line\n"), "all connected", 120)
            assert "past MaxStartups" in sshd.log_text()
            assert fleet.login.tries > links
            for state in {outcome.state for sink in fleet.sinks for outcome in sink.outcomes}:
                assert state in (SshState.CONNECTING, SshState.CONNECTED, SshState.REFUSED)
