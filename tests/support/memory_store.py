"""A viewer's store in memory: what the console's tests and the sample fleet run on."""

import asyncio
from collections.abc import Sequence
from math import inf

import msgspec

from fleetui.domain.answer import Answer
from fleetui.domain.charge import DayOfCharges
from fleetui.domain.finding_record import (
    FindingDecision,
    FindingRecord,
    MachineMark,
    SignatureHistory,
    begun,
)
from fleetui.domain.instance import Instance, Walk
from fleetui.domain.intent import AuditEntry, Event, Intent, Withdrawal
from fleetui.domain.machine_record import MachineRecord
from fleetui.domain.money import Spend, SpendTotal
from fleetui.domain.policy import Proposal
from fleetui.domain.reading import FleetRow, Reading
from fleetui.domain.sample import FleetSample, Sample
from fleetui.domain.snapshot import Snapshot
from fleetui.domain.standing import Standing
from fleetui.domain.stream import LogChunk, StreamId, StreamPosition
from fleetui.store.interface import (
    CollectorHealth,
    FleetView,
    LogMissing,
    LogWindow,
    StoreError,
)


class MemoryStore:
    """Facts set by hand; `trouble` makes every call fail, `stall` makes it hang."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[int, FleetRow]] = {}
        self.gone: dict[int, int] = {}
        self.revision = 1
        self.readings_by_id: dict[int, Reading] = {}
        self.instances: dict[int, Instance] = {}
        self.logs: dict[StreamId, tuple[int, bytearray]] = {}
        self.kinds: dict[StreamId, str] = {}
        self.written_at: dict[StreamId, float] = {}
        self.sample_list: list[Sample] = []
        self.fleet_sample_list: list[FleetSample] = []
        self.event_list: list[Event] = []
        self.spend_list: list[Spend] = []
        self.proofs_made: dict[tuple[int, int], float] = {}
        self.charge_days: list[DayOfCharges] = []
        self.proposal_list: tuple[Proposal, ...] = ()
        self.standing_orders = Standing()
        self.intent_list: list[Intent] = []
        self.answers_by_id: dict[str, Answer] = {}
        self.audit_list: list[AuditEntry] = []
        self.finding_list: list[FindingRecord] = []
        self.snapshot_list: list[Snapshot] = []
        self.decisions: list[FindingDecision] = []
        self.histories: dict[str, SignatureHistory] = {}
        self.marks: dict[int, tuple[MachineMark, ...]] = {}
        self.records: tuple[MachineRecord, ...] = ()
        self.walk: Walk | None = None
        self.complete_walk: Walk | None = None
        self.health: CollectorHealth | None = None
        self.lease_held = True
        self.watches: list[tuple[str, int | None, float]] = []
        self.trouble: Exception | None = None
        self.stall = False
        self.kept_from: dict[StreamId, int] = {}
        self.missing: dict[int, LogMissing] = {}
        self.losses: dict[StreamId, tuple[int, int]] = {}
        """Files and bytes lost in the first life of a stream."""
        self.host_keys_by_id: dict[int, str] = {}

    # -- setting facts -------------------------------------------------------------------------

    def put(self, *rows: FleetRow) -> None:
        self.revision += 1
        for row in rows:
            self.rows[row.instance_id] = (self.revision, row)
            self.gone.pop(row.instance_id, None)

    def remove(self, *instance_ids: int) -> None:
        self.revision += 1
        for instance_id in instance_ids:
            self.rows.pop(instance_id, None)
            self.gone[instance_id] = self.revision

    def write(
        self, instance_id: int, path: str, data: bytes, *, at: float, kind: str = "bench"
    ) -> None:
        stream = StreamId(instance_id, path)
        self.logs.setdefault(stream, (1, bytearray()))[1].extend(data)
        self.kinds[stream] = kind
        self.written_at[stream] = at

    def begin_anew(self, instance_id: int, path: str) -> None:
        stream = StreamId(instance_id, path)
        self.logs[stream] = (self.logs[stream][0] + 1, bytearray())

    # -- ViewerStore -----------------------------------------------------------------------------

    async def _ready(self) -> None:
        if self.stall:
            await asyncio.Event().wait()
        if self.trouble is not None:
            raise self.trouble

    def _view(
        self, rows: tuple[FleetRow, ...], removed: tuple[int, ...], *, whole: bool
    ) -> FleetView:
        return FleetView(
            revision=self.revision, rows=rows, removed=removed, last_walk=self.walk,
            last_complete_walk=self.complete_walk, health=self.health,
            lease_held=self.lease_held, whole=whole,
        )  # fmt: skip

    async def fleet(self) -> FleetView:
        await self._ready()
        return self._view(tuple(row for _, row in self.rows.values()), (), whole=True)

    async def follow(self, revision: int) -> FleetView:
        await self._ready()
        rows = tuple(row for at, row in self.rows.values() if at > revision)
        removed = tuple(item for item, at in self.gone.items() if at > revision)
        return self._view(rows, removed, whole=False)

    async def reading(self, instance_id: int) -> Reading | None:
        await self._ready()
        return self.readings_by_id.get(instance_id)

    async def readings(self) -> tuple[Reading, ...]:
        await self._ready()
        return tuple(self.readings_by_id.values())

    async def instance(self, instance_id: int) -> Instance | None:
        await self._ready()
        return self.instances.get(instance_id)

    async def host_key(self, instance_id: int) -> str | None:
        await self._ready()
        return self.host_keys_by_id.get(instance_id)

    async def streams(self, instance_id: int) -> tuple[StreamPosition, ...]:
        await self._ready()
        found = [
            StreamPosition(
                stream=stream, kind=self.kinds[stream], generation=generation, offset=len(data),
                last_byte_at=self.written_at[stream],
            )
            for stream, (generation, data) in self.logs.items()
            if stream.instance_id == instance_id
        ]  # fmt: skip
        return tuple(sorted(found, key=lambda item: -(item.last_byte_at or 0.0)))

    async def positions(self) -> tuple[StreamPosition, ...]:
        await self._ready()
        owners = dict.fromkeys(stream.instance_id for stream in self.logs)
        found = [item for owner in owners for item in await self.streams(owner)]
        return tuple(sorted(found, key=lambda item: -(item.last_byte_at or 0.0)))

    async def log_at(self, stream: StreamId, at: float) -> tuple[int, int] | None:
        await self._ready()
        if stream not in self.logs or self.written_at[stream] < at:
            return None
        return self.logs[stream][0], 0

    async def log_window(
        self,
        stream: StreamId,
        *,
        generation: int | None = None,
        end: int | None = None,
        size: int = 262_144,
    ) -> LogWindow | None:
        await self._ready()
        if stream not in self.logs:
            return None
        newest, data = self.logs[stream]
        files, lost = self.losses.get(stream, (0, 0))
        if generation not in (None, newest):
            return LogWindow(
                stream=stream, generation=generation, offset=0, data=b"", first_offset=0,
                end_offset=0, lost_files=files, lost_bytes=lost,
            ) if files else None  # fmt: skip
        if newest > 1:
            files, lost = 0, 0
        first = self.kept_from.get(stream, 0)
        stop = len(data) if end is None else min(end, len(data))
        start = max(stop - size, first)
        return LogWindow(
            stream=stream, generation=newest, offset=start, data=bytes(data[start:stop]),
            first_offset=first, end_offset=len(data), dropped=first,
            lost_files=files, lost_bytes=lost,
        )  # fmt: skip

    async def log_missing(self) -> dict[int, LogMissing]:
        await self._ready()
        return self.missing

    async def samples(self, instance_id: int, since: float) -> tuple[Sample, ...]:
        await self._ready()
        return tuple(s for s in self.sample_list if s.instance_id == instance_id and s.at >= since)

    async def fleet_samples(self, since: float, step_seconds: float) -> tuple[FleetSample, ...]:
        await self._ready()
        assert step_seconds > 0
        return tuple(sample for sample in self.fleet_sample_list if sample.at >= since)

    async def standing(self) -> Standing:
        await self._ready()
        return self.standing_orders

    async def log_bytes(self, stream: StreamId, generation: int) -> tuple[LogChunk, ...]:
        await self._ready()
        newest, data = self.logs[stream]
        if generation != newest:
            return ()
        at = self.written_at.get(stream, 0.0)
        return (LogChunk(stream=stream, generation=newest, offset=0, data=bytes(data), at=at),)

    async def proposals(self) -> tuple[Proposal, ...]:
        await self._ready()
        return self.proposal_list

    async def spend(self, since_day: int) -> tuple[Spend, ...]:
        await self._ready()
        return tuple(item for item in self.spend_list if item.day >= since_day)

    async def spend_totals(self) -> dict[int, SpendTotal]:
        await self._ready()
        since: dict[int, float] = {}
        for item in self.spend_list:
            since[item.instance_id] = min(since.get(item.instance_id, inf), item.began_at)
        return {
            key: SpendTotal(
                since=began,
                dollars=sum(item.dollars for item in self.spend_list if item.instance_id == key),
            )
            for key, began in since.items()
        }

    async def proofs(self, since_day: int) -> dict[tuple[int, int], float]:
        await self._ready()
        return {key: value for key, value in self.proofs_made.items() if key[1] >= since_day}

    async def charges(self, since_day: int) -> tuple[DayOfCharges, ...]:
        await self._ready()
        return tuple(item for item in self.charge_days if item.day >= since_day)

    async def events(
        self, *, instance_id: int | None = None, limit: int = 200
    ) -> tuple[Event, ...]:
        await self._ready()
        found = [e for e in self.event_list if instance_id in (None, e.instance_id)]
        return tuple(reversed(found))[:limit]

    async def intend(self, intent: Intent) -> None:
        await self._ready()
        self.intent_list.append(intent)

    async def intents(
        self, *, instance_id: int | None = None, limit: int = 200
    ) -> tuple[Intent, ...]:
        await self._ready()
        found = [i for i in self.intent_list if instance_id in (None, i.instance_id)]
        return tuple(reversed(found))[:limit]

    async def intent(self, intent_id: str) -> Intent | None:
        await self._ready()
        return next((i for i in self.intent_list if i.intent_id == intent_id), None)

    async def withdraw(self, withdrawal: Withdrawal) -> None:
        await self._ready()
        for place, intent in enumerate(self.intent_list):
            if intent.intent_id == withdrawal.intent_id and intent.state == "requested":
                self.intent_list[place] = withdrawal.applied(intent)
                return
        raise StoreError(f"{withdrawal.intent_id} cannot be withdrawn any more")

    async def answers(self, intent_ids: Sequence[str]) -> tuple[Answer, ...]:
        await self._ready()
        return tuple(self.answers_by_id[key] for key in intent_ids if key in self.answers_by_id)

    async def audit(self, *, limit: int = 200) -> tuple[AuditEntry, ...]:
        await self._ready()
        return tuple(reversed(self.audit_list))[:limit]

    async def findings(
        self,
        *,
        instance_id: int | None = None,
        signature: str | None = None,
        resolved: bool = False,
    ) -> tuple[FindingRecord, ...]:
        await self._ready()
        shown = self.finding_list or [
            msgspec.structs.replace(
                begun(finding, reading.at, instance_id=key),
                finding_id=10 * key + number,
                decision=self._decided(10 * key + number),
            )
            for key, reading in self.readings_by_id.items()
            if key in self.rows
            for number, finding in enumerate(reading.findings)
        ]
        return tuple(
            record
            for record in shown
            if instance_id in (None, record.instance_id)
            and signature in (None, record.finding.signature)
            and (resolved or record.resolved_at is None)
        )

    def _decided(self, finding_id: int) -> FindingDecision | None:
        mine = [one for one in self.decisions if one.finding_id == finding_id]
        return mine[-1] if mine else None

    async def decide(self, decision: FindingDecision) -> None:
        await self._ready()
        self.decisions.append(decision)
        self.finding_list = [
            msgspec.structs.replace(record, decision=decision)
            if record.finding_id == decision.finding_id
            else record
            for record in self.finding_list
        ]

    async def signature_history(self, signature: str) -> SignatureHistory | None:
        await self._ready()
        return self.histories.get(signature)

    async def snapshots(self, instance_id: int) -> tuple[Snapshot, ...]:
        await self._ready()
        return tuple(one for one in self.snapshot_list if one.instance_id == instance_id)

    async def machine_marks(self, machine_id: int) -> tuple[MachineMark, ...]:
        await self._ready()
        return self.marks.get(machine_id, ())

    async def machine_records(self, machine_id: int | None = None) -> tuple[MachineRecord, ...]:
        await self._ready()
        return tuple(item for item in self.records if machine_id in (None, item.machine_id))

    async def watch(self, viewer: str, instance_id: int | None, until: float) -> None:
        await self._ready()
        self.watches.append((viewer, instance_id, until))

    async def close(self) -> None:
        """Nothing is held."""


def locked() -> StoreError:
    return StoreError("the store is locked by another program: try again")
