"""A real OpenSSH server on a loopback port, with its own configuration and keys."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
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
    """One server; `start` and `stop` as often as wanted, on the same port."""

    def __init__(self, folder: Path, *, options: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.port = free_port()
        self.host_key = make_key(folder / "host_key")
        self.client_key = make_key(folder / "client_key")
        self.authorized = folder / "authorized_keys"
        self.authorized.write_text((folder / "client_key.pub").read_text())
        self.options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> SshAddress:
        """Where it listens."""
        return SshAddress("127.0.0.1", self.port, Route.DIRECT)

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
            "ListenAddress 127.0.0.1",
            f"HostKey {self.host_key}",
            f"PidFile {self.folder / 'sshd.pid'}",
            f"AuthorizedKeysFile {self.authorized}",
            "UsePAM no",
            "StrictModes no",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "MaxStartups 500:30:1000",
            "LogLevel ERROR",
        ]
        config.write_text("\n".join(lines) + "\n")
        log = (self.folder / "sshd.log").open("ab")
        self._process = subprocess.Popen(
            ["/usr/sbin/sshd", "-D", "-e", "-f", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        log.close()
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
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
        for pid in (*_children(self._process.pid), self._process.pid):
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                continue
        self._process.wait(timeout=30)
        self._process = None

    def new_host_key(self) -> None:
        """Give it another host key, for its next start."""
        self.host_key = make_key(self.folder / f"host_key_{time.monotonic_ns()}")


@contextmanager
def serving(folder: Path, *, options: tuple[str, ...] = ()) -> Iterator[Sshd]:
    """Run a server in `folder` while the context lasts."""
    server = Sshd(folder, options=options)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _children(pid: int) -> list[int]:
    """Return the sshd processes below `pid` (the sessions), not what they run."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found += [*_children(int(entry.name)), int(entry.name)] if _is_sshd(entry) else []
    return found


def _is_sshd(entry: Path) -> bool:
    try:
        return (entry / "comm").read_text().strip().startswith("sshd")
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
