"""Byte streams between the shell's commands: files, pipes, buffers and the SSH channel."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleetui.simulator.hosts.files import Node

PIPE_BYTES = 65_536


class ClosedPipeError(Exception):
    """Nobody reads any more (SIGPIPE: status 141)."""


class Writer:
    """Where output goes; this one discards it."""

    async def write(self, data: bytes) -> None:
        """Write all of `data`; waits when the reader is slow."""

    def close(self) -> None:
        """Say that nothing more comes."""


class Buffer(Writer):
    """Output kept in memory (command substitution)."""

    def __init__(self) -> None:
        self.data = bytearray()

    async def write(self, data: bytes) -> None:
        """Keep `data`."""
        self.data += data


class CallbackWriter(Writer):
    """Output handed to an awaitable function (the SSH channel, a virtual file)."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._send = send

    async def write(self, data: bytes) -> None:
        """Hand `data` on."""
        await self._send(data)


class FileWriter(Writer):
    """Output added to a virtual file, known by the path it was opened under."""

    def __init__(self, append: Callable[[bytes], None], path: str) -> None:
        self._append = append
        self.path = path

    async def write(self, data: bytes) -> None:
        """Append `data` to the file."""
        self._append(data)


class Reader:
    """Where input comes from; this one is at its end. Bytes read ahead stay in the reader."""

    def __init__(self) -> None:
        self._ahead = b""

    async def fill(self, limit: int) -> bytes:
        """Return up to `limit` new bytes; empty at the end."""
        del limit
        return b""

    async def read(self, limit: int = PIPE_BYTES) -> bytes:
        """Return up to `limit` bytes; empty at the end."""
        if self._ahead:
            taken, self._ahead = self._ahead[:limit], self._ahead[limit:]
            return taken
        return await self.fill(limit)

    async def line(self) -> bytes:
        """Return the next line with its line end; what follows it stays unread."""
        taken = bytearray()
        while True:
            chunk = await self.read()
            if not chunk:
                return bytes(taken)
            end = chunk.find(b"\n")
            if end >= 0:
                taken += chunk[: end + 1]
                self._ahead = chunk[end + 1 :] + self._ahead
                return bytes(taken)
            taken += chunk

    async def all(self) -> bytes:
        """Return everything up to the end."""
        taken = bytearray()
        while chunk := await self.read():
            taken += chunk
        return bytes(taken)

    def close(self) -> None:
        """Say that nobody reads any more."""


class BytesReader(Reader):
    """Input from memory."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._ahead = data


class FileReader(Reader):
    """Input from a virtual file: `load(offset, limit)` returns its bytes, `node` is its inode."""

    def __init__(self, load: Callable[[int, int], bytes], node: "Node | None" = None) -> None:
        super().__init__()
        self.node = node
        self._load = load
        self.offset = 0

    async def fill(self, limit: int) -> bytes:
        """Read on from the offset."""
        data = self._load(self.offset, limit)
        self.offset += len(data)
        return data


class Pipe(Reader, Writer):
    """A bounded pipe: writers wait for the reader, the reader for bytes or the end."""

    def __init__(self) -> None:
        super().__init__()
        self._data = bytearray()
        self._changed = asyncio.Event()
        self._ended = False
        self.abandoned = False

    async def write(self, data: bytes) -> None:
        """Write; raises ClosedPipeError when the reader has gone."""
        while len(self._data) >= PIPE_BYTES and not self.abandoned:
            self._changed.clear()
            await self._changed.wait()
        if self.abandoned:
            raise ClosedPipeError
        self._data += data
        self._changed.set()

    def feed(self, data: bytes) -> None:
        """Add bytes without waiting (input of the SSH channel)."""
        self._data += data
        self._changed.set()

    def end(self) -> None:
        """Say that no more bytes come."""
        self._ended = True
        self._changed.set()

    def abandon(self) -> None:
        """Say that nobody reads."""
        self.abandoned = True
        self._changed.set()

    async def fill(self, limit: int) -> bytes:
        """Wait for bytes or the end."""
        while not self._data and not self._ended:
            self._changed.clear()
            await self._changed.wait()
        taken = bytes(self._data[:limit])
        del self._data[:limit]
        self._changed.set()
        return taken
