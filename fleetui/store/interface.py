"""The store is the interface between the collector and the consoles.

The collector publishes under a lease; consoles follow revisions and write intents. Neither
knows where the other runs (facts: console_and_scale.md section 3).
"""

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from fleetui.domain.answer import Answer
from fleetui.domain.charge import DayOfCharges
from fleetui.domain.finding_record import (
    FindingDecision,
    FindingRecord,
    FleetFinding,
    MachineMark,
    SignatureHistory,
)
from fleetui.domain.instance import Instance, Walk
from fleetui.domain.intent import AuditEntry, Event, Intent, IntentState, Withdrawal
from fleetui.domain.machine_record import MachineRecord
from fleetui.domain.money import Spend, SpendTotal
from fleetui.domain.policy import Proposal
from fleetui.domain.reading import FleetRow, Reading
from fleetui.domain.sample import FleetSample, Sample
from fleetui.domain.snapshot import Snapshot
from fleetui.domain.standing import Mark, Standing
from fleetui.domain.stream import LogChunk, StreamId, StreamPosition
from fleetui.domain.text import SafeText


class StoreError(Exception):
    """The store cannot do what was asked; the text says what the operator can do."""


class FenceLostError(StoreError):
    """Another collector holds the lease: everything of this one was rolled back; stop."""


class StoreFullError(StoreError):
    """The disk is full or read-only. Nothing of the batch was kept; try again later."""


class Lease(msgspec.Struct, frozen=True):
    """The right to write facts. `epoch` grows with each holder and is the fence."""

    holder: str
    epoch: int
    ttl_seconds: float


