"""The store on SQLite: consoles and the collector of one machine share one file."""

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TypeVar

from fleetui.domain.answer import Answer
from fleetui.domain.charge import DayOfCharges
from fleetui.domain.clock import Clock
from fleetui.domain.codec import decode, encode
from fleetui.domain.finding_record import (
    FindingDecision,
    FindingRecord,
    MachineMark,
    SignatureHistory,
)
from fleetui.domain.instance import Instance
from fleetui.domain.intent import AuditEntry, Event, Intent, IntentState, Withdrawal
from fleetui.domain.machine_record import MachineRecord
from fleetui.domain.money import Spend, SpendTotal
from fleetui.domain.policy import Proposal
from fleetui.domain.reading import Reading
from fleetui.domain.sample import FleetSample, Sample
from fleetui.domain.snapshot import Snapshot
from fleetui.domain.standing import Mark, Standing
from fleetui.domain.stream import LogChunk, StreamId, StreamPosition
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
    log_reading,
    machine_marks,
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
    FleetView,
    Lease,
    LogMissing,
    LogWindow,
    StoreError,
)
from fleetui.store.lease import HolderLock, host_clock
from fleetui.store.log_budget import LogBudget, LogTotals
from fleetui.store.sample_tables import SampleSpread

T = TypeVar("T")


