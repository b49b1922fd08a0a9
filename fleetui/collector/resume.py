"""From what is stored back to where a run left off."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from fleetui.domain.instance import Instance
from fleetui.domain.intent import Intent, IntentState, Verb
from fleetui.domain.money import SpendTotal
from fleetui.domain.reading import Reading
from fleetui.domain.standing import Standing
from fleetui.domain.stream import LogChunk, StreamPosition
from fleetui.reading.reader import Reader
from fleetui.ssh.scripts import REPEATED_BYTES
from fleetui.store.interface import CollectorStore

INTENTS_READ = 1000
GENERATIONS_READ = 3
"""How many lives of a file are read again; older ones stay stored."""
BREATH_BYTES = 256 * 1024
"""After so many bytes the loop may do other things, such as renewing the lease."""


@dataclass(frozen=True)
class Remains:
    """What is stored of one live instance."""

    instance: Instance
    row_seen_at: float
    positions: tuple[StreamPosition, ...] = ()
    reading: Reading | None = None


@dataclass(frozen=True)
class Resumed:
    """What is stored of the fleet at the start of a run."""

    remains: tuple[Remains, ...] = ()
    host_keys: dict[int, str] = field(default_factory=dict)
    standing: Standing = field(default_factory=Standing)
    interrupted_at: tuple[tuple[bool, float], ...] = ()
    """When the newest acts that interrupt work were begun, and whether they end it."""
    stopping: frozenset[int] = frozenset()
    """Instances whose last order of ours was a stop."""
    spent: dict[int, SpendTotal] = field(default_factory=dict)
    departed: dict[int, tuple[StreamPosition, ...]] = field(default_factory=dict)
    """Positions of gone instances: an id that is listed again goes on from there."""


async def load(store: CollectorStore) -> Resumed:
    """Load rows, positions and accepted host keys; bytes are read by `refeed`."""
    positions: dict[int, list[StreamPosition]] = defaultdict(list)
    for position in await store.positions():
        positions[position.stream.instance_id].append(await _with_end(store, position))
    remains = [
        Remains(
            instance,
            seen_at,
            tuple(positions.get(instance.instance_id, ())),
            await store.reading(instance.instance_id),
        )
        for instance, seen_at in await store.inventory()
    ]
    live = {remain.instance.instance_id for remain in remains}
    departed = {key: tuple(value) for key, value in positions.items() if key not in live}
    intents = await store.intents(limit=INTENTS_READ)
    return Resumed(
        tuple(remains),
        await store.host_keys(),
        standing=await store.standing(),
        interrupted_at=tuple(
            (intent.verb.ends_work, intent.started_at)
            for intent in intents
            if intent.verb.interrupts_work
            and intent.started_at is not None
            and intent.state is not IntentState.REFUSED
        ),
        stopping=_stopped_by_us(intents),
        spent=await store.spend_totals(),
        departed=departed,
    )


def _stopped_by_us(intents: Sequence[Intent]) -> frozenset[int]:
    """Find the instances whose last order that was taken is a stop; the newest comes first."""
    last: dict[int, Verb] = {}
    for intent in intents:
        taken = intent.state not in (IntentState.FAILED, IntentState.REFUSED)
        if intent.verb in (Verb.STOP, Verb.START) and taken:
            last.setdefault(intent.instance_id, intent.verb)
    return frozenset(key for key, verb in last.items() if verb is Verb.STOP)


async def _with_end(store: CollectorStore, position: StreamPosition) -> StreamPosition:
    """Add the last stored bytes, by which a file rewritten meanwhile is known."""
    window = await store.log_window(
        position.stream,
        generation=position.generation,
        end=position.offset,
        size=REPEATED_BYTES,
    )
    if window is None or window.offset + len(window.data) != position.offset:
        return position
    return msgspec.structs.replace(position, end=window.data)


async def refeed(
    store: CollectorStore, reader: Reader, positions: tuple[StreamPosition, ...]
) -> int:
    """Feed an instance's stored bytes to its reader in the order they came; returns how many."""
    kinds = {position.stream.path: position.kind for position in positions}
    chunks: list[LogChunk] = []
    for position in positions:
        first = max(1, position.generation - GENERATIONS_READ + 1)
        for generation in range(first, position.generation + 1):
            chunks += await store.log_bytes(position.stream, generation)
    # The sort is stable: within one file the order stays.
    chunks.sort(key=lambda chunk: chunk.at)
    total = since_breath = 0
    for chunk in chunks:
        reader.feed(chunk, kinds[chunk.stream.path])
        total += len(chunk.data)
        since_breath += len(chunk.data)
        if since_breath >= BREATH_BYTES:
            since_breath = 0
            await asyncio.sleep(0)
    return total
