"""Keys, gate, pauses, outcomes, and the sections of a look."""

import itertools
import socket
import subprocess
from pathlib import Path

import asyncssh
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.host import SshState
from fleetui.domain.host_key import fingerprint
from fleetui.domain.stream import StreamId, StreamPosition
from fleetui.ssh.backoff import Backoff
from fleetui.ssh.complaints import Complaints
from fleetui.ssh.follow import GONE_PATHS, Positions
from fleetui.ssh.frames import FileFrame, FrameError, GoneFrame, LostFrame
from fleetui.ssh.host_keys import HostKeyBook
from fleetui.ssh.keys import load_keys
from fleetui.ssh.outcome import detail_of, state_of
from fleetui.ssh.probe import ProbeError, ProbeParser, without_own
from fleetui.ssh.settings import FollowPlan, SshSettings
from openssh import make_key

PLAN = FollowPlan(streams=(("bench", "/tmp/a.log"),))


async def test_keys_that_cannot_be_used_are_said_with_the_reason(tmp_path: Path) -> None:
    good, locked = make_key(tmp_path / "good"), make_key(tmp_path / "locked", "secret")
    text = tmp_path / "text"
    text.write_text("not a key")
    files = (tmp_path / "missing", locked, text, good)
    ring = await load_keys(SshSettings(key_files=files, use_agent=False))
    assert len(ring.pairs) == 1
    named = [
        path for path, problem in zip(files, ring.problems, strict=False) if str(path) in problem
    ]
    assert named == list(files[:3])
    assert "ssh-add" in ring.problems[1]
    nothing = await load_keys(SshSettings(use_agent=False))
    assert "no SSH key" in nothing.problems[0]


async def test_an_agent_that_does_not_answer_is_said(tmp_path: Path) -> None:
    ring = await load_keys(SshSettings(agent_path=str(tmp_path / "agent")))
    assert ring.pairs == ()
    assert "agent" in ring.problems[0]


@given(st.floats(0.01, 10), st.floats(0.01, 100), st.floats(0, 1), st.integers(1, 3000))
def test_pauses_grow_to_their_limit(first: float, limit: float, jitter: float, tries: int) -> None:
    backoff = Backoff(first, limit, jitter=lambda: jitter)
    pauses = [backoff.next() for _ in range(tries)]
    assert pauses == sorted(pauses)
    assert first * 0.5 <= pauses[0]
    assert pauses[-1] <= max(first, limit)
    backoff.reset()
    assert backoff.next() == pauses[0]


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (asyncssh.PermissionDenied("no"), SshState.AUTH_FAILED),
        (asyncssh.HostKeyNotVerifiable("other"), SshState.HOST_KEY_CHANGED),
        (asyncssh.ProtocolError("Too many authentication failures"), SshState.AUTH_FAILED),
        (asyncssh.ConnectionLost("gone"), SshState.REFUSED),
        (asyncssh.KeyExchangeFailed("none in common"), SshState.REFUSED),
        (ConnectionRefusedError(111, "refused"), SshState.REFUSED),
        (ConnectionResetError(104, "reset"), SshState.REFUSED),
        (TimeoutError(), SshState.TIMED_OUT),
        (TimeoutError(110, "timed out"), SshState.TIMED_OUT),
        (socket.gaierror(-2, "unknown"), SshState.NO_ADDRESS),
        (UnicodeError("label too long"), SshState.NO_ADDRESS),
        (OSError(113, "no route"), SshState.TIMED_OUT),
        (ValueError("odd"), SshState.REFUSED),
    ],
)
def test_each_failure_has_its_state(error: Exception, state: SshState) -> None:
    assert state_of(error) is state
    assert detail_of(error)
    assert state_of(error, key_changed=True) is SshState.HOST_KEY_CHANGED


def test_a_bound_host_key_is_replaced_by_the_operator_only() -> None:
    book = HostKeyBook({1: "ssh-ed25519 AAAA a comment", 2: ""})
    book.trust(1, "ssh-ed25519 AAAA other comment")
    with pytest.raises(ValueError, match="another host key"):
        book.trust(1, "ssh-ed25519 BBBB")
    assert (book.get(1), book.get(2)) == ("ssh-ed25519 AAAA", None)
    book.refuse(1, "ssh-ed25519 BBBB")
    assert (book.get(1), book.refused(1)) == ("ssh-ed25519 AAAA", "ssh-ed25519 BBBB")
    book.accept(1, "ssh-ed25519 BBBB")
    assert (book.get(1), book.refused(1)) == ("ssh-ed25519 BBBB", None)
    book.forget(1)
    assert book.get(1) is None


def test_fingerprints_are_those_of_openssh(tmp_path: Path) -> None:
    public = make_key(tmp_path / "key").with_suffix(".pub")
    words = subprocess.run(
        ["ssh-keygen", "-l", "-f", str(public)], check=True, capture_output=True, text=True
    ).stdout.split()
    assert fingerprint(public.read_text()) == words[1]
    assert fingerprint("no key") == fingerprint("") == "unreadable key"


def frame(offset: int, data: bytes, *, before: bytes = b"", identity: str = "1:2:3") -> FileFrame:
    end = offset + len(data)
    return FileFrame("/tmp/a.log", identity, end, offset, before, data, whole=True)


