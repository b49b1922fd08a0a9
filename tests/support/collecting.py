"""A simulated fleet, and collectors that watch it, for the collector's tests."""

import asyncio
import contextlib
import os
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import asyncssh
import msgspec
import pytest

from fleetui.collector.lifetime import End
from fleetui.collector.run import collect
from fleetui.collector.settings import CollectorSettings
from fleetui.domain.clock import Clock, ScaledClock, parse_clock
from fleetui.domain.instance import Instance
from fleetui.domain.intent import Intent, Verb
from fleetui.domain.secret import Secret
from fleetui.domain.stream import StreamPosition
from fleetui.domain.text import sanitise
from fleetui.profiles.loader import load
from fleetui.simulator.run import Serving, pretend_cast, serving
from fleetui.ssh.settings import SshSettings
from fleetui.store.sqlite import SqliteStore
from fleetui.vast.client import ApiSettings

T = TypeVar("T")
QUIET = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
DEADLINE_SECONDS = 60.0


@dataclass(frozen=True)
class Simulated:
    """A running pretence and how to reach it."""

    environment: Mapping[str, str]
    serving: Serving

    @property
    def clock(self) -> Clock:
        return parse_clock(self.environment["FLEETUI_CLOCK"])

    def settings(self, folder: Path) -> CollectorSettings:
        """Settings of a collector in a hurry."""
        return CollectorSettings(
            store_path=folder / "fleet.db",
            api=ApiSettings(
                base_url=self.environment["VAST_URL"],
                read_key=Secret(self.environment["VAST_API_KEY"]),
                write_key=Secret(self.environment["VAST_API_KEY"]),
            ),
            ssh=SshSettings(
                key_files=(Path(self.environment["FLEETUI_SSH_KEY"]),),
                use_agent=False,
                connect_timeout=20.0,
                follow_interval_seconds=0.2,
                probe_interval_seconds=2.0,
                status_interval_seconds=1.0,
                retry_seconds=0.3,
                retry_limit_seconds=2.0,
            ),
            profile=load("cuzk"),
            clock=self.clock,
            holder=f"test-{uuid.uuid4().hex[:8]}",
            walk_interval_seconds=0.5,
            api_pace=0.02,
            lease_ttl_seconds=60.0,
            tick_seconds=0.1,
            verify_deadline_seconds=20.0,
        )

    async def fault(
        self, name: str, *, on: bool = True, instances: Iterable[int] = (), calls: int | None = None
    ) -> None:
        """Switch a fault of the simulator's on or off."""
        if name == "ssh_cut":
            await self.serving.doors.cut(instances)
        elif name == "host_key_changed":
            await self.serving.doors.change_host_keys(instances)
        elif on:
            self.serving.faults.switch_on(name, instances=instances, calls=calls)
        else:
            self.serving.faults.switch_off(name)
        await self.serving.doors.settle()

    def destroyed(self, instance_id: int) -> bool:
        """Tell whether a DELETE has been called for an instance."""
        return any(
            call.method == "DELETE" and str(instance_id) in call.path
            for call in self.serving.api.recorded
        )

    async def shell(self, instance: Instance, command: str) -> bytes:
        """Run a command on a host as an operator would."""
        address = instance.ssh_addresses[0]
        async with asyncssh.connect(
            address.host,
            address.port,
            username="root",
            client_keys=[self.environment["FLEETUI_SSH_KEY"]],
            known_hosts=None,
            config=None,
        ) as connection:
            done = await connection.run(command, encoding=None, check=False)
        assert isinstance(done.stdout, bytes)
        return done.stdout


@contextlib.asynccontextmanager
async def simulated(
    folder: Path,
    *,
    hosts: int = 4,
    seed: int = 7,
    speed: float = 20.0,
    plan: Sequence[tuple[str, float]] = (),
) -> AsyncIterator[Simulated]:
    """Run a simulator in this process; its API has no rate limits.

    `plan` names a scenario and an age for each host instead of the usual cast.
    """
    private = asyncssh.generate_private_key("ssh-ed25519")
    key_file = folder / "ssh.key"
    private.write_private_key(key_file)
    key_file.chmod(0o600)
    now = time.time()
    cast = pretend_cast(hosts, seed)
    async with serving(
        replace(cast, plan=plan) if plan else cast,
        seed=seed,
        clock=ScaledClock(now, now, speed),
        public_key=private.export_public_key().decode(),
        pace=0.0,
    ) as served:
        yield Simulated({**served.environment, "FLEETUI_SSH_KEY": str(key_file), **QUIET}, served)


