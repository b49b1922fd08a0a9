"""Older bytes of a log, fetched from the host because somebody reads back so far."""

import msgspec

from fleetui.collector.fleet import Fleet
from fleetui.domain.clock import Clock
from fleetui.domain.stream import LogChunk, StreamId
from fleetui.ssh.older import OlderBytesError
from fleetui.store.interface import CollectorStore, FenceLostError, Lease, StoreError

PART_BYTES = 1024 * 1024
"""Fetched at a time: a second or two over a slow line."""
WITNESS_BYTES = 256
"""Stored bytes that are read again with them, to see that it is the same text."""


class OlderLogError(Exception):
    """No older bytes were stored; the text says why."""


class OlderLogs:
    """Fetches the part of a file before its first stored byte.

    It was left out at first sight, or pushed out by limits; the host may have it as long as it
    has the file.
    """

    def __init__(self, store: CollectorStore, lease: Lease, fleet: Fleet, clock: Clock) -> None:
        self._store = store
        self._lease = lease
        self._fleet = fleet
        self._clock = clock

    async def fetch(self, instance_id: int, path: str) -> str:
        """Store the next older part of a followed file; returns what came of it in words.

        Raises:
            OlderLogError: nothing was stored.
            FenceLostError: somebody else holds the lease.
        """
        try:
            return await self._fetch(StreamId(instance_id, path))
        except FenceLostError:
            raise
        except TimeoutError as error:
            raise OlderLogError("the host took too long to give them") from error
        except (ConnectionError, OlderBytesError, StoreError) as error:
            raise OlderLogError(str(error)) from error

    async def _fetch(self, stream: StreamId) -> str:
        path, watcher = stream.path, self._fleet.get(stream.instance_id)
        position = watcher.sink.positions.get(path) if watcher is not None else None
        if watcher is None or position is None:
            raise OlderLogError(f"no log {path} is followed there")
        life = position.generation
        window = await self._store.log_window(stream, generation=life, size=0)
        if window is None or window.first_offset == window.end_offset:
            raise OlderLogError(f"nothing of {path} is stored yet that could be gone back from")
        first = window.first_offset
        if first == 0:
            return f"{path} is stored from its first byte"
        stop = min(first + WITNESS_BYTES, window.end_offset)
        window = await self._store.log_window(stream, generation=life, end=stop, size=stop - first)
        if window is None or window.offset != first or not window.data:
            raise OlderLogError(f"{path} changed meanwhile; ask again")
        if watcher.link is None:
            raise OlderLogError("there is no SSH connection to it now")
        size = min(PART_BYTES, first)
        wanted = size + len(window.data)
        found = await watcher.link.read_older(path, end=first - size + wanted, size=wanted)
        if len(found) != wanted or not found.endswith(window.data):
            raise OlderLogError(f"{path} holds another text by now: what was before is gone")
        part = LogChunk(
            stream=stream,
            generation=life,
            offset=first - size,
            data=found[:size],
            at=self._clock.now(),
        )
        part = _from_line_start(part)
        new = await self._store.keep_older(self._lease, part)
        return f"{new} bytes of {path} before offset {first} were stored; {part.offset} are left"


def _from_line_start(part: LogChunk) -> LogChunk:
    """Cut a part that begins inside a line so that it begins at the next one, if it has one."""
    cut = part.data.find(b"\n") + 1 if part.offset else 0
    if cut == len(part.data):
        return part
    return msgspec.structs.replace(part, offset=part.offset + cut, data=part.data[cut:])
