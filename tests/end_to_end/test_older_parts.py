"""The beginning of a huge file: asked for by a log view, fetched from a real host, stored once."""

import getpass
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from collecting import Collecting, collecting, some_running
from fleetui.collector.settings import CollectorSettings
from fleetui.console.log_source import LogSource
from fleetui.console.older_parts import OlderParts
from fleetui.domain.clock import ScaledClock, SystemClock
from fleetui.domain.secret import Secret
from fleetui.domain.stream import StreamPosition
from fleetui.domain.text import sanitise
from fleetui.profiles.loader import load
from fleetui.simulator.run import Cast, Serving, serving
from fleetui.ssh.settings import SshSettings
from fleetui.store.interface import LogMissing
from fleetui.vast.client import ApiSettings
from openssh import Sshd
from openssh import serving as serving_ssh
from pretend_vast import KEY, IdleHost, RealPorts

HOLE = 5 << 30
LINES = 60_000
FIRST_SIGHT = 300_000


def line(number: int) -> bytes:
    return b"line %07d of a log that grew for weeks\n" % number


class Host:
    """One pretended instance whose SSH is a real server, and its huge log."""

    def __init__(self, folder: Path, sshd: Sshd, vast: Serving) -> None:
        self.folder = folder
        self.log = folder / "logs" / "huge.log"
        self.instance_id = next(iter(vast.world.rentals))
        (folder / "profiles").mkdir()
        (folder / "profiles" / "huge.toml").write_text(
            f'name = "huge"\n[[streams]]\nkind = "log"\npatterns = ["{folder}/logs/*.log"]\n'
        )
        self.settings = CollectorSettings(
            store_path=folder / "fleet.db",
            api=ApiSettings(
                base_url=vast.environment["VAST_URL"], read_key=Secret(KEY), write_key=Secret(KEY)
            ),
            ssh=SshSettings(
                user=getpass.getuser(),
                key_files=(sshd.client_key,),
                use_agent=False,
                follow_interval_seconds=0.2,
                probe_interval_seconds=60.0,
                retry_seconds=0.2,
                first_sight_bytes=FIRST_SIGHT,
            ),
            profile=load("huge", folder / "profiles"),
            clock=SystemClock(),
            holder="test",
            walk_interval_seconds=0.5,
            api_pace=0.02,
            tick_seconds=0.1,
        )

    def stored_from(self, data: bytes, offset: int) -> bool:
        """Tell whether bytes are those of the file from an offset."""
        with self.log.open("rb") as file:
            file.seek(offset)
            return file.read(len(data) + 1) == data

    async def position(self, run: Collecting) -> StreamPosition:
        """Wait until the file is stored to its end."""

        async def look() -> StreamPosition | None:
            found = await run.store.streams(self.instance_id)
            whole = found and found[0].offset == self.log.stat().st_size
            return found[0] if whole else None

        position = await run.until(look, "the end of the file is stored")
        assert position is not None
        return position


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    now = time.time()
    (tmp_path / "logs").mkdir()
    with serving_ssh(tmp_path / "sshd") as sshd:
        cast = Cast([("idle", 600.0)], IdleHost, lambda _key: RealPorts(sshd), "idle")
        clock = ScaledClock(now, now, 1.0)
        async with serving(cast, seed=7, clock=clock, public_key="", key=KEY, pace=0.0) as vast:
            made = Host(tmp_path, sshd, vast)
            with made.log.open("wb") as file:
                file.seek(HOLE)
                file.write(b"\n")
                file.writelines(line(number) for number in range(LINES))
            yield made


@asynccontextmanager
async def reading(
    host: Host,
) -> AsyncIterator[tuple[Collecting, LogSource, OlderParts]]:
    """Run a collector and open the log as a console does."""
    async with collecting(host.settings) as run:
        await some_running(run)
        await host.position(run)
        source = LogSource(run.store, host.instance_id)
        await source.advance()
        while await source.older():
            pass
        yield run, source, OlderParts(run.store, sanitise("ana@ops"), SystemClock())


def numbers(source: LogSource) -> list[int]:
    ring = source.ring
    lines = [ring.line(number) for number in range(ring.first, ring.end)]
    return [int(text.split()[1]) for text in lines if text.startswith(b"line ")]


async def test_a_reader_gets_back_to_what_was_never_stored(host: Host) -> None:
    path = str(host.log)
    async with reading(host) as (run, source, parts):
        size = host.log.stat().st_size
        shown = numbers(source)
        assert shown == list(range(shown[0], LINES))
        assert len(shown) < LINES
        assert source.left_out == size - FIRST_SIGHT
        assert (await run.store.log_missing())[host.instance_id].skipped == size - FIRST_SIGHT
        # It is fetched while the file grows.
        with host.log.open("ab") as file:
            file.write(line(LINES))
        assert await parts.fetch(host.instance_id, path) == ""
        assert await source.older() > 0
        await host.position(run)
        await source.advance()
        shown = numbers(source)
        assert shown == list(range(shown[0], LINES + 1))
        while shown[0] > 0:
            assert await parts.fetch(host.instance_id, path) == ""
            while await source.older():
                pass
            before, shown = shown, numbers(source)
            assert len(shown) > len(before)
            assert shown == list(range(shown[0], LINES + 1))
    # A new collector goes on where the old one was, at both ends.
    async with reading(host) as (run, source, parts):
        left = source.left_out
        assert 0 < left < HOLE + 1

        async def fetched() -> bool:
            return await parts.fetch(host.instance_id, path) == ""

        # The connection comes a little later than what is stored.
        await run.until(fetched, "an older part is fetched")
        await source.older()
        assert source.left_out == left - (1 << 20)
        position = await host.position(run)
        missing = (await run.store.log_missing())[host.instance_id]
        assert missing == LogMissing(skipped=source.left_out)
        chunks = await run.store.log_bytes(position.stream, position.generation)
        data = b"".join(chunk.data for chunk in chunks)
        assert chunks[0].offset + len(data) == host.log.stat().st_size
        assert host.stored_from(data, chunks[0].offset)
        asked = await run.store.intents(instance_id=host.instance_id)
        assert {intent.verb for intent in asked} == {"read_older"}


async def test_what_is_not_the_same_text_any_more_is_not_put_before_it(host: Host) -> None:
    path = str(host.log)
    async with reading(host) as (run, source, parts):
        first = source.left_out
        with host.log.open("r+b") as file:
            file.seek(first - 100)
            file.write(b"x" * 200)
        said = await parts.fetch(host.instance_id, path)
        assert "another text" in said
        assert "no log" in await parts.fetch(host.instance_id, path + ".1")
        assert source.left_out == first
        host.log.rename(host.folder / "huge.old")
        host.log.write_bytes(line(1))

        async def new_life() -> bool:
            return (await run.store.streams(host.instance_id))[0].generation == 2

        await run.until(new_life, "the file's next life")
        await host.position(run)
        assert await parts.fetch(host.instance_id, path) == ""
        stream = (await run.store.streams(host.instance_id))[0].stream
        window = await run.store.log_window(stream, generation=1)
        assert window is not None
        assert window.first_offset == first
