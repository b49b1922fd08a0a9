"""A real SSH server in front of the pretend hosts: one loopback port a host, account `root`."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import asyncssh

from fleetui.simulator.hosts.host import Host
from fleetui.simulator.hosts.session import ShellSession

_MAX_PACKET = 32_768
_FORWARDED = frozenset({9820, 9821, 1234})


@dataclass
class _Door:
    """One host's way in: its listener, key and connections."""

    host: Host
    key: asyncssh.SSHKey
    acceptor: asyncssh.SSHAcceptor | None = None
    port: int = 0
    refuse_keys: bool = False
    connections: set[asyncssh.SSHServerConnection] = field(default_factory=set)


class SshServer:
    """Serves hosts to whoever holds the private part of `authorized_key` (OpenSSH text)."""

    def __init__(self, authorized_key: str) -> None:
        self._authorized = asyncssh.import_authorized_keys(authorized_key)
        self._doors: dict[int, _Door] = {}

    async def open(self, host: Host) -> int:
        """Listen for a host; returns its port, the same after `close` and `open`."""
        door = self._doors.get(host.instance_id)
        if door is None:
            door = _Door(host, asyncssh.generate_private_key("ssh-ed25519"))
            self._doors[host.instance_id] = door
        door.host = host
        await self._listen(door)
        return door.port

    async def _listen(self, door: _Door) -> None:
        if door.acceptor is not None:
            return

        def make() -> _Server:
            return _Server(door, self._authorized)

        door.acceptor = await asyncssh.create_server(
            make,
            "127.0.0.1",
            door.port,
            server_host_keys=[door.key],
            encoding=None,
            server_version="OpenSSH_9.6p1",
            compression_algs=None,
            login_timeout=60,
        )
        door.port = door.acceptor.get_port()

    async def close(self, instance_id: int) -> None:
        """Stop listening for a host and cut its connections; its port stays reserved for it."""
        door = self._doors.get(instance_id)
        if door is None:
            return
        acceptor, door.acceptor = door.acceptor, None
        if acceptor is not None:
            acceptor.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(acceptor.wait_closed(), 2)
        self.cut(instance_id)

    def cut(self, instance_id: int) -> int:
        """Drop a host's connections without a word; returns how many."""
        door = self._doors.get(instance_id)
        connections = list(door.connections) if door is not None else []
        for connection in connections:
            connection.abort()
        return len(connections)

    async def refuse(self, instance_id: int, *, on: bool) -> None:
        """Refuse TCP connections to a host, or accept them again."""
        if on:
            await self.close(instance_id)
        elif instance_id in self._doors:
            await self._listen(self._doors[instance_id])

    async def change_host_key(self, instance_id: int) -> None:
        """Give a host another key, as a recycled machine has; cuts its connections."""
        door = self._doors[instance_id]
        listening = door.acceptor is not None
        await self.close(instance_id)
        door.key = asyncssh.generate_private_key("ssh-ed25519")
        if listening:
            await self._listen(door)

    def refuse_keys(self, instance_id: int, *, on: bool) -> None:
        """Refuse every user key at a host (`Permission denied`), or accept them again."""
        self._doors[instance_id].refuse_keys = on

    def port(self, instance_id: int) -> int:
        """Return a host's port; 0 before its first `open`."""
        door = self._doors.get(instance_id)
        return 0 if door is None else door.port

    def connections(self, instance_id: int) -> int:
        """Return how many connections a host has."""
        door = self._doors.get(instance_id)
        return 0 if door is None else len(door.connections)

    async def aclose(self) -> None:
        """End everything."""
        for instance_id in list(self._doors):
            await self.close(instance_id)
        self._doors.clear()


def serve(authorized_key: str) -> SshServer:
    """Return a server for whoever holds `authorized_key`; open hosts with `open`."""
    return SshServer(authorized_key)


class _Server(asyncssh.SSHServer):
    def __init__(self, door: _Door, authorized: asyncssh.SSHAuthorizedKeys) -> None:
        self._door = door
        self._authorized = authorized
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._door.connections.add(conn)
        if not self._door.host.reachable():
            conn.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if self._connection is not None:
            self._door.connections.discard(self._connection)

    async def begin_auth(self, username: str) -> bool:
        if self._connection is not None and username == "root" and not self._door.refuse_keys:
            self._connection.set_authorized_keys(self._authorized)
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        del username, key
        return False

    def password_auth_supported(self) -> bool:
        return False

    def session_requested(self) -> asyncssh.SSHServerSession[bytes]:
        return ShellSession(self._door.host)

    def connection_requested(
        self, dest_host: str, dest_port: int, orig_host: str, orig_port: int
    ) -> Callable[[asyncssh.SSHReader[bytes], asyncssh.SSHWriter[bytes]], Awaitable[None]]:
        del orig_host, orig_port
        host = self._door.host
        allowed = dest_host in {"127.0.0.1", "localhost"} and dest_port in _FORWARDED
        if not allowed or not host.listens(dest_port):
            reason = (
                asyncssh.OPEN_CONNECT_FAILED
                if allowed
                else asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED
            )
            raise asyncssh.ChannelOpenError(reason, "Connection refused")

        async def forward(
            reader: asyncssh.SSHReader[bytes], writer: asyncssh.SSHWriter[bytes]
        ) -> None:
            with contextlib.suppress(asyncssh.Error, OSError, TimeoutError):
                request = await asyncio.wait_for(reader.read(4096), 30)
                writer.write(host.answer_http(dest_port, request))
                writer.write_eof()
            writer.close()

        return forward