@dataclass
class Collecting:
    """A collector that runs in this process, and a viewer of its store."""

    settings: CollectorSettings
    stop: asyncio.Event
    task: asyncio.Task[End]
    store: SqliteStore

    async def until(
        self, look: Callable[[], Awaitable[T]], what: str, seconds: float = DEADLINE_SECONDS
    ) -> T:
        """Wait until `look` gives something true; fail when the collector ends or time is up."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while True:
            found = await look()
            if found:
                return found
            if self.task.done():
                self.task.result()
                pytest.fail(f"the collector ended before: {what}")
            if loop.time() > end:
                pytest.fail(f"not within {seconds} s: {what}\n{await self.account()}")
            await asyncio.sleep(0.05)

    async def account(self) -> str:
        """Say what the store shows, for a failed wait."""
        view = await self.store.fleet()
        rows = "\n".join(
            f"{row.instance_id} {row.api_status} {row.stage} ssh={row.ssh} {row.finding_category}"
            for row in view.rows
        )
        intents = "\n".join(
            f"{i.verb} {i.instance_id} {i.state} {i.result}" for i in await self.store.intents()
        )
        return f"health: {view.health}\nwalk: {view.last_walk}\n{rows}\n{intents}"

    async def running(self) -> list[Instance]:
        """Return the instances whose connection stands."""
        rows = (await self.store.fleet()).rows
        found = [
            await self.store.instance(row.instance_id) for row in rows if row.ssh == "connected"
        ]
        return [instance for instance in found if instance is not None]

    async def intend(self, verb: Verb, instance: Instance, **changes: Any) -> str:  # noqa: ANN401 - fields of Intent
        """Ask for an action as a console would; returns the intent's id."""
        return await intend(self.store, self.settings.clock, verb, instance, **changes)

    async def settled(self, intent_id: str, seconds: float = DEADLINE_SECONDS) -> Intent:
        """Wait until an intent is final or unknown."""

        async def look() -> Intent | None:
            intent = await self.store.intent(intent_id)
            final = intent is not None and (intent.state.is_final or intent.state == "unknown")
            return intent if final else None

        found = await self.until(look, "the intent is settled", seconds)
        assert found is not None
        return found


async def intend(
    store: SqliteStore,
    clock: Clock,
    verb: Verb,
    instance: Instance,
    **changes: Any,  # noqa: ANN401 - fields of Intent
) -> str:
    """Ask for an action as a console would; returns the intent's id."""
    intent = Intent(
        intent_id=uuid.uuid4().hex,
        verb=verb,
        instance_id=instance.instance_id,
        actor=sanitise("test"),
        reason=sanitise("a test"),
        created_at=clock.now(),
        machine_id=instance.machine_id,
        label=instance.label,
    )
    await store.intend(msgspec.structs.replace(intent, **changes))
    return intent.intent_id


@contextlib.asynccontextmanager
async def collecting(settings: CollectorSettings, **changes: Any) -> AsyncIterator[Collecting]:  # noqa: ANN401 - fields of the settings
    """Run a collector in this process; afterwards no task of it is left."""
    settings = replace(settings, **changes)
    stop = asyncio.Event()
    task = asyncio.create_task(collect(settings, stop=stop), name="collect")
    store: SqliteStore | None = None
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not settings.store_path.exists() and not task.done():  # noqa: ASYNC110 - a file
                await asyncio.sleep(0.02)
        if task.done():
            task.result()
        store = await SqliteStore.open(settings.store_path, clock=settings.clock, viewer=True)
        yield Collecting(settings, stop, task, store)
        stop.set()
        async with asyncio.timeout(DEADLINE_SECONDS):
            await asyncio.wait({task})
        assert not tasks_of_ours(), tasks_of_ours()
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task
        if store is not None:
            await store.close()


async def some_running(run: Collecting, count: int = 1) -> list[Instance]:
    async def look() -> list[Instance]:
        found = await run.running()
        return found if len(found) >= count else []

    return await run.until(look, f"{count} connections stand")


def tasks_of_ours() -> list[str]:
    """Return the unfinished tasks of a collector, not those of the simulator in this loop."""
    found = []
    for task in asyncio.all_tasks():
        code = getattr(task.get_coro(), "cr_code", None)
        path = code.co_filename if code is not None else ""
        if any(f"/fleetui/{part}/" in path for part in ("collector", "ssh", "vast", "store")):
            found.append(f"{task.get_name()} {path}")
    return found


async def stored_bytes(store: SqliteStore, position: StreamPosition) -> bytes:
    """Return all stored bytes of a stream's present generation."""
    window = await store.log_window(position.stream, generation=position.generation, size=1 << 30)
    return window.data if window is not None else b""


def collector_environment(simulated: Simulated, folder: Path) -> dict[str, str]:
    """Return the environment of a collector process of a test."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "FLEETUI_WALK_INTERVAL": "1",
        **simulated.environment,
    }
