"""What log files go through on a real host, done by its own tools, and what stays there after."""

import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bare_tools import KINDS, bare_tools
from fleetui.domain.host import SshState
from fleetui.reading.probe_output import parse_probe
from fleetui.ssh.link import HostLink
from fleetui.ssh.older import OlderBytesError, read_older
from fleetui.ssh.settings import FollowPlan
from link_stage import linked, quick, until
from openssh import Sshd, processes_with, serving


@pytest.fixture
def plan(tmp_path: Path) -> FollowPlan:
    return FollowPlan(streams=(("bench", f"{tmp_path}/*.log"),))


def shell(script: str, folder: Path) -> None:
    """Run a script in the folder of the logs, as a workload or logrotate does."""
    subprocess.run(["sh", "-euc", script], cwd=folder, check=True, timeout=30)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def test_a_life_of_log_files(sshd: Sshd, plan: FollowPlan, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    shell("seq 1 1000 > a.log", tmp_path)
    first = log.read_bytes()
    async with linked(sshd, plan) as (_, sink):
        await until(lambda: sink.text(log) == first, "the first life")

        shell("mv a.log a.log.1; echo last words >> a.log.1", tmp_path)
        await until(lambda: sink.text(log) == first + b"last words\n", "the words after mv")
        shell("echo second > a.log", tmp_path)
        await until(lambda: sink.text(log, 2) == b"second\n", "the life after mv")

        shell(": > a.log", tmp_path)
        await until(lambda: sink.positions[str(log)].generation == 3, "the truncation")
        shell("echo third >> a.log", tmp_path)
        await until(lambda: sink.text(log, 3) == b"third\n", "the life after truncation")

        shell("rm a.log", tmp_path)
        await until(lambda: sink.positions[str(log)].file_identity == "", "the removal")
        shell("echo fourth > a.log", tmp_path)
        await until(lambda: sink.text(log, 4) == b"fourth\n", "the life after removal")

        sshd.stop()
        await until(lambda: sink.seen(SshState.LOST), "the loss")
        shell("echo unseen >> a.log; mv a.log a.log.2; echo fifth > a.log", tmp_path)
        sshd.start()
        await until(lambda: sink.text(log, 5) == b"fifth\n", "the life begun meanwhile")
        assert sink.text(log, 4) == b"fourth\nunseen\n"
        assert sink.text(log, 1) == first + b"last words\n"

        shell("dd if=/dev/zero of=sparse.log bs=1 count=1 seek=3000000 status=none", tmp_path)
        shell("head -c 900000 /dev/urandom > binary.log", tmp_path)
        shell("head -c 1048576 /dev/zero | tr '\\0' x > line.log; echo >> line.log", tmp_path)
        made = [tmp_path / name for name in ("sparse.log", "binary.log", "line.log")]
        contents = [path.read_bytes() for path in made]
        await until(lambda: [sink.text(path) for path in made] == contents, "odd files")
    assert names(tmp_path) == {
        "a.log", "a.log.1", "a.log.2", "sparse.log", "binary.log", "line.log", "sshd",
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
async def test_a_host_with_few_tools(tmp_path: Path, kind: str) -> None:
    """No `stat` there, no `nvidia-smi`: logs are whole, and what cannot be known is a fact."""
    folder = tmp_path / "logs"
    folder.mkdir()
    log = folder / "a.log"
    plan = FollowPlan(streams=(("bench", f"{folder}/*.log"),), probe_paths=(str(log),))
    home = tmp_path / "sshd" / "session_home"
    few = f"SetEnv PATH={bare_tools(tmp_path, kind)} HOME={home}"
    with serving(tmp_path / "sshd", options=(few,)) as sshd:
        async with linked(sshd, plan) as (link, sink):
            log.write_bytes(b"first\n")
            await until(lambda: sink.text(log) == b"first\n", "the first life")
            shell("mv a.log a.log.1; echo last words >> a.log.1; echo second > a.log", folder)
            await until(lambda: sink.text(log, 2) == b"second\n", "the life after mv")
            assert sink.text(log) == b"first\nlast words\n"

            shell("echo SECOND > a.log", folder)
            await until(lambda: sink.text(log, 3) == b"SECOND\n", "other bytes, as many")

            sshd.stop()
            await until(lambda: sink.seen(SshState.LOST), "the loss")
            shell("echo unseen >> a.log; mv a.log a.log.2; echo fourth > a.log", folder)
            sshd.start()
            await until(lambda: sink.text(log, 4) == b"fourth\n", "the life begun meanwhile")
            assert sink.text(log, 3) == b"SECOND\nunseen\n"
            assert not sink.losses

            position = sink.positions[str(log)]
            assert link._connection is not None
            older = await read_older(link._connection, str(log), position.file_identity, 1, 4, 30.0)
            assert older == b"ourt"
            with pytest.raises(OlderBytesError, match="another file"):
                await read_older(link._connection, str(log), "1:2:0", 1, 4, 30.0)

            seen = len(sink.probes)
            await until(lambda: len(sink.probes) > seen + 1, "another look")
            look = parse_probe(sink.probes[-1], time.time())
            assert look.files is not None
            (state,) = look.files
            assert state.size == len(b"fourth\n")
            assert state.modified_at is not None
            assert 0 <= log.stat().st_mtime - state.modified_at < 60
            assert "not found" in look.errors["nvidia-smi"]
            assert look.processes
    assert names(folder) == {"a.log", "a.log.1", "a.log.2"}


async def close(link: HostLink, sshd: Sshd) -> None:
    """End the connection as a link does that is stopped."""
    del sshd
    assert link._connection is not None
    link._connection.close()


async def reset(link: HostLink, sshd: Sshd) -> None:
    """Drop the TCP connection without any word of SSH."""
    del sshd
    assert link._connection is not None
    link._connection.abort()


async def end_server(link: HostLink, sshd: Sshd) -> None:
    """Kill the server and its session processes, not what they run."""
    del link
    sshd.stop()


@pytest.mark.parametrize("way", [close, reset, end_server])
async def test_nothing_of_ours_runs_on_after_a_disconnect(
    sshd: Sshd,
    plan: FollowPlan,
    tmp_path: Path,
    way: Callable[[HostLink, Sshd], Awaitable[None]],
) -> None:
    (tmp_path / "a.log").write_bytes(b"a line\n")
    # Once lost it does not come back soon: what runs on would be seen.
    settings = quick(sshd, retry_seconds=60.0, retry_limit_seconds=60.0)
    async with linked(sshd, plan, settings=settings) as (link, sink):
        await until(lambda: len(sink.probes) > 1 and bool(sink.data), "log and look")
        ours = sshd.run_on_host()
        assert len(ours) >= 2
        await way(link, sshd)
        await until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in ours), "their end")
        await until(lambda: processes_with(str(tmp_path / "*.log")) == [], "nothing else of ours")
