"""The restart script on this machine, with a real process.

The process name, the ports and the folder in the script are replaced by ones of the test, so that
a real daemon on the machine is never touched.
"""

import os
import shutil
import signal
import socket
import subprocess
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from bare_tools import KINDS, bare_tools
from fleetui.collector.script_words import words_of
from fleetui.profiles.loader import load
from terminal import alive, wait_until

SCRIPT = load("cuzk").actions["restart_daemon"].script


class Bench:
    """One daemon of the test's own, and the script that knows only it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = f"dmn-{uuid.uuid4().hex[:7]}"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.script = (
            SCRIPT.replace("cuzk-daemon", self.name)
            .replace(":9820 ", f":{self.port} ")
            .replace(":9821 ", f":{self.port} ")
            .replace("/tmp/", f"{folder}/")
        )
        self.started: list[int] = []

    def start(self) -> subprocess.Popen[bytes]:
        program = self.folder / self.name
        sleep = shutil.which("sleep")
        assert sleep is not None
        shutil.copy(sleep, program)
        with (self.folder / "own.log").open("wb") as log:
            process = subprocess.Popen(
                [program, "987654"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={"PATH": os.environ["PATH"], "OF_THE_DAEMON": "two words"},
            )
        wait_until(lambda: comm(process.pid) == self.name, "the daemon runs")
        return process

    def run_script(self, path: str = os.environ["PATH"]) -> tuple[int, dict[str, str]]:
        done = subprocess.run(
            ["/bin/sh", "-c", self.script],
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
            env=os.environ | {"PATH": path},
        )
        words = words_of(done.stdout)
        if "new_pid" in words:
            self.started.append(int(words["new_pid"]))
        return done.returncode, words

    def end(self) -> None:
        self.listener.close()
        for pid in self.started:
            if comm(pid) == self.name:
                kill(pid)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not alive(pid), "the restarted daemon is gone")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.end()


def comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def test_restarts_with_arguments_environment_folder_and_log(bench: Bench) -> None:
    daemon = bench.start()
    # A dying daemon keeps its port for a while: the script must wait for it.
    threading.Timer(2.0, bench.listener.close).start()
    try:
        status, words = bench.run_script()
        assert (status, words["result"]) == (0, "ok"), words
        assert words["old_pid"] == str(daemon.pid)
        assert words["log"] == str(bench.folder / "own.log")
        assert words["signal"] == "TERM"
        assert int(words["port_wait_seconds"]) >= 1
        assert daemon.wait(10) == -signal.SIGTERM
        new = int(words["new_pid"])
        assert new != daemon.pid
        assert Path(f"/proc/{new}/cmdline").read_bytes().split(b"\0")[1] == b"987654"
        environment = Path(f"/proc/{new}/environ").read_bytes().split(b"\0")
        assert b"OF_THE_DAEMON=two words" in environment
        assert Path(f"/proc/{new}/cwd").readlink() == bench.folder
        assert Path(f"/proc/{new}/fd/1").readlink() == bench.folder / "own.log"
    finally:
        daemon.kill()
        daemon.wait()


def test_says_why_when_there_is_nothing_to_restart(bench: Bench) -> None:
    status, words = bench.run_script()
    assert status == 3
    assert words["result"] == "failed"
    assert f"no {bench.name} runs" in words["reason"]


def test_says_why_when_the_new_daemon_does_not_stay(bench: Bench) -> None:
    bench.listener.close()
    (bench.folder / "cuzk-bench-config.toml").touch()
    (bench.folder / "cuzk.log").write_text("Error: gRPC server error\n")
    status, words = bench.run_script()
    assert status == 6
    assert words["log"] == str(bench.folder / "cuzk.log")
    assert bench.name in words["last_line"]
    assert words["result"] == "failed"


@pytest.mark.parametrize("kind", KINDS)
def test_a_host_that_could_not_start_it_again_keeps_its_daemon(bench: Bench, kind: str) -> None:
    daemon = bench.start()
    try:
        status, words = bench.run_script(str(bare_tools(bench.folder, kind)))
        assert (status, words["result"]) == (3, "failed")
        assert "this host" in words["reason"]
        assert daemon.poll() is None
    finally:
        daemon.kill()
        daemon.wait(30)
