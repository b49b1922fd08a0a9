"""Logging in, losing the connection, and coming back, against a real OpenSSH server."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

from fleetui.domain.host import SshState
from fleetui.domain.instance import Route, SshAddress
from fleetui.ssh.host_keys import HostKeyBook
from fleetui.ssh.settings import FollowPlan
from link_stage import INSTANCE, linked, quick, until
from openssh import Sshd, free_port, make_key, processes_with, serving


@pytest.fixture
def plan(tmp_path: Path) -> FollowPlan:
    return FollowPlan(streams=(("bench", f"{tmp_path}/a.log"),))


async def test_a_restarted_server_is_found_again_and_no_byte_is_lost(
    sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    async with linked(sshd, plan) as (_, sink):
        await until(lambda: sink.text(log) == b"one\n", "the first line")
        sshd.stop()
        await until(lambda: sink.seen(SshState.LOST), "the loss")
        await until(lambda: sink.seen(SshState.REFUSED), "a refused connect")
        with log.open("ab") as file:
            file.write(b"two\n")
        sshd.start()
        await until(lambda: sink.text(log) == b"one\ntwo\n", "the second line")
        assert sink.state is SshState.CONNECTED
        assert max(outcome.attempts for outcome in sink.outcomes) >= 1


async def test_a_changed_host_key_stops_the_login_until_it_is_forgotten(
    sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    book = HostKeyBook()
    async with linked(sshd, plan, book=book) as (_, sink):
        await until(lambda: sink.state is SshState.CONNECTED, "the connection")
        assert book.get(INSTANCE) == sink.keys[0][1]
        sshd.stop()
        sshd.new_host_key()
        sshd.start()
        log.write_bytes(b"of another renter\n")
        await until(lambda: sink.seen(SshState.HOST_KEY_CHANGED), "the refusal")
        count = len(sink.outcomes)
        await until(lambda: len(sink.outcomes) > count + 3, "more tries")
        assert SshState.CONNECTED not in {outcome.state for outcome in sink.outcomes[count:]}
        assert not sink.data
        book.forget(INSTANCE)
        await until(lambda: sink.text(log) == b"of another renter\n", "trust after the order")
        assert len(sink.keys) == 2


async def test_a_stored_key_is_asked_for_by_its_kind(tmp_path: Path, plan: FollowPlan) -> None:
    folder = tmp_path / "sshd"
    folder.mkdir()
    rsa = folder / "rsa"
    process = await asyncio.create_subprocess_exec(
        "ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", str(rsa)
    )
    assert await process.wait() == 0
    book = HostKeyBook({INSTANCE: rsa.with_suffix(".pub").read_text()})
    with serving(folder, options=(f"HostKey {rsa}",)) as server:
        async with linked(server, plan, book=book) as (_, sink):
            await until(lambda: sink.state is SshState.CONNECTED, "the connection by RSA key")
            assert not sink.keys
        # The server has an ed25519 key as well; one that only has that is not the same host.
        server.stop()
        server.options = ()
        server.start()
        async with linked(server, plan, book=book) as (_, sink):
            await until(lambda: sink.state is SshState.HOST_KEY_CHANGED, "the refusal")


async def test_a_refused_key_is_told_apart(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    settings = quick(shared_sshd, key_files=(make_key(tmp_path / "stranger"),))
    async with linked(shared_sshd, plan, settings=settings) as (_, sink):
        await until(lambda: sink.state is SshState.AUTH_FAILED, "the refusal")
        assert "1 key offered" in str(sink.outcomes[-1].detail)
        assert not sink.keys, "the key of a host that lets nobody in is not kept"


async def test_a_server_that_takes_passwords_only_is_never_given_one(
    tmp_path: Path, plan: FollowPlan
) -> None:
    folder = tmp_path / "sshd"
    folder.mkdir()
    options = ("PasswordAuthentication yes", "PubkeyAuthentication no")
    with serving(folder, options=options) as server:
        async with linked(server, plan) as (_, sink):
            await until(lambda: sink.state is SshState.AUTH_FAILED, "the refusal")


async def test_no_usable_key_is_said_in_the_outcome(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    settings = quick(shared_sshd, key_files=(make_key(tmp_path / "locked", "secret"),))
    async with linked(shared_sshd, plan, settings=settings) as (_, sink):
        await until(lambda: sink.state is SshState.AUTH_FAILED, "the refusal")
        assert "passphrase" in str(sink.outcomes[-1].detail)


async def test_no_address_waits_for_one(shared_sshd: Sshd, plan: FollowPlan) -> None:
    async with linked(shared_sshd, plan) as (link, sink):
        link.set_addresses(())
        await until(lambda: sink.seen(SshState.NO_ADDRESS), "the want of an address")
        link.set_addresses((shared_sshd.address,))
        await until(lambda: sink.state is SshState.CONNECTED, "the connection")


async def test_the_second_address_is_tried_and_a_port_that_only_listens_times_out(
    shared_sshd: Sshd, plan: FollowPlan
) -> None:
    silent = socket.create_server(("127.0.0.1", 0))
    stalled = SshAddress("127.0.0.1", silent.getsockname()[1], Route.DIRECT)
    closed = SshAddress("127.0.0.1", free_port(), Route.DIRECT)
    settings = quick(shared_sshd, connect_timeout=3.0)
    try:
        async with linked(shared_sshd, plan, settings=settings) as (link, sink):
            link.set_addresses((stalled,))
            await until(lambda: sink.state is SshState.TIMED_OUT, "the time-out")
            link.set_addresses((closed, shared_sshd.address))
            await until(lambda: sink.state is SshState.CONNECTED, "the other address")
            assert sink.outcomes[-1].address == f"127.0.0.1:{shared_sshd.port}"
    finally:
        silent.close()


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


async def test_nothing_stays_behind_on_the_host(
    sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    marker = str(tmp_path / "a.log")
    before = names(tmp_path)
    async with linked(sshd, plan) as (_, sink):
        await until(lambda: len(sink.probes) > 0, "a look")
        await until(lambda: len(processes_with(marker)) > 0, "the script on the host")
    await until(lambda: processes_with(marker) == [], "the end of all of it")
    # Now the connection is cut without a word, by ending the server's processes only.
    async with linked(sshd, plan) as (_, sink):
        await until(lambda: len(sink.probes) > 0, "a look")
        sshd.stop()
        await until(lambda: processes_with(marker) == [], "the end after a cut")
    assert names(tmp_path) == before


async def test_a_script_runs_on_the_live_connection(shared_sshd: Sshd, plan: FollowPlan) -> None:
    async with linked(shared_sshd, plan) as (link, sink):
        await until(lambda: sink.state is SshState.CONNECTED, "the connection")
        result = await link.run_script("echo out; echo err >&2; exit 3", timeout=20)
        assert (result.exit_status, result.stdout, result.stderr) == (3, "out\n", "err\n")
        marker = f"late-{os.getpid()}"
        with pytest.raises(TimeoutError):
            await link.run_script(f": {marker}; while echo more; do sleep 0.1; done", timeout=0.5)
        await until(lambda: processes_with(marker) == [], "the end of the late script")


async def test_a_script_without_connection_is_refused(shared_sshd: Sshd, plan: FollowPlan) -> None:
    async with linked(shared_sshd, plan) as (link, sink):
        with pytest.raises(ConnectionError):
            await link.run_script("true", timeout=5)
        await until(lambda: sink.state is SshState.CONNECTED, "the connection all the same")


async def test_the_default_number_of_sessions_is_enough(tmp_path: Path, plan: FollowPlan) -> None:
    folder = tmp_path / "sshd"
    folder.mkdir()
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    # Log, look, one script at a time, and room for sessions that sshd has not cleared away yet.
    # OpenSSH's default is ten.
    with serving(folder, options=("MaxSessions 5",)) as server:
        async with linked(server, plan) as (link, sink):
            await until(lambda: len(sink.probes) > 0 and bool(sink.data), "log and look")
            for _ in range(5):
                link.set_watched(True)
                assert (await link.run_script("true", timeout=20)).exit_status == 0
                link.set_watched(False)
            with log.open("ab") as file:
                file.write(b"two\n")
            await until(lambda: sink.text(log) == b"one\ntwo\n", "the log after it all")
            assert not sink.seen(SshState.LOST)


async def test_a_host_without_slots_for_the_look_is_still_followed(
    tmp_path: Path, plan: FollowPlan
) -> None:
    folder = tmp_path / "sshd"
    folder.mkdir()
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    with serving(folder, options=("MaxSessions 1",)) as server:
        async with linked(server, plan) as (_, sink):
            await until(lambda: sink.text(log) == b"one\n", "the log")
            assert sink.state is SshState.CONNECTED
