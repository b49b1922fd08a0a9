"""A command on a host as a bounded stream of bytes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import asyncssh

OPEN_SECONDS = 20.0
_WINDOW = 512 * 1024
_HIGH_WATER = 256 * 1024
_STDERR_LIMIT = 64 * 1024


class ByteStream(asyncssh.SSHClientSession[bytes]):
    """The output of one command, with back-pressure: the host waits while nobody reads.

    At most about `_HIGH_WATER` plus one window of bytes are held. `errors` keeps the end of what
    the command wrote to stderr. `exit_status` is known after the end. A reader that waited for
    `silence_seconds` is told so.

    `taker`, when set, is given what comes while a reader waits and nothing is held, which spares
    the reader a turn of the loop. It must not raise; when it returns false, the reader gets its
    turn without bytes (`None`).
    """

    def __init__(self, silence_seconds: float | None = None) -> None:
        self._parts: list[bytes] = []
        self._held = 0
        self._paused = False
        self._ended = False
        self._reader: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._silence = silence_seconds
        self._waiting_since = 0.0
        self._patrol: asyncio.TimerHandle | None = None
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None
        self._called = False
        self.taker: Callable[[bytes], bool] | None = None
        self.errors = bytearray()
        self.exit_status: int | None = None

    @property
    def ended(self) -> bool:
        """Whether the host has closed the channel too: the command holds no session any more."""
        return self._ended

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        """Keep the channel for pausing."""
        self._channel = chan
        self._watch_silence()

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        """Give the bytes to the taker, or hold them until they are read."""
        if datatype is not None:
            self.errors += data
            del self.errors[:-_STDERR_LIMIT]
            return
        if self.taker and self._reader and not self._parts and not self._reader.done():
            self._waiting_since = self._loop.time()
            if not self.taker(data):
                self._called = True
                self._wake()
            return
        self._parts.append(data)
        self._held += len(data)
        if self._held > _HIGH_WATER and not self._paused and self._channel is not None:
            self._paused = True
            self._channel.pause_reading()
        if self._reader is not None:
            self._wake()

    def exit_status_received(self, status: int) -> None:
        """Keep how the command ended."""
        self.exit_status = status

    def eof_received(self) -> bool:
        """Keep the channel open: the exit status comes after the end of the output."""
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake the reader: nothing more will come."""
        del exc
        self._ended = True
        if self._patrol is not None:
            self._patrol.cancel()
        self._wake()

    def send(self, data: bytes) -> None:
        """Write to the command's stdin.

        Raises:
            OSError: the channel is closed.
        """
        if self._channel is not None:
            self._channel.write(data)

    async def read(self) -> bytes | None:
        """Return what has come, waiting for the first byte; empty at the end.

        `None` when the taker calls.

        Raises:
            TimeoutError: nothing came for the time given as silence.
        """
        if not self._parts and not self._ended:
            self._waiting_since = self._loop.time()
            self._reader = self._loop.create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        if self._called:
            self._called = False
            return None
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._held = 0
        if self._paused and self._channel is not None:
            self._paused = False
            self._channel.resume_reading()
        return data

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _watch_silence(self) -> None:
        """Look now and then: a timer for each read would cost more than the read."""
        if self._silence is None:
            return
        waited = self._loop.time() - self._waiting_since
        if self._reader is not None and not self._reader.done() and waited > self._silence:
            self._reader.set_exception(TimeoutError())
        self._patrol = self._loop.call_later(self._silence / 4, self._watch_silence)


@asynccontextmanager
async def running(
    connection: asyncssh.SSHClientConnection,
    command: str,
    *,
    silence_seconds: float | None = None,
) -> AsyncIterator[ByteStream]:
    """Run a command; on leaving, its channel is closed, which ends its stdin and stdout.

    It is sent a signal as well, but sshd passes that on to other accounts than root only: a
    command must end by itself once its output is refused.

    Raises:
        TimeoutError: the host did not open the channel in time.
        asyncssh.Error: it refused to, or the connection is lost.
    """
    async with asyncio.timeout(OPEN_SECONDS):
        stream = ByteStream(silence_seconds)
        channel, _ = await connection.create_session(
            lambda: stream, command, encoding=None, window=_WINDOW
        )
    # A script is a quarter of what a connection takes, and nobody asks for it again.
    channel._command = None  # noqa: SLF001 - kept for `get_command` only
    # A dictionary that grew has room for twice as much; its copy has not.
    channel.__dict__ = dict(vars(channel))
    del command
    try:
        yield stream
    finally:
        if not channel.is_closing():
            with contextlib.suppress(OSError):
                channel.terminate()
            channel.close()
