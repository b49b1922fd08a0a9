"""The demo's processes: simulator and collector under a keeper that outlives nobody.

The command that the operator started owns a temporary folder and one end of a pipe, the
lifeline. The keeper holds the other end; it starts the simulator and the collector with
lifelines of its own, and when the operator's command is gone, however it ended, the keeper ends
both and removes the folder. When the keeper is killed, both children see their lifelines end.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import msgspec

READY_DEADLINE_SECONDS = 30.0
END_DEADLINE_SECONDS = 8.0
WALK_SECONDS = 15.0
"""In the fleet's time, so that a faster demo does not look like an API that stands still."""
KILL_AFTER_SECONDS = 3.0
_SETTINGS = """
[deploy]
max_instances = 1000
max_dollars_per_hour = 10000.0

[deploy.templates.demo]
image = "curiostorage/cuzk-worker:latest"
label = "demo"
max_dollars_per_proof = 0.008

[policy.gpu_idle]
mode = "ask"
"""


class DemoError(Exception):
    """The demo could not start; the text says why."""


class DemoSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Size of the pretend fleet, seed of everything in it, and how fast its time runs."""

    hosts: int = 24
    seed: int = 7
    speed: float = 20.0


def environment_file(folder: Path) -> Path:
    """Where the simulator writes how to reach it."""
    return folder / "simulator.env"


def config_file(folder: Path) -> Path:
    """Where the demo's own settings are; the operator's do not count there."""
    return folder / "demo.toml"


def read_environment_file(path: Path) -> dict[str, str]:
    """Read `NAME=value` lines."""
    lines = path.read_text("utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


@contextlib.asynccontextmanager
async def demo_fleet(settings: DemoSettings) -> AsyncIterator[tuple[Path, Mapping[str, str]]]:
    """Run the pretend fleet and its collector; yields the state folder and the environment.

    Raises:
        DemoError: it did not serve within the deadline, or the keeper ended.
    """
    folder = Path(tempfile.mkdtemp(prefix="fleetui-demo-"))
    lifeline_read, lifeline_write = os.pipe()
    keeper = None
    try:
        keeper = _start(
            [
                "demo-keeper", "--folder", str(folder), "--lifeline", str(lifeline_read),
                "--hosts", str(settings.hosts), "--seed", str(settings.seed),
                "--speed", repr(settings.speed),
            ],
            lifeline=lifeline_read,
            log=folder / "keeper.log",
        )  # fmt: skip
        os.close(lifeline_read)
        lifeline_read = -1
        environment = await _until_ready(folder, keeper)
        yield folder, environment
    finally:
        os.close(lifeline_write)
        if lifeline_read >= 0:
            os.close(lifeline_read)
        if keeper is not None:
            await asyncio.to_thread(_end, keeper, END_DEADLINE_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def keep(folder: Path, lifeline: int, settings: DemoSettings) -> int:
    """Run the keeper until the lifeline ends; returns the exit status.

    The keeper has no terminal: it ignores the keyboard's signals and ends by the lifeline,
    by SIGTERM, or when a child ends by itself.
    """
    os.set_blocking(lifeline, False)
    asked_to_end: list[int] = []
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _frame: asked_to_end.append(number))
    children: list[subprocess.Popen[bytes]] = []
    child_read, child_write = os.pipe()
    try:
        arguments = ["--hosts", str(settings.hosts), "--seed", str(settings.seed)]
        arguments += ["--speed", repr(settings.speed), "--lifeline", str(child_read)]
        env_file = environment_file(folder)
        children.append(
            _start(
                ["simulate", *arguments, "--env-file", str(env_file)],
                lifeline=child_read,
                log=folder / "simulator.log",
            )
        )
        while not env_file.exists():
            if _ended(lifeline, asked_to_end, children):
                return 1
        interval = max(1.0, WALK_SECONDS / settings.speed)
        environment = os.environ | read_environment_file(env_file)
        environment["FLEETUI_WALK_INTERVAL"] = repr(interval)
        config_file(folder).write_text(_SETTINGS, "utf-8")
        environment["FLEETUI_CONFIG"] = str(config_file(folder))
        children.append(
            _start(
                ["collect", "--state-dir", str(folder), "--lifeline", str(child_read)],
                lifeline=child_read,
                log=folder / "collector.log",
                environment=environment,
            )
        )
        while not _ended(lifeline, asked_to_end, children):
            pass
        return 0
    finally:
        os.close(child_write)
        os.close(child_read)
        for child in reversed(children):
            _end(child, KILL_AFTER_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def _ended(lifeline: int, asked: list[int], children: list[subprocess.Popen[bytes]]) -> bool:
    """Wait a moment; tell whether there is a reason to end."""
    try:
        if os.read(lifeline, 1) == b"":
            return True
    except BlockingIOError:
        time.sleep(0.1)
    return bool(asked) or any(child.poll() is not None for child in children)


def _start(
    arguments: list[str],
    *,
    lifeline: int,
    log: Path,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own program with our own arguments
            [sys.executable, "-m", "fleetui", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(lifeline,),
            start_new_session=True,
            env=dict(environment) if environment is not None else None,
        )


def _end(child: subprocess.Popen[bytes], patience: float) -> None:
    """Wait for a child that was told to end; then ask, then kill."""
    for act in (None, child.terminate, child.kill):
        if act is not None:
            act()
        try:
            child.wait(patience)
        except subprocess.TimeoutExpired:
            continue
        return


async def _until_ready(folder: Path, keeper: subprocess.Popen[bytes]) -> dict[str, str]:
    deadline = time.monotonic() + READY_DEADLINE_SECONDS
    path, store = environment_file(folder), folder / "fleet.db"
    while not (path.exists() and store.exists()):
        if keeper.poll() is not None or time.monotonic() > deadline:
            raise DemoError(f"the demo's fleet did not start:\n{_last_words(folder)}")
        await asyncio.sleep(0.05)
    return read_environment_file(path)


def _last_words(folder: Path) -> str:
    words = []
    for name in ("keeper.log", "simulator.log", "collector.log"):
        with contextlib.suppress(OSError):
            text = (folder / name).read_text("utf-8", "replace").strip()
            words += [f"{name}: {line}" for line in text.splitlines()[-5:]]
    return "\n".join(words) or "(nothing was said)"
