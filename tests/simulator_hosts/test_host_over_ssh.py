"""Real SSH clients against the pretend hosts."""

import asyncio
import contextlib
import shlex
from collections.abc import AsyncIterator
from importlib import resources
from pathlib import Path
from types import SimpleNamespace

import asyncssh
import pytest

from fleetui.profiles.loader import load
from fleetui.simulator.hosts.host import Host
from fleetui.simulator.hosts.ssh_server import SshServer
from pretend_host import BORN, HandClock

LIMIT = 30
DAEMON = "/tmp/cuzk.log"


class Stage(SimpleNamespace):
    """A served host: `host`, `clock`, `server`, `port`, `key`, `key_path`."""

    host: Host
    clock: HandClock
    server: SshServer
    port: int
    key: asyncssh.SSHKey
    key_path: Path

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[asyncssh.SSHClientConnection]:
        """Give a connection of the Python client."""
        async with asyncssh.connect(
            "127.0.0.1",
            self.port,
            username="root",
            client_keys=[self.key],
            known_hosts=None,
            config=None,
            agent_path=None,
            connect_timeout=LIMIT,
        ) as connection:
            yield connection

    async def openssh(self, *words: str, stdin: bytes = b"") -> tuple[int | None, bytes, bytes]:
        """Run the OpenSSH client."""
        process = await asyncio.create_subprocess_exec(
            *("ssh", "-F", "none", "-p", str(self.port), "-i", str(self.key_path)),
            *("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"),
            *("-o", "LogLevel=ERROR", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes"),
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, error = await asyncio.wait_for(process.communicate(stdin), LIMIT)
        return process.returncode, out, error


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """Serve one proving host."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    key_path = tmp_path / "key"
    key.write_private_key(key_path)
    key_path.chmod(0o600)
    server = SshServer(key.export_public_key().decode())
    clock = HandClock(BORN + 600)
    host = Host(41_000_001, "running_budget", 5, clock, BORN)
    port = await server.open(host)
    yield Stage(host=host, clock=clock, server=server, port=port, key=key, key_path=key_path)
    await server.aclose()


def script(path: str, *args: str) -> str:
    """Return one of the product's scripts with its parameters set."""
    text = resources.files("fleetui").joinpath(path).read_text("utf-8")
    return "set -- " + " ".join(map(shlex.quote, args)) + "\n" + text


async def read_until(reader: asyncssh.SSHReader[bytes], wanted: bytes) -> bytes:
    """Read until `wanted` has come."""
    got = b""
    async with asyncio.timeout(LIMIT):
        while wanted not in got:
            chunk = await reader.read(65_536)
            assert chunk, got[-500:]
            got += chunk
    return got


async def test_openssh_runs_commands_with_their_status(stage: Stage) -> None:
    status, out, error = await stage.openssh("root@127.0.0.1", f"cat {DAEMON}; ls /nope; exit 7")
    assert status == 7
    assert out == stage.host.machine.files.read(DAEMON)
    assert error == b"ls: cannot access '/nope': No such file or directory\n"
    status, out, error = await stage.openssh("root@127.0.0.1", "nosuch")
    assert (status, out, error) == (127, b"", b"sh: 1: nosuch: not found\n")


async def test_openssh_gets_a_prompt_on_a_terminal(stage: Stage) -> None:
    status, out, _ = await stage.openssh(
        "-tt", "root@127.0.0.1", stdin=b"cd /tmp\nls cuzk.log\nfoo(\nexit 3\n"
    )
    assert status == 3
    assert b"root@C.41000001:/tmp# " in out
    assert b"\r\ncuzk.log\r\n" in out
    assert b"Syntax error" in out


async def test_only_root_with_the_right_key_gets_in(stage: Stage) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519")
    for user, key in (("root", other), ("ubuntu", stage.key)):
        with pytest.raises(asyncssh.PermissionDenied):
            await asyncssh.connect(
                "127.0.0.1", stage.port, username=user, client_keys=[key],
                known_hosts=None, config=None, agent_path=None,
            )  # fmt: skip
    stage.server.refuse_keys(stage.host.instance_id, on=True)
    status, _, error = await stage.openssh("root@127.0.0.1", "true")
    assert status == 255
    assert b"Permission denied (publickey)" in error


async def test_the_status_port_answers_and_others_refuse(stage: Stage) -> None:
    async with stage.connected() as connection:
        reader, writer = await connection.open_connection("127.0.0.1", 9821, encoding=None)
        writer.write(b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), LIMIT)
        assert b'"total_completed"' in answer
        for port in (22, 80):
            with pytest.raises(asyncssh.ChannelOpenError):
                await connection.open_connection("127.0.0.1", port)
        stage.host.machine.signal(stage.host.machine.find("cuzk-daemon")[0].pid, 15)
        with pytest.raises(asyncssh.ChannelOpenError):
            await connection.open_connection("127.0.0.1", 9821)


async def test_tail_follows_and_ends_with_the_channel(stage: Stage) -> None:
    async with stage.connected() as connection:
        process = await connection.create_process(f"tail -n 1 -F {DAEMON}", encoding=None)
        first = await read_until(process.stdout, b"\n")
        size = stage.host.machine.files.size(DAEMON)
        stage.clock.value += 60
        full = stage.host.machine.files.read(DAEMON)
        got = first + await read_until(process.stdout, full[-40:])
        assert got == full[size - len(first) :]
        process.close()
        shells = [task for task in asyncio.all_tasks() if "simulated-shell" in task.get_name()]
        await asyncio.wait_for(asyncio.gather(*shells, return_exceptions=True), LIMIT)


async def test_the_follower_sends_every_byte_of_growing_and_replaced_files(stage: Stage) -> None:
    files = stage.host.machine.files
    arguments = ("65536", "16", "4194304", "32", "/tmp/cuzk*.log", "")
    async with stage.connected() as connection:
        text = script("ssh/follow.sh", *arguments)
        process = await connection.create_process(text, encoding=None)
        process.stdin.write(b"1000 0.05\n")
        body = files.read(DAEMON)
        got = await read_until(process.stdout, body[-64:])
        assert got.startswith(b"\n@follow 1\n@file ")
        stage.clock.value += 30
        assert files.size(DAEMON) > len(body)
        await read_until(process.stdout, files.read(DAEMON)[-64:])
        files.rename(DAEMON, "/tmp/old.txt")
        files.append(DAEMON, b"a new life\n")
        again = await read_until(process.stdout, b"a new life\n")
        assert b" 11 0 0 11 /tmp/cuzk.log\n" in again
        files.remove(DAEMON)
        await read_until(process.stdout, b"@gone ")
        process.close()


async def test_the_probe_looks_at_everything(stage: Stage) -> None:
    async with stage.connected() as connection:
        text = script("ssh/probe.sh", "/tmp/*.log")
        process = await connection.create_process(text, encoding=None)
        for _ in range(2):
            process.stdin.write(b"look\n")
            got = await read_until(process.stdout, b"@@ done")
            for wanted in (
                b"cuzk-daemon --config /data/zk/cuzk.toml",
                b"oom_kill 0",
                b"utilization.gpu [%]",
                b"overlay",
                b"/tmp/cuzk.log",
                b"127.0.0.1:9820",
                b"Operation not permitted",
            ):
                assert wanted in got
        process.stdin.write_eof()
        await asyncio.wait_for(process.wait_closed(), LIMIT)


async def test_the_restart_script_gives_a_new_daemon(stage: Stage) -> None:
    old = stage.host.machine.find("cuzk-daemon")[0]

    async def move_time() -> None:
        while True:
            await asyncio.sleep(0.05)
            stage.clock.value += 0.5

    mover = asyncio.create_task(move_time())
    try:
        async with stage.connected() as connection:
            text = load("cuzk").actions["restart_daemon"].script
            done = await connection.run(text, timeout=LIMIT)
    finally:
        mover.cancel()
    assert done.exit_status == 0, done.stdout
    assert str(done.stdout).endswith("result=ok\n")
    assert old.status == 143
    new = stage.host.machine.find("cuzk-daemon")[0]
    assert new.pid != old.pid
    assert new.args == old.args
    assert new.environment == old.environment
    assert stage.host.machine.files.read(DAEMON).count(b"cuzk-daemon starting") == 2


async def test_a_host_that_is_cut_refused_or_changed(stage: Stage) -> None:
    instance_id = stage.host.instance_id
    async with stage.connected() as connection:
        first_key = connection.get_server_host_key()
        assert stage.server.connections(instance_id) == 1
        stage.server.cut(instance_id)
        await asyncio.wait_for(connection.wait_closed(), LIMIT)
    await stage.server.refuse(instance_id, on=True)
    with pytest.raises(OSError, match=r"Connect call failed|refused"):
        async with stage.connected():
            pass
    await stage.server.refuse(instance_id, on=False)
    await stage.server.change_host_key(instance_id)
    async with stage.connected() as connection:
        second_key = connection.get_server_host_key()
    assert first_key is not None
    assert second_key is not None
    assert first_key.public_data != second_key.public_data
    assert stage.server.port(instance_id) == stage.port


async def test_a_stopped_host_lets_nobody_in(stage: Stage) -> None:
    stage.host.stop(stage.clock.value)
    with pytest.raises((asyncssh.Error, OSError)):
        async with stage.connected():
            pass
