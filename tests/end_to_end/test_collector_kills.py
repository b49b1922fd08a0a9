"""The collector killed again and again while it follows real files through a real sshd.

Afterwards every byte that was written to twenty of them is stored, once. A few more are truncated,
renamed and removed without regard to what was read: of those bytes are missing, but none is wrong
and none is stored twice. `FLEETUI_KILLS` sets how many kills.
"""

import asyncio
import contextlib
import getpass
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fleetui.domain.clock import ScaledClock, SystemClock
from fleetui.domain.stream import StreamId, StreamPosition
from fleetui.simulator.run import Cast, serving
from fleetui.store.sqlite import SqliteStore
from link_stage import until
from openssh import Sshd, processes_with
from openssh import serving as serving_ssh
from pretend_vast import KEY, IdleHost, RealPorts

KILLS = int(os.environ.get("FLEETUI_KILLS", "8"))
FILES = 20
HEEDLESS_FILES = 5
KINDS = {"append", "truncate", "rename", "remove"}
WEIGHTS = (97, 1, 1, 1)
CATCH_UP_SECONDS = 120.0
CHECKOUT = Path(__file__).parents[2]


class GrowingLog:
    """One log file and all that was ever written to it, life by life.

    Unless heedless it does what no follower can miss: a life ends by truncation or removal only
    when the store has all of it, and by rename only when the store knows that it has begun; and a
    file that was cut grows past its old length only when the store has taken the cut in.
    """

    def __init__(self, path: Path, *, heedless: bool) -> None:
        self.path = path
        self.heedless = heedless
        self.lives = [bytearray()]
        self.rotations = 0
        self._wish = "append"
        self._cut: tuple[int, int] | None = None
        path.touch()

    def step(self, position: StreamPosition | None, chance: random.Random) -> str:
        """Do one thing to the file; returns which."""
        if self._cut is not None and position is not None and position.generation > self._cut[0]:
            self._cut = None
        stat = self.path.stat()
        if self._wish == "append" and stat.st_size:
            self._wish = chance.choices(("append", "truncate", "rename", "remove"), WEIGHTS)[0]
        wish = self._wish
        if self.heedless:
            return self._do(wish, chance)
        if wish == "append":
            line = self._line(chance)
            if self._cut is not None and stat.st_size + len(line) >= self._cut[1]:
                return "wait"
            self.write(line)
            return wish
        if position is None or self._cut is not None:
            return "wait"
        if not position.file_identity.startswith(f"{stat.st_dev}:{stat.st_ino}:"):
            return "wait"
        if wish != "rename":
            if position.offset != stat.st_size:
                return "wait"
            self._cut = (position.generation, position.offset)
        return self._do(wish, chance)

    def _do(self, wish: str, chance: random.Random) -> str:
        if wish == "append":
            self.write(self._line(chance))
        elif wish == "rename":
            self._rename()
        else:
            self._end(wish)
        self._wish = "append"
        return wish

    def explains(self, stored: Sequence[bytes]) -> bool:
        """Tell whether what is stored is what was written, in its order, as far as it must be."""
        if not self.heedless:
            return list(stored) == [bytes(life) for life in self.lives if life]
        lives = iter(self.lives)
        ordered = all(any(life.startswith(data) for life in lives) for data in stored)
        return ordered and stored[-1:] == [bytes(self.lives[-1])]

    def _line(self, chance: random.Random) -> bytes:
        words = f"{self.path.name} life {len(self.lives)} byte {len(self.lives[-1])}"
        return f"{words} {'x' * chance.randrange(400)}\n".encode()

    def write(self, data: bytes, path: Path | None = None) -> None:
        """Append to the present life, which may lie under another name."""
        with (path or self.path).open("ab", buffering=0) as file:
            file.write(data)
        self.lives[-1] += data

    def _rename(self) -> None:
        self.rotations += 1
        old = self.path.with_name(f"{self.path.name}.{self.rotations}")
        self.path.rename(old)
        self.write(b"last words\n", old)
        self.lives.append(bytearray())
        self.path.touch()

    def _end(self, wish: str) -> None:
        if wish == "remove":
            self.path.unlink()
        self.path.open("wb").close()
        self.lives.append(bytearray())


class Workload:
    """Logs that grow and change all the time, most in view of what the store has."""

    def __init__(self, folder: Path, store: SqliteStore, seed: int) -> None:
        self.logs = [
            GrowingLog(folder / f"{number}.log", heedless=number >= FILES)
            for number in range(FILES + HEEDLESS_FILES)
        ]
        self.done: dict[str, int] = {}
        self._store = store
        self._chance = random.Random(seed)  # noqa: S311 - the order of events of a test

    async def run(self, instance_id: int) -> None:
        while True:
            streams = await self._store.streams(instance_id)
            self._steps({position.stream.path: position for position in streams})
            await asyncio.sleep(0.02)

    def _steps(self, positions: Mapping[str, StreamPosition]) -> None:
        for log in self._chance.sample(self.logs, 5):
            what = log.step(positions.get(str(log.path)), self._chance)
            self.done[what] = self.done.get(what, 0) + 1

    def finish(self) -> None:
        """Write a last line to the heedless logs, that their last lives are not empty."""
        for log in self.logs:
            if log.heedless:
                log.write(b"the end\n")

    async def unexplained(self, instance_id: int) -> list[str]:
        """Say where what is stored differs from what was written."""
        stored = await self.stored(instance_id)
        return [
            f"{log.path}: lives of {[len(life) for life in log.lives]} bytes,"
            f" stored {[len(data) for data in stored.get(str(log.path), [])]}"
            for log in self.logs
            if not log.explains(stored.get(str(log.path), []))
        ]

    def written(self, *, heedless: bool) -> int:
        """Return how many bytes were written to the logs of one sort."""
        logs = [log for log in self.logs if log.heedless == heedless]
        return sum(len(life) for log in logs for life in log.lives)

    async def missing(self, instance_id: int) -> int:
        """Return how many bytes of the heedless logs are not stored."""
        stored = await self.stored(instance_id)
        logs = [log for log in self.logs if log.heedless]
        held = sum(len(data) for log in logs for data in stored.get(str(log.path), []))
        return self.written(heedless=True) - held

    async def stored(self, instance_id: int) -> dict[str, list[bytes]]:
        """Return the stored bytes of each file's lives in order, those without bytes left out."""
        found: dict[str, list[bytes]] = {}
        for position in await self._store.streams(instance_id):
            found[position.stream.path] = [
                data
                for generation in range(1, position.generation + 1)
                if (data := await self._life(position.stream, generation))
            ]
        return found

    async def _life(self, stream: StreamId, generation: int) -> bytes:
        window = await self._store.log_window(stream, generation=generation, size=1 << 30)
        assert window is None or (window.offset, window.dropped) == (0, 0)
        return window.data if window is not None else b""


