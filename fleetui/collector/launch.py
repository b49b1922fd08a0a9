"""Starting a collector: in this process, or detached when nobody holds the lease."""

import asyncio
import contextlib
import fcntl
import logging
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from fleetui.config import Settings
from fleetui.domain.clock import parse_clock
from fleetui.store.interface import StoreError
from fleetui.store.sqlite import SqliteStore
from fleetui.vast.keys import find_keys

log = logging.getLogger(__name__)

READY_DEADLINE_SECONDS = 45.0
"""The end of one that cannot start shows at once; one that lives may have a store to mend."""
LOOK_SECONDS = 0.1
LAST_WORDS = 5
_DETACH = 'log=$1; shift; "$@" >>"$log" 2>&1 </dev/null & echo $!'


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
    path = settings.collector_log_path
    begin = _prepare_log(path)
    command = [
        sys.executable, "-m", "fleetui", "collect", "--auto",
        "--state-dir", str(settings.state_dir), "--api-url", settings.api_url,
    ]  # fmt: skip
    # The collector holds the other end of this pipe as long as it lives.
    sign_of_life, held = os.pipe()
    try:
        # A shell in between makes it nobody's child: it outlives the console, and init reaps it.
        shell = subprocess.run(  # noqa: S603 - this program itself
            ["/bin/sh", "-c", _DETACH, "sh", str(path), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            pass_fds=(held,),
            start_new_session=True,
            timeout=READY_DEADLINE_SECONDS,
            check=True,
        )
        os.close(held)
        held = -1
        deadline = time.monotonic() + READY_DEADLINE_SECONDS
        while time.monotonic() < deadline:
            if select.select([sign_of_life], [], [], LOOK_SECONDS)[0]:
                raise CollectorLaunchError(_last_words(path, begin))
            if _lease_is_held(settings):
                return
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(shell.stdout), signal.SIGTERM)
    except (OSError, subprocess.SubprocessError) as error:
        raise CollectorLaunchError(f"the collector cannot be started: {error}") from error
    finally:
        os.close(sign_of_life)
        if held >= 0:
            os.close(held)
    raise CollectorLaunchError(
        f"the collector did not start within {READY_DEADLINE_SECONDS:.0f} s:"
        f" {_last_words(path, begin)}"
    )


def _prepare_log(path: Path) -> int:
    """Make the log private and return its size."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CollectorLaunchError(f"{path}: {error.strerror}") from error
    try:
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _launch_lock(folder: Path) -> Iterator[None]:
    """Let one console at a time start a collector."""
    try:
        descriptor = os.open(folder / "launch.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CollectorLaunchError(
            f"{folder}: {error.strerror}; the collector needs a folder it can write to, name one"
            " with --state-dir"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _last_words(path: Path, begin: int) -> str:
    """Return what a collector that ended said last, for the operator."""
    try:
        with path.open("rb") as written:
            written.seek(begin)
            lines = written.read().decode("utf-8", "replace").strip().splitlines()
    except OSError as error:
        return f"{path}: {error.strerror}"
    said = "\n".join(line.removeprefix("fleetui: ") for line in lines[-LAST_WORDS:])
    return said or f"the collector ended and said nothing; see {path}"