def test_positions_resume_only_what_lives_and_is_wanted() -> None:
    def position(path: str, identity: str) -> StreamPosition:
        stream = StreamId(1, path)
        return StreamPosition(stream=stream, kind="bench", file_identity=identity, offset=7)

    resume = {
        path: position(path, identity)
        for path, identity in {"/tmp/a.log": "1:2:3", "/tmp/other": "1:3:3"}.items()
    }
    positions = Positions(1, PLAN, resume)
    assert positions.known(10) == "1:2:3 7 0 /tmp/a.log"
    assert positions.take(GoneFrame("/tmp/a.log", "1:2:3"), 1.0) is not None
    assert positions.known(10) == ""
    again = positions.take(frame(0, b"new"), 2.0)
    assert again is not None
    assert again.position.generation == 2


def test_the_unread_rest_of_a_lost_file_is_counted_over_connections() -> None:
    positions = Positions(1, PLAN, {})
    assert positions.take(LostFrame("/tmp/a.log", "1:2:3", 5), 1.0) is None
    part = msgspec.structs.replace(frame(0, b"some"), size=1000)
    assert positions.take(part, 1.0) is not None
    assert positions.known(10) == "1:2:3 4 1000 /tmp/a.log"
    for count in (1, 2):
        lost = positions.take(LostFrame("/tmp/a.log", "1:2:3", 996), 2.0)
        assert lost is not None
        assert lost.chunk.data == b""
        assert (lost.position.lost_files, lost.position.lost_bytes) == (count, count * 996)
    more = positions.take(frame(4, b" more", before=b"some"), 3.0)
    assert more is not None
    assert (more.position.lost_files, more.position.lost_bytes) == (2, 1992)
    assert positions.known(10) == "1:2:3 9 0 /tmp/a.log"
    successor = positions.take(frame(0, b"new", identity="1:9:9"), 4.0)
    assert successor is not None
    assert (successor.position.generation, successor.position.lost_files) == (2, 0)


def test_a_gap_is_an_error_and_a_late_start_is_counted() -> None:
    positions = Positions(1, PLAN, {})
    first = positions.take(frame(100, b"abc", before=b"xyz"), 1.0)
    assert first is not None
    assert (first.position.skipped, first.position.offset) == (100, 103)
    with pytest.raises(FrameError, match="missing"):
        positions.take(frame(110, b"d"), 1.0)


@given(
    st.dictionaries(
        st.sampled_from(["df", "ss", "loadavg"]),
        st.text(st.characters(min_codepoint=32, max_codepoint=126) | st.just("\n"), max_size=80),
    ),
    st.lists(st.integers(0, 10**6), max_size=12),
)
def test_looks_come_out_of_any_split(sections: dict[str, str], cuts: list[int]) -> None:
    sections = {name: text.replace("@@", "") for name, text in sections.items()}
    look = "".join(f"@@ {name}\n{text}\n@@ end\n" for name, text in sections.items())
    data = f"hello\n@@ probe 1\n{look}@@ done\n{look}".encode()
    points = [0, *sorted({cut % len(data) for cut in cuts}), len(data)]
    parser = ProbeParser()
    looks = []
    for start, end in itertools.pairwise(points):
        looks += parser.feed(data[start:end])
    assert looks == [{name: text.removesuffix("\n") for name, text in sections.items()}]


def test_a_look_that_hangs_says_where() -> None:
    parser = ProbeParser()
    parser.feed(b"@@ probe 1\n@@ df\nfine\n@@ end\n@@ nvidia-smi\nhal")
    assert parser.unfinished("no answer in time") == {
        "df": "fine", "nvidia-smi": "error: no answer in time",
    }  # fmt: skip
    with pytest.raises(ProbeError):
        parser.feed(b"x" * 10_000_000)


def test_our_own_processes_are_left_out() -> None:
    table = """\
  PID  PPID STAT COMMAND
    1     0 Ss   /bin/bash entrypoint.sh
   70     1 S    bash -c set -- fleetui-follow 0.5 /tmp/curio.log
   71    70 S    tail -c +1 /tmp/curio.log
   80     1 S    curio run
   90     1 S    bash -c set -- fleetui-probe /var/tmp/*
   91    90 S    bash -c set -- fleetui-probe /var/tmp/*
   92    91 R    ps -eo pid"""
    assert [row.split()[0] for row in without_own(table).split("\n")] == ["PID", "1", "80"]
    assert without_own("ps: not found") == "ps: not found"
    assert without_own("") == ""


def test_a_host_that_names_ever_new_files_is_followed_for_some_of_them() -> None:
    positions = Positions(1, FollowPlan(streams=(("bench", "/tmp/*.log"),)), {}, max_files=3)
    most = 3 + GONE_PATHS
    assert positions.most_paths == most
    for number in range(most + 2):
        path = f"/tmp/{number}.log"
        taken = positions.take(msgspec.structs.replace(frame(0, b"new"), path=path), 1.0)
        assert (taken is not None) == (number < most)
        assert positions.take(GoneFrame(path, "1:2:3"), 1.0) is None or number < most
        assert positions.is_full == (number >= most)
    assert len(positions.positions) == most
    again = positions.take(msgspec.structs.replace(frame(0, b"anew"), path="/tmp/0.log"), 2.0)
    assert again is not None
    assert again.position.generation == 2


def test_complaints_are_one_text_that_is_said_when_it_changes() -> None:
    said: list[str | None] = []
    complaints = Complaints(said.append)
    complaints.say("logs", None)
    complaints.say("logs", "no logs")
    complaints.say("looks", "no looks")
    complaints.say("looks", "no looks")
    complaints.say("logs", None)
    complaints.say("looks", None)
    assert said == ["no logs", "no logs; no looks", "no looks", None]
