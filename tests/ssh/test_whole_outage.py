"""Many hosts, each at an address of its own, that are all cut off and all come back."""

import asyncio
import random
from pathlib import Path

from fleetui.domain.clock import SystemClock
from fleetui.domain.host import SshState
from fleetui.ssh.gate import HandshakeGate
from fleetui.ssh.host_keys import HostKeyBook
from fleetui.ssh.link import HostLink
from fleetui.ssh.login import Login
from fleetui.ssh.settings import FollowPlan, SshSettings
from link_stage import Recorder, until
from loopback_fleet import PATH, LoopbackFleet, make_client_key

HOSTS = 100
AT_ONCE = 8


async def test_a_hundred_hosts_come_back_with_few_handshakes_at_once(tmp_path: Path) -> None:
    fleet = LoopbackFleet()
    await fleet.heal()
    settings = SshSettings(
        key_files=(make_client_key(tmp_path),), use_agent=False, retry_seconds=0.2,
        retry_limit_seconds=1.0, first_look_seconds=1e6, follow_interval_seconds=2.0,
    )  # fmt: skip
    gate = HandshakeGate(AT_ONCE, spread_seconds=0.05)
    login, book, plan = Login(settings), HostKeyBook(), FollowPlan(streams=(("daemon", PATH),))
    sinks = [Recorder() for _ in range(HOSTS)]
    tasks = []
    for number, sink in enumerate(sinks):
        link = HostLink(
            number, settings, plan, book, sink, {}, gate, SystemClock(), login=login,
            jitter=random.Random(number).random,  # noqa: S311 - pauses of a test
        )  # fmt: skip
        link.set_addresses((fleet.address(number),))
        tasks.append(asyncio.create_task(link.run(), name=f"link {number}"))

    def all_hold(lines: int) -> bool:
        return all(
            fleet.log_of(number).count(b"\n") >= lines
            and sink.text(Path(PATH)) == fleet.log_of(number)
            for number, sink in enumerate(sinks)
        )

    try:
        await until(lambda: all_hold(1), "all are followed", 60)
        assert 1 < fleet.most_handshakes <= AT_ONCE
        await fleet.cut()
        await until(lambda: all(s.seen(SshState.LOST) for s in sinks), "all are lost")
        await until(
            lambda: sum(s.state is SshState.REFUSED for s in sinks) > HOSTS // 2, "tries in vain"
        )
        fleet.most_handshakes = 0
        await fleet.heal()
        await until(lambda: all_hold(2), "all are back", 60)
        assert 1 < fleet.most_handshakes <= AT_ONCE
        assert all(sink.state is SshState.CONNECTED for sink in sinks)
        # Each logged in twice; a try more is one that was cut off.
        assert fleet.logins == 2 * HOSTS
        assert not any(task.done() for task in tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        login.close()
        await fleet.cut()
