"""The parts of asyncssh that a lean connection replaces are still the ones asyncssh calls."""

import asyncio

from fleetui.ssh.connection import LeanConnection
from fleetui.ssh.login import Login
from link_stage import quick
from openssh import Sshd


async def test_packets_of_one_turn_leave_together_with_none_between_them(
    shared_sshd: Sshd,
) -> None:
    login = Login(quick(shared_sshd))
    connection = (await login.connect(shared_sshd.address, None)).connection
    assert isinstance(connection, LeanConnection)
    async with connection, asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(connection.run("true"), name=f"run-{number}")
        await asyncio.sleep(0)
        assert len(connection.unsent) == 3


async def test_the_keepalive_looks_back_at_what_was_heard(shared_sshd: Sshd) -> None:
    login = Login(quick(shared_sshd, keepalive_seconds=1000.0))
    connection = (await login.connect(shared_sshd.address, None)).connection
    async with connection:
        await connection.run("true")
        timer, heard_at = connection.keepalive_timer, connection.heard_at
        assert timer is not None
        await connection.run("true")
        assert connection.keepalive_timer is timer
        assert connection.heard_at > heard_at
