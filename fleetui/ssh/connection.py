"""A connection to one host that costs little (facts: perf.md section 4).

asyncssh makes an options object for each connect in a thread, moves a timer at each packet, sends
an empty packet before each one of its own, and takes a packet apart in a dozen steps. The parts
overridden here are not public: `tests/ssh/test_lean_connection.py` fails when another asyncssh no
longer calls them.
"""

import asyncio
import copy
from collections import OrderedDict
from typing import Any

import asyncssh
from asyncssh.connection import SSHConnection
from asyncssh.encryption import GCMEncryption
from asyncssh.packet import SSHPacketLogger

_MSG_IGNORE = 2
_MSG_CHANNEL_DATA = 94
_GCM_TAG_BYTES = 16
_READ_BYTES = 64 * 1024
_NONE: Any = frozenset()


class _Opened(GCMEncryption):
    """Gives asyncssh a packet that was opened before it asked; `None` was not the host's."""

    def __init__(self, packet: bytes | None) -> None:
        self._packet = packet

    def decrypt_packet(
        self, seq: int, first: bytes, rest: bytes, header_len: int, mac: bytes
    ) -> bytes | None:
        """Return what is known."""
        del seq, first, rest, header_len, mac
        return self._packet


class LeanConnection(asyncssh.SSHClientConnection):
    """A client connection whose keepalive looks back, and which sends once a turn of the loop.

    `unsent` are the packets of this turn, `heard_at` is the loop's time of the last bytes.
    """

    # What asyncssh keeps in a hundred attributes takes a third of a dictionary's room in slots.
    __slots__ = (
        "heard_at",
        "unsent",
        *{
            name
            for kind in (SSHConnection, asyncssh.SSHClientConnection)
            for name in kind.__init__.__code__.co_names
            if name.startswith("_") and not hasattr(asyncssh.SSHClientConnection, name)
        },
    )

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

        It is a quarter of what a connection takes. Another key exchange makes its own anew, and
        `HostKeyCheck` decides then as well: there never are other trusted or revoked keys.
        """
        self._options = options
        self._client_kexinit = self._server_kexinit = b""
        self._protocol_factory = options.protocol_factory
        self._waiter = self._agent = self._server_host_key = None
        self._extra = {}
        self._extensions_to_send = OrderedDict()
        self._server_sig_algs = self._x509_revoked_certs = _NONE
        self._trusted_host_keys = self._trusted_ca_keys = self._revoked_host_keys = _NONE

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

    def _recv_pkthdr(self) -> bool:
        """Take a packet of a channel's data at once when all of it is here.

        Opening it stays the library's; so does every other packet, and one that breaks a rule.
        """
        cipher, held, number = self._recv_encryption, self._inpbuf, self._recv_seq
        end = 4 + int.from_bytes(held[:4], "big") + _GCM_TAG_BYTES
        if (
            len(held) < end
            or end > self._max_recv_pktlen
            or type(cipher) is not GCMEncryption
            or not self._auth_complete
            or self._decompressor is not None
        ):
            return super()._recv_pkthdr()
        packet = cipher.decrypt_packet(number, held[:4], held[4:end], 4, b"")
        # Length of the padding, kind, channel, length of the data, data, padding.
        if packet and packet[1] == _MSG_CHANNEL_DATA:
            channel = self._channels.get(int.from_bytes(packet[2:6], "big"))
            length = int.from_bytes(packet[6:10], "big")
            if (
                channel is not None
                and channel._recv_state == "open"  # noqa: SLF001 - as `_process_data` checks it
                and length == len(packet) - 10 - packet[0]
                and length <= channel._recv_window  # noqa: SLF001
            ):
                self._inpbuf = held[end:]
                self._recv_seq = (number + 1) & 0xFFFFFFFF
                channel._accept_data(packet[10 : 10 + length])  # noqa: SLF001
                return True
        opened = self._recv_encryption = _Opened(packet)
        try:
            super()._recv_pkthdr()
            return self._recv_packet()
        finally:
            if self._recv_encryption is opened:  # and not that of new keys
                self._recv_encryption = cipher

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
