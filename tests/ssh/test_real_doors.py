"""Ways in that are shut, each told apart and with a word on what to do; and keys that open."""

import asyncio
import getpass
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from fleetui.collector.service import collector_settings
from fleetui.config import load as load_settings
from fleetui.domain.finding import Finding, Severity
from fleetui.domain.host import SshOutcome, SshState
from fleetui.domain.host_key import fingerprint
from fleetui.domain.instance import Instance, Route, SshAddress
from fleetui.domain.text import sanitise
from fleetui.profiles.loader import load as load_profile
from fleetui.reading.reader import Reader
from fleetui.ssh.host_keys import HostKeyBook
from fleetui.ssh.login import Login
from fleetui.ssh.settings import FollowPlan, SshSettings
from link_stage import INSTANCE, Recorder, linked, quick, until
from openssh import Sshd, agent_at, free_port, make_key, serving

PLAN = FollowPlan(streams=(("bench", "/nonexistent/a.log"),))
Door = Callable[[Path], AbstractAsyncContextManager[tuple[Sshd, SshAddress, SshSettings]]]


def finding_of(outcome: SshOutcome) -> Finding:
    """Return what the operator is told first of an instance that runs, as Vast says."""
    reader = Reader(load_profile("cuzk"), INSTANCE)
    row = Instance(
        instance_id=INSTANCE,
        actual_status=sanitise("running"),
        intended_status=sanitise("running"),
        uptime_seconds=9000.0,
    )
    reader.observe_row(row, outcome.at)
    reader.observe_ssh(outcome)
    return reader.reading(outcome.at + 1.0).findings[0]


@asynccontextmanager
async def password_only(folder: Path) -> AsyncIterator[tuple[Sshd, SshAddress, SshSettings]]:
    options = ("PasswordAuthentication yes", "PubkeyAuthentication no")
    with serving(folder / "sshd", options=options) as sshd:
        yield sshd, sshd.address, quick(sshd)


@asynccontextmanager
async def stranger(folder: Path) -> AsyncIterator[tuple[Sshd, SshAddress, SshSettings]]:
    with serving(folder / "sshd") as sshd:
        yield sshd, sshd.address, quick(sshd, key_files=(make_key(folder / "stranger"),))


@asynccontextmanager
async def too_many_tries(folder: Path) -> AsyncIterator[tuple[Sshd, SshAddress, SshSettings]]:
    with serving(folder / "sshd", options=("MaxAuthTries 1",)) as sshd:
        yield sshd, sshd.address, quick(sshd, key_files=(make_key(folder / "stranger"),))


@asynccontextmanager
async def closed(folder: Path) -> AsyncIterator[tuple[Sshd, SshAddress, SshSettings]]:
    with serving(folder / "sshd") as sshd:
        yield sshd, SshAddress("127.0.0.1", free_port(), Route.DIRECT), quick(sshd)


@asynccontextmanager
async def silent(folder: Path) -> AsyncIterator[tuple[Sshd, SshAddress, SshSettings]]:
    with serving(folder / "sshd") as sshd, socket.create_server(("127.0.0.1", 0)) as listener:
        address = SshAddress("127.0.0.1", listener.getsockname()[1], Route.DIRECT)
        yield sshd, address, quick(sshd, connect_timeout=0.5)


@asynccontextmanager
async def hanging_up(folder: Path) -> AsyncIterator[tuple[Sshd, SshAddress, SshSettings]]:
    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    listener = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        with serving(folder / "sshd") as sshd:
            yield sshd, SshAddress("127.0.0.1", port, Route.PROXY), quick(sshd)


@asynccontextmanager
async def unnamed(folder: Path) -> AsyncIterator[tuple[Sshd, SshAddress, SshSettings]]:
    with serving(folder / "sshd") as sshd:
        yield sshd, SshAddress("no-such-host.invalid", 22, Route.PROXY), quick(sshd)


