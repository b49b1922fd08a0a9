"""follow.sh itself, run by real shells over files that change at random between its rounds."""

import random
import shutil
import subprocess
import threading
import time
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetui.ssh.follow import Positions, Rewritten
from fleetui.ssh.frames import FrameParser
from fleetui.ssh.scripts import REPEATED_BYTES, follow_command
from fleetui.ssh.settings import FollowPlan, SshSettings

SETTINGS = SshSettings(follow_interval_seconds=0.01, beat_seconds=0.01, chunk_bytes=5000)
SHELLS = [shell for shell in ("dash", "bash", "busybox") if shutil.which(shell)]
WAYS = [f"{shell}{way}" for shell in SHELLS for way in ("", " without dd")]
ROUND_SECONDS = 30.0


class Follower:
    """Runs the script and applies its frames, as a link does, without the network."""

    def __init__(self, folder: Path, way: str) -> None:
        self.plan = FollowPlan(streams=(("bench", f"{folder}/*.log"),))
        self.shell, _, self.without = way.partition(" ")
        self.positions = Positions(1, self.plan, {})
        self.data: dict[tuple[str, int], bytearray] = defaultdict(bytearray)
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        command = follow_command(SETTINGS, self.plan, self.positions.known(64))
        words = [self.shell, "-c"] if self.shell != "busybox" else ["busybox", "sh", "-c"]
        if self.without:
            assert "then dd=yes" in command
            command = command.replace("then dd=yes", "then dd=")
        self.parser = FrameParser(length_limit=SETTINGS.chunk_bytes + REPEATED_BYTES)
        self.process = subprocess.Popen([*words, command], stdout=subprocess.PIPE)

    def stop(self) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.kill()
        self.process.stdout.close()
        self.process.wait(timeout=10)

    def settle(self, files: dict[str, bytes]) -> None:
        """Read until the newest life of each file is complete and two heartbeats have passed."""
        end = time.monotonic() + ROUND_SECONDS
        beats = 0
        while beats < 2:
            assert time.monotonic() < end, "the script does not settle"
            beats += self._read()
        for path, content in files.items():
            position = self.positions.positions[path]
            assert bytes(self.data[path, position.generation]) == content, path

    def _read(self) -> int:
        assert self.process is not None
        assert self.process.stdout is not None
        beats = 0
        data = self.process.stdout.read1(65536)  # type: ignore[attr-defined]  # buffered pipe
        for frame in self.parser.feed(data):
            try:
                delivery = self.positions.take(frame, 1.0)
            except Rewritten:
                self.stop()
                self.start()
                return -10
            if delivery is not None:
                chunk = delivery.chunk
                held = self.data[chunk.stream.path, chunk.generation]
                assert chunk.offset == len(held), "a gap or bytes given twice"
                held += chunk.data
                beats = 0
            elif type(frame).__name__ == "Beat":
                beats += 1
        return beats


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "append", "cut", "replace", "rotate", "rewrite"]),
        st.sampled_from(["a.log", "b c.log"]),
        st.integers(1, 12_000),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("way", WAYS)
@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(operations=OPERATIONS, seed=st.integers(0, 2**32))
def test_every_byte_of_the_newest_life_arrives_exactly(
    tmp_path: Path, way: str, operations: list[tuple[str, str, int]], seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test's own order of events
    folder = tmp_path / f"{seed}-{chance.random()}"
    folder.mkdir()
    files: dict[str, bytes] = {}
    follower = Follower(folder, way)
    try:
        for number, (operation, name, size) in enumerate(operations):
            path = folder / name
            content = f"{number} ".encode() + chance.randbytes(size)
            if operation == "append" or not path.exists():
                with path.open("ab") as file:
                    file.write(content)
                files[str(path)] = files.get(str(path), b"") + content
            else:
                change(operation, path, content)
                files[str(path)] = content
            if chance.random() < 0.5:
                follower.settle(files)
            if chance.random() < 0.2:
                follower.stop()
                follower.start()
        follower.settle(files)
    finally:
        follower.stop()
        shutil.rmtree(folder)


def change(operation: str, path: Path, content: bytes) -> None:
    """Begin another life of a file."""
    if operation == "cut":
        with path.open("wb") as file:
            file.write(content)
    elif operation == "replace":
        path.unlink()
        path.write_bytes(content)
    elif operation == "rotate":
        path.rename(path.with_suffix(".old"))
        path.write_bytes(content)
    else:
        with path.open("r+b") as file:
            file.write(content)
            file.truncate()


@pytest.mark.parametrize("way", WAYS)
def test_a_steady_writer_with_rotations_loses_nothing(tmp_path: Path, way: str) -> None:
    log = tmp_path / "a.log"
    log.touch()
    written = bytearray()
    done = threading.Event()

    def write() -> None:
        pause = threading.Event()
        for rotation in range(4):
            with log.open("ab", buffering=0) as file:
                for number in range(40):
                    line = b"%d line %d of a writer that does not wait\n" % (rotation, number)
                    file.write(line)
                    written.extend(line)
                    pause.wait(0.005)
                if rotation < 3:
                    log.rename(tmp_path / f"a.log.{rotation}")
                    line = b"%d last words\n" % rotation
                    file.write(line)
                    written.extend(line)
            if rotation < 3:
                log.touch()
                pause.wait(0.3)  # a rotation within a round of the one before cannot be seen
        done.set()

    follower = Follower(tmp_path, way)
    writer = threading.Thread(target=write)
    writer.start()
    end = time.monotonic() + ROUND_SECONDS
    try:
        while not done.is_set() or sum(map(len, follower.data.values())) < len(written):
            assert time.monotonic() < end, "bytes are missing"
            follower._read()
        assert b"".join(bytes(data) for data in follower.data.values()) == bytes(written)
    finally:
        follower.stop()
        writer.join()