def write_settings(folder: Path, logs: Path, sshd: Sshd) -> Path:
    """Write a config file and a profile that follows the logs; returns the config's path."""
    (folder / "profiles").mkdir(parents=True)
    (folder / "profiles" / "twenty.toml").write_text(
        f'name = "twenty"\n[[streams]]\nkind = "log"\npatterns = ["{logs}/*.log"]\n'
    )
    config = folder / "config.toml"
    config.write_text(
        f'profile = "twenty"\nssh_keys = ["{sshd.client_key}"]\nssh_agent = false\n'
        f'ssh_user = "{getpass.getuser()}"\nwalk_interval_seconds = 1\n'
    )
    return config


class Killing:
    """Starts collectors, one after the other, and kills them."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._environment = environment
        self._log = folder / "collector.log"

    @asynccontextmanager
    async def collector(self) -> AsyncIterator[asyncio.subprocess.Process]:
        with self._log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "fleetui", "collect",
                env=dict(self._environment), cwd=CHECKOUT, stderr=log,
            )  # fmt: skip
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    def words(self) -> str:
        return self._log.read_text()[-3000:]


async def offsets(store: SqliteStore) -> int:
    """Return something that grows with each stored byte and each new life."""
    positions = await store.positions()
    return sum(position.offset + (position.generation << 40) for position in positions)


async def test_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    chance = random.Random(41)  # noqa: S311 - when to kill is no secret
    logs = tmp_path / "logs"
    logs.mkdir()
    now = time.time()
    clock = ScaledClock(now, now, 1.0)
    with serving_ssh(tmp_path / "sshd") as sshd:
        cast = Cast([("idle", 600.0)], IdleHost, lambda _key: RealPorts(sshd), "idle")
        async with serving(cast, seed=7, clock=clock, public_key="", key=KEY, pace=0.0) as vast:
            config = write_settings(tmp_path / "config", logs, sshd)
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "FLEETUI_CONFIG": str(config),
                "FLEETUI_STATE_DIR": str(tmp_path / "state"),
                "NO_PROXY": "127.0.0.1",
                **vast.environment,
            }
            killing = Killing(environment, tmp_path)
            (tmp_path / "state").mkdir()
            path = tmp_path / "state" / "fleet.db"
            await (await SqliteStore.open(path, clock=SystemClock())).close()
            store = await SqliteStore.open(path, clock=SystemClock(), viewer=True)
            async with contextlib.aclosing(store):
                instance_id = next(iter(vast.world.rentals))
                workload = Workload(logs, store, seed=7)
                writer = asyncio.create_task(workload.run(instance_id), name="writer")
                try:
                    for number in range(KILLS):
                        before = await offsets(store)
                        async with killing.collector() as process:
                            end = time.monotonic() + CATCH_UP_SECONDS
                            # Most are killed in the midst of work, some while they start.
                            while number % 4 and await offsets(store) == before:
                                assert process.returncode is None, killing.words()
                                assert not writer.done(), writer.result()
                                if time.monotonic() > end:
                                    pytest.fail(f"it stores nothing: {killing.words()}")
                                await asyncio.sleep(0.02)
                            await asyncio.sleep(chance.uniform(0.0, 0.6))
                    async with killing.collector() as process:
                        # A busy machine may have written little between the kills.
                        end = time.monotonic() + CATCH_UP_SECONDS
                        while KINDS - workload.done.keys():
                            assert process.returncode is None, killing.words()
                            assert not writer.done(), writer.result()
                            assert time.monotonic() < end, workload.done
                            await asyncio.sleep(0.02)
                finally:
                    writer.cancel()
                    await asyncio.gather(writer, return_exceptions=True)
                workload.finish()
                async with killing.collector() as process:
                    end = time.monotonic() + CATCH_UP_SECONDS
                    while problems := await workload.unexplained(instance_id):
                        assert process.returncode is None, killing.words()
                        assert time.monotonic() < end, "\n".join(problems)
                        await asyncio.sleep(0.1)
                    process.terminate()
                    await asyncio.wait_for(process.wait(), 30)
                missing = await workload.missing(instance_id)
                print(  # noqa: T201 - the long run's figures
                    f"{KILLS} kills: {workload.written(heedless=False)} bytes stored once each;"
                    f" heedless: {missing} of {workload.written(heedless=True)} bytes gone before"
                    f" they were read; {workload.done}"
                )
        await until(lambda: processes_with(str(logs)) == [], "the end of all that ran on the host")
        assert sshd.run_on_host() == []
