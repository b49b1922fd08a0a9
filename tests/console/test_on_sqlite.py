from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from console_pilot import NOW, Console, StillClock
from fleetui.console.app import FleetApp
from fleetui.domain.intent import IntentState, Verb
from fleetui.domain.stage import Stage
from fleetui.domain.stream import LogChunk, StreamId, StreamPosition
from fleetui.domain.text import sanitise
from fleetui.store.interface import Batch, Lease
from fleetui.store.sqlite import SqliteStore
from memory_store import MemoryStore
from sample_fleet import build


def whole_batch(made: MemoryStore) -> Batch:
    """Return the made-up fleet as a collector would publish it."""
    assert made.walk
    assert made.health
    chunks = [
        LogChunk(stream=stream, generation=1, offset=0, data=bytes(data), at=NOW)
        for stream, (_, data) in made.logs.items()
    ]
    positions = [
        StreamPosition(
            stream=chunk.stream,
            kind=made.kinds[chunk.stream],
            file_identity="1:1",
            offset=len(chunk.data),
            last_byte_at=made.written_at[chunk.stream],
        )
        for chunk in chunks
    ]
    return Batch(
        at=NOW,
        instances=list(made.instances.values()),
        rows=[row for _, row in made.rows.values()],
        readings=list(made.readings_by_id.values()),
        chunks=chunks,
        positions=positions,
        samples=made.sample_list,
        events=made.event_list,
        walk=made.walk,
        health=made.health,
    )


class Pair:
    """A collector's and a viewer's connection to one file."""

    def __init__(self, collector: SqliteStore, viewer: SqliteStore, lease: Lease) -> None:
        self.collector = collector
        self.viewer = viewer
        self.lease = lease


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    clock = StillClock()
    path = tmp_path / "fleet.db"
    collector = await SqliteStore.open(path, clock=clock)
    lease = await collector.take_lease("tests", 3600)
    assert lease is not None
    await collector.publish(lease, whole_batch(build(8, now=NOW)))
    viewer = await SqliteStore.open(path, clock=clock, viewer=True)
    yield Pair(collector, viewer, lease)
    await viewer.close()
    await collector.close()


async def test_rows_logs_and_a_destroy_cross_the_store(pair: Pair) -> None:
    app = FleetApp(pair.viewer, clock=StillClock(), actor="ana@ops", account="real", undo_seconds=0)
    async with app.run_test(size=(160, 45), notifications=True) as pilot:
        run = Console(app, pilot, MemoryStore())
        await run.shows("8 instances")
        await run.shows("root cause")
        assert "no collector" not in run.text
        await run.press("l")
        await run.shows("synthesized in 8.38s")
        stream = StreamId(20110148, "/tmp/cuzk.log")
        (position,) = [
            p for p in await pair.viewer.streams(stream.instance_id) if p.stream == stream
        ]
        line = b"fresh from the host\n"
        chunk = LogChunk(stream=stream, generation=1, offset=position.offset, data=line, at=NOW)
        after = msgspec.structs.replace(position, offset=position.offset + len(line))
        row = next(row for row in app.state.rows.values() if row.instance_id == 20110148)
        await pair.collector.publish(
            pair.lease,
            Batch(
                at=NOW,
                rows=[msgspec.structs.replace(row, stage=Stage.DAEMON_RESTART)],
                chunks=[chunk],
                positions=[after],
            ),
        )
        await run.shows("fresh from the host")
        await run.shows("restart")
        await run.press("l", "D")
        await run.shows("type the last 4 digits")
        await run.press("0", "1", "4", "8", "enter")
        await run.shows("destroying")
        (intent,) = await pair.collector.claim(pair.lease)
        assert (intent.verb, intent.instance_id) == (Verb.DESTROY, 20110148)
        assert (intent.machine_id, intent.label) == (41004, "prover-04")
        await pair.collector.publish(pair.lease, Batch(at=NOW, gone=[20110148]))
        await pair.collector.settle(
            pair.lease, intent.intent_id, IntentState.DONE, sanitise("deleted"), NOW
        )
        await run.shows("7 instances")
        await run.shows("destroy 20110148: done")
        await run.press("5")
        await run.shows("deleted")
    assert app._exception is None


async def test_a_collector_that_gave_its_lease_back_is_missed(pair: Pair) -> None:
    await pair.collector.release(pair.lease)
    app = FleetApp(pair.viewer, clock=StillClock(NOW + 42), actor="ana", account="real")
    async with app.run_test(size=(160, 45)) as pilot:
        await Console(app, pilot, MemoryStore()).shows("no collector for 42s")
