"""The parts of asyncssh that a lean connection replaces are still the ones asyncssh calls."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncssh
import pytest

from fleetui.ssh.connection import LeanConnection
from fleetui.ssh.login import Login
from link_stage import quick
from openssh import Sshd, serving


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


async def test_keys_are_exchanged_again_after_the_login_was_let_go_of(tmp_path: Path) -> None:
    with serving(tmp_path, options=("RekeyLimit 64K",)) as sshd:
        connection = (await Login(quick(sshd)).connect(sshd.address, None)).connection
        async with connection:
            for _ in range(3):
                done = await connection.run("head -c 1000000 /dev/zero", encoding=None)
                assert done.stdout == bytes(1_000_000)


@contextmanager
def packets_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Let asyncssh log each packet that it takes apart itself."""
    asyncssh.set_debug_level(3)
    try:
        with caplog.at_level(logging.DEBUG, "asyncssh"):
            yield
    finally:
        asyncssh.set_debug_level(1)


async def test_data_is_taken_at_once_and_all_else_by_asyncssh(
    shared_sshd: Sshd, caplog: pytest.LogCaptureFixture
) -> None:
    connection = (await Login(quick(shared_sshd)).connect(shared_sshd.address, None)).connection
    async with connection:
        with packets_logged(caplog):
            done = await connection.run("echo out; echo err >&2; exit 3")
    assert (done.stdout, done.stderr, done.exit_status) == ("out\n", "err\n", 3)
    kinds = "\n".join(record.getMessage() for record in caplog.records)
    assert "MSG_CHANNEL_EXTENDED_DATA" in kinds
    assert "MSG_CHANNEL_CLOSE" in kinds
    assert "MSG_CHANNEL_DATA" not in kinds


async def test_what_asyncssh_keeps_of_a_connection_lies_in_slots(shared_sshd: Sshd) -> None:
    connection = (await Login(quick(shared_sshd)).connect(shared_sshd.address, None)).connection
    async with connection:
        assert not [name for name in vars(connection) if name.startswith("_")]
