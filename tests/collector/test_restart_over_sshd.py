"""The profile's restarts over a real sshd, on real processes at their worst, side by side."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetui.collector.script_words import words_of
from fleetui.domain.host import SshState
from fleetui.ssh.link import HostLink
from fleetui.ssh.settings import FollowPlan
from link_stage import linked, until
from openssh import Sshd, serving
from stubborn_daemon import StubbornDaemon

SECONDS = 90.0


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with serving(tmp_path_factory.mktemp("sshd")) as server:
        yield server


async def run(link: HostLink, script: str) -> tuple[int | None, dict[str, str]]:
    result = await link.run_script(script, SECONDS)
    return result.exit_status, words_of(result.stdout)


async def interrupted(link: HostLink, daemon: StubbornDaemon) -> None:
    """After SIGINT the daemon lives on and holds its port: a new one could not start."""
    old = daemon.start()
    daemon.interrupt(old)
    assert "Address already in use" in daemon.start_too_early()
    status, words = await run(link, daemon.script("restart_daemon"))
    assert (status, words["result"]) == (0, "ok"), words
    assert (words["old_pid"], words["signal"]) == (str(old), "TERM")
    assert daemon.ended(old) == -signal.SIGTERM
    assert daemon.pids() == [int(words["new_pid"])]
    assert daemon.serves()
    assert daemon.log.read_text().count("ready, serving") == 2
    assert b"OF_THE_DAEMON=two words" in daemon.environment(int(words["new_pid"]))


async def port_kept(link: HostLink, daemon: StubbornDaemon) -> None:
    """A daemon that dies keeps its port: who starts the next at once fails, the script waits."""
    old = daemon.start(LINGER="2.5")
    os.kill(old, signal.SIGTERM)
    assert daemon.ended(old) == -signal.SIGTERM
    assert "Address already in use" in daemon.start_too_early()
    await until(lambda: not daemon.serves(), "the port is given back")
    old = daemon.start(LINGER="2.5")
    status, words = await run(link, daemon.script("restart_daemon"))
    assert (status, words["result"]) == (0, "ok"), words
    assert int(words["port_wait_seconds"]) >= 1
    assert words["new_pid"] != str(old)
    assert daemon.serves()


async def stubborn(link: HostLink, daemon: StubbornDaemon) -> None:
    """What does not heed SIGTERM is killed."""
    old = daemon.start(STUBBORN="1")
    script = daemon.script("restart_daemon", **{"in 30 30": "in 2 30"})
    status, words = await run(link, script)
    assert (status, words["result"]) == (0, "ok"), words
    assert words["signal"] == "KILL"
    assert daemon.ended(old) == -signal.SIGKILL
    assert daemon.pids() == [int(words["new_pid"])]


async def port_of_another(link: HostLink, daemon: StubbornDaemon) -> None:
    """A port that somebody else took stays theirs, and the answer says so."""
    old = daemon.start()
    # Somebody else listens on the same port of another address.
    with socket.create_server(("127.0.0.2", daemon.port)):
        script = daemon.script("restart_daemon", **{"-lt 120": "-lt 2", "120 s": "2 s"})
        status, words = await run(link, script)
    assert (status, words["result"]) == (5, "failed"), words
    assert "is still taken after 2 s" in words["reason"]
    assert daemon.ended(old) == -signal.SIGTERM
    assert daemon.pids() == []


async def benchmark(link: HostLink, daemon: StubbornDaemon) -> None:
    """A benchmark at work is left alone unless told otherwise; then it and its daemon are ended."""
    old = daemon.start(daemon.benchmark)
    before = set(daemon.pids())
    assert len(before) == 2
    status, words = await run(link, daemon.script("restart_benchmark"))
    assert status == 7, words
    assert f"process {old}" in words["reason"]
    assert set(daemon.pids()) == before
    status, words = await run(link, "ANYWAY=yes\n" + daemon.script("restart_benchmark"))
    assert (status, words["result"]) == (0, "ok"), words
    assert words["old_pid"] == str(old)
    assert daemon.ended(old) == -signal.SIGTERM
    assert int(words["new_pid"]) in daemon.pids()
    assert not before & set(daemon.pids())
    await until(daemon.serves, "the benchmark's own daemon serves")
    assert daemon.log.read_text().count("PoRep C2 benchmark") == 2


async def test_restarts_end_the_old_free_the_port_and_start_the_new(
    sshd: Sshd, tmp_path: Path
) -> None:
    courses = (interrupted, port_kept, stubborn, port_of_another, benchmark)
    with contextlib.ExitStack() as stack:
        daemons = [StubbornDaemon(tmp_path / course.__name__) for course in courses]
        for daemon in daemons:
            stack.callback(daemon.end)
        async with linked(sshd, FollowPlan(())) as (link, sink), asyncio.TaskGroup() as group:
            await until(lambda: sink.state is SshState.CONNECTED, "the connection")
            for course, daemon in zip(courses, daemons, strict=True):
                group.create_task(course(link, daemon), name=course.__name__)
