import json
from pathlib import Path
from typing import Any

import pytest

from fleetui.domain.finding import Severity
from fleetui.profiles.loader import load
from fleetui.reading.reader import Reader
from fleetui.reading.replay import feed_step, load_host
from fleetui.reports.diagnose import diagnose_folder

HOSTS = Path(__file__).parent.parent / "data" / "hosts"
EXPECTED: dict[str, dict[str, Any]] = {
    path.parent.name: json.loads(path.read_text()) for path in sorted(HOSTS.glob("*/expected.json"))
}
SAME_THING = {
    "lotus_1234": "chain_api_unreachable",
    "daemon_lost_midrequest": "prover_lost",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_root_cause_of_a_kept_host(name: str) -> None:
    expected = EXPECTED[name]
    answer = diagnose_folder(HOSTS / name)
    assert answer["stage"] == expected["stage_reached"]
    findings = answer["findings"]
    if expected["category"] is None:
        assert [finding for finding in findings if finding["severity"] != "info"] == []
        return
    assert findings[0]["category"] == expected["category"]
    lines = {(proof["source"], proof["line"]) for proof in findings[0]["evidence"]}
    assert lines >= {(proof["file"], proof["line"]) for proof in expected["evidence"]}
    named = {finding["category"] for finding in findings}
    assert not named & {SAME_THING.get(word, word) for word in expected.get("must_not", ())}
    assert sum(finding["severity"] == "critical" for finding in findings) <= 1


@pytest.mark.parametrize("name", [name for name in EXPECTED if EXPECTED[name]["category"] is None])
def test_healthy_host_is_never_accused_while_it_runs(name: str) -> None:
    profile = load("cuzk")
    host = load_host(HOSTS / name, profile)
    reader = Reader(profile, 1)
    stride = max(len(host.steps) // 150, 1)
    for number, step in enumerate(host.steps):
        feed_step(reader, step)
        if number % stride == 0:
            findings = reader.reading(step.at, live=True).findings
            loud = [finding for finding in findings if finding.severity is Severity.CRITICAL]
            assert loud == [], (number, loud)


@pytest.mark.parametrize("name", [name for name in EXPECTED if EXPECTED[name]["category"]])
def test_failure_is_named_at_once_and_stays_the_only_critical_one(name: str) -> None:
    profile = load("cuzk")
    host = load_host(HOSTS / name, profile)
    reader = Reader(profile, 1)
    stride = max(len(host.steps) // 100, 1)
    critical: set[str] = set()
    for number, step in enumerate(host.steps):
        feed_step(reader, step)
        if number % stride == 0 or step.at > host.ends_at - 30:
            findings = reader.reading(step.at, live=True).findings
            critical |= {one.category for one in findings if one.severity is Severity.CRITICAL}
    assert critical <= {EXPECTED[name]["category"]}
