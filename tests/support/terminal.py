"""A real terminal (tmux) and the processes of a demo, for stories that cross processes."""

import shlex
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

DEADLINE_SECONDS = 60.0


def wait_until(condition: Callable[[], bool], what: str, seconds: float = DEADLINE_SECONDS) -> None:
    """Wait for a condition; fail with its name when the deadline passes."""
    pause = threading.Event()
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            pytest.fail(f"not within {seconds} s: {what}")
        pause.wait(0.1)


class Tmux:
    """One tmux server of our own with one window."""

    def __init__(self) -> None:
        self.socket = f"fleetui-test-{uuid.uuid4().hex[:8]}"

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self.socket, "-f", "/dev/null", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
        return done.stdout

    def start(
        self, command: list[str], size: tuple[int, int], folder: Path, **environment: str
    ) -> None:
        assignments = [f"{name}={value}" for name, value in environment.items()]
        line = shlex.join(["env", "-u", "COLUMNS", "-u", "LINES", *assignments, *command])
        width, height = (str(number) for number in size)
        self.run(
            "new-session", "-d", "-x", width, "-y", height, "-c", str(folder),
            f"{line}; echo exit-status=$?; exec cat",
        )  # fmt: skip

    def keys(self, *names: str) -> None:
        self.run("send-keys", *names)

    def screen(self) -> str:
        return self.run("capture-pane", "-p")

    def wait_for(self, text: str, seconds: float = DEADLINE_SECONDS) -> str:
        try:
            wait_until(lambda: text in self.screen(), f"{text!r} on the screen", seconds)
        except pytest.fail.Exception:
            pytest.fail(f"{text!r} did not come; the screen shows:\n{self.screen()}")
        return self.screen()

    def end(self) -> None:
        self.run("kill-server")


FLEETUI = [sys.executable, "-m", "fleetui"]


def descendants(pid: int) -> set[int]:
    """Return the pids below `pid`, from /proc."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rsplit(")", 1)[1].split()[1])
    found: set[int] = set()
    grown = {pid}
    while grown:
        grown = {child for child, parent in parents.items() if parent in grown} - found
        found |= grown
    return found


def alive(pid: int) -> bool:
    """Tell whether a process runs (a zombie does not)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"
