"""The store on SQLite: consoles and the collector of one machine share one file."""

import asyncio
import sqlite3
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

from fleetui.domain.answer import Answer
from fleetui.domain.charge import DayOfCharges
from fleetui.domain.clock import Clock
from fleetui.domain.codec import encode
from fleetui.domain.intent import Intent, IntentState
from fleetui.domain.snapshot import Snapshot
from fleetui.domain.standing import Mark
from fleetui.domain.stream import LogChunk
from fleetui.domain.text import SafeText
from fleetui.store import (
    answer_tables,
    charge_tables,
    finding_tables,
    fleet_tables,
    intent_tables,
    log_blocks,
    log_budget,
    log_older,
    machine_record,
    proposal_tables,
    retention,
    sample_tables,
    snapshot_tables,
    spend_tables,
    standing_tables,
)
from fleetui.store import (
    lease as lease_rows,
)
from fleetui.store.connection import Database
from fleetui.store.interface import (
    Batch,
    FenceLostError,
    Lease,
    StoreError,
)
from fleetui.store.lease import HolderLock
from fleetui.store.log_budget import LogBudget
from fleetui.store.sqlite_viewing import SqliteViewing

T = TypeVar("T")


class SqliteStore(SqliteViewing):
    """Implements `CollectorStore`; opened with `viewer=True` it takes only what viewers may do."""

    def __init__(
        self, database: Database, clock: Clock, budget: LogBudget, *, viewer: bool
    ) -> None:
        super().__init__(database, clock)
        self._budget = budget
        self._viewer = viewer
        self._locks: dict[int, HolderLock] = {}

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        clock: Clock,
        viewer: bool = False,
        budget: LogBudget | None = None,
    ) -> "SqliteStore":
        """Open the store at `path`; makes an empty one (folder 0700, file 0600) when missing.

        Raises:
            StoreError: network disk, another version, damaged file, no access.
            StoreFullError: the disk is full or read-only.
        """
        database = await Database.open(path, viewer=viewer)
        return cls(database, clock, budget or LogBudget(), viewer=viewer)

    async def close(self) -> None:
        """Release the connection and, when it was not given back, the proof of life."""
        await self._database.close()
        for lock in self._locks.values():
            lock.close()
        self._locks.clear()

    aclose = close

    async def write_protection(self, lease: Lease, instance_id: int, mark: Mark | None) -> None:
        """Protect an instance, or (`None`) no longer, under the fence."""

        def write(raw: sqlite3.Connection) -> None:
            lease_rows.renew(raw, self._host_clock, lease)
            standing_tables.write_protection(raw, instance_id, mark)

        await self._fenced(lease, write)

    async def write_blacklist(self, lease: Lease, machine_id: int, mark: Mark | None) -> None:
        """Put a machine on the blacklist, or (`None`) take it off, under the fence."""

        def write(raw: sqlite3.Connection) -> None:
            lease_rows.renew(raw, self._host_clock, lease)
            standing_tables.write_blacklist(raw, machine_id, mark)

        await self._fenced(lease, write)

    async def take_lease(self, holder: str, ttl_seconds: float) -> Lease | None:
        """Take the lease when nobody holds it (expired, or its process is dead), else `None`."""
        self._refuse_viewer()
        store = self._database.path
        # A look first: candidates must not queue for the write lock four times a second.
        if await self._database.read(self._is_held_by_other):
            return None
        epochs: list[int] = []

        def take(raw: sqlite3.Connection) -> Lease | None:
            found = lease_rows.take(raw, store, self._host_clock, holder, ttl_seconds)
            if found is None:
                return None
            lease, lock = found
            epochs.append(lease.epoch)
            if lock is not None:
                self._locks[lease.epoch] = lock
            return lease

        try:
            lease = await self._database.write(take)
        except StoreError:
            for epoch in epochs:
                self._let_go(epoch)
            raise
        if lease is not None:
            await asyncio.to_thread(lease_rows.remove_old_locks, store, lease.epoch)
        return lease

    async def renew(self, lease: Lease) -> None:
        """Extend the lease.

        Raises:
            FenceLostError: it is held by somebody else now.
        """
        await self._fenced(lease, lambda raw: lease_rows.renew(raw, self._host_clock, lease))

    async def release(self, lease: Lease) -> None:
        """Give the lease back at once; never raises when it is lost already."""
        self._refuse_viewer()
        await self._database.write(lambda raw: lease_rows.give_back(raw, lease))
        self._let_go(lease.epoch)

    async def publish(self, lease: Lease, batch: Batch) -> int:
        """Write a batch in one transaction under the fence and return the new revision.

        Raises:
            FenceLostError: somebody else holds the lease.
            StoreFullError: the disk is full; nothing was written.
            StoreError: a chunk leaves out bytes; nothing was written.
        """
        documents = await asyncio.to_thread(fleet_tables.encode_fleet, batch)

        def publish(raw: sqlite3.Connection) -> int:
            revision = lease_rows.bump(raw, self._host_clock, lease)
            fleet_tables.write_fleet(raw, revision, documents, batch.gone, batch.at)
            finding_tables.write_readings(raw, batch.readings)
            if batch.fleet_findings is not None:
                finding_tables.write_fleet_findings(raw, batch.fleet_findings, batch.at)
            finding_tables.end_gone(raw, batch.gone, batch.at)
            self._write_logs(raw, batch)
            raw.executemany(
                "INSERT INTO event (instance_id, doc) VALUES (?, ?)",
                [(event.instance_id, encode(event)) for event in batch.events],
            )
            sample_tables.write_samples(raw, batch.samples)
            spend_tables.write_spend(raw, batch.spend)
            proposal_tables.write_proposals(raw, batch.proposals)
            machine_record.write_instances(raw, batch.instances, batch.at)
            machine_record.write_readings(raw, batch.readings)
            machine_record.write_gone(raw, batch.gone, batch.at)
            retention.prune(raw, batch.at)
            return revision

        return await self._fenced(lease, publish)

    async def accept_host_key(self, lease: Lease, instance_id: int, key: str) -> None:
        """Bind a host key to an instance, replacing an older one."""

        def accept(raw: sqlite3.Connection) -> None:
            lease_rows.renew(raw, self._host_clock, lease)
            raw.execute(
                "INSERT OR REPLACE INTO host_key (instance_id, key, accepted_at) VALUES (?, ?, ?)",
                (instance_id, key, self._clock.now()),
            )

        await self._fenced(lease, accept)

    async def keep_older(self, lease: Lease, chunk: LogChunk) -> int:
        """Put bytes before the first stored one of a stream's newest generation, under the fence.

        Returns how many were new; what is stored already is left out.

        Raises:
            FenceLostError: somebody else holds the lease.
            StoreError: they do not reach the first stored byte, are of another generation, or
                there is no room for them; nothing was written.
        """

        def keep(raw: sqlite3.Connection) -> int:
            lease_rows.renew(raw, self._host_clock, lease)
            (total,) = raw.execute("SELECT log_stored FROM shard").fetchone()
            taken = log_older.prepend(raw, chunk, total, self._budget)
            raw.execute(
                "UPDATE shard SET log_stored = log_stored + ?, log_received = log_received + ?,"
                " log_dropped = log_dropped - ?",
                (taken.disk_bytes, taken.log_bytes, taken.log_bytes),
            )
            return taken.log_bytes

        return await self._fenced(lease, keep)

    async def keep_charges(self, lease: Lease, charges: DayOfCharges) -> None:
        """Keep what was charged on a day, in place of what was known of it.

        Raises:
            FenceLostError: somebody else holds the lease.
        """

        def keep(raw: sqlite3.Connection) -> None:
            lease_rows.renew(raw, self._host_clock, lease)
            charge_tables.write_charges(raw, charges)

        await self._fenced(lease, keep)

    async def keep_snapshot(self, lease: Lease, snapshot: Snapshot) -> None:
        """Keep a last look at a host; the oldest make room for it.

        Raises:
            FenceLostError: somebody else holds the lease.
        """
        document = await asyncio.to_thread(snapshot_tables.pack, snapshot)

        def keep(raw: sqlite3.Connection) -> None:
            lease_rows.renew(raw, self._host_clock, lease)
            snapshot_tables.write_snapshot(raw, snapshot, document)

        await self._fenced(lease, keep)

    async def keep_answer(self, lease: Lease, answer: Answer) -> None:
        """Keep what a host answered to a command; the oldest make room for it.

        Raises:
            FenceLostError: somebody else holds the lease.
        """
        document = await asyncio.to_thread(answer_tables.pack, answer)

        def keep(raw: sqlite3.Connection) -> None:
            lease_rows.renew(raw, self._host_clock, lease)
            answer_tables.write_answer(raw, answer.intent_id, document)

        await self._fenced(lease, keep)

    async def claim(self, lease: Lease, only: Collection[str] | None = None) -> tuple[Intent, ...]:
        """Move requested intents to `running` under the fence and return them, oldest first.

        With `only`, those of these names; never what was withdrawn.
        """
        self._refuse_viewer()
        if not await self._database.read(intent_tables.has_requested):
            return ()

        def claim(raw: sqlite3.Connection) -> tuple[Intent, ...]:
            lease_rows.renew(raw, self._host_clock, lease)
            return intent_tables.claim_requested(raw, lease, self._clock.now(), only)

        return await self._fenced(lease, claim)

    async def unfinished(self, lease: Lease) -> tuple[Intent, ...]:
        """Return `running` and `unknown` intents of earlier epochs, to be checked, not repeated.

        What cannot be read is set aside.
        """

        def read(raw: sqlite3.Connection) -> tuple[Intent, ...]:
            lease_rows.renew(raw, self._host_clock, lease)
            intent_tables.set_aside(raw, self._clock.now())
            return intent_tables.read_unfinished(raw, lease)

        return await self._fenced(lease, read)

    async def settle(
        self,
        lease: Lease,
        intent_id: str,
        state: IntentState,
        result: SafeText,
        at: float,
        *,
        made: int | None = None,
    ) -> None:
        """Move an intent on and write the audit entry in one transaction under the fence.

        `made` is the instance that the act brought about; from then on the intent is about it.
        """

        def settle(raw: sqlite3.Connection) -> None:
            lease_rows.renew(raw, self._host_clock, lease)
            intent_tables.settle_intent(raw, intent_id, state, result, at, made=made)

        await self._fenced(lease, settle)

    def _write_logs(self, raw: sqlite3.Connection, batch: Batch) -> None:
        appended = log_blocks.append(raw, batch.chunks, batch.positions)
        disk_bytes = appended.disk_bytes
        for instance_id in batch.gone:
            disk_bytes += log_blocks.seal_instance(raw, instance_id)
        if not appended.streams and not disk_bytes:
            return
        (total,) = raw.execute("SELECT log_stored FROM shard").fetchone()
        evicted = log_budget.enforce(raw, appended.streams, total + disk_bytes, self._budget)
        raw.execute(
            "UPDATE shard SET log_stored = log_stored + ?, log_received = log_received + ?,"
            " log_dropped = log_dropped + ?",
            (
                disk_bytes - evicted.disk_bytes,
                appended.received,
                appended.skipped + evicted.log_bytes,
            ),
        )

    async def _fenced(self, lease: Lease, work: Callable[[sqlite3.Connection], T]) -> T:
        self._refuse_viewer()
        try:
            return await self._database.write(work)
        except FenceLostError:
            self._let_go(lease.epoch)
            raise

    def _let_go(self, epoch: int) -> None:
        lock = self._locks.pop(epoch, None)
        if lock is not None:
            lock.close()

    def _refuse_viewer(self) -> None:
        if self._viewer:
            raise StoreError("a viewer may write intents and watches only")
