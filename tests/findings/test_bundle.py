"""An instance's archive and its diagnosis from the store, also when it is gone."""

import json
import tarfile
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fleetui.domain.finding import Evidence, Finding, Severity
from fleetui.domain.instance import Instance
from fleetui.domain.reading import Reading
from fleetui.domain.snapshot import Snapshot, SnapshotSection
from fleetui.domain.stage import Stage, StageSpan
from fleetui.domain.stream import StreamId
from fleetui.domain.text import sanitise
from fleetui.reports.bundle import default_name, write_bundle
from fleetui.reports.inquest import InquestError, diagnose_instance, notes_on
from store_bench import Bench, chunk, position, row

SECRET = "abcdef0123456789"
LOG = StreamId(7, "/tmp/../tmp/cuzk.log")
FINDING = Finding(
    category="gpu_vram_oom", severity=Severity.CRITICAL, confidence=0.9,
    summary=sanitise("no GPU memory"), advice=sanitise("fewer workers"), signature="gpu_vram_oom|x",
    evidence=(Evidence(source="/tmp/cuzk.log", text=sanitise(f"TOKEN={SECRET} oom"), line=2),),
)  # fmt: skip


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = await Bench.open(tmp_path / "fleet.db")
    yield bench
    await bench.store.close()


async def fill(bench: Bench) -> None:
    """An instance that failed, was looked at, and is gone; another one on its machine before."""
    data = f"start\nAuthorization: Bearer {SECRET}\nout of \x1b[31mmemory\xff".encode("latin-1")
    for instance_id in (5, 7):
        spans = (StageSpan(stage=Stage.WARMUP), StageSpan(stage=Stage.GONE))
        await bench.publish(
            *([chunk(0, data, stream=LOG)] if instance_id == 7 else []),
            positions=[position(len(data), stream=LOG)] if instance_id == 7 else [],
            instances=[Instance(instance_id=instance_id, machine_id=70)],
            rows=[row(instance_id)],
            readings=[
                Reading(
                    instance_id=instance_id, at=bench.clock.now(), stage=Stage.GONE, spans=spans,
                    findings=(FINDING,) if instance_id == 7 else (other(),),
                )
            ],
        )  # fmt: skip
    lines = (sanitise("PID"), sanitise("1 entrypoint.sh"))
    await bench.store.keep_snapshot(
        bench.lease,
        Snapshot(
            instance_id=7, at=bench.clock.now(), reason=sanitise("gpu_vram_oom"),
            sections=(SnapshotSection("ps", lines), SnapshotSection("tail /tmp/x.log", lines)),
        ),
    )  # fmt: skip
    await bench.publish(gone=[5, 7])


def other() -> Finding:
    return Finding(
        category="gpu_fallen_off_bus", severity=Severity.CRITICAL, confidence=0.9,
        summary=sanitise("gone"), advice=sanitise("destroy"), signature="gpu_fallen_off_bus|x",
    )  # fmt: skip


async def test_a_gone_instance_is_diagnosed_from_the_store(bench: Bench) -> None:
    await fill(bench)
    answer = await diagnose_instance(bench.store, 7)
    assert answer["stage"] == "warmup"
    assert [finding["category"] for finding in answer["findings"]] == ["gpu_vram_oom"]
    assert set(answer) == {"stage", "findings"}
    notes = "\n".join(await notes_on(bench.store, 7, bench.clock.now()))
    assert "The instance is gone" in notes
    assert "Machine 70 has a record of other instances: gpu_fallen_off_bus once" in notes
    assert "gpu_vram_oom (2 sections)" in notes
    with pytest.raises(InquestError, match="99"):
        await diagnose_instance(bench.store, 99)


async def test_the_archive_has_all_and_no_secret(bench: Bench, tmp_path: Path) -> None:
    await fill(bench)
    target = tmp_path / "out.tar.gz"
    await write_bundle(bench.store, 7, target, bench.clock.now())
    assert target.stat().st_mode & 0o777 == 0o600
    with tarfile.open(target) as archive:
        files = {
            member.name: file.read()
            for member in archive.getmembers()
            if (file := archive.extractfile(member)) is not None
        }
    assert all(".." not in name and name.startswith("fleetui-7/") for name in files)
    assert not any(SECRET.encode() in data for data in files.values())
    log = files["fleetui-7/logs/tmp/tmp/cuzk.log.1"]
    assert log == b"start\nAuthorization: Bearer ***\nout of \x1b[31mmemory\xff"
    names = {name.removeprefix("fleetui-7/").split("/")[0] for name in files}
    assert names >= {
        "README.txt", "diagnosis.json", "reading.json", "instance.json", "row.json",
        "findings.json", "machine.json", "intents.json", "audit.json", "events.json",
        "samples.json", "snapshots", "logs",
    }  # fmt: skip
    findings = json.loads(files["fleetui-7/findings.json"])
    assert findings[0]["finding"]["evidence"][0]["text"] == "TOKEN=*** oom"
    assert "resolved_at" in findings[0]
    audit = json.loads(files["fleetui-7/audit.json"])
    assert {entry["event"] for entry in audit} == {"finding opened", "finding resolved"}
    (processes,) = [name for name in files if name.endswith("00-ps.txt")]
    assert files[processes] == b"PID\n1 entrypoint.sh\n"


async def test_a_zip_on_request_and_nothing_is_overwritten(bench: Bench, tmp_path: Path) -> None:
    await fill(bench)
    target = tmp_path / "out.zip"
    await write_bundle(bench.store, 7, target, bench.clock.now())
    assert "fleetui-7/diagnosis.json" in zipfile.ZipFile(target).namelist()
    before = target.read_bytes()
    with pytest.raises(InquestError, match="exists already"):
        await write_bundle(bench.store, 7, target, bench.clock.now())
    assert target.read_bytes() == before
    with pytest.raises(InquestError, match="nothing is known"):
        await write_bundle(bench.store, 8, tmp_path / "other.zip", bench.clock.now())
    assert not (tmp_path / "other.zip").exists()
    assert str(default_name(7, 0.0)) == "fleetui-7-19700101T000000Z.tar.gz"
