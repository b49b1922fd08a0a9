"""A real process that behaves as cuzk-daemon does at its worst, and scripts that know only it.

After SIGINT it lives on, holding its port (facts: cuzk.md section 1.2). With `LINGER` its port
stays taken for so many seconds after its death, as when a large memory is given back first
(section 1.6). With `STUBBORN` it does not heed SIGTERM either.
"""

import os
import signal
import socket
import subprocess
import sys
import uuid
from pathlib import Path

from fleetui.profiles.loader import load
from openssh import free_port
from terminal import wait_until

_PROGRAM = """#!{python} -S
import os, signal, socket, sys, time

def call_self(name):
    with open("/proc/self/comm", "w") as comm:
        comm.write(name)

def interrupted(*_):
    print("received SIGINT, shutting down", flush=True)

# As a script it would be called by its interpreter's name when that is started with its path.
call_self("{name}")
signal.signal(signal.SIGINT, interrupted)
if os.environ.get("STUBBORN"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("cuzk-daemon starting", flush=True)
try:
    door = socket.create_server(("127.0.0.1", {port}))
except OSError as error:
    print("Error: gRPC server error")
    print("    Address already in use (os error 98)", flush=True)
    sys.exit(1)
parent = os.getpid()
linger = float(os.environ.get("LINGER", 0))
if linger and os.fork() == 0:
    call_self("memory")
    while os.getppid() == parent:
        time.sleep(0.02)
    time.sleep(linger)
    os._exit(0)
print("cuzk-daemon ready, serving on {port}", flush=True)
while True:
    signal.pause()
"""
_BENCHMARK = """#!/bin/sh
echo "=== cuzk PoRep C2 benchmark ==="
exec 2>&1
{daemon} &
while true; do sleep 0.1; done
"""


class StubbornDaemon:
    """One daemon of its own name and port in a folder, and the profile's scripts made for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.name = f"dmn-{uuid.uuid4().hex[:8]}"
        self.port = free_port()
        self.program = folder / self.name
        self.log = folder / "own.log"
        self.program.write_text(
            _PROGRAM.format(python=sys.executable, name=self.name, port=self.port)
        )
        self.program.chmod(0o755)
        self.benchmark = folder / f"bench-{self.name}"
        self.benchmark.write_text(_BENCHMARK.format(daemon=self.program))
        self.benchmark.chmod(0o755)
        self._children: list[subprocess.Popen[bytes]] = []

    def script(self, action: str, **changes: str) -> str:
        """Return a script of the profile that knows only this daemon, with texts replaced."""
        text = load("cuzk").actions[action].script
        for old, new in {
            "cuzk-daemon": self.name,
            "benchmark.sh": self.benchmark.name,
            "cuzk-bench": f"client-{self.name}",
            "entrypoint.sh": f"entry-{self.name}",
            "/usr/local/bin/": f"{self.folder}/",
            "/tmp/": f"{self.folder}/",
            ":9820 ": f":{self.port} ",
            ":9821 ": f":{self.port} ",
            ":265C ": f":{self.port:04X} ",
            ":265D ": f":{self.port:04X} ",
            "sleep 3\n": "sleep 1\n",
            **changes,
        }.items():
            text = text.replace(old, new)
        return text

    def start(self, program: Path | None = None, **environment: str) -> int:
        """Start it (or `program`) and wait until its port is taken; returns its pid."""
        with self.log.open("ab") as log:
            child = subprocess.Popen(
                [program or self.program],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={"PATH": os.environ["PATH"], "OF_THE_DAEMON": "two words", **environment},
            )
        self._children.append(child)
        wait_until(self.serves, "the daemon serves")
        return child.pid

    def serves(self) -> bool:
        """Tell whether its port is taken."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def start_too_early(self) -> str:
        """Start another one while the port is taken; returns what it says before it ends."""
        second = subprocess.run([self.program], capture_output=True, timeout=30, check=False)
        assert second.returncode == 1
        return second.stdout.decode()

    def environment(self, pid: int) -> list[bytes]:
        """Return the environment of a process."""
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")

    def interrupt(self, pid: int) -> None:
        """Send SIGINT and wait until the daemon says that it got it."""
        os.kill(pid, signal.SIGINT)
        wait_until(lambda: "received SIGINT" in self.log.read_text(), "SIGINT is noted")

    def ended(self, pid: int) -> int:
        """Return how a child that was started here ended."""
        return next(child for child in self._children if child.pid == pid).wait(30)

    def pids(self) -> list[int]:
        """Return all processes of the daemon's name, and of its benchmark's."""
        names = (path.name for path in Path("/proc").iterdir())
        return [int(name) for name in names if name.isdigit() and self._is(int(name))]

    def _is(self, pid: int) -> bool:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return state != "Z" and any(word.endswith(self.name.encode()) for word in words[:3])

    def end(self) -> None:
        """End all that is left."""
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)
        for child in self._children:
            child.wait(30)
        wait_until(lambda: not self.pids(), "all of the daemon's processes are gone")
