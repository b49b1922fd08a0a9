"""Following real files through a real OpenSSH server."""

import gc
import os
from pathlib import Path

import pytest

from fleetui.domain.host import SshState
from fleetui.ssh.channel import ByteStream
from fleetui.ssh.older import OlderBytesError
from fleetui.ssh.settings import FollowPlan
from link_stage import Recorder, linked, quick, until
from openssh import Sshd


@pytest.fixture
def plan(tmp_path: Path) -> FollowPlan:
    return FollowPlan(streams=(("bench", f"{tmp_path}/a.log"), ("daemon", f"{tmp_path}/d*.log")))


async def test_appended_bytes_arrive_with_kind_and_position(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\ntwo\n")
    async with linked(shared_sshd, plan) as (_, sink):
        await until(lambda: sink.text(log) == b"one\ntwo\n", "the first lines")
        with log.open("ab") as file:
            file.write(b"thr")
            file.flush()
            await until(lambda: sink.text(log).endswith(b"thr"), "half a line")
            file.write(b"ee\n")
        await until(lambda: sink.text(log) == b"one\ntwo\nthree\n", "the rest of it")
        position = sink.positions[str(log)]
        assert sink.kinds[str(log)] == "bench"
        assert (position.generation, position.offset, position.skipped) == (1, 14, 0)
        assert position.file_identity.split(":")[1] == str(log.stat().st_ino)
        assert position.last_byte_at is not None
        assert sink.state is SshState.CONNECTED
        assert len(sink.keys) == 1


async def test_files_that_appear_later_are_read_from_their_start(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    async with linked(shared_sshd, plan) as (_, sink):
        await until(lambda: sink.state is SshState.CONNECTED, "the connection")
        late = tmp_path / "daemon 2 [x].log"
        late.write_bytes(b"late\n")
        await until(lambda: sink.text(late) == b"late\n", "the late file")
        empty = tmp_path / "d.log"
        empty.touch()
        await until(lambda: str(empty) in sink.positions, "the empty file")


async def test_a_file_rotated_by_rename_loses_nothing(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"first\n")
    async with linked(shared_sshd, plan) as (_, sink):
        await until(lambda: sink.text(log) == b"first\n", "the first line")
        # The writer keeps the old file open for a while, as daemons do.
        with log.open("ab") as writer:
            log.rename(tmp_path / "a.log.1")
            writer.write(b"after the rename\n")
            writer.flush()
            await until(lambda: sink.text(log).endswith(b"rename\n"), "what follows the rename")
            writer.write(b"the last of the old\n")
        log.write_bytes(b"new life\n")
        await until(lambda: sink.text(log, 2) == b"new life\n", "the new file")
        assert sink.text(log) == b"first\nafter the rename\nthe last of the old\n"
        assert str(tmp_path / "a.log.1") not in sink.positions


async def test_numbered_rotation_inside_the_pattern_stores_no_byte_twice(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    log, first, second = (tmp_path / name for name in ("d.log", "d.1.log", "d.2.log"))
    log.write_bytes(b"young\n")
    first.write_bytes(b"old\n")
    async with linked(shared_sshd, plan) as (_, sink):
        await until(lambda: {str(log), str(first)} <= set(sink.positions), "both files")
        first.rename(second)
        log.rename(first)
        log.write_bytes(b"youngest\n")
        await until(lambda: sink.text(log, 2) == b"youngest\n", "the new file")
        await until(lambda: str(second) in sink.positions, "the renamed one")
        with first.open("ab") as file:
            file.write(b"more\n")
        await until(lambda: b"more\n" in b"".join(sink.data.values()), "a line after it all")
        everything = b"".join(bytes(data) for data in sink.data.values())
        assert sorted(everything.split()) == [b"more", b"old", b"young", b"youngest"]


async def test_a_file_cut_in_place_begins_a_generation(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"a long enough line\n")
    async with linked(shared_sshd, plan) as (_, sink):
        await until(lambda: len(sink.text(log)) == 19, "the line")
        os.truncate(log, 0)
        await until(lambda: sink.positions[str(log)].generation == 2, "the second generation")
        with log.open("ab") as file:
            file.write(b"short\n")
        await until(lambda: sink.text(log, 2) == b"short\n", "its line")


async def test_a_file_rewritten_longer_than_before_is_read_from_its_start(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"what was here\n")
    async with linked(shared_sshd, plan) as (_, sink):
        await until(lambda: len(sink.text(log)) == 14, "the line")
        with log.open("r+b") as file:  # the same file, other bytes, and more of them
            file.write(b"something else altogether, and longer\n")
        await until(
            lambda: sink.text(log, 2) == b"something else altogether, and longer\n", "the new text"
        )


async def test_removed_and_made_anew(shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"before\n")
    async with linked(shared_sshd, plan) as (_, sink):
        await until(lambda: sink.text(log) == b"before\n", "the line")
        log.unlink()
        await until(lambda: sink.positions[str(log)].file_identity == "", "the removal")
        log.write_bytes(b"before\nand after\n")
        await until(lambda: sink.text(log, 2) == b"before\nand after\n", "the new file")


async def test_long_lines_and_binary_and_holes_arrive_exactly(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    log, binary = tmp_path / "a.log", tmp_path / "d.log"
    line = b"x" * (1 << 20) + b"\n"
    log.write_bytes(line)
    noise = os.urandom(700_000)
    with binary.open("wb") as file:
        file.write(noise)
        file.seek(300_000, os.SEEK_CUR)
        file.write(b"\n@end 1:2:3 4\n@file after the hole\n")
    async with linked(shared_sshd, plan) as (_, sink):
        await until(lambda: sink.text(log) == line, "the long line")
        await until(lambda: sink.text(binary) == binary.read_bytes(), "the binary file")


async def test_a_big_file_is_read_from_near_its_end(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    with log.open("wb") as file:
        file.seek(5 << 30)
        file.write(b"the end\n")
    settings = quick(shared_sshd, first_sight_bytes=1000)
    async with linked(shared_sshd, plan, settings=settings) as (_, sink):
        await until(lambda: sink.text(log).endswith(b"the end\n"), "the end of the big file")
        position = sink.positions[str(log)]
        assert position.skipped == (5 << 30) + 8 - 1000
        assert position.offset == (5 << 30) + 8


async def test_a_new_link_goes_on_where_the_old_one_stood(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    log, cut = tmp_path / "a.log", tmp_path / "d.log"
    log.write_bytes(b"one\n")
    cut.write_bytes(b"will be cut\n")
    async with linked(shared_sshd, plan) as (_, first):
        await until(lambda: first.text(log) + first.text(cut) == b"one\nwill be cut\n", "both")
    with log.open("ab") as file:
        file.write(b"meanwhile\n")
    os.truncate(cut, 0)
    cut.write_bytes(b"anew\n")
    async with linked(shared_sshd, plan, resume=first.positions) as (_, second):
        await until(lambda: second.text(log) == b"meanwhile\n", "what came meanwhile")
        await until(lambda: second.text(cut, 2) == b"anew\n", "the cut file")
        assert second.positions[str(log)].offset == 14


async def test_a_file_rotated_while_away_is_read_to_its_end_first(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    async with linked(shared_sshd, plan) as (_, first):
        await until(lambda: first.text(log) == b"one\n", "the line")
    with log.open("ab") as file:
        file.write(b"two\n")
    log.rename(tmp_path / "a.log.1")
    log.write_bytes(b"three\n")
    async with linked(shared_sshd, plan, resume=first.positions) as (_, second):
        await until(lambda: second.text(log, 2) == b"three\n", "the new file")
        assert second.text(log, 1) == b"two\n"


async def test_the_host_waits_while_the_sink_does_not_take(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    content = os.urandom(6 << 20)
    log.write_bytes(content)
    sink = Recorder()
    sink.gate.clear()
    settings = quick(shared_sshd, first_sight_bytes=1 << 30)
    async with linked(shared_sshd, plan, settings=settings, recorder=sink) as (_, _):
        await until(lambda: len(sink.probes) > 2, "looks, while the log waits")
        assert not sink.data
        streams = [thing for thing in gc.get_objects() if isinstance(thing, ByteStream)]
        assert max(stream._held for stream in streams) < 1 << 20
        sink.gate.set()
        await until(lambda: len(sink.text(log)) == len(content), "all of it")
        assert sink.text(log) == content


async def test_a_sink_that_fails_ends_the_run_and_its_bytes_come_again(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")

    class Failing(Recorder):
        failures = 1

        def log_bytes(self, *arguments: object) -> bool:
            if self.failures:
                self.failures -= 1
                raise RuntimeError("no room")
            return super().log_bytes(*arguments)  # type: ignore[arg-type]  # passed on unchanged

    async def fail(sink: Failing) -> None:
        async with linked(shared_sshd, plan, recorder=sink) as (link, _):
            await until(lambda: sink.failures == 0, "the failure")
            await until(lambda: link._connection is None, "the end of the connection")

    sink = Failing()
    with pytest.raises(RuntimeError, match="no room"):
        await fail(sink)
    async with linked(shared_sshd, plan, recorder=sink, resume=sink.positions):
        await until(lambda: sink.text(log) == b"one\n", "the line after all")


async def test_older_parts_of_a_big_file_are_fetched_on_demand(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    content = os.urandom(300_000)
    log.write_bytes(content)
    settings = quick(shared_sshd, first_sight_bytes=1000)
    async with linked(shared_sshd, plan, settings=settings) as (link, sink):
        await until(lambda: sink.text(log) == content[-1000:], "the end of it")
        skipped = sink.positions[str(log)].skipped
        assert await link.read_older(str(log), end=skipped, size=5000) == content[-6000:-1000]
        assert await link.read_older(str(log), end=100, size=5000) == content[:100]
        with pytest.raises(ValueError, match="not a range"):
            await link.read_older(str(log), end=1 << 30, size=1 << 30)
        with pytest.raises(OlderBytesError, match="not followed"):
            await link.read_older(str(tmp_path / "other.log"), end=10, size=10)
        log.rename(tmp_path / "moved")
        log.write_bytes(b"")  # nothing yet, so that the old one is still followed
        with pytest.raises(OlderBytesError, match="another file"):
            await link.read_older(str(log), end=skipped, size=5000)


@pytest.mark.parametrize("more", [0, 500])
async def test_a_file_rewritten_while_nobody_was_connected_begins_a_generation(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path, more: int
) -> None:
    log = tmp_path / "a.log"
    first, second = os.urandom(1000), os.urandom(1000 + more)
    log.write_bytes(first)
    async with linked(shared_sshd, plan) as (_, sink):
        await until(lambda: sink.text(log) == first, "the first content")
    with log.open("r+b") as file:
        file.write(second)
    async with linked(shared_sshd, plan, resume=sink.positions, recorder=sink) as (_, sink):
        await until(lambda: sink.text(log, 2) == second, "the second content")
        assert sink.text(log) == first


async def test_files_that_are_not_followed_are_said(shared_sshd: Sshd, tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"d{number}.log").write_bytes(b"a line\n")
    (tmp_path / "d\a.log").write_bytes(b"bell\n")
    plan = FollowPlan(streams=(("daemon", f"{tmp_path}/d*.log"),))
    settings = quick(shared_sshd, max_files=4)
    async with linked(shared_sshd, plan, settings=settings) as (_, sink):
        await until(lambda: "2 files are not followed" in str(sink.outcomes[-1:]), "a word")
        assert "1 files with unprintable names" in str(sink.outcomes[-1].detail)
        assert len(sink.positions) == 3
        for number in range(5):
            (tmp_path / f"d{number}.log").unlink()
        await until(lambda: "at most" not in str(sink.outcomes[-1].detail), "all are followed")


async def test_the_hole_of_a_file_emptied_under_its_writer_is_not_read(
    shared_sshd: Sshd, plan: FollowPlan, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    start = 5 << 30
    with log.open("wb", buffering=0) as writer:
        writer.seek(start)
        writer.write(b"before\n" * 30)
        async with linked(shared_sshd, plan) as (_, first):
            await until(lambda: first.text(log).endswith(b"before\n"), "the end of the log")
        os.truncate(log, 0)
        writer.write(b"after\n")
        async with linked(shared_sshd, plan, resume=first.positions) as (_, second):
            await until(lambda: second.text(log, 2) == b"after\n", "what is behind the hole")
            position = second.positions[str(log)]
            assert position.skipped == start + 210
            assert position.offset == position.skipped + 6
