"""The last look at a host: its script on a real shell, its reading, and when it is taken."""

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collecting import Collecting, Simulated, collecting, simulated, some_running
from fleetui.collector import black_box
from fleetui.collector.black_box import sections_of, snapshot_script
from fleetui.domain.finding import Severity
from fleetui.domain.instance import Instance
from fleetui.domain.intent import Verb
from fleetui.domain.redaction import MASK
from fleetui.profiles.loader import load
from fleetui.profiles.model import StreamSpec

MARK = "f00dfeed12345678"


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Simulated]:
    async with simulated(tmp_path, hosts=12, speed=40.0) as fleet:
        yield fleet


def look_at(folder: Path, **changes: object) -> tuple[dict[str, tuple[str, ...]], bool]:
    """Run the script on this machine with `folder` as the workload's."""
    streams = (StreamSpec("log", (f"{folder}/*.log",)),)
    profile = msgspec.structs.replace(load("cuzk"), streams=streams, **changes)
    script = snapshot_script(profile, MARK)
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=True, timeout=60)
    sections, whole = sections_of(done.stdout.decode("utf-8", "replace"), MARK)
    return {section.name: section.lines for section in sections}, whole


def test_the_script_tells_of_every_file_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("first\nVAST_API_KEY=abcdef123456\nlast")
    (tmp_path / " b c.log").write_text("blanks in the name\n")
    (tmp_path / "big.log").write_bytes(b"x" * 200_000 + b"END")
    (tmp_path / "c1.json").write_bytes(bytes(range(256)) * 100)
    (tmp_path / "folder").mkdir()
    sections, whole = look_at(tmp_path)
    assert whole
    assert sections[f"tail {tmp_path}/a.log"] == ("first", f"VAST_API_KEY={MASK}", "last")
    assert sections[f"tail {tmp_path}/ b c.log"] == ("blanks in the name",)
    assert sections[f"tail {tmp_path}/big.log"][0].endswith(("END", "…"))
    assert sections[f"tail {tmp_path}/c1.json"] == ("(binary, not kept)",)
    assert {"ps", "df", "dmesg", "nvidia-smi", f"ls {tmp_path}"} <= set(sections)
    assert "PID" in sections["ps"][0]


def test_a_file_that_holds_another_look_does_not_part_this_one(tmp_path: Path) -> None:
    other = (
        "@@ ps\nroot\n@@ end\n@@ done\n@@0123456789abcdef tail /etc/x\n\n@@0123456789abcdef done"
    )
    (tmp_path / "a.log").write_text(f"first\n{other}\nlast\n")
    sections, whole = look_at(tmp_path)
    assert whole
    assert sections[f"tail {tmp_path}/a.log"] == ("first", *other.split("\n"), "last")


def test_folders_of_large_files_are_listed_and_not_read(tmp_path: Path) -> None:
    logs, large = tmp_path / "logs", tmp_path / "large"
    logs.mkdir()
    large.mkdir()
    (large / "a.params").write_text("not to be read")
    paths = (f"{large}/*", f"{logs}/*.log", "/tmp/*/x")
    sections, whole = look_at(logs, probe_paths=paths)
    assert whole
    assert any("a.params" in line for line in sections[f"ls {large}"])
    assert not any(name.startswith("tail ") for name in sections)


@given(st.text(max_size=400), st.integers(0, 400))
def test_any_output_is_read_as_far_as_it_came(text: str, cut: int) -> None:
    output = f"\n@@{MARK} ps\n{text}\n@@{MARK} tail /tmp/x\n{text}\n@@{MARK} done\n"
    sections, whole = sections_of(output, MARK)
    assert whole
    assert [section.name for section in sections] == ["ps", "tail /tmp/x"]
    assert sections[0].lines == sections[1].lines
    for section in sections_of(output[:cut], MARK)[0]:
        assert all("\n" not in line and "\x1b" not in line for line in section.lines)


async def test_one_is_taken_when_a_finding_turns_critical(fleet: Simulated, tmp_path: Path) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:

        async def taken() -> int | None:
            for row in (await run.store.fleet()).rows:
                if row.finding_severity is Severity.CRITICAL and row.ssh == "connected":
                    snapshots = await run.store.snapshots(row.instance_id)
                    if snapshots:
                        return row.instance_id
            return None

        instance_id = await run.until(taken, "a snapshot of a host in critical trouble")
        assert instance_id is not None
        (snapshot,) = await run.store.snapshots(instance_id)
        records = await run.store.findings(instance_id=instance_id, resolved=True)
        assert any(record.finding.category in snapshot.reason for record in records)
        assert snapshot.whole
        names = {section.name for section in snapshot.sections}
        assert {"ps", "df", "nvidia-smi", "dmesg"} <= names
        assert any(name.startswith("tail /") for name in names)


async def destroyed(run: Collecting, instance: Instance) -> None:
    settled = await run.settled(await run.intend(Verb.DESTROY, instance))
    assert settled.state == "done", settled.result


async def test_a_last_one_is_taken_before_a_destroy_and_stays(
    fleet: Simulated, tmp_path: Path
) -> None:
    async with collecting(fleet.settings(tmp_path)) as run:
        (instance, *_) = await some_running(run)
        await destroyed(run, instance)
        newest = (await run.store.snapshots(instance.instance_id))[0]
        assert newest.reason == "before destroy by test"
        assert newest.sections
        told = [e.text for e in await run.store.events(instance_id=instance.instance_id)]
        assert "snapshot taken: before destroy by test" in told


async def test_a_host_that_does_not_answer_in_time_is_destroyed_all_the_same(
    fleet: Simulated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        black_box, "_text", lambda: "printf '\\n@@%s ps\\nhalf\\n' \"$5\"; sleep 1000000"
    )
    async with collecting(fleet.settings(tmp_path), snapshot_seconds=3.0) as run:
        (instance, *_) = await some_running(run)
        await destroyed(run, instance)
        newest = (await run.store.snapshots(instance.instance_id))[0]
        assert not newest.whole
        assert newest.sections[0].lines == ("half",)
