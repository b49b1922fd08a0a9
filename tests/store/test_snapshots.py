import sqlite3

from fleetui.domain.snapshot import Snapshot, SnapshotSection
from fleetui.domain.text import sanitise
from fleetui.store.snapshot_tables import KEPT_PER_INSTANCE, TABLES, write_snapshot
from store_bench import Bench, row


def snapshot(instance_id: int, at: float) -> Snapshot:
    lines = (sanitise("line one"), sanitise("line two"))
    return Snapshot(
        instance_id=instance_id, at=at, reason=sanitise("test"),
        sections=(SnapshotSection("ps", lines),),
    )  # fmt: skip


async def test_snapshots_outlive_their_instance_and_are_bounded(bench: Bench) -> None:
    await bench.publish(rows=[row(7), row(8)])
    for number in range(KEPT_PER_INSTANCE + 3):
        await bench.store.keep_snapshot(bench.lease, snapshot(7, float(number)))
    await bench.store.keep_snapshot(bench.lease, snapshot(8, 1.0))
    await bench.publish(gone=[7])
    kept = await bench.store.snapshots(7)
    assert [one.at for one in kept] == [float(n) for n in range(KEPT_PER_INSTANCE + 2, 2, -1)]
    assert kept[0].sections == snapshot(7, 0.0).sections
    assert len(await bench.store.snapshots(8)) == 1
    assert await bench.store.snapshots(9) == ()


def test_all_together_have_a_limit_and_the_oldest_go() -> None:
    raw = sqlite3.connect(":memory:")
    for statement in TABLES:
        raw.execute(statement)
    for number in range(5):
        write_snapshot(raw, snapshot(number, 0.0), b"x" * 100, bytes_limit=250)
    kept = raw.execute("SELECT instance_id FROM snapshot ORDER BY id").fetchall()
    raw.close()
    assert kept == [(3,), (4,)]
