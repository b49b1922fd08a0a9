import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fleetui.reading.findings.vocabulary import CATEGORIES
from fleetui.reports.diagnose import diagnose_file

DATA = Path(__file__).parent.parent / "data"
PUBLIC: list[dict[str, Any]] = [
    json.loads(path.read_text()) for path in sorted((DATA / "cases").glob("*.json"))
]
OWN: list[dict[str, Any]] = [
    case
    for path in sorted((DATA / "variants").glob("*.json"))
    for case in json.loads(path.read_text())
]
NEED_PROBES = {"config_drift", "disk_shortfall_risk", "stage_deadline_risk", "rates_disagree"}


@pytest.mark.parametrize("case", PUBLIC + OWN, ids=lambda case: str(case["id"]))
def test_lines_of_a_report_name_their_cause(case: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "report.log"
    file.write_text("\n".join(case["lines"]) + "\n")
    findings = diagnose_file(file, case["source_stream"])["findings"]
    assert findings, "nothing found"
    root = findings[0]
    assert (root["category"], root["severity"]) == (
        case["expected_category"],
        case["expected_severity"],
    )
    assert root["summary"]
    assert root["advice"]
    assert root["evidence"]
    assert sum(finding["severity"] == "critical" for finding in findings) <= 1


def test_every_category_that_lines_can_name_has_two_variants() -> None:
    counted = Counter(case["expected_category"] for case in OWN)
    assert set(counted) == set(CATEGORIES) - NEED_PROBES
    assert min(counted.values()) >= 2, counted.most_common()[-3:]


HARMLESS = [
    ("daemon", "INFO cuzk_core::pinned_pool: CUDA pinned memory pool initialized"),
    ("daemon", "2026-03-12T07:00:00.945 DEBUG bellperson::gpu::locks > Priority lock acquired!"),
    ("daemon", "2026-03-12T07:00:00.945 DEBUG bellperson::gpu::locks > GPU lock released!"),
    ("dmesg", "[ 0.93] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.159.04"),
    ("dmesg", "[ 2.1] khugepaged: transparent_hugepage enabled"),
    ("setup", "failed to create fsnotify watcher: no space left on device (inotify limit)"),
    ("vast", "success, running pytorch/pytorch_2.6.0-cuda12.4-cudnn9-devel/ssh"),
    ("curio", "2026-03-12T07:01:10.800Z\tINFO\tproofshare\tqueue is at or above high water mark"),
    ("nvidia_smi", "        HW Slowdown                       : Not Active"),
    ("nvidia_smi", "        Remapping Failure Occurred        : No"),
    ("setup", "oom_kill 0"),
    ("bench", "failed:        0"),
    ("setup", "bench-done rate=0.7 -> passed=true"),
]  # fmt: skip


@pytest.mark.parametrize(("stream", "line"), HARMLESS)
def test_a_line_that_only_sounds_bad_names_nothing_critical(
    stream: str, line: str, tmp_path: Path
) -> None:
    file = tmp_path / "harmless.log"
    file.write_text(line + "\n")
    findings = diagnose_file(file, stream)["findings"]
    assert [finding for finding in findings if finding["severity"] == "critical"] == []
