"""From the first faulty byte on a host to the finding in the store, beside a plain `tail -F`.

Simulator and collector run as processes of their own, as in a demo. A line that a dying prover
prints is appended to a random host's daemon log over SSH; the time counts from the moment before
the command is sent. Beside it runs what an operator would do by hand: `tail -F` over SSH on the
same file, which only shows the line and names nothing.

    python benchmarks/finding_latency.py --hosts 200 --faults 100
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import asyncssh

from fleetui.domain.clock import parse_clock
from fleetui.domain.host import SshState
from fleetui.domain.instance import Instance
from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage
from fleetui.store.sqlite import SqliteStore

FILES = {Stage.RUNNING: "/tmp/cuzk.log", Stage.BENCH: "/tmp/cuzk-bench-daemon.log"}  # noqa: S108 - on the host
LINE = "thread 'tokio-runtime-worker' panicked at src/engine.rs:1:1: index out of bounds"
CATEGORY = "prover_panic"
GIVE_UP_SECONDS = 60.0
POLL_SECONDS = 0.02
BUDGET_SECONDS = 240.0
SLOW_SECONDS = 5.0
"""What takes longer is told one by one."""
AT_ONCE = 2
"""Hosts that fail at the same time."""


@contextmanager
def process(*arguments: str, environment: dict[str, str], log: Path) -> Iterator[None]:
    """Run a verb of fleetui until the block ends."""
    with log.open("wb") as file:
        child = subprocess.Popen(
            [sys.executable, "-m", "fleetui", *arguments],
            env=environment, stdout=file, stderr=file,
        )  # fmt: skip
        try:
            yield
        finally:
            child.terminate()
            child.wait(30)


def environment_of(path: Path) -> dict[str, str]:
    """Wait for the simulator's environment file and read it."""
    end = time.monotonic() + GIVE_UP_SECONDS
    while not path.exists() or not path.read_text().strip():
        if time.monotonic() > end:
            raise SystemExit("the simulator did not start")
        time.sleep(0.1)  # between looks at another process's file; nothing runs here yet
    pairs = (line.partition("=") for line in path.read_text().splitlines() if "=" in line)
    return {name.removeprefix("export "): value.strip("'\"") for name, _, value in pairs}


async def fit_rows(store: SqliteStore, wanted: int, seconds: float) -> list[FleetRow]:
    """Wait until all hosts that can be are connected; return those that work without a finding."""
    end = time.monotonic() + seconds
    while True:
        view = await store.fleet()
        rows, health = view.rows, view.health
        connected = [row for row in rows if row.ssh is SshState.CONNECTED]
        fit = [row for row in connected if row.stage in FILES and row.finding_category is None]
        sought = health.ssh_wanted if health is not None else 0
        if len(rows) >= wanted and len(connected) >= sought * 0.98 and sought and fit:
            return fit
        if time.monotonic() > end:
            print(f"{len(rows)} rows, {len(connected)} connected, {len(fit)} fit", file=sys.stderr)
            return fit
        await asyncio.sleep(0.5)


async def one_fault(store: SqliteStore, row: FleetRow, key: str) -> tuple[float, float | None]:
    """Put a fault on a host; return the seconds until the finding, and until `tail` shows it."""
    instance = await store.instance(row.instance_id)
    assert isinstance(instance, Instance)  # noqa: S101 - it is listed
    address = instance.ssh_addresses[0]
    path = FILES[row.stage]
    async with asyncssh.connect(
        address.host, address.port, username="root", client_keys=[key], known_hosts=None,
        config=None,
    ) as connection:  # fmt: skip
        rival = await connection.create_process(f"tail -n 0 -F {path}")
        seen = asyncio.create_task(shown(rival))
        await asyncio.sleep(0.3)
        start = time.perf_counter()
        await connection.run(f'echo "{LINE}" >> {path}')
        found = await until_found(store, row.instance_id, start)
        tail_at = seen.result() if seen.done() else None
        seen.cancel()
        rival.close()
    return found, None if tail_at is None else tail_at - start


