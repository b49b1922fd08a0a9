"""One writer at a time: take-over from the dead, patience with the hung, the fence for both."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from fleetui.domain.intent import IntentState
from fleetui.domain.text import SafeText
from fleetui.store import lease as lease_rows
from fleetui.store.interface import Batch, FenceLostError, Lease, StoreError
from fleetui.store.lease import HostClock, LeaseRow
from fleetui.store.sqlite import SqliteStore
from store_bench import DEADLINE_SECONDS, Bench, Child, HandClock, row


async def open_store(path: Path, *, viewer: bool = False) -> SqliteStore:
    return await SqliteStore.open(path, clock=HandClock(), viewer=viewer)


async def take(store: SqliteStore, ttl: float = 30.0) -> Lease:
    """Take the lease as soon as it can be had."""
    end = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < end:
        lease = await store.take_lease("second", ttl)
        if lease:
            return lease
        await asyncio.sleep(0.01)
    pytest.fail("the lease was never free")


async def test_only_one_holds_it(bench: Bench, path: Path) -> None:
    other = await open_store(path)
    assert await other.take_lease("other", 5.0) is None
    await bench.store.release(bench.lease)
    assert not (await other.fleet()).lease_held
    lease = await other.take_lease("other", 5.0)
    assert lease is not None
    assert lease.epoch == bench.lease.epoch + 1
    await other.close()


async def test_the_old_holder_can_write_nothing(bench: Bench, path: Path) -> None:
    await bench.publish(rows=[row(1)])
    await bench.store.release(bench.lease)
    other = await open_store(path)
    lease = await other.take_lease("other", 5.0)
    assert lease is not None
    before = await other.fleet()
    with pytest.raises(FenceLostError, match="other"):
        await bench.publish(rows=[row(2)], gone=[1])
    with pytest.raises(FenceLostError):
        await bench.store.renew(bench.lease)
    with pytest.raises(FenceLostError):
        await bench.store.accept_host_key(bench.lease, 1, "key")
    with pytest.raises(FenceLostError):
        await bench.store.settle(bench.lease, "x", IntentState.DONE, SafeText(), 0.0)
    await bench.store.release(bench.lease)
    after = await other.fleet()
    assert (after.rows, after.revision, after.lease_held) == (before.rows, before.revision, True)
    await other.close()


async def test_a_killed_holder_is_replaced_at_once(path: Path) -> None:
    store = await open_store(path)
    viewer = await open_store(path, viewer=True)
    with Child("hold", str(path), "3600") as holder:
        assert holder.line() == "held 1"
        assert await store.take_lease("second", 5.0) is None
        assert (await viewer.fleet()).lease_held
        holder.kill()
        assert not (await viewer.fleet()).lease_held
        # Its lease would have run for an hour.
        lease = await take(store)
    assert lease.epoch == 2
    assert (await viewer.fleet()).lease_held
    await viewer.close()
    await store.close()


async def test_a_hung_holder_is_replaced_after_its_time_and_fenced_when_it_wakes(
    path: Path,
) -> None:
    store = await open_store(path)
    with Child("hold", str(path), "1.0") as holder:
        assert holder.line() == "held 1"
        os.kill(holder.process.pid, signal.SIGSTOP)
        lease = await take(store)
        assert lease.epoch == 2
        revision = await store.publish(lease, Batch(at=0.0))
        os.kill(holder.process.pid, signal.SIGCONT)
        assert (await asyncio.to_thread(holder.line)).startswith("fenced")
    assert await store.publish(lease, Batch(at=0.0)) == revision + 1
    await store.close()


async def test_a_store_closed_without_release_leaves_the_lease_to_the_next(path: Path) -> None:
    first = await Bench.open(path)
    await first.store.close()
    second = await Bench.open(path)
    assert second.lease.epoch == first.lease.epoch + 1
    assert [item.name for item in path.parent.glob("*.lease-*")] == ["fleet.db.lease-2"]
    await second.store.close()


async def test_a_process_that_forgets_its_store_ends_and_frees_the_lease(path: Path) -> None:
    with Child("forget", str(path), "0") as child:
        assert child.line() == "forgot"
        assert child.process.wait(DEADLINE_SECONDS) == 0
    store = await open_store(path)
    assert await store.take_lease("next", 5.0) is not None
    await store.close()


async def test_a_viewer_cannot_take_it(bench: Bench, path: Path) -> None:
    viewer = await open_store(path, viewer=True)
    with pytest.raises(StoreError, match="viewer"):
        await viewer.take_lease("viewer", 5.0)
    with pytest.raises(StoreError, match="viewer"):
        await viewer.publish(bench.lease, Batch(at=0.0))
    await viewer.close()


@pytest.mark.parametrize(
    ("row_", "held"),
    [
        (LeaseRow("", 3, 5.0, 1e12, "boot"), False),
        (LeaseRow("a", 3, 5.0, 0.0, "boot"), False),
        (LeaseRow("a", 3, 5.0, 1e12, "an earlier boot"), False),
        (LeaseRow("a", 3, 5.0, 1e12, "boot"), True),
    ],
)
def test_a_reboot_or_the_time_ends_a_lease(tmp_path: Path, row_: LeaseRow, held: bool) -> None:
    clock = HostClock("boot")
    assert row_.is_held(tmp_path / "fleet.db", clock, trust_fresh=False) is held


def test_a_lock_proves_life_and_death(tmp_path: Path) -> None:
    store = tmp_path / "fleet.db"
    assert not lease_rows.is_proven_dead(store, 4)
    lock = lease_rows.HolderLock.take(store, 4)
    assert lock is not None
    assert not lease_rows.is_proven_dead(store, 4)
    assert lease_rows.HolderLock.take(store, 4) is None
    lock.close()
    assert lease_rows.is_proven_dead(store, 4)
