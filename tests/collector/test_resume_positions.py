"""What a new run knows of where each log stood."""

from pathlib import Path

from fleetui.collector import resume
from fleetui.domain.clock import SystemClock
from fleetui.domain.stream import LogChunk, StreamId, StreamPosition
from fleetui.ssh.scripts import REPEATED_BYTES
from fleetui.store.interface import Batch
from fleetui.store.sqlite import SqliteStore


async def test_positions_come_back_with_the_last_stored_bytes(tmp_path: Path) -> None:
    stream = StreamId(7, "/tmp/a.log")
    content = bytes(range(256)) * 300
    store = await SqliteStore.open(tmp_path / "fleet.db", clock=SystemClock())
    try:
        lease = await store.take_lease("test", 60.0)
        assert lease is not None
        chunk = LogChunk(stream=stream, generation=1, offset=0, data=content, at=1.0)
        position = StreamPosition(stream=stream, kind="bench", offset=len(content))
        await store.publish(lease, Batch(at=1.0, chunks=[chunk], positions=[position]))
        loaded = await resume.load(store)
    finally:
        await store.close()
    assert [found.end for found in loaded.departed[7]] == [content[-REPEATED_BYTES:]]