class SqliteStore:
    """Implements `CollectorStore`; opened with `viewer=True` it takes only what viewers may do.

    Every method is one short transaction and raises `StoreError` when the file cannot be used.
    """

    def __init__(
        self, database: Database, clock: Clock, budget: LogBudget, *, viewer: bool
    ) -> None:
        self._database = database
        self._clock = clock
        self._budget = budget
        self._viewer = viewer
        self._host_clock = host_clock()
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

    async def fleet(self) -> FleetView:
        """List the whole fleet; `lease_held` is exact here, a killed collector included."""
        return await self._database.read(lambda raw: self._view(raw, None))

    async def follow(self, revision: int) -> FleetView:
        """Return what changed after `revision`; whole when that position is too old."""
        return await self._database.read(lambda raw: self._view(raw, revision))

    async def reading(self, instance_id: int) -> Reading | None:
        """Return the newest whole reading, also of a gone instance."""
        return await self._database.read(lambda raw: fleet_tables.read_reading(raw, instance_id))

    async def readings(self) -> tuple[Reading, ...]:
        """Return the newest reading of every live instance."""
        return await self._database.read(fleet_tables.read_readings)

    async def instance(self, instance_id: int) -> Instance | None:
        """Return the newest inventory row, also of a gone instance."""
        return await self._database.read(lambda raw: fleet_tables.read_instance(raw, instance_id))

    async def inventory(self) -> tuple[tuple[Instance, float], ...]:
        """Return the live instances with the time each row was last seen."""
        return await self._database.read(fleet_tables.read_inventory)

    async def streams(self, instance_id: int) -> tuple[StreamPosition, ...]:
        """Return the streams of an instance, the most recently written first."""
        return await self._database.read(lambda raw: log_reading.read_positions(raw, instance_id))

    async def positions(self) -> tuple[StreamPosition, ...]:
        """Return every stream's stored position, to resume the tails."""
        return await self._database.read(log_reading.read_positions)

    async def log_window(
        self,
        stream: StreamId,
        *,
        generation: int | None = None,
        end: int | None = None,
        size: int = 262_144,
    ) -> LogWindow | None:
        """Return up to `size` stored bytes before `end` (default: the newest ones)."""
        return await self._database.read(
            lambda raw: log_reading.read_window(raw, stream, generation, end, size)
        )

    async def log_bytes(self, stream: StreamId, generation: int) -> tuple[LogChunk, ...]:
        """Return the stored bytes of a generation in order, with their arrival times."""
        return await self._database.read(
            lambda raw: log_reading.read_generation(raw, stream, generation)
        )

    async def log_at(self, stream: StreamId, at: float) -> tuple[int, int] | None:
        """Return generation and offset of the oldest stored byte that arrived at `at` or later."""
        return await self._database.read(lambda raw: log_reading.find_time(raw, stream, at))

    async def log_totals(self) -> LogTotals:
        """Return how many log bytes are stored, were received and were dropped."""
        return await self._database.read(log_budget.read_totals)

    async def log_missing(self) -> dict[int, LogMissing]:
        """Return what is not stored of the logs of each instance of which something is not."""
        return await self._database.read(log_reading.read_missing)

    async def samples(self, instance_id: int, since: float) -> tuple[Sample, ...]:
        """Return the means of an instance's buckets since an epoch time, oldest first."""
        return await self._database.read(
            lambda raw: sample_tables.read_samples(raw, instance_id, since)
        )

    async def sample_spreads(self, instance_id: int, since: float) -> tuple[SampleSpread, ...]:
        """Return least, mean and greatest values of the same buckets."""
        return await self._database.read(
            lambda raw: sample_tables.read_spreads(raw, instance_id, since)
        )

    async def fleet_samples(self, since: float, step_seconds: float) -> tuple[FleetSample, ...]:
        """Return the fleet's sums since an epoch time in steps, oldest first."""
        return await self._database.read(
            lambda raw: sample_tables.read_fleet_samples(raw, since, step_seconds)
        )

    async def standing(self) -> Standing:
        """Return protected instances and blacklisted machines."""
        return await self._database.read(standing_tables.read_standing)

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

    async def proposals(self) -> tuple[Proposal, ...]:
        """Return what the owner's rules propose now."""
        return await self._database.read(proposal_tables.read_proposals)

    async def spend(self, since_day: int) -> tuple[Spend, ...]:
        """Return what was spent on a day (UTC, counted from the epoch) and later, oldest first."""
        return await self._database.read(lambda raw: spend_tables.read_spend(raw, since_day))

    async def proofs(self, since_day: int) -> dict[tuple[int, int], float]:
        """Return how many proofs each instance made on each day since then: (instance, day)."""
        return await self._database.read(lambda raw: sample_tables.read_proofs(raw, since_day))

    async def charges(self, since_day: int) -> tuple[DayOfCharges, ...]:
        """Return what the API charged on the days since then that are known, oldest first."""
        return await self._database.read(lambda raw: charge_tables.read_charges(raw, since_day))

    async def spend_totals(self) -> dict[int, SpendTotal]:
        """Return what each instance has cost since it was first seen."""
        return await self._database.read(spend_tables.read_totals)

    async def events(
        self, *, instance_id: int | None = None, limit: int = 200
    ) -> tuple[Event, ...]:
        """Return the newest events, newest first."""
        return await self._database.read(lambda raw: _read_events(raw, instance_id, limit))

    async def intend(self, intent: Intent) -> None:
        """Record a requested action and its audit entry in one transaction."""
        await self._database.write(lambda raw: intent_tables.write_intent(raw, intent))

    async def withdraw(self, withdrawal: Withdrawal) -> None:
        """Take a request back that no collector has taken, with its audit entry.

        Raises:
            StoreError: it is not waiting any more.
        """
        await self._database.write(lambda raw: intent_tables.write_withdrawal(raw, withdrawal))

    async def intents(
        self, *, instance_id: int | None = None, limit: int = 200
    ) -> tuple[Intent, ...]:
        """Return the newest intents, newest first."""
        return await self._database.read(
            lambda raw: intent_tables.read_intents(raw, instance_id, limit)
        )

    async def intent(self, intent_id: str) -> Intent | None:
        """Return one intent."""
        return await self._database.read(lambda raw: intent_tables.read_intent(raw, intent_id))

    async def answers(self, intent_ids: Sequence[str]) -> tuple[Answer, ...]:
        """Return what hosts answered to these `run` intents, in their order, as far as known."""
        return await self._database.read(lambda raw: answer_tables.read_answers(raw, intent_ids))

    async def audit(self, *, limit: int = 200) -> tuple[AuditEntry, ...]:
        """Return the newest audit entries, newest first."""
        return await self._database.read(lambda raw: intent_tables.read_audit(raw, limit))

    async def findings(
        self,
        *,
        instance_id: int | None = None,
        signature: str | None = None,
        resolved: bool = False,
    ) -> tuple[FindingRecord, ...]:
        """Return findings with what was decided about them, the gravest and newest first."""
        return await self._database.read(
            lambda raw: finding_tables.read_findings(
                raw, instance_id=instance_id, signature=signature, resolved=resolved
            )
        )

    async def decide(self, decision: FindingDecision) -> None:
        """Record what an operator decided about a finding and its audit entry at once.

        Raises:
            StoreError: there is no such finding, or the decision is incomplete.
        """
        await self._database.write(lambda raw: finding_tables.write_decision(raw, decision))

    async def signature_history(self, signature: str) -> SignatureHistory | None:
        """Return where and since when a fault is known, and what mended it before."""
        return await self._database.read(lambda raw: machine_marks.read_history(raw, signature))

    async def snapshots(self, instance_id: int) -> tuple[Snapshot, ...]:
        """Return the last looks at a host, the newest first, also of a gone instance."""
        return await self._database.read(
            lambda raw: snapshot_tables.read_snapshots(raw, instance_id)
        )

    async def machine_marks(self, machine_id: int) -> tuple[MachineMark, ...]:
        """Return what is remembered of a physical machine, the newest first."""
        return await self._database.read(lambda raw: machine_marks.read_marks(raw, machine_id))

    async def machine_records(self, machine_id: int | None = None) -> tuple[MachineRecord, ...]:
        """Return what is remembered of all machines, or of one, for each kind it was rented as."""
        return await self._database.read(
            lambda raw: machine_record.read_machine_records(raw, machine_id)
        )

    async def watch(self, viewer: str, instance_id: int | None, until: float) -> None:
        """Say that `viewer` is alive and which instance it shows; renewed every few seconds."""
        await self._database.write(
            lambda raw: intent_tables.write_watch(raw, viewer, instance_id, until)
        )

    async def watched(self, now: float) -> dict[int, str]:
        """Return instance id to viewer for instances that somebody shows now."""
        return await self._database.read(lambda raw: intent_tables.read_watched(raw, now))

    async def newest_viewer(self) -> float | None:
        """Return until when the longest-lived viewer said to be alive."""
        return await self._database.read(intent_tables.read_newest_viewer)

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

    async def host_key(self, instance_id: int) -> str | None:
        """Return the host key (OpenSSH text) bound to an instance; `None` before a login."""

        def read(raw: sqlite3.Connection) -> str | None:
            found = raw.execute("SELECT key FROM host_key WHERE instance_id = ?", (instance_id,))
            row = found.fetchone()
            return None if row is None else str(row[0])

        return await self._database.read(read)

    async def host_keys(self) -> dict[int, str]:
        """Return the accepted host key (OpenSSH line) of each instance."""
        return await self._database.read(
            lambda raw: dict(raw.execute("SELECT instance_id, key FROM host_key").fetchall())
        )

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

    async def requested(self) -> tuple[Intent, ...]:
        """Return the intents that wait to be taken, oldest first."""
        return await self._database.read(intent_tables.read_requested)

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
        """Return `running` and `unknown` intents of earlier epochs, to be checked, not repeated."""
        return await self._database.read(lambda raw: intent_tables.read_unfinished(raw, lease))

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

    def _view(self, raw: sqlite3.Connection, since: int | None) -> FleetView:
        held = lease_rows.read_lease(raw).is_held(
            self._database.path, self._host_clock, trust_fresh=since is not None
        )
        return fleet_tables.read_fleet(raw, since, lease_held=held)

    def _is_held_by_other(self, raw: sqlite3.Connection) -> bool:
        row = lease_rows.read_lease(raw)
        return row.is_held(self._database.path, self._host_clock, trust_fresh=False)

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


def _read_events(raw: sqlite3.Connection, instance_id: int | None, limit: int) -> tuple[Event, ...]:
    if instance_id is None:
        found = raw.execute("SELECT doc FROM event ORDER BY id DESC LIMIT ?", (limit,))
    else:
        found = raw.execute(
            "SELECT doc FROM event WHERE instance_id = ? ORDER BY id DESC LIMIT ?",
            (instance_id, limit),
        )
    return tuple(decode(document, Event) for (document,) in found)
