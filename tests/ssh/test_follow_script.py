"""follow.sh itself, run by real shells over files that change at random between its looks."""

import contextlib
import os
import random
import select
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bare_tools import KINDS, bare_tools
from fleetui.ssh.follow import Positions, Rewritten
from fleetui.ssh.frames import Beat, FrameParser, LostFrame
from fleetui.ssh.scripts import REPEATED_BYTES, follow_command, follow_order
from fleetui.ssh.settings import FollowPlan, SshSettings

SETTINGS = SshSettings(
    follow_interval_seconds=0.01, beat_seconds=0.01, chunk_bytes=5000, first_sight_bytes=20_000
)
SHELLS = [shell for shell in ("dash", "bash", "busybox sh") if shutil.which(shell.split()[0])]
BARE = ("dash, bare", "bash, bare", "dash, bare, no dd", "busybox sh, applets, no stat")
"""Ways whose host has only the tools of POSIX, or those of busybox without its stat."""
WAYS = [f"{shell}{way}" for shell in SHELLS for way in ("", ", no dd")] + [*BARE]
ROUND_SECONDS = 30.0


class Follower:
    """Runs the script and applies its frames, as a link does, without the network."""

    def __init__(self, folder: Path, way: str, *, tools: Path | None = None) -> None:
        self.shell, *host = way.split(", ")
        self.without_dd = "no dd" in host
        kind = next((kind for kind in KINDS if kind in host), None)
        path = str(bare_tools(folder.parent, kind)) if kind else os.environ["PATH"]
        self._path = path if tools is None else f"{tools}:{path}"
        self._shell = shutil.which(self.shell.split()[0]) or ""
        self.plan = FollowPlan(streams=(("bench", f"{folder}/*.log"),))
        self.positions = Positions(1, self.plan, {})
        self.data: dict[tuple[str, int], bytearray] = defaultdict(bytearray)
        self.lost: list[tuple[str, int]] = []
        self.quiet_seconds = 0.0
        self.start()

    def start(self) -> None:
        shell = " ".join([self._shell, *self.shell.split()[1:]])
        command = follow_command(SETTINGS, self.plan, self.positions.known(64), shell=shell)
        if self.without_dd:
            assert "then dd=yes" in command
            command = command.replace("then dd=yes", "then dd=")
        self.parser = FrameParser(length_limit=SETTINGS.chunk_bytes + REPEATED_BYTES)
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=os.environ | {"PATH": self._path},
            start_new_session=True,
        )
        self.order()

    def order(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(follow_order(SETTINGS, watched=False))

    def signal(self, number: int) -> None:
        """Send a signal to the script and whatever tool it runs now."""
        os.killpg(self.process.pid, number)

    def stop(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdin is not None
        self.signal(signal.SIGKILL)
        self.process.stdout.close()
        self.process.stdin.close()
        self.process.wait(timeout=10)

    def begin_again(self) -> None:
        """Go on in another process of ours: with what a store would know."""
        known = {
            path: msgspec.structs.replace(
                position, end=bytes(self.data[path, position.generation][-REPEATED_BYTES:])
            )
            for path, position in self.positions.positions.items()
        }
        self.stop()
        self.positions = Positions(1, self.plan, known)
        self.start()

    def settle(self) -> None:
        """Read until two orders in a row brought nothing new."""
        end = time.monotonic() + ROUND_SECONDS
        beats = 0
        while beats < 2:
            assert time.monotonic() < end, "the script does not settle"
            beats = self.read(beats)

    def read(self, beats: int = 0) -> int:
        """Take what has come; returns how many orders since the last news were carried out."""
        assert self.process.stdout is not None
        while not select.select([self.process.stdout], [], [], 1.0)[0]:
            # A tool that is forked in the instant of a SIGSTOP may miss the SIGCONT after it.
            self.signal(signal.SIGCONT)
            self.quiet_seconds += 1.0
            assert self.quiet_seconds < ROUND_SECONDS, "the script says nothing"
        self.quiet_seconds = 0.0
        data = os.read(self.process.stdout.fileno(), 65536)
        assert data, "the script ended"
        for frame in self.parser.feed(data):
            try:
                delivery = self.positions.take(frame, 1.0)
            except Rewritten:
                self.stop()
                self.start()
                return 0
            if isinstance(frame, LostFrame):
                self.lost.append((frame.path, frame.unread))
            if delivery is not None:
                chunk = delivery.chunk
                held = self.data[chunk.stream.path, chunk.generation]
                assert chunk.offset == len(held), "a gap or bytes given twice"
                held += chunk.data
                beats = 0
            elif isinstance(frame, Beat):
                beats += 1
                self.order()
        return beats


@dataclass
class Life:
    """What one file of a path held in its time, and how much of it must be stored."""

    content: bytearray = field(default_factory=bytearray)
    certain: int = 0
    """Bytes that must be stored: all of a file that is still there or was moved aside, and of
    others what was read while they were."""


class Written:
    """Changes files and knows what each path held, life after life."""

    def __init__(self, folder: Path, chance: random.Random, pins: contextlib.ExitStack) -> None:
        self.folder = folder
        self._pins = pins
        self.lives: dict[str, list[Life]] = defaultdict(list)
        self._chance = chance
        self._number = 0
        self._broken: set[str] = set()

    def change(self, operation: str, name: str, size: int) -> None:
        path = self.folder / name
        lives = self.lives[str(path)]
        self._number += 1
        content = b"%d " % self._number + self._chance.randbytes(size)
        if not path.exists():
            lives.append(Life())
            operation = "append"
        if operation != "append":
            if operation == "rotate":
                if str(path) not in self._broken:
                    lives[-1].certain = len(lives[-1].content)
                move_aside(path)
            elif operation == "replace":
                # Its number must not be given to another file of the same second, which is told
                # apart from it by nothing but the second of its birth.
                self._pins.enter_context(path.open("rb"))
                path.unlink()
                # The order of its successors is known only to a script that still holds it.
                self._broken.add(str(path))
            elif operation == "cut":
                os.truncate(path, 0)
            elif operation == "rewrite":
                old = len(lives[-1].content)
                content += self._chance.randbytes(max(0, old - len(content)))
                if size % 2:
                    content = content[:old]
                with path.open("r+b", buffering=0) as file:
                    file.write(content)
            lives.append(Life())
        if operation != "rewrite":
            with path.open("ab", buffering=0) as file:
                file.write(content)
        lives[-1].content += content

    def is_new(self, name: str) -> bool:
        """Whether a path has only just come: what had it before its first sight is not read."""
        return len(self.lives[str(self.folder / name)]) == 1

    def settled(self) -> None:
        """Everything that is there now has been read."""
        self._broken.clear()
        for lives in self.lives.values():
            lives[-1].certain = len(lives[-1].content)

    def check(self, follower: Follower) -> None:
        """Compare with what was stored: every certain byte once, in order, and no other."""
        for path, lives in self.lives.items():
            stored = [
                bytes(data) for (owner, _), data in sorted(follower.data.items()) if owner == path
            ]
            rest = [data for data in stored if data]
            for life in lives:
                if rest and life.content.startswith(rest[0]) and len(rest[0]) >= life.certain:
                    rest.pop(0)
                else:
                    assert life.certain == 0, f"{path}: bytes of a life are missing"
            assert not rest, f"{path}: bytes that nobody wrote"


def move_aside(path: Path) -> None:
    """Rename to NAME.1 and what had that name to NAME.2, as logrotate does."""
    number = 1
    while path.with_name(f"{path.name}.{number}").exists():
        number += 1
    for old in range(number - 1, 0, -1):
        path.with_name(f"{path.name}.{old}").rename(path.with_name(f"{path.name}.{old + 1}"))
    path.rename(path.with_name(f"{path.name}.1"))


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "cut", "replace", "rotate", "rotate", "rewrite"]),
        st.sampled_from(["a.log", "b c.log"]),
        st.integers(1, 12_000),
        st.sampled_from(["go on", "go on", "settle", "restart"]),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("way", WAYS)
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(operations=OPERATIONS, seed=st.integers(0, 2**32))
def test_every_byte_of_every_life_is_stored_once(
    tmp_path: Path, way: str, operations: list[tuple[str, str, int, str]], seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test's own order of events
    folder = tmp_path / f"{seed}-{chance.random()}"
    folder.mkdir()
    follower = Follower(folder, way)
    with contextlib.ExitStack() as pins:
        pins.callback(shutil.rmtree, folder)
        pins.callback(follower.stop)
        written = Written(folder, chance, pins)
        for operation, name, size, then in operations:
            # Our own write is no instant; a read in its middle would be another story.
            follower.signal(signal.SIGSTOP)
            written.change(operation, name, size)
            follower.signal(signal.SIGCONT)
            if then == "settle" or written.is_new(name):
                follower.settle()
                written.settled()
            elif then == "restart":
                follower.begin_again()
        follower.settle()
        written.settled()
        written.check(follower)


@pytest.mark.parametrize("way", [*SHELLS, *BARE])
def test_files_rotated_away_unseen_are_read_in_their_order(tmp_path: Path, way: str) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    follower = Follower(tmp_path, way)
    try:
        follower.settle()
        follower.signal(signal.SIGSTOP)
        with log.open("ab") as file:
            file.write(b"the last of one\n")
        for content in (b"two\n", b"three\n", b"four\n"):
            move_aside(log)
            log.write_bytes(content)
        (tmp_path / "a.log.4.gz").write_bytes(b"what was compressed long ago")
        follower.signal(signal.SIGCONT)
        follower.settle()
        stored = [bytes(data) for _, data in sorted(follower.data.items())]
        assert stored == [b"one\nthe last of one\n", b"two\n", b"three\n", b"four\n"]
    finally:
        follower.stop()


@pytest.mark.parametrize("way", ["dash", *BARE])
def test_a_file_that_is_removed_at_once_is_still_read_to_its_end(tmp_path: Path, way: str) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    follower = Follower(tmp_path, way)
    try:
        follower.settle()
        follower.signal(signal.SIGSTOP)
        with log.open("ab") as file:
            file.write(b"the last of one\n")
        log.unlink()
        log.write_bytes(b"two\n")
        follower.signal(signal.SIGCONT)
        follower.settle()
        stored = [bytes(data) for _, data in sorted(follower.data.items())]
        assert stored == [b"one\nthe last of one\n", b"two\n"]
        assert not follower.lost
    finally:
        follower.stop()


@pytest.mark.parametrize("way", ["dash", *BARE])
def test_what_cannot_be_had_is_said(tmp_path: Path, way: str) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    follower = Follower(tmp_path, way)
    try:
        follower.settle()
        log.rename(tmp_path / "kept")  # so that its number is not given to the next file
        (tmp_path / "kept").rename(tmp_path.parent / "kept")
        log.write_bytes(b"two\n")
        follower.begin_again()
        follower.settle()
        assert follower.lost == [(str(log), 0)]
        position = follower.positions.positions[str(log)]
        assert (position.generation, position.lost_files) == (2, 0)
        assert bytes(follower.data[str(log), 2]) == b"two\n"
    finally:
        follower.stop()


def test_files_compressed_unseen_are_said_one_by_one(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    follower = Follower(tmp_path, "dash")
    try:
        follower.settle()
        birth = follower.positions.positions[str(log)].file_identity.rsplit(":", 1)[1]
        follower.stop()
        end = time.monotonic() + ROUND_SECONDS
        # Births are told in whole seconds, by a clock that lags by a tick.
        while time.time() < int(birth) + 1.1:
            assert time.monotonic() < end
            os.sched_yield()
        log.rename(tmp_path.parent / "kept")
        for number in (3, 2, 1):  # the first, the second and the third file of the name
            (tmp_path / f"a.log.{number}.gz").write_bytes(b"compressed")
        log.write_bytes(b"four\n")
        follower.start()
        follower.settle()
        assert follower.lost == [(str(log), 0)] * 3
        assert bytes(follower.data[str(log), 2]) == b"four\n"
    finally:
        follower.stop()


class Traps:
    """A `stat` or `ls` that changes the files just after it listed them, one trap a listing."""

    def __init__(self, folder: Path, way: str) -> None:
        self.tools = folder / "tools"
        self._traps = folder / "traps"
        self._laid = folder / "laid"
        self.tools.mkdir()
        (folder / "sprung").mkdir()
        name = "ls" if way in BARE else "stat"
        real = f"{shutil.which('busybox')} {name}" if "applets" in way else shutil.which(name)
        tool = self.tools / name
        tool.write_text(
            f'#!/bin/sh\n{real} "$@"\nstatus=$?\n'
            "case $* in *.log.* | *.log-* | */a.log*/a.log*) ;; *.log*)\n"
            f"  PATH={shlex.quote(os.environ['PATH'])}\n"
            f"  for trap in {shlex.quote(str(self._laid))}/*; do\n"
            f'    mv "$trap" {shlex.quote(str(folder / "sprung"))} 2>/dev/null || break\n'
            f"    cd {shlex.quote(str(folder / 'logs'))} || break\n"
            f'    . {shlex.quote(str(folder / "sprung"))}/"${{trap##*/}}"\n'
            "    break\n  done\nesac\nexit $status\n"
        )
        tool.chmod(0o755)

    def lay(self, *commands: str) -> None:
        self._traps.mkdir()
        for number, command in enumerate(commands):
            (self._traps / str(number)).write_text(command + "\n")
        self._traps.rename(self._laid)

    @property
    def sprung(self) -> bool:
        return not any(self._laid.iterdir())


ROTATE = (
    "[ ! -e a.log.2 ] || mv a.log.2 a.log.3; [ ! -e a.log.1 ] || mv a.log.1 a.log.2;"
    " mv a.log a.log.1"
)
BETWEEN_LISTINGS = {
    "rotated twice": (
        [f"printf ' end' >>a.log; {ROTATE}; printf two >a.log", f"{ROTATE}; printf three >a.log"],
        [b"one end", b"two", b"three"],
        [],
    ),
    "rotated thrice": (
        [
            f"printf ' end' >>a.log; {ROTATE}; printf two >a.log",
            f"{ROTATE}; printf three >a.log; {ROTATE}; printf four >a.log",
        ],
        [b"one end", b"two", b"three", b"four"],
        [],
    ),
    "rotated twice and replaced": (
        [
            f"{ROTATE}; printf two >a.log",
            f"{ROTATE}; printf three >a.log; mv a.log ../kept; printf four >a.log",
        ],
        [b"one", b"two", b"four"],
        [],
    ),
    "rotated and replaced": (
        [f"{ROTATE}; printf two >a.log", "mv a.log ../kept; printf three >a.log"],
        [b"one", b"three"],
        [3],
    ),
    "rotated and removed": (
        [f"{ROTATE}; printf 'the second' >a.log", "mv a.log ../kept"],
        [b"one"],
        [10],
    ),
    "seen first and moved away": (
        ["printf new >b.log", "mv b.log ../kept"],
        [b"one"],
        [3],
    ),
}
"""What happens after one listing and after the next, what is read then, and what was lost."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", BETWEEN_LISTINGS)
def test_what_changes_between_a_listing_and_the_read_is_read_or_said_to_be_lost(
    tmp_path: Path, way: str, case: str
) -> None:
    steps, texts, lost = BETWEEN_LISTINGS[case]
    folder = tmp_path / "logs"
    folder.mkdir()
    log = folder / "a.log"
    log.write_bytes(b"one")
    traps = Traps(tmp_path, way)
    follower = Follower(folder, way, tools=traps.tools)
    try:
        follower.settle()
        traps.lay(*steps)
        end = time.monotonic() + ROUND_SECONDS
        while not traps.sprung:
            assert time.monotonic() < end, "the script does not look"
            follower.read()
        follower.settle()
        assert [bytes(data) for _, data in sorted(follower.data.items()) if data] == texts
        assert [unread for _, unread in follower.lost] == lost
        position = follower.positions.positions[str(log)]
        assert position.file_identity or not log.exists()
    finally:
        follower.stop()


@pytest.mark.parametrize("way", ["dash", *BARE])
def test_more_files_than_descriptors_are_followed(tmp_path: Path, way: str) -> None:
    logs = [tmp_path / f"{number}.log" for number in range(12)]
    follower = Follower(tmp_path, way)
    try:
        for turn in range(3):
            for log in logs:
                with log.open("ab") as file:
                    file.write(b"%d of %s\n" % (turn, log.name.encode()))
            follower.settle()
        rotated = logs[3]
        with rotated.open("ab") as file:
            file.write(b"the last\n")
        move_aside(rotated)
        rotated.write_bytes(b"new\n")
        follower.settle()
        for log in logs:
            text = b"".join(b"%d of %s\n" % (turn, log.name.encode()) for turn in range(3))
            last = b"the last\n" if log == rotated else b""
            assert bytes(follower.data[str(log), 1]) == text + last
        assert bytes(follower.data[str(rotated), 2]) == b"new\n"
    finally:
        follower.stop()


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
                    move_aside(log)
                    log.touch()
                    pause.wait(0.05)  # as a daemon that is told a little later to open it anew
                    line = b"%d last words\n" % rotation
                    file.write(line)
                    written.extend(line)
        done.set()

    follower = Follower(tmp_path, way)
    writer = threading.Thread(target=write)
    writer.start()
    end = time.monotonic() + ROUND_SECONDS
    try:
        while not done.is_set() or sum(map(len, follower.data.values())) < len(written):
            assert time.monotonic() < end, "bytes are missing"
            follower.read()
        stored = [bytes(data) for _, data in sorted(follower.data.items())]
        assert b"".join(stored) == bytes(written)
    finally:
        follower.stop()
        writer.join()


@pytest.mark.parametrize("way", ["dash", *BARE])
def test_a_number_given_to_another_file_is_no_excuse(tmp_path: Path, way: str) -> None:
    """The bytes before the offset tell the file apart, whatever it is called by."""
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n" * 50)
    follower = Follower(tmp_path, way)
    try:
        follower.settle()
        follower.stop()
        log.write_bytes(b"two\n" * 50)  # the same number, size and, in minutes, time
        with (tmp_path / "b\n.log").open("wb") as file, (tmp_path / " b  c.log").open("wb") as odd:
            file.write(b"of a name that no line can tell")
            odd.write(b"odd")
        follower.start()
        follower.settle()
        log.write_bytes(b"six\n" * 50)
        end = time.monotonic() + ROUND_SECONDS
        while follower.data[str(log), 3] != b"six\n" * 50:
            assert time.monotonic() < end, "it does not notice"
            follower.read()
        assert follower.data[str(log), 1] == b"one\n" * 50
        assert follower.data[str(log), 2] == b"two\n" * 50
        assert follower.data[str(tmp_path / " b  c.log"), 1] == b"odd"
        assert len(follower.positions.positions) == 2
        assert follower.parser.refused == 0
    finally:
        follower.stop()
