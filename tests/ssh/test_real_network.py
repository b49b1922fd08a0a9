"""The network cut without a word, between a link and a real OpenSSH server."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cutting import far_server
from fleetui.domain.host import SshState
from fleetui.ssh.settings import FollowPlan
from link_stage import linked, quick, until


@contextmanager
def writing(log: Path) -> Iterator[None]:
    """Append lines from another thread while the context lasts."""
    over = threading.Event()

    def write() -> None:
        number = 0
        with log.open("ab", buffering=0) as file:
            while not over.wait(0.005):
                number += 1
                file.write(b"line %d of a workload that knows of no network\n" % number)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("namespace", [True, False], ids=["namespace", "relay"])
async def test_a_silent_cut_is_noticed_and_no_byte_is_lost_or_given_twice(
    tmp_path: Path, *, namespace: bool
) -> None:
    log = tmp_path / "a.log"
    plan = FollowPlan(streams=(("bench", str(log)),))
    async with far_server(tmp_path / "sshd", namespace=namespace) as far:
        settings = quick(far.sshd, keepalive_seconds=0.5, keepalive_count=3, connect_timeout=2.0)
        async with linked(far.sshd, plan, settings=settings, address=far.address) as (_, sink):
            with writing(log):
                await until(lambda: len(sink.text(log)) > 1000, "lines before the cut")
                await far.network.cut()
                # Nothing else tells: TCP itself would go on trying for a quarter of an hour.
                await until(lambda: sink.seen(SshState.LOST), "the loss by keepalive")
                await until(lambda: sink.seen(SshState.TIMED_OUT), "a try that finds no way")
                held = len(sink.text(log))
                await far.network.heal()
                await until(lambda: len(sink.text(log)) > held, "lines after it has healed")
            content = log.read_bytes()
            await until(lambda: len(sink.text(log)) >= len(content), "every byte")
            assert sink.text(log) == content
            # The server learns of the old connections' end when its packets get through again.
            await until(lambda: far.sshd.sessions() == 1, "the end of the old sessions", 90)
        await until(lambda: far.sshd.run_on_host() == [], "the end of all that ran there")