async def shown(rival: asyncssh.SSHClientProcess[str]) -> float | None:
    """Return when `tail` showed the line."""
    async for line in rival.stdout:
        if "index out of bounds" in line:
            return time.perf_counter()
    return None


async def until_found(store: SqliteStore, instance_id: int, start: float) -> float:
    """Look into the store until the finding is there."""
    while (waited := time.perf_counter() - start) < GIVE_UP_SECONDS:
        records = await store.findings(instance_id=instance_id)
        if any(record.finding.category == CATEGORY for record in records):
            return time.perf_counter() - start
        await asyncio.sleep(POLL_SECONDS)
    return waited


async def measure(state: Path, environment: dict[str, str], hosts: int, faults: int) -> None:
    """Put faults on hosts, a few at a time, and print what was measured."""
    clock = parse_clock(environment["FLEETUI_CLOCK"])
    end = time.monotonic() + GIVE_UP_SECONDS
    while not (state / "fleet.db").exists():
        if time.monotonic() > end:
            raise SystemExit("the collector did not start")
        await asyncio.sleep(0.2)
    store = await SqliteStore.open(state / "fleet.db", clock=clock, viewer=True)
    fit = await fit_rows(store, hosts, 90.0)
    random.Random(7).shuffle(fit)  # noqa: S311 - a choice of hosts
    found: list[float] = []
    rival: list[float] = []
    unreachable = 0
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(row: FleetRow) -> None:
        nonlocal unreachable
        async with at_once:
            # Hosts of this world fail by themselves, and a deeper cause would swallow ours.
            now = {one.instance_id: one for one in (await store.fleet()).rows}.get(row.instance_id)
            if now is None or now.stage is not row.stage or now.finding_category is not None:
                return
            try:
                seconds, tail_seconds = await one_fault(store, row, environment["FLEETUI_SSH_KEY"])
            except (OSError, asyncssh.Error):
                # The simulated world goes on: hosts end, and some refuse a login.
                unreachable += 1
                return
        found.append(seconds)
        if seconds >= SLOW_SECONDS:
            records = await store.findings(instance_id=row.instance_id, resolved=True)
            told = [f"{one.finding.category} {one.resolved_at or ''}" for one in records]
            print(f"{row.instance_id} {row.stage}: {seconds:.1f} s, {told}", file=sys.stderr)
        if tail_seconds is not None:
            rival.append(tail_seconds)

    # A busy machine must not cost what was measured until then.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(BUDGET_SECONDS), asyncio.TaskGroup() as group:
            for row in fit[:faults]:
                group.create_task(one(row))
    health = (await store.fleet()).health
    await store.close()
    result = {
        "hosts": hosts,
        "connected": health.ssh_connected if health else 0,
        "faults": len(found),
        "unreachable": unreachable,
        "finding_in_store_s": spread(found),
        "plain_tail_s": spread(rival),
        "lost": sum(seconds >= GIVE_UP_SECONDS for seconds in found),
        "load_average": os.getloadavg()[0],
    }
    print(json.dumps(result, indent=1))


def spread(values: list[float]) -> dict[str, float]:
    """Return median, p95, p99 and the worst."""
    if len(values) < 2:
        return {}
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return {
        "p50": round(cuts[49], 3), "p95": round(cuts[94], 3), "p99": round(cuts[98], 3),
        "max": round(max(values), 3),
    }  # fmt: skip


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plain = {**os.environ, "HOME": str(folder), "NO_PROXY": "127.0.0.1"}
        file = folder / "fleet.env"
        simulate = (
            "simulate", "--hosts", str(options.hosts), "--seed", str(options.seed), "--speed", "1",
            "--env-file", str(file),
        )  # fmt: skip
        stack.enter_context(process(*simulate, environment=plain, log=folder / "simulator.log"))
        environment = {**plain, **environment_of(file)}
        collect = ("collect", "--state-dir", str(folder / "state"))
        stack.enter_context(
            process(*collect, environment=environment, log=folder / "collector.log")
        )
        asyncio.run(measure(folder / "state", environment, options.hosts, options.faults))


if __name__ == "__main__":
    main()
