"""Looks at the host and the daemon's status, through a real OpenSSH server."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bare_tools import bare_tools
from fleetui.reading.probe_output import parse_probe
from fleetui.ssh.settings import FollowPlan
from link_stage import linked, quick, until
from openssh import Sshd, free_port, processes_with, serving

SECTIONS = {
    "ps", "cgroup.memory.events", "cgroup.memory.max", "cgroup.memory.current", "loadavg", "df",
    "files", "ss", "dmesg", "nvidia-smi", "date",
}  # fmt: skip


@asynccontextmanager
async def daemon(answer: bytes) -> AsyncIterator[int]:
    """Listen on loopback and give one answer to whoever asks."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        assert request.startswith(b"GET /status HTTP/1.1\r\n")
        writer.write(answer)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def test_a_look_has_all_sections_and_reads_as_a_probe(
    shared_sshd: Sshd, tmp_path: Path
) -> None:
    weights = tmp_path / "v28 stacked.params"
    weights.write_bytes(b"x" * 1234)
    plan = FollowPlan(
        streams=(("bench", f"{tmp_path}/a.log"),), probe_paths=(f"{tmp_path}/*.params",)
    )
    async with linked(shared_sshd, plan) as (_, sink):
        await until(lambda: len(sink.probes) > 1, "two looks")
    look = sink.probes[-1]
    assert set(look) == SECTIONS
    assert look["nvidia-smi"], "a missing tool is reported, or a present one answers"
    probe = parse_probe(look, 1.0)
    assert probe.files is not None
    assert [(file.path, file.size) for file in probe.files] == [(str(weights), 1234)]
    assert probe.processes is not None
    assert any(process.pid == os.getpid() for process in probe.processes)
    # Our own commands name the workload's files and must not pass for the workload.
    assert not any("set -- fleetui-" in process.args for process in probe.processes)
    assert probe.disk_total_kib
    assert probe.load is not None
    assert probe.clock is not None
    assert abs(probe.clock - time.time()) < 600
    assert probe.listening


async def test_watching_makes_looks_more_frequent(shared_sshd: Sshd, tmp_path: Path) -> None:
    plan = FollowPlan(streams=(("bench", f"{tmp_path}/a.log"),), status_port=free_port())
    settings = quick(shared_sshd, probe_interval_seconds=3600, status_interval_seconds=3600)
    async with linked(shared_sshd, plan, settings=settings) as (link, sink):
        await until(lambda: len(sink.probes) == 1 and len(sink.statuses) == 1, "the first looks")
        link.set_watched(True)
        await until(lambda: len(sink.probes) > 3 and len(sink.statuses) > 3, "more of them")


async def test_the_status_is_read_and_an_absent_one_is_no_error(
    shared_sshd: Sshd, tmp_path: Path
) -> None:
    body = b'{"uptime_secs": 1}'
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
    answer = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    streams = (("bench", f"{tmp_path}/a.log"),)
    async with daemon(answer) as port, daemon(head + b"\r\n" + body) as bare_port:
        for each in (port, bare_port):
            plan = FollowPlan(streams=streams, status_port=each)
            async with linked(shared_sshd, plan) as (_, sink):
                await until(lambda: len(sink.statuses) > 1, "answers")
                assert set(sink.statuses) == {(body, None)}
    plan = FollowPlan(streams=streams, status_port=free_port())
    async with linked(shared_sshd, plan) as (_, sink):
        await until(lambda: len(sink.statuses) > 1, "answers")
        assert set(sink.statuses) == {(None, None)}


async def test_unusable_answers_are_errors_with_words(shared_sshd: Sshd, tmp_path: Path) -> None:
    cases = {
        b"HTTP/1.1 503 Busy\r\nConnection: close\r\n\r\n": "503",
        b"SSH-2.0-what\r\n\r\n": "no HTTP answer",
        b"": "no HTTP answer",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n" + b" " * 5_000_000: "longer than",
    }
    for answer, words in cases.items():
        async with daemon(answer) as port:
            plan = FollowPlan(streams=(("bench", f"{tmp_path}/a.log"),), status_port=port)
            async with linked(shared_sshd, plan) as (_, sink):
                await until(lambda: bool(sink.statuses), "an answer")
                body, error = sink.statuses[0]
                assert body is None
                assert words in str(error)


async def test_a_host_that_forbids_forwarding_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "sshd"
    folder.mkdir()
    with serving(folder, options=("AllowTcpForwarding no",)) as server:
        plan = FollowPlan(streams=(("bench", f"{tmp_path}/a.log"),), status_port=free_port())
        async with linked(server, plan) as (_, sink):
            await until(lambda: bool(sink.statuses), "an answer")
            assert "cannot be reached" in str(sink.statuses[0][1])


