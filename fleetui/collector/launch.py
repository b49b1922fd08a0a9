"""Starting a collector: in this process, or detached when nobody holds the lease."""

import asyncio
import contextlib
import fcntl
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from fleetui.config import Settings
from fleetui.domain.clock import parse_clock
from fleetui.store.interface import StoreError
from fleetui.store.sqlite import SqliteStore
from fleetui.vast.keys import find_keys

log = logging.getLogger(__name__)

READY_DEADLINE_SECONDS = 20.0
LOOK_SECONDS = 0.1
LAST_WORDS = 5


class CollectorLaunchError(Exception):
    """No collector runs and none could be started; the text says why and what to do."""


def ensure_collector(settings: Settings) -> None:
    """Start a detached collector unless one holds the lease; returns once one does.

    Raises:
        CollectorLaunchError: there is no API key, or it ended or did not take the lease within
            the deadline.
    """
    try:
        settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CollectorLaunchError(f"{settings.state_dir}: {error.strerror}") from error
    if _lease_is_held(settings):
        return
    keys = find_keys(os.environ, Path.home())
    if keys.read_key is None:
        raise CollectorLaunchError(keys.explain())
    with _launch_lock(settings.state_dir):
        # Whoever held the lock before may have started one.
        if not _lease_is_held(settings):
            _launch(settings)


def run_collector(settings: Settings, *, auto: bool, lifeline_fd: int | None) -> int:
    """Run the collector in this process until a signal ends it; returns the exit status."""
    # A console imports this module too, and must not wait for the SSH and HTTP libraries.
    from fleetui.collector import service  # noqa: PLC0415 - see above

    return service.run(settings, auto=auto, lifeline_fd=lifeline_fd)


def _lease_is_held(settings: Settings) -> bool:
    if not settings.store_path.exists():
        return False
    return asyncio.run(_ask_lease(settings))


async def _ask_lease(settings: Settings) -> bool:
    clock = parse_clock(settings.clock)
    try:
        store = await SqliteStore.open(settings.store_path, clock=clock, viewer=True)
        async with contextlib.aclosing(store):
            return (await store.fleet()).lease_held
    except StoreError as error:
        # A collector may repair or migrate what a viewer cannot read.
        log.info("the store does not tell who holds the lease: %s", error)
        return False


def _launch(settings: Settings) -> None:
    with _log_file(settings.collector_log_path) as output:
        begin = output.tell()
        child = subprocess.Popen(  # noqa: S603 - this program itself
            [
                sys.executable, "-m", "fleetui", "collect", "--auto",
                "--state-dir", str(settings.state_dir), "--api-url", settings.api_url,
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )  # fmt: skip
    deadline = time.monotonic() + READY_DEADLINE_SECONDS
    while time.monotonic() < deadline:
        if child.poll() is not None:
            said = _last_words(settings.collector_log_path, begin)
            raise CollectorLaunchError(f"the collector ended at once:\n{said}")
        if _lease_is_held(settings):
            return
        time.sleep(LOOK_SECONDS)
    child.terminate()
    said = _last_words(settings.collector_log_path, begin)
    raise CollectorLaunchError(
        f"the collector did not start within {READY_DEADLINE_SECONDS:.0f} s:\n{said}"
    )


def _log_file(path: Path) -> IO[bytes]:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError as error:
        raise CollectorLaunchError(f"{path}: {error.strerror}") from error
    output = os.fdopen(descriptor, "ab", buffering=0)
    output.seek(0, os.SEEK_END)
    return output


@contextlib.contextmanager
def _launch_lock(folder: Path) -> Iterator[None]:
    """Let one console at a time start a collector."""
    descriptor = os.open(folder / "launch.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _last_words(path: Path, begin: int) -> str:
    try:
        with path.open("rb") as written:
            written.seek(begin)
            lines = written.read().decode("utf-8", "replace").strip().splitlines()
    except OSError as error:
        return f"{path}: {error.strerror}"
    return "\n".join(lines[-LAST_WORDS:]) or "(it said nothing)"
