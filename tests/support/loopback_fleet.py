"""A fleet of pretended SSH hosts on loopback that counts the handshakes it is in."""

import asyncio
import re
import socket
from collections import defaultdict
from pathlib import Path

import asyncssh

from fleetui.domain.instance import Route, SshAddress
from fleetui.ssh.scripts import FOLLOW_MARK

PATH = "/var/log/daemon.log"
_KNOWN = re.compile(r"'1:2:3 (\d+) \d+ " + PATH + r"'$")


class LoopbackFleet:
    """One server that plays a host at each address of 127.0.0.0/8.

    Each host has one log file, which gets a line whenever somebody comes to follow it.
    """

    def __init__(self) -> None:
        self.handshakes = 0
        """Connections that are not logged in yet."""
        self.most_handshakes = 0
        self.logins = 0
        self.logs: dict[str, bytearray] = defaultdict(bytearray)
        self._port = 0
        self._listener: asyncssh.SSHAcceptor | None = None
        self._key = asyncssh.generate_private_key("ssh-ed25519")
        self.connections: set[asyncssh.SSHServerConnection] = set()

    @property
    def port(self) -> int:
        """The port of all hosts."""
        return self._port

    def address(self, number: int) -> SshAddress:
        """Return where the host of a number is."""
        return SshAddress(f"127.1.{number // 250}.{number % 250 + 1}", self._port, Route.DIRECT)

    def log_of(self, number: int) -> bytes:
        """Return what the host of a number has written."""
        return bytes(self.logs[self.address(number).host])

    async def heal(self) -> None:
        """Answer from now on, at the same port as before."""
        door = socket.socket()
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # All of 127.0.0.0/8, and nothing from elsewhere.
        door.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
        door.bind(("", self._port))
        self._listener = await asyncssh.listen(
            sock=door,
            server_factory=lambda: _Door(self),
            server_host_keys=[self._key],
            encoding=None,
            compression_algs=None,
            login_timeout=300,
            backlog=4096,
        )
        self._port = door.getsockname()[1]

    async def cut(self) -> None:
        """End every connection at once and answer no more."""
        if self._listener is not None:
            self._listener.close()
            await self._listener.wait_closed()
            self._listener = None
        for connection in tuple(self.connections):
            connection.abort()


class _Door(asyncssh.SSHServer):
    """Lets everybody in who has a key."""

    def __init__(self, fleet: LoopbackFleet) -> None:
        self._fleet = fleet
        self._inside = False
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._fleet.connections.add(conn)
        self._fleet.handshakes += 1
        self._fleet.most_handshakes = max(self._fleet.most_handshakes, self._fleet.handshakes)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if self._connection is not None:
            self._fleet.connections.discard(self._connection)
        if not self._inside:
            self._fleet.handshakes -= 1

    def begin_auth(self, username: str) -> bool:
        del username
        return True

    def auth_completed(self) -> None:
        self._inside = True
        self._fleet.handshakes -= 1
        self._fleet.logins += 1

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        del username, key
        return True

    def session_requested(self) -> "_Host":
        assert self._connection is not None
        return _Host(self._fleet.logs[self._connection.get_extra_info("sockname")[0]])


class _Host(asyncssh.SSHServerSession[bytes]):
    """Answers follow.sh's orders with frames; a look gets an empty answer."""

    def __init__(self, log: bytearray) -> None:
        self._log = log
        self._offset = 0
        self._follows = False

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        self._chan = chan

    def exec_requested(self, command: str) -> bool:
        self._follows = FOLLOW_MARK in command
        known = _KNOWN.search(command)
        self._offset = int(known[1]) if known else 0
        return True

    def session_started(self) -> None:
        self._chan.write(b"\n@follow 1\n" if self._follows else b"\n@@ probe 1\n")
        if self._follows:
            self._log += b"follower no. %d\n" % (self._log.count(b"\n") + 1)

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        del datatype
        if not self._follows:
            self._chan.write(b"@@ done\n")
            return
        _, seconds = data.split()
        start = max(self._offset - 128, 0)
        body, end = bytes(self._log[start:]), len(self._log)
        if end > self._offset:
            head = f"@file 1:2:3 {end} {self._offset} {self._offset - start}"
            head += f" {end - self._offset} {PATH}\n"
            self._chan.write(head.encode() + body + b"\n@end 1:2:3 %d\n" % end)
            self._offset = end
        asyncio.get_running_loop().call_later(max(float(seconds), 0.2), self._beat)

    def _beat(self) -> None:
        if not self._chan.is_closing():
            self._chan.write(b"@beat\n")


def make_client_key(folder: Path) -> Path:
    """Make a key to log in with."""
    path = folder / "client_key"
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(str(path))
    return path
