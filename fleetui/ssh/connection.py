"""A connection to one host that costs little (facts: perf.md section 4).

asyncssh makes an options object for each connect in a thread, moves a timer at each packet, and
sends an empty packet before each one of its own. The parts overridden here are not public:
`tests/ssh/test_lean_connection.py` fails when another asyncssh no longer calls them.
"""

import asyncio
import copy

import asyncssh
from asyncssh.packet import SSHPacketLogger

_MSG_IGNORE = 2
_READ_BYTES = 64 * 1024


class LeanConnection(asyncssh.SSHClientConnection):
    """A client connection whose keepalive looks back, and which sends once a turn of the loop.

    `unsent` are the packets of this turn, `heard_at` is the loop's time of the last bytes.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, options: asyncssh.SSHClientConnectionOptions
    ) -> None:
        super().__init__(loop, options, wait="auth")
        self.unsent: list[bytes] = []
        self.heard_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Read less at once: asyncio's 256 KiB are mapped and unmapped by malloc at each read."""
        transport.max_size = _READ_BYTES  # type: ignore[attr-defined]  # of the selector loop's
        super().connection_made(transport)

    @property
    def keepalive_timer(self) -> asyncio.TimerHandle | None:
        """The timer of the next look back; it stays while bytes come."""
        return self._keepalive_timer

    def settle(self, options: asyncssh.SSHClientConnectionOptions) -> None:
        """Go on with the options of all connections; let go of what only the login needed.

        It is a fifth of what a connection takes. Another key exchange makes its own anew.
        """
        self._options = options
        self._client_kexinit = self._server_kexinit = b""
        self._server_sig_algs = set()

    def send_packet(
        self, pkttype: int, *args: bytes, handler: SSHPacketLogger | None = None
    ) -> None:
        """Send a packet.

        The empty ones in between hide the last block of CBC ciphers (RFC 4251 section 9.3.1);
        none of those is on offer (`algorithms.CIPHERS`), and OpenSSH sends none either.
        """
        if pkttype != _MSG_IGNORE:
            super().send_packet(pkttype, *args, handler=handler)

    def _send(self, data: bytes) -> None:
        # Each write would be a system call of its own, and on its way wake the other end.
        if not self.unsent and self._transport is not None:
            self._loop.call_soon(self._flush, self._transport)
        self.unsent.append(data)

    def _flush(self, transport: asyncio.Transport) -> None:
        data = b"".join(self.unsent)
        self.unsent.clear()
        transport.write(data)

    def _reset_keepalive_timer(self) -> None:
        self.heard_at = self._loop.time()
        if self._keepalive_timer is None:
            super()._reset_keepalive_timer()

    def _keepalive_timer_callback(self) -> None:
        left = self.heard_at + self._keepalive_interval - self._loop.time()
        if left > 0:
            self._keepalive_timer = self._loop.call_later(left, self._keepalive_timer_callback)
        else:
            super()._keepalive_timer_callback()


async def connect(
    options: asyncssh.SSHClientConnectionOptions,
    host: str,
    port: int,
    client: asyncssh.SSHClient,
    host_key_algorithms: tuple[str, ...],
) -> LeanConnection:
    """Connect and log in as `options` say, which all connections share.

    Raises:
        OSError: the address does not answer; a `TimeoutError` after `options.connect_timeout`.
        asyncssh.Error: the handshake or the login failed.
    """
    loop = asyncio.get_running_loop()
    own = copy.copy(options)
    own.host, own.port, own.protocol_factory = host, port, lambda: client
    own.server_host_key_algs = host_key_algorithms
    own.waiter = loop.create_future()
    async with asyncio.timeout(options.connect_timeout or None):
        _, connection = await loop.create_connection(lambda: LeanConnection(loop, own), host, port)
        try:
            await own.waiter
        except BaseException:
            connection.abort()
            await connection.wait_closed()
            raise
    connection.settle(options)
    return connection
