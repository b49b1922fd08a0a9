"""How fast the API lets a fleet be read and ended, and whether we keep to it.

A collector on the simulated API at the real API's spacings (facts: vast_api.md section 6.2), in
real time: complete walks over the whole fleet, then destroys of many instances at once while the
walks go on. Counts the calls the API refused as too frequent. Beside it, for the walk, a client
that asks page after page without a pause, as the official one does (section 2.2).

    python benchmarks/vast_pace.py [--instances 1000] [--destroys 100]
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import httpx

from fleetui.collector.run import collect
from fleetui.collector.settings import CollectorSettings
from fleetui.domain.clock import ScaledClock
from fleetui.domain.instance import Walk
from fleetui.domain.intent import IntentState, Verb
from fleetui.domain.secret import Secret
from fleetui.profiles.loader import load
from fleetui.simulator.run import Serving, serving
from fleetui.ssh.settings import SshSettings
from fleetui.store.sqlite import SqliteStore
from fleetui.vast.client import ApiSettings

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from collecting import intend
from pretend_vast import idle_cast

DEADLINE_SECONDS = 1800.0
LOOK_SECONDS = 0.2


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=1000)
    parser.add_argument("--destroys", type=int, default=100)
    arguments = parser.parse_args()
    now = time.time()
    clock = ScaledClock(now, now, 1.0)
    cast = idle_cast(arguments.instances)
    async with serving(cast, seed=7, clock=clock, public_key="", pace=1.0) as served:
        # Their SSH ports only hang up: what is measured is the API.
        served.faults.switch_on("ssh_refused")
        await served.doors.settle()
        await unpaced(served, arguments.instances)
        with tempfile.TemporaryDirectory() as folder:
            await ours(served, Path(folder), arguments.instances, arguments.destroys)


async def unpaced(served: Serving, instances: int) -> None:
    """Ask page after page without a pause, trying again at once after a 429."""
    token, refused, pages, started = None, 0, 0, time.monotonic()
    headers = {"Authorization": f"Bearer {served.environment['VAST_API_KEY']}"}
    async with httpx.AsyncClient(headers=headers) as http:
        while pages < 5:
            query: dict[str, str] = {"after_token": token} if token else {}
            reply = await http.get(
                f"{served.environment['VAST_URL']}/api/v1/instances/", params=query
            )
            if reply.status_code == 429:
                refused += 1
                continue
            pages += 1
            token = reply.json()["next_token"]
            if not token:
                break
    seconds = time.monotonic() - started
    print(
        f"without a pause: {refused} answers 429 in the first {pages} of"
        f" {-(-instances // 25)} pages ({seconds:.1f} s)"
    )
    served.api.recorded.clear()


async def ours(served: Serving, folder: Path, instances: int, destroys: int) -> None:
    """Run a collector on the fleet."""
    settings = CollectorSettings(
        store_path=folder / "fleet.db",
        api=ApiSettings(
            base_url=served.environment["VAST_URL"],
            read_key=Secret(served.environment["FLEETUI_READ_KEY"]),
            write_key=Secret(served.environment["VAST_API_KEY"]),
        ),
        ssh=SshSettings(use_agent=False),
        profile=load("cuzk"),
        clock=served.world.clock,
        holder="benchmark",
    )
    stop = asyncio.Event()
    async with asyncio.timeout(DEADLINE_SECONDS), asyncio.TaskGroup() as group:
        running = group.create_task(collect(settings, stop=stop), name="collector")
        store = await SqliteStore.open(settings.store_path, clock=settings.clock)
        answers: Counter[tuple[str, int]] = Counter()
        await walk(store, served, answers, instances)
        await destroy(store, served, answers, destroys)
        stop.set()
        await running
        await store.close()
    refused = sum(count for (_, status), count in answers.items() if status == 429)
    for (what, status), count in sorted(answers.items()):
        print(f"  {what} answered {status}: {count}")
    print(f"429 in all: {refused} of {sum(answers.values())} calls (goal: 0)")


async def walk(
    store: SqliteStore, served: Serving, answers: Counter[tuple[str, int]], instances: int
) -> None:
    """Wait for the first complete walk."""
    found: Walk | None = None
    while found is None:
        await asyncio.sleep(LOOK_SECONDS)
        found = (await store.fleet()).last_complete_walk
    least = max(-(-instances // 25) - 1, 0) * 1.0
    seconds = found.ended_at - found.started_at
    drain(served, answers)
    print(
        f"walk: {found.rows} instances in {seconds:.1f} s"
        f" (the API's spacing alone: {least:.0f} s; goal: at most {(least + 1) * 1.1:.0f} s)"
    )


async def destroy(
    store: SqliteStore, served: Serving, answers: Counter[tuple[str, int]], destroys: int
) -> None:
    """Ask for many destroys at once and wait for the proof of each."""
    ids = sorted(served.world.rentals)[:: max(len(served.world.rentals) // destroys, 1)][:destroys]
    started = time.monotonic()
    for instance_id in ids:
        instance = await store.instance(instance_id)
        if instance is None:
            raise RuntimeError(f"instance {instance_id} was not listed")
        await intend(store, served.world.clock, Verb.DESTROY, instance)
    deletes_ended = 0.0
    while True:
        drain(served, answers)
        deleted = sum(count for (what, _), count in answers.items() if what == "DELETE")
        if deleted >= destroys and not deletes_ended:
            deletes_ended = time.monotonic() - started
        intents = await store.intents(limit=destroys)
        if all(intent.state.is_final for intent in intents):
            break
        await asyncio.sleep(LOOK_SECONDS)
    seconds = time.monotonic() - started
    done = sum(intent.state is IntentState.DONE for intent in intents)
    living = sum(served.world.living(instance_id) is not None for instance_id in ids)
    others = sum(served.world.living(key) is not None for key in served.world.rentals)
    print(
        f"destroys: {done} of {destroys} confirmed, {living} of them still live, {others} others"
        f" live; {deleted} DELETE calls sent within {deletes_ended:.0f} s (the API's spacing alone:"
        f" {(destroys - 1) * 3.0:.0f} s), the last proof after {seconds:.0f} s"
    )


def drain(served: Serving, answers: Counter[tuple[str, int]]) -> None:
    """Count the calls recorded since the last look."""
    while served.api.recorded:
        call = served.api.recorded.popleft()
        what = call.method if call.method != "GET" else call.path.split("/")[2] + " GET"
        answers[what, call.status] += 1


if __name__ == "__main__":
    asyncio.run(main())