HANGING = """#!/bin/sh
trap '' TERM HUP PIPE
echo Filesystem 1K-blocks Used Available Use% Mounted on
exec sleep 3600.{mark}
"""
LEAVING = """#!/bin/sh
setsid sleep 3600.{mark} &
sleep 3600.{mark}
"""


@pytest.mark.parametrize("tools", ["all", "bare"])
async def test_a_hung_tool_takes_its_own_section_only_and_ends(tmp_path: Path, tools: str) -> None:
    mark = free_port()
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "df").write_text(HANGING.format(mark=mark))
    (folder / "df").chmod(0o755)
    others = os.environ["PATH"] if tools == "all" else bare_tools(tmp_path, tools)
    plan = FollowPlan(streams=(("bench", f"{tmp_path}/a.log"),))
    options = (f"SetEnv PATH={folder}:{others} HOME=/nonexistent",)
    with serving(tmp_path / "sshd", options=options) as sshd:
        settings = quick(sshd, tool_seconds=1)
        async with linked(sshd, plan, settings=settings) as (_, sink):
            await until(lambda: len(sink.probes) > 1, "two looks")
            first, second = (parse_probe(look, 1.0) for look in sink.probes[:2])
            assert set(sink.probes[0]) == SECTIONS
            for probe, words in ((first, "timed out after 1 s"), (second, "not asked again")):
                assert words in str(probe.errors["df"])
                assert probe.disk_total_kib is None
                assert probe.processes
            assert all(outcome.detail is None for outcome in sink.outcomes)
        await until(lambda: not processes_with(f"3600.{mark}"), "the end of the hung tool")
        await until(lambda: not sshd.run_on_host(), "the end of all")


async def test_a_look_does_not_wait_for_a_process_that_cannot_be_killed(tmp_path: Path) -> None:
    mark = free_port()
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ss").write_text(LEAVING.format(mark=mark))
    (folder / "ss").chmod(0o755)
    plan = FollowPlan(streams=(("bench", f"{tmp_path}/a.log"),))
    options = (f"SetEnv PATH={folder}:{os.environ['PATH']} HOME=/nonexistent",)
    with serving(tmp_path / "sshd", options=options) as sshd:
        try:
            async with linked(sshd, plan, settings=quick(sshd, tool_seconds=1)) as (_, sink):
                await until(lambda: len(sink.probes) > 1, "two looks")
                assert all("timed out" in look["ss"] for look in sink.probes)
            await until(lambda: not sshd.run_on_host(), "the end of the script")
            left = processes_with(f"3600.{mark}")
            assert len(left) == 1, "it was out of reach, and one only"
        finally:
            for pid in processes_with(f"3600.{mark}"):
                os.kill(pid, 9)


async def test_looks_that_hang_leave_sessions_for_the_logs(tmp_path: Path) -> None:
    mark = f"3600.{free_port()}"
    script = tmp_path / "forced"
    healthy = tmp_path / "healthy"
    script.write_text(
        f"#!/bin/sh\n[ -e '{healthy}' ] || "
        'case "$SSH_ORIGINAL_COMMAND" in *fleetui-probe*)\n'
        f"trap '' TERM HUP; printf '\\n@@ probe 1\\n@@ ps\\n'; exec sleep {mark} ;;\nesac\n"
        'exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n'
    )
    script.chmod(0o755)
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    plan = FollowPlan(streams=(("bench", str(log)),))
    options = (f"ForceCommand {script}", "MaxSessions 5")
    with serving(tmp_path / "sshd", options=options) as sshd:
        try:
            async with linked(sshd, plan, settings=quick(sshd, look_seconds=0.3)) as (link, sink):
                await until(lambda: "3 earlier ones" in str(sink.outcomes[-1:]), "the pause")
                assert len(processes_with(mark)) == 3
                assert sink.probes[-1]["ps"].startswith("error: ")
                assert (await link.run_script("echo here", 30.0)).stdout.strip() == "here"
                healthy.touch()
                for pid in processes_with(mark):
                    os.kill(pid, 9)
                await until(lambda: set(sink.probes[-1]) == SECTIONS, "looks after all")
                await until(lambda: sink.outcomes[-1].detail is None, "no complaint")
        finally:
            for pid in processes_with(mark):
                os.kill(pid, 9)


async def test_a_host_without_a_session_for_looks_says_so(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    plan = FollowPlan(streams=(("bench", str(log)),))
    with serving(tmp_path / "sshd", options=("MaxSessions 1",)) as sshd:
        async with linked(sshd, plan) as (_, sink):
            await until(lambda: sink.text(log) == b"one\n", "the log")
            await until(lambda: "looks do not work" in str(sink.outcomes[-1].detail), "a word")
            assert not sink.probes
