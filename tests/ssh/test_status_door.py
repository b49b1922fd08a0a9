"""The daemon's status through one kept channel of a real connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from fleetui.ssh.login import Login
from fleetui.ssh.settings import SshSettings
from fleetui.ssh.status import StatusDoor, StatusError
from openssh import Sshd, free_port


class Daemon:
    """A small HTTP server that counts its connections."""

    def __init__(self) -> None:
        self.connections = 0
        self.requests = 0
        self.keeps = True
        self.status = b"200 OK"
        self._writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        while await reader.readuntil(b"\r\n\r\n"):
            self.requests += 1
            body = b'{"n": %d}' % self.requests
            closing = b"" if self.keeps else b"Connection: close\r\n"
            writer.write(
                b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s"
                % (self.status, closing, len(body), body)
            )
            if not self.keeps:
                break
        writer.close()

    def hang_up(self) -> None:
        for writer in self._writers:
            writer.close()


@asynccontextmanager
async def door_to(sshd: Sshd, daemon: Daemon) -> AsyncIterator[StatusDoor]:
    """Serve a daemon and ask it through a real login."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await daemon.serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    port = free_port()
    login = Login(SshSettings(key_files=(sshd.client_key,), use_agent=False))
    logged_in = await login.connect(sshd.address, None)
    try:
        async with await asyncio.start_server(answer, "127.0.0.1", port):
            door = StatusDoor(logged_in.connection, port)
            yield door
            door.close()
            daemon.hang_up()
    finally:
        logged_in.connection.close()
        await logged_in.connection.wait_closed()


async def test_many_polls_use_one_channel(shared_sshd: Sshd) -> None:
    daemon = Daemon()
    async with door_to(shared_sshd, daemon) as door:
        answers = [await door.ask() for _ in range(5)]
        assert answers == [b'{"n": %d}' % number for number in range(1, 6)]
        assert daemon.connections == 1


async def test_a_daemon_that_closes_or_was_restarted_is_asked_anew(shared_sshd: Sshd) -> None:
    daemon = Daemon()
    async with door_to(shared_sshd, daemon) as door:
        assert await door.ask() == b'{"n": 1}'
        daemon.hang_up()
        assert await door.ask() == b'{"n": 2}'
        daemon.keeps = False
        assert await door.ask() == b'{"n": 3}'
        assert await door.ask() == b'{"n": 4}'
        assert daemon.connections == 3


async def test_an_error_answer_is_told_and_the_next_is_right(shared_sshd: Sshd) -> None:
    daemon = Daemon()
    async with door_to(shared_sshd, daemon) as door:
        daemon.status = b"503 Busy"
        with pytest.raises(StatusError, match="503"):
            await door.ask()
        daemon.status = b"200 OK"
        assert await door.ask() == b'{"n": 2}'


async def test_nothing_that_listens_is_no_error(shared_sshd: Sshd) -> None:
    login = Login(SshSettings(key_files=(shared_sshd.client_key,), use_agent=False))
    logged_in = await login.connect(shared_sshd.address, None)
    try:
        assert await StatusDoor(logged_in.connection, free_port()).ask() is None
    finally:
        logged_in.connection.close()
        await logged_in.connection.wait_closed()