class CollectorHealth(msgspec.Struct, frozen=True, kw_only=True):
    """What the collector says of itself, shown in the console's header."""

    at: float
    holder: str
    version: str
    started_at: float
    instances: int = 0
    ssh_connected: int = 0
    ssh_wanted: int = 0
    walks_complete: int = 0
    walks_failed: int = 0
    rows_odd: int = 0
    """Rows of the newest complete walk that could not be read in full."""
    log_bytes: int = 0
    balance: float | None = None
    error: SafeText | None = None
    """The newest trouble of the collector itself (API, disk), `None` while all is well."""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What one transaction of the collector writes: all of it or nothing.

    `instances` and `rows` replace what is known of their ids; `gone` marks ids as gone (their
    history stays). Chunks must continue their stream at the stored offset or start a new
    generation; positions name the offset after them. `fleet_findings` are all of the fleet as a
    whole that stand now, `None` when nobody looked.
    """

    at: float
    instances: Sequence[Instance] = ()
    rows: Sequence[FleetRow] = ()
    readings: Sequence[Reading] = ()
    gone: Sequence[int] = ()
    chunks: Sequence[LogChunk] = ()
    positions: Sequence[StreamPosition] = ()
    events: Sequence[Event] = ()
    samples: Sequence[Sample] = ()
    fleet_findings: Sequence[FleetFinding] | None = None
    spend: Sequence[Spend] = ()
    proposals: Sequence[Proposal] | None = None
    walk: Walk | None = None
    health: CollectorHealth | None = None


class FleetView(msgspec.Struct, frozen=True, kw_only=True):
    """The fleet as of `revision`; after a `follow`, `rows` holds only the changed ones."""

    revision: int
    rows: tuple[FleetRow, ...]
    removed: tuple[int, ...] = ()
    last_walk: Walk | None = None
    last_complete_walk: Walk | None = None
    health: CollectorHealth | None = None
    lease_held: bool = False
    whole: bool = False
    """True when `rows` is the whole fleet (first listing, or the position was too old)."""


class LogWindow(msgspec.Struct, frozen=True, kw_only=True):
    """Stored bytes of one generation: `data` starts at byte `offset`.

    `first_offset` is the oldest byte still stored, `end_offset` the byte after the newest;
    `dropped` counts bytes of the generation that limits pushed out or that were skipped;
    `lost_files` and `lost_bytes` are those of `domain.stream.StreamPosition`.
    """

    stream: StreamId
    generation: int
    offset: int
    data: bytes
    first_offset: int
    end_offset: int
    dropped: int = 0
    lost_files: int = 0
    lost_bytes: int = 0


class LogMissing(msgspec.Struct, frozen=True, kw_only=True):
    """What is not stored of the logs of an instance, all files and their lives together.

    `skipped` are bytes left out at first sight, `pushed_out` those that made room by the limits;
    `lost_files` and `lost_bytes` are those of `domain.stream.StreamPosition`.
    """

    skipped: int = 0
    pushed_out: int = 0
    lost_files: int = 0
    lost_bytes: int = 0


class ViewerStore(Protocol):
    """What consoles and headless commands may do."""

    async def fleet(self) -> FleetView:
        """List the whole fleet."""

    async def follow(self, revision: int) -> FleetView:
        """Return what changed after `revision`; whole when that position is too old."""

    async def reading(self, instance_id: int) -> Reading | None:
        """Return the newest whole reading, also of a gone instance."""

    async def readings(self) -> tuple[Reading, ...]:
        """Return the newest reading of every live instance."""

    async def instance(self, instance_id: int) -> Instance | None:
        """Return the newest inventory row, also of a gone instance."""

    async def host_key(self, instance_id: int) -> str | None:
        """Return the host key (OpenSSH text) bound to an instance; `None` before a login."""

    async def streams(self, instance_id: int) -> tuple[StreamPosition, ...]:
        """Return the streams of an instance, the most recently written first."""

    async def positions(self) -> tuple[StreamPosition, ...]:
        """Return every stream's stored position, the most recently written first."""

    async def log_bytes(self, stream: StreamId, generation: int) -> tuple[LogChunk, ...]:
        """Return the stored bytes of a generation in order, with the times they came at."""

    async def log_at(self, stream: StreamId, at: float) -> tuple[int, int] | None:
        """Return generation and offset of the oldest stored byte that arrived at `at` or later."""

    async def log_window(
        self,
        stream: StreamId,
        *,
        generation: int | None = None,
        end: int | None = None,
        size: int = 262_144,
    ) -> LogWindow | None:
        """Return up to `size` stored bytes before `end` (default: the newest ones)."""

    async def log_missing(self) -> dict[int, LogMissing]:
        """Return what is not stored of the logs of each instance of which something is not."""

    async def samples(self, instance_id: int, since: float) -> tuple[Sample, ...]:
        """Return the samples of an instance since an epoch time, oldest first."""

    async def fleet_samples(self, since: float, step_seconds: float) -> tuple[FleetSample, ...]:
        """Return the fleet's sums since an epoch time in steps, oldest first."""

    async def standing(self) -> Standing:
        """Return protected instances and blacklisted machines."""

    async def proposals(self) -> tuple[Proposal, ...]:
        """Return what the owner's rules propose now."""

    async def spend_totals(self) -> dict[int, SpendTotal]:
        """Return what each instance has cost since it was first seen."""

    async def spend(self, since_day: int) -> tuple[Spend, ...]:
        """Return what was spent on a day (UTC, counted from the epoch) and later, oldest first."""

    async def proofs(self, since_day: int) -> dict[tuple[int, int], float]:
        """Return how many proofs each instance made on each day since then: (instance, day).

        Measured rates over the time they were measured in; whoever has no rate is not there.
        """

    async def charges(self, since_day: int) -> tuple[DayOfCharges, ...]:
        """Return what the API charged on the days since then that are known, oldest first."""

    async def events(
        self, *, instance_id: int | None = None, limit: int = 200
    ) -> tuple[Event, ...]:
        """Return the newest events, newest first."""

    async def intend(self, intent: Intent) -> None:
        """Record a requested action and its audit entry in one transaction."""

    async def withdraw(self, withdrawal: Withdrawal) -> None:
        """Take a request back that no collector has taken, with its audit entry.

        Raises:
            StoreError: it is not waiting any more.
        """

    async def intents(
        self, *, instance_id: int | None = None, limit: int = 200
    ) -> tuple[Intent, ...]:
        """Return the newest intents, newest first."""

    async def intent(self, intent_id: str) -> Intent | None:
        """Return one intent."""

    async def answers(self, intent_ids: Sequence[str]) -> tuple[Answer, ...]:
        """Return what hosts answered to these `run` intents, in their order, as far as known."""

    async def audit(self, *, limit: int = 200) -> tuple[AuditEntry, ...]:
        """Return the newest audit entries, newest first."""

    async def findings(
        self,
        *,
        instance_id: int | None = None,
        signature: str | None = None,
        resolved: bool = False,
    ) -> tuple[FindingRecord, ...]:
        """Return findings with what was decided about them, the gravest and newest first.

        `instance_id` 0 is the fleet as a whole; `resolved` adds those that are over.
        """

    async def decide(self, decision: FindingDecision) -> None:
        """Record what an operator decided about a finding and its audit entry at once.

        Raises:
            StoreError: there is no such finding, or the decision is incomplete.
        """

    async def signature_history(self, signature: str) -> SignatureHistory | None:
        """Return where and since when a fault is known, and what mended it before."""

    async def snapshots(self, instance_id: int) -> tuple[Snapshot, ...]:
        """Return the last looks at a host, the newest first, also of a gone instance."""

    async def machine_marks(self, machine_id: int) -> tuple[MachineMark, ...]:
        """Return what is remembered of a physical machine, the newest first."""

    async def machine_records(self, machine_id: int | None = None) -> tuple[MachineRecord, ...]:
        """Return what is remembered of all machines, or of one, for each kind it was rented as."""

    async def watch(self, viewer: str, instance_id: int | None, until: float) -> None:
        """Say that `viewer` is alive and which instance it shows; renewed every few seconds."""

    async def close(self) -> None:
        """Release the connection."""


