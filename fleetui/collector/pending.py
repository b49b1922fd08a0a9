"""What waits for the next transaction, bounded."""

from collections import Counter, deque
from collections.abc import Iterable

from fleetui.domain.finding_record import FleetFinding
from fleetui.domain.instance import Instance, Walk
from fleetui.domain.intent import Event
from fleetui.domain.money import Spend
from fleetui.domain.policy import Proposal
from fleetui.domain.reading import FleetRow, Reading
from fleetui.domain.sample import Sample
from fleetui.domain.stage import Stage
from fleetui.domain.stream import LogChunk, StreamId, StreamPosition
from fleetui.store.interface import Batch, CollectorHealth

EVENT_LIMIT = 20_000
SAMPLE_LIMIT = 100_000
JOINED_CHUNK_BYTES = 256 * 1024
PIECE_BYTES = 256
"""What a piece of a log takes besides its bytes: many small ones are not free."""
BATCH_LOG_ROWS = 4000
"""Most chunks and positions in one batch, which the store must write well within the lease."""


class Pending:
    """Facts gathered since the last batch.

    Of rows, readings, instances, walk and health only the newest counts. Bytes stay in their
    order; a batch takes the first of them up to its limits and names the positions behind
    exactly those; `is_behind` tells that it left some. Events and samples beyond their limits
    push the oldest out (`pushed_out`).
    """

    def __init__(self) -> None:
        self._bytes: deque[tuple[LogChunk, StreamPosition]] = deque()
        self._sizes: Counter[int] = Counter()
        self._instances: dict[int, Instance] = {}
        self._rows: dict[int, FleetRow] = {}
        self._readings: dict[int, Reading] = {}
        self._gone: set[int] = set()
        self._events: deque[Event] = deque(maxlen=EVENT_LIMIT)
        self._samples: deque[Sample] = deque(maxlen=SAMPLE_LIMIT)
        self._fleet_findings: tuple[FleetFinding, ...] | None = None
        self._spend: dict[tuple[int, int, Stage], Spend] = {}
        self._proposals: tuple[Proposal, ...] | None = None
        self._walk: Walk | None = None
        self.size = 0
        self.is_behind = False
        self.pushed_out = 0

    def __bool__(self) -> bool:
        return bool(
            self._bytes
            or self._instances
            or self._rows
            or self._readings
            or self._gone
            or self._events
            or self._samples
            or self._spend
            or self._proposals is not None
            or self._walk
            or self._fleet_findings is not None
        )

    def size_of(self, instance_id: int) -> int:
        """Return how many log bytes of an instance wait, with `PIECE_BYTES` for each piece."""
        return self._sizes[instance_id]

    def add_bytes(self, chunk: LogChunk, position: StreamPosition) -> None:
        """Add bytes and the position behind them (no bytes: only the position)."""
        self._bytes.append((chunk, position))
        size = PIECE_BYTES + len(chunk.data)
        self._sizes[chunk.stream.instance_id] += size
        self.size += size

    def add_rows(self, rows: Iterable[FleetRow]) -> None:
        """Add table rows; the newest of an instance counts."""
        self._rows.update((row.instance_id, row) for row in rows)

    def add_readings(self, readings: Iterable[Reading]) -> None:
        """Add readings; the newest of an instance counts."""
        self._readings.update((reading.instance_id, reading) for reading in readings)

    def add_instances(self, instances: Iterable[Instance]) -> None:
        """Add inventory rows; the newest of an instance counts."""
        for instance in instances:
            self._instances[instance.instance_id] = instance
            self._gone.discard(instance.instance_id)

    def add_gone(self, instance_id: int) -> None:
        """Say that an instance is gone; its last row and reading are still written."""
        self._gone.add(instance_id)

    def add_events(self, events: Iterable[Event]) -> None:
        """Add timeline entries."""
        for event in events:
            self.pushed_out += len(self._events) == EVENT_LIMIT
            self._events.append(event)

    def add_samples(self, samples: Iterable[Sample]) -> None:
        """Add chart points."""
        self._samples.extend(samples)

    def set_fleet_findings(self, findings: tuple[FleetFinding, ...]) -> None:
        """Set all faults of the fleet as a whole that stand now."""
        self._fleet_findings = findings

    def add_spend(self, spend: Iterable[Spend]) -> None:
        """Add money spent; one entry is held for each instance, day and stage."""
        for item in spend:
            key = item.instance_id, item.day, item.stage
            held = self._spend.get(key)
            self._spend[key] = item if held is None else held.plus(item)

    def set_proposals(self, proposals: tuple[Proposal, ...]) -> None:
        """Set what the policy proposes now."""
        self._proposals = proposals

    def set_walk(self, walk: Walk) -> None:
        """Set the newest walk."""
        self._walk = walk

    def take(self, at: float, health: CollectorHealth | None, byte_limit: int) -> Batch:
        """Take all facts and the first bytes up to the limit (at least one chunk)."""
        chunks, positions = self._take_bytes(byte_limit)
        batch = Batch(
            at=at,
            instances=tuple(self._instances.values()),
            rows=tuple(self._rows.values()),
            readings=tuple(self._readings.values()),
            gone=tuple(self._gone),
            chunks=chunks,
            positions=positions,
            events=tuple(self._events),
            samples=tuple(self._samples),
            spend=tuple(self._spend.values()),
            fleet_findings=self._fleet_findings,
            proposals=self._proposals,
            walk=self._walk,
            health=health,
        )
        for held in (self._instances, self._rows, self._readings, self._gone, self._spend):
            held.clear()
        self._events.clear()
        self._samples.clear()
        self._fleet_findings = None
        self._proposals = None
        self._walk = None
        return batch

    def _take_bytes(
        self, byte_limit: int
    ) -> tuple[tuple[LogChunk, ...], tuple[StreamPosition, ...]]:
        positions: dict[StreamId, StreamPosition] = {}
        runs: list[list[LogChunk]] = []
        open_runs: dict[StreamId, list[LogChunk]] = {}
        taken = 0
        while self._bytes and len(runs) + len(positions) < BATCH_LOG_ROWS:
            size = PIECE_BYTES + len(self._bytes[0][0].data)
            if taken and taken + size > byte_limit:
                break
            chunk, position = self._bytes.popleft()
            taken += size
            self._sizes[chunk.stream.instance_id] -= size
            positions[chunk.stream] = position
            if not chunk.data:
                continue
            run = open_runs.get(chunk.stream)
            if run is not None and _continues(run, chunk):
                run.append(chunk)
            else:
                open_runs[chunk.stream] = [chunk]
                runs.append(open_runs[chunk.stream])
        self.size -= taken
        self.is_behind = bool(self._bytes)
        self._sizes = +self._sizes
        return tuple(_joined(run) for run in runs), tuple(positions.values())


def _continues(run: list[LogChunk], chunk: LogChunk) -> bool:
    last = run[-1]
    return (
        last.generation == chunk.generation
        and last.offset + len(last.data) == chunk.offset
        and chunk.offset + len(chunk.data) - run[0].offset <= JOINED_CHUNK_BYTES
    )


def _joined(run: list[LogChunk]) -> LogChunk:
    first = run[0]
    if len(run) == 1:
        return first
    return LogChunk(
        stream=first.stream,
        generation=first.generation,
        offset=first.offset,
        data=b"".join(chunk.data for chunk in run),
        at=run[-1].at,
    )