@pytest.mark.parametrize(
    ("door", "state", "category", "detail", "advice"),
    [
        (password_only, SshState.AUTH_FAILED, "ssh_auth_failed", "something else", "Attach"),
        (stranger, SshState.AUTH_FAILED, "ssh_auth_failed", "none of our keys (1", "Attach"),
        (too_many_tries, SshState.AUTH_FAILED, "ssh_auth_failed", "none of our keys", "Attach"),
        (closed, SshState.REFUSED, "ssh_unreachable", "nothing listens", "starts sshd"),
        (hanging_up, SshState.REFUSED, "ssh_unreachable", "hung up", "starts sshd"),
        (silent, SshState.TIMED_OUT, "ssh_unreachable", "no answer in time", "firewall"),
        (unnamed, SshState.NO_ADDRESS, "ssh_unreachable", "cannot be resolved", "ssh_host"),
    ],
)
async def test_a_shut_door_is_told_apart(
    tmp_path: Path, *, door: Door, state: SshState, category: str, detail: str, advice: str
) -> None:
    async with (
        door(tmp_path) as (sshd, address, settings),
        linked(sshd, PLAN, settings=settings, address=address) as (_, sink),
    ):
        await until(lambda: sink.seen(state) and sink.outcomes[-1].attempts >= 3, "three tries")
        outcome = sink.outcomes[-1]
        # What failed stays the last word while it is tried again.
        assert {other.state for other in sink.outcomes} == {SshState.CONNECTING, state}
        assert outcome.state is state
        assert detail in str(outcome.detail)
        finding = finding_of(outcome)
        assert finding.category == category
        assert advice in finding.advice
        assert not sink.keys, "a host that lets nobody in has shown no key worth keeping"


async def test_without_an_address_it_says_so_and_waits(tmp_path: Path) -> None:
    with serving(tmp_path / "sshd") as sshd:
        async with linked(sshd, PLAN) as (link, sink):
            link.set_addresses(())
            await until(lambda: sink.seen(SshState.NO_ADDRESS), "the want of an address")
            finding = finding_of(sink.outcomes[-1])
            assert finding.category == "ssh_unreachable"
            assert "no SSH address" in finding.summary
            link.set_addresses((sshd.address,))
            await until(lambda: sink.state is SshState.CONNECTED, "the connection")


async def test_a_changed_host_key_is_critical_and_nothing_is_sent(tmp_path: Path) -> None:
    options = ("LogLevel VERBOSE",)
    with serving(tmp_path / "sshd", options=options) as sshd:
        book = HostKeyBook()
        async with linked(sshd, PLAN, book=book) as (_, sink):
            await until(lambda: sink.state is SshState.CONNECTED, "the first connection")
            first = book.get(INSTANCE)
            sshd.stop()
            sshd.new_host_key()
            sshd.folder.joinpath("sshd.log").write_text("")
            sshd.start()
            await until(lambda: sink.outcomes[-1].other_key is not None, "the refusal")
            outcome = sink.outcomes[-1]
            shown = sshd.host_key.with_suffix(".pub").read_text()
            assert outcome.state is SshState.HOST_KEY_CHANGED
            assert outcome.other_key == fingerprint(shown)
            assert fingerprint(str(first)) in str(outcome.detail)
            finding = finding_of(outcome)
            assert finding.category == "ssh_host_key_changed"
            assert finding.severity is Severity.CRITICAL
            assert finding.action == "accept_host_key"
            count = len(sink.outcomes)
            await until(lambda: len(sink.outcomes) > count + 2, "more tries")
            said = sshd.log_text()
            assert "publickey" not in said, "a key was offered to a stranger"
            assert book.get(INSTANCE) == first
            # The operator accepts what was shown.
            book.accept(INSTANCE, str(book.refused(INSTANCE)))
            await until(lambda: sink.state is SshState.CONNECTED, "the login with the new key")
            assert len(sink.keys) == 1, "the accepted key is not one of first use"


