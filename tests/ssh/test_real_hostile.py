"""A remote side that says anything but what it should: never a crash, never a hang, always said."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cutting import Relay
from fleetui.domain.host import SshState
from fleetui.domain.instance import Route, SshAddress
from fleetui.ssh.follow import GONE_PATHS
from fleetui.ssh.login import Login, LoginError
from fleetui.ssh.settings import FollowPlan, SshSettings
from link_stage import linked, quick, until
from openssh import Sshd, serving

FORCED = """#!/bin/sh
if [ -e '{folder}/say' ]; then
  cat '{folder}/say'
  [ -e '{folder}/go_on' ] || exit 0
fi
exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"
"""
HELLO = b"\n@follow 1\n"
HEADERS = st.builds(
    lambda fields: b"@file " + b" ".join(fields) + b"\n",
    st.lists(
        st.sampled_from([b"1:2:3", b"-1", b"0", b"7", b"99999999999999999999", b"x", b"/a.log"])
        | st.binary(max_size=8),
        min_size=3,
        max_size=8,
    ),
)
PIECES = (
    st.binary(max_size=300)
    | HEADERS
    | st.sampled_from([
        HELLO,
        b"@beat\n",
        b"@gone 1:2:3 /etc/passwd\n",
        b"@end 1:2:3 5\n",
        b"@@ probe 1\n",
        b"@@ ps\n",
        b"@@ end\n@@ done\n",
        b"@error \x1b[31mred\x07\n",
        b"x" * 200_000,
        b"\x00" * 70_000,
        b"Welcome!\nYou have new mail.\n",
    ])
)  # fmt: skip
SPEECHES = st.lists(PIECES, max_size=6).map(b"".join)


@dataclass(frozen=True)
class ForcedHost:
    """A server that runs one command whatever is asked for, and where it reads what to say."""

    sshd: Sshd
    folder: Path

    def say(self, speech: bytes, *, go_on: bool = False) -> None:
        """Say this to every command from now on; then end, or do what was asked."""
        if go_on:
            (self.folder / "go_on").touch()
        (self.folder / "say").write_bytes(speech)

    def come_to_its_senses(self) -> None:
        """Do what is asked, nothing else."""
        (self.folder / "say").unlink()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[ForcedHost]:
    folder = tmp_path / "host"
    folder.mkdir()
    script = folder / "forced"
    script.write_text(FORCED.format(folder=folder))
    script.chmod(0o755)
    banner = folder / "banner"
    banner.write_text("ACCESS IS MONITORED\n" * 50)
    options = (f"ForceCommand {script}", f"Banner {banner}")
    with serving(tmp_path / "sshd", options=options) as sshd:
        yield ForcedHost(sshd, folder)


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(speech=SPEECHES)
def test_what_is_no_log_is_said_and_the_link_lives_on(
    tmp_path: Path, host: ForcedHost, speech: bytes
) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"a line\n")
    plan = FollowPlan(streams=(("bench", str(log)),))
    host.say(speech)

    async def story() -> None:
        async with linked(host.sshd, plan) as (_, sink):
            await until(lambda: any(o.detail for o in sink.outcomes), "a word about it")
            said = next(outcome for outcome in sink.outcomes if outcome.detail)
            assert said.state is SshState.CONNECTED
            assert "logs cannot be followed" in str(said.detail)
            assert str(said.detail).isprintable()
            assert not any(sink.data.values())
            # On the same connection all is well as soon as the host comes to its senses.
            host.come_to_its_senses()
            await until(lambda: sink.text(log) == b"a line\n", "the log")
            await until(lambda: bool(sink.probes), "a look")
            assert sink.outcomes[-1].detail is None
            assert not sink.seen(SshState.LOST)

    asyncio.run(story())


async def test_a_talkative_login_is_passed_over(tmp_path: Path, host: ForcedHost) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"a line\n")
    plan = FollowPlan(streams=(("bench", str(log)),))
    host.say(b"Welcome to tmux!\n\x1b[1mNew mail\x1b[0m\n" * 200, go_on=True)
    async with linked(host.sshd, plan) as (_, sink):
        await until(lambda: sink.text(log) == b"a line\n" and bool(sink.probes), "log and look")
        assert all(outcome.detail is None for outcome in sink.outcomes)


GREETINGS = st.sampled_from([b"", b"SSH-2.0-odd\r\n", b"SSH-1.5-old\r\n", b"HTTP/1.1 400\r\n\r\n"])


@settings(max_examples=25, deadline=None)
@given(
    greeting=GREETINGS,
    rest=st.binary(max_size=400) | st.just(b"y\r\n" * 20_000) | st.just(b"\x00" * 60_000),
    hang_up=st.booleans(),
)
def test_a_port_that_speaks_no_ssh_is_a_failed_login(
    greeting: bytes, rest: bytes, hang_up: bool
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(greeting + rest)
            await writer.drain()
            if not hang_up:
                await reader.read()
        except OSError:
            pass  # the client has had enough
        finally:
            writer.close()

    async def story() -> None:
        listener = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with listener:
            port = listener.sockets[0].getsockname()[1]
            login = Login(SshSettings(use_agent=False, connect_timeout=0.3))
            with pytest.raises(LoginError) as failure:
                await login.connect(SshAddress("127.0.0.1", port, Route.DIRECT), None)
            assert failure.value.state in (SshState.REFUSED, SshState.TIMED_OUT)
            assert failure.value.detail

    asyncio.run(story())


class Spoiler:
    """Spoils one byte of what the server sends, `place` bytes after the start."""

    def __init__(self, place: int) -> None:
        self.place = place

    def __call__(self, data: bytes) -> bytes:
        spoiled = bytearray(data)
        if 0 <= self.place < len(data):
            spoiled[self.place] ^= 0x21
        self.place -= len(data)
        return bytes(spoiled)


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(place=st.integers(0, 1500) | st.integers(1500, 12_000))
def test_a_spoiled_connection_is_made_anew_and_no_byte_is_wrong(
    tmp_path: Path, shared_sshd: Sshd, place: int
) -> None:
    log = tmp_path / "a.log"
    content = b"".join(b"line %d\n" % number for number in range(2000))
    log.write_bytes(content)
    plan = FollowPlan(streams=(("bench", str(log)),))

    async def story() -> None:
        spoiler = Spoiler(place)
        relay = Relay(shared_sshd, change=spoiler)
        impatient = quick(shared_sshd, connect_timeout=2.0, keepalive_seconds=1.0)
        async with (
            relay.running() as address,
            linked(shared_sshd, plan, settings=impatient, address=address) as (_, sink),
        ):
            await until(lambda: sink.text(log) == content, "the log, exactly")
            await until(lambda: spoiler.place < 0, "the spoiled byte")

    asyncio.run(story())


FLOODS = {
    "@beat": "carried out what it was not asked for",
    "@lost 1:2:3 5 /logs/a.log": "files are lost",
}


@pytest.mark.parametrize("line", FLOODS)
async def test_a_flood_of_small_frames_ends_the_channel(tmp_path: Path, line: str) -> None:
    script = tmp_path / "forced"
    script.write_text(
        "#!/bin/sh\n"
        'case "$SSH_ORIGINAL_COMMAND" in *fleetui-follow*) ;; *) exit 0 ;; esac\n'
        f"printf '\\n@follow 1\\n'\nexec yes '{line}'\n"
    )
    script.chmod(0o755)
    plan = FollowPlan(streams=(("bench", "/logs/*.log"),))
    with serving(tmp_path / "sshd", options=(f"ForceCommand {script}",)) as sshd:
        async with linked(sshd, plan) as (_, sink):
            said = FLOODS[line]
            await until(lambda: any(said in str(o.detail) for o in sink.outcomes), "the word")
            assert not sink.seen(SshState.LOST)


async def test_files_without_end_are_followed_up_to_a_number(tmp_path: Path) -> None:
    script = tmp_path / "forced"
    words = r"@file 1:%d:3 1 0 0 1 /logs/%d.log\nx\n@end 1:%d:3 1\n"
    script.write_text(
        "#!/bin/sh\n"
        'case "$SSH_ORIGINAL_COMMAND" in *fleetui-follow*) ;; *) exit 0 ;; esac\n'
        "printf '\\n@follow 1\\n'\n"
        f"exec awk 'BEGIN {{ for (i = 0; ; i++) printf \"{words}\", i, i, i }}'\n"
    )
    script.chmod(0o755)
    plan = FollowPlan(streams=(("bench", "/logs/*.log"),))
    with serving(tmp_path / "sshd", options=(f"ForceCommand {script}",)) as sshd:
        async with linked(sshd, plan) as (_, sink):
            await until(lambda: "more than" in str(sink.outcomes[-1:]), "a word about it")
            assert len(sink.positions) == SshSettings.max_files + GONE_PATHS
