"""One transaction a tick: everything that became known since the last one."""

import asyncio
import contextlib
import logging

from fleetui.collector.health import HealthBoard, Part
from fleetui.collector.pending import Pending
from fleetui.domain.clock import Clock
from fleetui.domain.intent import Event
from fleetui.domain.stream import LogChunk, StreamPosition
from fleetui.domain.text import sanitise
from fleetui.store.interface import (
    Batch,
    CollectorStore,
    FenceLostError,
    Lease,
    StoreError,
    StoreFullError,
)

log = logging.getLogger(__name__)

BATCH_BYTES = 4 * 1024 * 1024
HEALTH_INTERVAL_SECONDS = 1.0
RETRY_SECONDS = (0.5, 10.0)
"""First and longest wait after the store refused a batch."""
GIVE_UP_SECONDS = 20.0
"""How long one batch is offered that the store refuses for another reason than a full disk."""
OUTCOME_SECONDS = 5.0


class Publisher:
    """Writes batches under the lease and slows down who brings more than the store takes.

    `pending` may be filled at any time; log bytes come in by `add_bytes`, whose callers wait while
    too many are queued. When the store is full or in trouble nothing is dropped: the refused batch
    is tried again, the queue fills, and the hosts' channels stand still until there is room.
    """

    def __init__(
        self,
        store: CollectorStore,
        lease: Lease,
        *,
        clock: Clock,
        health: HealthBoard,
        tick_seconds: float,
        pending_bytes: int,
        pending_bytes_per_instance: int,
    ) -> None:
        self.pending = Pending()
        self._store = store
        self._lease = lease
        self._clock = clock
        self._health = health
        self._tick = tick_seconds
        self._limit = pending_bytes
        self._limit_per_instance = pending_bytes_per_instance
        self._refused: Batch | None = None
        self._turn = asyncio.Event()
        self._hurried = asyncio.Event()
        self._health_at = float("-inf")
        self._in_trouble_since = 0.0
        self._refused_since = 0.0

    def has_room(self, instance_id: int) -> bool:
        """Tell whether more log bytes of this instance may be queued."""
        return (
            self.pending.size < self._limit
            and self.pending.size_of(instance_id) < self._limit_per_instance
        )

    async def room(self, instance_id: int) -> None:
        """Wait until more log bytes of this instance may be queued."""
        while not self.has_room(instance_id):
            await self._turn.wait()

    def add_bytes(self, chunk: LogChunk, position: StreamPosition) -> None:
        """Queue bytes at once; ask `has_room` before."""
        self.pending.add_bytes(chunk, position)
        self._health.log_bytes += len(chunk.data)

    def hurry(self) -> None:
        """Publish before the next tick: somebody looks at what was just queued."""
        self._hurried.set()

    async def run(self) -> None:
        """Publish every tick until cancelled.

        Raises:
            FenceLostError: somebody else holds the lease.
            StoreError: the store keeps refusing one batch.
        """
        wait = self._tick
        refusals = 0
        while True:
            if refusals:
                await asyncio.sleep(wait)
            else:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._hurried.wait()
            self._hurried.clear()
            if await self.publish():
                # A backlog does not wait for the next tick.
                behind = self.pending.is_behind or self.pending.size >= BATCH_BYTES
                wait = 0.0 if behind else self._tick
                refusals = 0
            else:
                refusals += 1
                first, longest = RETRY_SECONDS
                wait = min(first * 2 ** min(refusals - 1, 10), longest)

    async def publish(self) -> bool:
        """Write one batch; tells whether the store took it (or there was nothing to write)."""
        batch = self._next_batch()
        if batch is None:
            return True
        self._refused = batch
        try:
            await self._write(batch)
        except StoreFullError as error:
            self._trouble(f"full, log collection stands still: {error}")
            return False
        except FenceLostError:
            raise
        except StoreError as error:
            self._trouble(str(error))
            loop_time = asyncio.get_running_loop().time()
            self._refused_since = self._refused_since or loop_time
            if loop_time - self._refused_since > GIVE_UP_SECONDS:
                raise
            return False
        self._refused_since = 0.0
        self._recovered()
        turn, self._turn = self._turn, asyncio.Event()
        turn.set()
        return True

    async def drain(self) -> None:
        """Write all that is left, as far as the store takes it; used at the end."""
        while (self._refused is not None or self.pending) and await self.publish():
            pass

    async def _write(self, batch: Batch) -> None:
        """Publish; a cancellation waits for the outcome, so that no batch is in doubt."""
        writing = asyncio.create_task(self._store.publish(self._lease, batch), name="publish")
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait({writing}, timeout=OUTCOME_SECONDS)
            if writing.done() and not writing.cancelled() and writing.exception() is None:
                self._refused = None
            raise
        self._refused = None

    def _next_batch(self) -> Batch | None:
        if self._refused is not None:
            return self._refused
        now = asyncio.get_running_loop().time()
        due = now - self._health_at >= HEALTH_INTERVAL_SECONDS
        if not self.pending and not due:
            return None
        if due:
            self._health_at = now
        report = self._health.report() if due else None
        return self.pending.take(self._clock.now(), report, BATCH_BYTES)

    def _trouble(self, text: str) -> None:
        log.warning("the store does not take the batch: %s", text)
        self._health.trouble(Part.STORE, text)
        self._in_trouble_since = self._in_trouble_since or self._clock.now()

    def _recovered(self) -> None:
        self._health.well(Part.STORE)
        if self._in_trouble_since:
            seconds = self._clock.now() - self._in_trouble_since
            self._in_trouble_since = 0.0
            text = f"the store took no data for {seconds:.0f} s; no log byte was dropped"
            if self.pending.pushed_out:
                text += f", but {self.pending.pushed_out} timeline entries were"
                self.pending.pushed_out = 0
            event = Event(at=self._clock.now(), kind="collector", text=sanitise(text))
            self.pending.add_events([event])
