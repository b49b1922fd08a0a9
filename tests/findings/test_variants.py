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
HARMLESS: list[dict[str, Any]] = json.loads((DATA / "harmless.json").read_text())
LEAST_VARIANTS = 4
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


def test_every_category_that_lines_can_name_has_several_variants() -> None:
    counted = Counter(case["expected_category"] for case in OWN)
    assert set(counted) == set(CATEGORIES) - NEED_PROBES
    assert min(counted.values()) >= LEAST_VARIANTS, counted.most_common()[-3:]


@pytest.mark.parametrize("case", HARMLESS, ids=lambda case: str(case["id"]))
def test_lines_that_only_sound_bad_name_nothing_worth_a_look(
    case: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "harmless.log"
    file.write_text("\n".join(case["lines"]) + "\n")
    findings = diagnose_file(file, case["source_stream"])["findings"]
    assert [finding for finding in findings if finding["severity"] != "info"] == []
