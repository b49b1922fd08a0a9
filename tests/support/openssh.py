"""A real OpenSSH server with its own configuration and keys, and a real SSH agent."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fleetui.domain.instance import Route, SshAddress

START_SECONDS = 30.0


def make_key(path: Path, passphrase: str = "") -> Path:
    """Make an ed25519 key pair at `path`."""
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "test", "-f", str(path)],
        check=True,
        timeout=30,
    )
    return path


def free_port() -> int:
    """Return a loopback port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Sshd:
    """One server; `start` and `stop` as often as wanted, on the same port.

    Its sessions have an empty home. `launcher` is put before its command, to run it in a network
    of its own.
    """

    def __init__(
        self,
        folder: Path,
        *,
        options: tuple[str, ...] = (),
        listen: str = "127.0.0.1",
        launcher: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.listen = listen
        self.launcher = launcher
        self.port = free_port()
        self.host_key = make_key(folder / "host_key")
        self.client_key = make_key(folder / "client_key")
        self.authorized = folder / "authorized_keys"
        self.authorized.write_text((folder / "client_key.pub").read_text())
        self.options = options
        self.home = folder / "session_home"
        self.home.mkdir(exist_ok=True)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> SshAddress:
        """Where it listens."""
        return SshAddress(self.listen, self.port, Route.DIRECT)

    @property
    def pid(self) -> int:
        """The pid of the running server."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it accepts connections."""
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        config = self.folder / "sshd_config"
        # The first value of a keyword counts, so the test's own come first.
        lines = [
            *self.options,
            f"Port {self.port}",
            f"ListenAddress {self.listen}",
            f"HostKey {self.host_key}",
            f"PidFile {self.folder / 'sshd.pid'}",
            f"AuthorizedKeysFile {self.authorized}",
            "UsePAM no",
            "StrictModes no",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "LogLevel ERROR",
            # A shell run by sshd reads the account's rc files, which may take half a second.
            f"SetEnv HOME={self.home}",
        ]
        # Of this keyword the last value counts.
        if not any(option.startswith("MaxStartups") for option in self.options):
            lines.append("MaxStartups 500:30:1000")
        config.write_text("\n".join(lines) + "\n")
        log = (self.folder / "sshd.log").open("ab")
        self._process = subprocess.Popen(
            [*self.launcher, "/usr/sbin/sshd", "-D", "-e", "-f", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        log.close()
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection((self.listen, self.port), timeout=1).close()
            except OSError:
                words = (self.folder / "sshd.log").read_text()
                assert self._process.poll() is None, words
                assert time.monotonic() < end, f"sshd does not listen: {words}"
                os.sched_yield()
            else:
                return

    def stop(self) -> None:
        """End the listener and every connection it serves."""
        if self._process is None:
            return
        for pid in (*filter(_is_sshd, _below(self._process.pid)), self._process.pid):
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                continue
        self._process.wait(timeout=30)
        self._process = None

    def run_on_host(self) -> list[int]:
        """Return the pids of all that its sessions run: shells and what they started."""
        return [pid for pid in _below(self.pid) if not _is_sshd(pid)]

    def own_processes(self) -> list[int]:
        """Return the pids of the server and of what serves its connections."""
        return [self.pid, *filter(_is_sshd, _below(self.pid))]

    def sessions(self) -> int:
        """Return how many connections it serves."""
        return sum(_is_sshd(pid) for pid in _below(self.pid, 1))

    def log_text(self) -> str:
        """Return what the server wrote so far."""
        return (self.folder / "sshd.log").read_text()

    def new_host_key(self) -> None:
        """Give it another host key, for its next start."""
        self.host_key = make_key(self.folder / f"host_key_{time.monotonic_ns()}")


@contextmanager
def serving(
    folder: Path,
    *,
    options: tuple[str, ...] = (),
    listen: str = "127.0.0.1",
    launcher: Sequence[str] = (),
) -> Iterator[Sshd]:
    """Run a server in `folder` while the context lasts."""
    folder.mkdir(exist_ok=True)
    server = Sshd(folder, options=options, listen=listen, launcher=launcher)
    server.start()
    try:
        yield server
    finally:
        server.stop()


class Agent:
    """A running SSH agent and its socket."""

    def __init__(self, where: Path) -> None:
        self.where = where
        self._process = subprocess.Popen(
            ["ssh-agent", "-D", "-a", str(where)], stdout=subprocess.DEVNULL
        )
        end = time.monotonic() + START_SECONDS
        while not where.exists():
            assert time.monotonic() < end, "the agent does not start"
            os.sched_yield()

    def add(self, key: Path, passphrase: str = "") -> None:
        """Add a key as an operator does, who types its passphrase."""
        answer = self.where.with_suffix(".askpass")
        answer.write_text(f"#!/bin/sh\necho '{passphrase}'\n")
        answer.chmod(0o700)
        environment = os.environ | {
            "SSH_AUTH_SOCK": str(self.where),
            "SSH_ASKPASS": str(answer),
            "SSH_ASKPASS_REQUIRE": "force",
        }
        subprocess.run(["ssh-add", "-q", str(key)], env=environment, check=True, timeout=30)

    def end(self) -> None:
        """End it; its socket is gone afterwards."""
        self._process.terminate()
        self._process.wait(timeout=30)
        self.where.unlink(missing_ok=True)


@contextmanager
def agent_at(where: Path) -> Iterator[Agent]:
    """Run an agent while the context lasts."""
    agent = Agent(where)
    try:
        yield agent
    finally:
        agent.end()


def _below(pid: int, depth: int = 99) -> list[int]:
    """Return the processes below `pid`, down to `depth`, the deepest first."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))

    def collect(parent: int, left: int) -> list[int]:
        if not left:
            return []
        return [
            pid for child in parents.get(parent, ()) for pid in (*collect(child, left - 1), child)
        ]

    return collect(pid, depth)


def _is_sshd(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip().startswith("sshd")
    except OSError:
        return False


def processes_with(marker: str) -> list[int]:
    """Return the pids whose command line holds `marker`, but not this process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if marker.encode() in words:
                found.append(int(entry.name))
    return found