class CollectorStore(ViewerStore, Protocol):
    """What the one collector may do besides."""

    async def take_lease(self, holder: str, ttl_seconds: float) -> Lease | None:
        """Take the lease when nobody holds it (expired, or its process is dead), else `None`."""

    async def renew(self, lease: Lease) -> None:
        """Extend the lease.

        Raises:
            FenceLostError: it is held by somebody else now.
        """

    async def release(self, lease: Lease) -> None:
        """Give the lease back at once; never raises when it is lost already."""

    async def publish(self, lease: Lease, batch: Batch) -> int:
        """Write a batch in one transaction under the fence and return the new revision.

        Raises:
            FenceLostError: somebody else holds the lease.
            StoreFullError: the disk is full; nothing was written.
        """

    async def inventory(self) -> tuple[tuple[Instance, float], ...]:
        """Return the live instances with the time each row was last seen."""

    async def write_protection(self, lease: Lease, instance_id: int, mark: Mark | None) -> None:
        """Protect an instance, or (`None`) no longer, under the fence."""

    async def write_blacklist(self, lease: Lease, machine_id: int, mark: Mark | None) -> None:
        """Put a machine on the blacklist, or (`None`) take it off, under the fence."""

    async def host_keys(self) -> dict[int, str]:
        """Return the accepted host key (OpenSSH line) of each instance."""

    async def accept_host_key(self, lease: Lease, instance_id: int, key: str) -> None:
        """Bind a host key to an instance, replacing an older one."""

    async def keep_older(self, lease: Lease, chunk: LogChunk) -> int:
        """Put bytes before the first stored one of a stream's newest generation, under the fence.

        Returns how many were new; what is stored already is left out.

        Raises:
            FenceLostError: somebody else holds the lease.
            StoreError: they do not reach the first stored byte, are of another generation, or
                there is no room for them; nothing was written.
        """

    async def keep_charges(self, lease: Lease, charges: DayOfCharges) -> None:
        """Keep what was charged on a day, in place of what was known of it.

        Raises:
            FenceLostError: somebody else holds the lease.
        """

    async def keep_snapshot(self, lease: Lease, snapshot: Snapshot) -> None:
        """Keep a last look at a host; the oldest make room for it.

        Raises:
            FenceLostError: somebody else holds the lease.
        """

    async def keep_answer(self, lease: Lease, answer: Answer) -> None:
        """Keep what a host answered to a command; the oldest make room for it.

        Raises:
            FenceLostError: somebody else holds the lease.
        """

    async def requested(self) -> tuple[Intent, ...]:
        """Return the intents that wait to be taken, oldest first."""

    async def claim(self, lease: Lease, only: Collection[str] | None = None) -> tuple[Intent, ...]:
        """Move requested intents to `running` under the fence and return them, oldest first.

        With `only`, those of these names; never what was withdrawn.
        """

    async def unfinished(self, lease: Lease) -> tuple[Intent, ...]:
        """Return `running` and `unknown` intents of earlier epochs, to be checked, not repeated."""

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

    async def watched(self, now: float) -> dict[int, str]:
        """Return instance id to viewer for instances that somebody shows now."""

    async def newest_viewer(self) -> float | None:
        """Return until when the longest-lived viewer said to be alive."""