async def test_a_key_is_bound_to_the_instance_and_not_to_the_address(tmp_path: Path) -> None:
    """Another instance at the same address is another host; the same one may move."""
    with serving(tmp_path / "one") as one, serving(tmp_path / "two") as two:
        two.authorized.write_text(one.authorized.read_text())
        book = HostKeyBook({1: one.host_key.with_suffix(".pub").read_text()})
        async with linked(one, PLAN, book=book) as (link, sink):
            await until(lambda: sink.state is SshState.CONNECTED, "another instance's login")
            assert book.get(INSTANCE) == book.get(1)
            # Its container comes up elsewhere, with the host key it always had.
            two.stop()
            two.host_key = one.host_key
            two.start()
            one.stop()
            link.set_addresses((two.address,))
            await until(
                lambda: (
                    sink.outcomes[-1].address == f"127.0.0.1:{two.port}"
                    and sink.state is SshState.CONNECTED
                ),
                "the login at the new address",
            )
            assert not sink.seen(SshState.HOST_KEY_CHANGED)


async def test_an_address_that_became_anothers_is_passed_over_for_the_next(tmp_path: Path) -> None:
    with serving(tmp_path / "one") as one, serving(tmp_path / "two") as two:
        book = HostKeyBook({INSTANCE: two.host_key.with_suffix(".pub").read_text()})
        async with linked(two, PLAN, book=book, address=one.address) as (link, sink):
            await until(lambda: sink.state is SshState.HOST_KEY_CHANGED, "the other's address")
            assert book.refused(INSTANCE) is not None
            link.set_addresses((one.address, two.address))
            await until(lambda: sink.state is SshState.CONNECTED, "the login at the next one")
            assert sink.outcomes[-1].address == f"127.0.0.1:{two.port}"
            assert book.refused(INSTANCE) is None, "what the other showed is not to be accepted"


async def test_a_locked_key_opens_through_the_agent_and_a_key_added_later_too(
    tmp_path: Path,
) -> None:
    where = tmp_path / "agent"
    with serving(tmp_path / "sshd") as sshd:
        locked = make_key(tmp_path / "locked", "open sesame")
        sshd.authorized.write_text(locked.with_suffix(".pub").read_text())
        settings = quick(sshd, key_files=(locked,), use_agent=True, agent_path=str(where))
        login = Login(settings, keys_again_seconds=0.0)
        try:
            async with linked(sshd, PLAN, settings=settings, login=login) as (_, sink):
                await until(lambda: sink.seen(SshState.AUTH_FAILED), "the locked key")
                words = str(sink.outcomes[-1].detail)
                assert "ssh-add" in words
                assert "agent does not answer" in words
                with agent_at(where) as agent:
                    agent.add(make_key(tmp_path / "other"))
                    count = len(sink.outcomes)
                    await until(lambda: len(sink.outcomes) > count + 1, "the agent's other key")
                    assert "1 key offered" in str(sink.outcomes[-1].detail)
                    agent.add(locked, "open sesame")
                    await until(lambda: sink.state is SshState.CONNECTED, "the login")
                # The agent ends and another one takes its place; the host is restarted.
                sshd.stop()
                await until(lambda: sink.state is SshState.REFUSED, "the loss")
                with agent_at(where) as agent:
                    agent.add(locked, "open sesame")
                    sshd.start()
                    await until(lambda: sink.state is SshState.CONNECTED, "the other agent")
        finally:
            login.close()


@pytest.mark.parametrize("by", ["file", "environment"])
async def test_keys_of_the_configuration_open_the_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    monkeypatch.setenv("VAST_API_KEY", "invented")
    with serving(tmp_path / "sshd") as sshd:
        config = tmp_path / "config.toml"
        environment = {"FLEETUI_CONFIG": str(config)}
        if by == "file":
            config.write_text(
                f'ssh_keys = ["{sshd.client_key}"]\nssh_user = "{getpass.getuser()}"\n'
                "ssh_agent = false\n"
            )
        else:
            config.write_text("ssh_agent = false\n")
            environment |= {
                "FLEETUI_SSH_KEY": str(sshd.client_key),
                "FLEETUI_SSH_USER": getpass.getuser(),
            }
        chosen = load_settings(environment=environment)
        settings = collector_settings(chosen, auto=False, lifeline_fd=None).ssh
        assert not settings.use_agent
        recorder = Recorder()
        quickly = replace(settings, retry_seconds=0.1)
        async with linked(sshd, PLAN, settings=quickly, recorder=recorder):
            await until(lambda: recorder.state is SshState.CONNECTED, "the login")
