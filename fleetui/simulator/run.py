"""Serves the whole pretence: API, control port and SSH hosts, until told to end."""

import asyncio
import contextlib
import os
import secrets
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import asyncssh
from aiohttp import web

from fleetui.domain.clock import ScaledClock
from fleetui.simulator.control import Control
from fleetui.simulator.doors import Doors, SshPorts
from fleetui.simulator.faults import Faults, parse_fault
from fleetui.simulator.vast_api import ALL_SCOPES, READ_SCOPES, VastApi
from fleetui.simulator.world import MakeHost, MakeOffered, World

LOOPBACK = "127.0.0.1"
GRACE_SECONDS = 1.0


class ServedSsh(SshPorts, Protocol):
    """An SSH server that can be ended."""

    async def aclose(self) -> None:
        """End everything."""


@dataclass(frozen=True)
class Cast:
    """Who plays: a plan (scenario, age in seconds) for each host, and what makes hosts and SSH.

    `make_ssh` gets the one authorised public key as OpenSSH text.
    """

    plan: Sequence[tuple[str, float]]
    make_host: MakeHost
    make_ssh: Callable[[str], ServedSsh]
    new_scenario: str = ""
    make_offered: MakeOffered | None = None


@dataclass(frozen=True)
class Serving:
    """A running pretence."""

    world: World
    faults: Faults
    api: VastApi
    doors: Doors
    environment: Mapping[str, str]


async def serve(
    hosts: int,
    seed: int,
    speed: float,
    env_file: Path,
    lifeline_fd: int | None = None,
    *,
    faults: Sequence[str] = (),
    api_key: str | None = None,
    cast: Cast | None = None,
) -> int:
    """Serve until SIGTERM, SIGINT, SIGHUP or the lifeline's end; returns the exit status.

    The environment file (mode 0600, written at once and whole when everything serves) and the
    SSH key beside it are removed at the end. `speed` makes the fleet's time run faster; the
    API's rate limits stay in real time. `faults` are on from the start, as `NAME` or
    `NAME=VALUE`.

    Raises:
        ValueError: a number makes no sense, or there is no such fault.
    """
    wrong = [parse_fault(text) for text in faults]
    if hosts < 0 or not 0 < speed <= 10_000:
        raise ValueError("hosts must not be negative, and speed must lie between 0 and 10000")
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    if lifeline_fd is not None:
        loop.add_reader(lifeline_fd, _read_lifeline, lifeline_fd, stop)
    key_file = env_file.with_name(env_file.name + ".key")
    try:
        private = asyncssh.generate_private_key("ssh-ed25519")
        _write(key_file, private.export_private_key().decode())
        public = private.export_public_key().decode()
        clock = _clock(speed)
        cast = cast or pretend_cast(hosts, seed)
        async with serving(cast, seed=seed, clock=clock, public_key=public, key=api_key) as served:
            for name, value in wrong:
                served.faults.switch_on(name, value=value)
            await served.doors.settle()
            lines = dict(served.environment) | {"FLEETUI_SSH_KEY": str(key_file.resolve())}
            _write(env_file, "".join(f"{name}={value}\n" for name, value in lines.items()))
            await stop.wait()
    finally:
        for path in (env_file, key_file):
            _remove(path)
        if lifeline_fd is not None:
            loop.remove_reader(lifeline_fd)
    return 0


@contextlib.asynccontextmanager
async def serving(
    cast: Cast,
    *,
    seed: int,
    clock: ScaledClock,
    public_key: str,
    key: str | None = None,
    pace: float = 1.0,
    real: Callable[[], float] = time.monotonic,
) -> AsyncIterator[Serving]:
    """Serve inside this process; yields once everything answers.

    `pace` scales the API's rate limits (0 for none); `key` is the API key, else a random one.
    """
    key = key or secrets.token_hex(32)
    world = World(
        cast.plan, seed, clock, cast.make_host, cast.new_scenario, cast.make_offered, real
    )
    faults = Faults()
    ssh = cast.make_ssh(public_key)
    doors = Doors(world, faults, ssh)
    read_key = secrets.token_hex(32)
    api = VastApi(world, faults, {key: ALL_SCOPES, read_key: READ_SCOPES}, pace=pace)
    control = Control(world, faults, api, doors)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(ssh.aclose)
        api_url = await _listen(stack, api.app)
        control_url = await _listen(stack, control.app)
        await doors.settle()
        keeper = asyncio.create_task(doors.run(), name="simulator doors")
        stack.push_async_callback(_end, keeper)
        environment = {
            "VAST_URL": api_url,
            "VAST_API_KEY": key,
            "FLEETUI_READ_KEY": read_key,
            "FLEETUI_CONTROL_URL": control_url,
            "FLEETUI_CLOCK": str(clock),
        }
        yield Serving(world, faults, api, doors, environment)


def pretend_cast(hosts: int, seed: int) -> Cast:
    """Cast the project's own scenarios, every stage and failure early in the list."""
    from fleetui.simulator.hosts import scenarios  # noqa: PLC0415 - heavy, and tests bring theirs
    from fleetui.simulator.hosts.host import Host  # noqa: PLC0415 - the same
    from fleetui.simulator.hosts.offered import offered_host  # noqa: PLC0415 - the same
    from fleetui.simulator.hosts.ssh_server import SshServer  # noqa: PLC0415 - the same

    plan = scenarios.assign(hosts, seed)
    return Cast(plan, Host, SshServer, make_offered=offered_host)


async def _listen(stack: contextlib.AsyncExitStack, app: web.Application) -> str:
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=GRACE_SECONDS)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    site = web.TCPSite(runner, LOOPBACK, 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    return f"http://{host}:{port}"


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _clock(speed: float) -> ScaledClock:
    now = time.time()
    return ScaledClock(now, now, speed)


def _read_lifeline(descriptor: int, stop: asyncio.Event) -> None:
    try:
        ended = os.read(descriptor, 1024) == b""
    except BlockingIOError:
        return
    except OSError:
        ended = True
    if ended:
        stop.set()


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    """Write a private file so that it is there whole or not at all."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
