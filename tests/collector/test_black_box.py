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


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Simulated]:
    async with simulated(tmp_path, hosts=12, speed=40.0) as fleet:
        yield fleet


def test_the_script_tells_of_every_file_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("first\nVAST_API_KEY=abcdef123456\nlast")
    (tmp_path / "b c.log").write_text("blank in the name\n")
    (tmp_path / "big.log").write_bytes(b"x" * 200_000 + b"END")
    (tmp_path / "c1.json").write_bytes(bytes(range(256)) * 100)
    (tmp_path / "folder").mkdir()
    streams = (StreamSpec("log", (f"{tmp_path}/*.log",)),)
    script = snapshot_script(msgspec.structs.replace(load("cuzk"), streams=streams))
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=True, timeout=60)
    sections = {
        section.name: section.lines
        for section in sections_of(done.stdout.decode("utf-8", "replace"))
    }
    assert sections[f"tail {tmp_path}/a.log"] == ("first", f"VAST_API_KEY={MASK}", "last")
    assert sections[f"tail {tmp_path}/b c.log"] == ("blank in the name",)
    assert sections[f"tail {tmp_path}/big.log"][0].endswith(("END", "…"))
    assert sections[f"tail {tmp_path}/c1.json"] == ("(binary, not kept)",)
    assert {"ps", "df", "dmesg", "nvidia-smi", f"ls {tmp_path}"} <= set(sections)
    assert "PID" in sections["ps"][0]
    assert done.stdout.rstrip().endswith(b"@@ done")


@given(st.text(max_size=400), st.integers(0, 400))
def test_any_output_is_read_as_far_as_it_came(text: str, cut: int) -> None:
    output = f"\n@@ ps\n{text}\n@@ end\n@@ tail /tmp/x\n{text}\n@@ end\n\n@@ done\n"
    whole = sections_of(output)
    assert [section.name for section in whole][:1] == ["ps"]
    for section in sections_of(output[:cut]):
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
    monkeypatch.setattr(black_box, "_text", lambda: "printf '@@ ps\\nhalf\\n'; sleep 1000000")
    async with collecting(fleet.settings(tmp_path), snapshot_seconds=3.0) as run:
        (instance, *_) = await some_running(run)
        await destroyed(run, instance)
        newest = (await run.store.snapshots(instance.instance_id))[0]
        assert not newest.whole
        assert newest.sections[0].lines == ("half",)
