"""What consoles read and write of the store on SQLite."""

import sqlite3
from collections.abc import Sequence
from typing import TypeVar

from fleetui.domain.answer import Answer
from fleetui.domain.charge import DayOfCharges
from fleetui.domain.clock import Clock
from fleetui.domain.codec import decode
from fleetui.domain.finding_record import (
    FindingDecision,
    FindingRecord,
    MachineMark,
    SignatureHistory,
)
from fleetui.domain.instance import Instance
from fleetui.domain.intent import AuditEntry, Event, Intent, Withdrawal
from fleetui.domain.machine_record import MachineRecord
from fleetui.domain.money import Spend, SpendTotal
from fleetui.domain.policy import Proposal
from fleetui.domain.reading import Reading
from fleetui.domain.sample import FleetSample, Sample
from fleetui.domain.snapshot import Snapshot
from fleetui.domain.standing import Standing
from fleetui.domain.stream import LogChunk, StreamId, StreamPosition
from fleetui.store import (
    answer_tables,
    charge_tables,
    finding_tables,
    fleet_tables,
    intent_tables,
    log_budget,
    log_reading,
    machine_marks,
    machine_record,
    proposal_tables,
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
    FleetView,
    LogMissing,
    LogWindow,
)
from fleetui.store.lease import host_clock
from fleetui.store.log_budget import LogTotals
from fleetui.store.sample_tables import SampleSpread

T = TypeVar("T")


class SqliteViewing:
    """Implements `ViewerStore`, and what else is only read.

    Every method is one short transaction and raises `StoreError` when the file cannot be used.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._host_clock = host_clock()

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

    async def requested(self) -> tuple[Intent, ...]:
        """Return the intents that wait to be taken, oldest first."""
        return await self._database.read(intent_tables.read_requested)

    def _view(self, raw: sqlite3.Connection, since: int | None) -> FleetView:
        held = lease_rows.read_lease(raw).is_held(
            self._database.path, self._host_clock, trust_fresh=since is not None
        )
        return fleet_tables.read_fleet(raw, since, lease_held=held)

    def _is_held_by_other(self, raw: sqlite3.Connection) -> bool:
        row = lease_rows.read_lease(raw)
        return row.is_held(self._database.path, self._host_clock, trust_fresh=False)


def _read_events(raw: sqlite3.Connection, instance_id: int | None, limit: int) -> tuple[Event, ...]:
    if instance_id is None:
        found = raw.execute("SELECT doc FROM event ORDER BY id DESC LIMIT ?", (limit,))
    else:
        found = raw.execute(
            "SELECT doc FROM event WHERE instance_id = ? ORDER BY id DESC LIMIT ?",
            (instance_id, limit),
        )
    return tuple(decode(document, Event) for (document,) in found)
