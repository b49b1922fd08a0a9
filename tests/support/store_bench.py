"""What the store's tests share: a clock, batches, an opened store, and child processes."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage
from fleetui.domain.stream import LogChunk, StreamId, StreamPosition
from fleetui.store.interface import Batch, Lease
from fleetui.store.log_budget import LogBudget
from fleetui.store.sqlite import SqliteStore

DEADLINE_SECONDS = 60.0
STREAM = StreamId(7, "/tmp/benchmark-full.log")


class HandClock:
    """A clock that is set by hand."""

    def __init__(self, at: float = 1_000_000.0) -> None:
        self.at = at

    def now(self) -> float:
        return self.at


def row(instance_id: int, *, util: float | None = None) -> FleetRow:
    return FleetRow(instance_id=instance_id, stage=Stage.BENCH, gpu_util=util)


def chunk(
    offset: int, data: bytes, *, generation: int = 1, at: float = 0.0, stream: StreamId = STREAM
) -> LogChunk:
    return LogChunk(stream=stream, generation=generation, offset=offset, data=data, at=at)


def position(
    offset: int,
    *,
    generation: int = 1,
    skipped: int = 0,
    lost: tuple[int, int] = (0, 0),
    stream: StreamId = STREAM,
) -> StreamPosition:
    return StreamPosition(
        stream=stream,
        kind="bench",
        generation=generation,
        file_identity=f"8:{generation}",
        offset=offset,
        skipped=skipped,
        lost_files=lost[0],
        lost_bytes=lost[1],
    )


class Bench:
    """One store with its lease."""

    def __init__(self, store: SqliteStore, lease: Lease, clock: HandClock) -> None:
        self.store = store
        self.lease = lease
        self.clock = clock

    @classmethod
    async def open(cls, path: Path, budget: LogBudget | None = None) -> "Bench":
        clock = HandClock()
        store = await SqliteStore.open(path, clock=clock, budget=budget)
        lease = await store.take_lease("bench", 60.0)
        assert lease is not None
        return cls(store, lease, clock)

    async def publish(self, *chunks: LogChunk, **fields: object) -> int:
        values: dict[str, object] = {"at": self.clock.now(), "chunks": chunks, **fields}
        return await self.store.publish(self.lease, Batch(**values))  # type: ignore[arg-type]  # any field

    async def stored(self, generation: int = 1, stream: StreamId = STREAM) -> bytes:
        return b"".join(piece.data for piece in await self.store.log_bytes(stream, generation))


class Child:
    """A process that runs a verb of `store_child.py` and reports lines.

    It is killed at the end of the block, and at the deadline, which ends every wait for a line.
    """

    def __init__(self, *arguments: str) -> None:
        script = Path(__file__).with_name("store_child.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script), *arguments], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.output = self.process.stdout
        self.deadline = threading.Timer(DEADLINE_SECONDS, self.process.kill)
        self.deadline.daemon = True
        self.deadline.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.deadline.cancel()
        self.process.kill()
        self.process.wait(DEADLINE_SECONDS)
        self.output.close()

    def kill(self) -> None:
        """Kill it and wait until it is gone."""
        self.process.kill()
        self.process.wait(DEADLINE_SECONDS)

    def line(self) -> str:
        """Return the next line that the child reports; empty when it ended."""
        return self.output.readline().strip()
