from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fleetui.domain.finding import Finding
from fleetui.domain.instance import Instance
from fleetui.domain.stage import Stage
from fleetui.domain.stream import LogChunk, StreamId
from fleetui.domain.text import SafeText, sanitise
from fleetui.profiles.loader import load
from fleetui.reading.findings.root_cause import arrange
from fleetui.reading.findings.signature import signature
from fleetui.reading.findings.vocabulary import CATEGORIES, HEALED_BY_PROOFS, explains
from fleetui.reading.probe_output import parse_probe
from fleetui.reading.reader import Reader
from fleetui.reports.diagnose import DiagnoseError, diagnose_file

PROFILE = load("cuzk")
KINDS = ["setup", "bench", "daemon", "curio", "dmesg", "vast", "nvidia_smi", "ssh"]
LITERALS = sorted({word for rule in load("faults").rules for word in rule.any})
LINES = st.one_of(
    st.sampled_from(LITERALS),
    st.tuples(st.text(max_size=12), st.sampled_from(LITERALS), st.text(max_size=12)).map("".join),
    st.text(max_size=60),
)
QUICK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def check(findings: tuple[Finding, ...]) -> None:
    assert len({finding.category for finding in findings}) == len(findings)
    for finding in findings:
        assert finding.category in CATEGORIES
        assert 0.0 < finding.confidence <= 1.0
        assert isinstance(finding.summary, SafeText)
        assert isinstance(finding.advice, SafeText)
        assert finding.signature.startswith(finding.category + "|")
        for proof in finding.evidence:
            assert isinstance(proof.text, SafeText)
    ranks = [finding.severity.rank for finding in findings]
    assert ranks == sorted(ranks)


@QUICK
@given(
    lines=st.lists(st.tuples(st.sampled_from(KINDS), LINES), max_size=15),
    sections=st.dictionaries(
        st.sampled_from(["ps", "dmesg", "nvidia-smi", "df", "files"]), LINES, max_size=5
    ),
    message=st.text(max_size=30) | st.sampled_from(LITERALS),
    status=st.sampled_from(["running", "exited", "offline", "loading", "stopped", "", "odd"]),
    live=st.booleans(),
)
def test_no_evidence_can_break_it(
    *,
    lines: list[tuple[str, str]],
    sections: dict[str, str],
    message: str,
    status: str,
    live: bool,
) -> None:
    reader = Reader(PROFILE, 1)
    offsets: dict[str, int] = {}
    for kind, line in lines:
        data = (line + "\n").encode("utf-8", "replace")
        offset = offsets.get(kind, 0)
        stream = StreamId(instance_id=1, path=f"/tmp/{kind}.log")
        reader.feed(LogChunk(stream=stream, generation=1, offset=offset, data=data, at=9.0), kind)
        offsets[kind] = offset + len(data)
    reader.observe_probe(parse_probe(sections, 9.0))
    row = Instance(instance_id=1, actual_status=sanitise(status), status_msg=sanitise(message))
    reader.observe_row(row, 9.0)
    check(reader.reading(99_999.0, live=live).findings)


@QUICK
@given(data=st.binary(max_size=300), kind=st.sampled_from(KINDS))
@example(data=b"[1,2", kind="vast")
@example(data=bytes(300), kind="daemon")
def test_no_file_can_break_the_report(data: bytes, kind: str, tmp_path: Path) -> None:
    file = tmp_path / "any"
    file.write_bytes(data)
    try:
        answer = diagnose_file(file, kind)
    except DiagnoseError:
        # Only rows can be unreadable as a whole; any other bytes are lines.
        assert kind == "vast"
        assert data.lstrip()[:1] in (b"{", b"[")
        return
    assert set(answer) == {"stage", "findings"}


def test_every_rule_names_a_known_category_or_none() -> None:
    for rule in load("faults").rules:
        head = rule.id.split(".", 1)[0]
        assert head == "mark" or head in CATEGORIES, rule.id
        assert rule.category == (None if head == "mark" else head)


def test_causes_form_no_circle() -> None:
    for one in CATEGORIES:
        for other in CATEGORIES:
            assert not (explains(one, other) and explains(other, one)), (one, other)


def test_recovery_names_known_categories() -> None:
    assert set(CATEGORIES) >= HEALED_BY_PROOFS


def test_same_fault_on_two_hosts_has_one_signature() -> None:
    one = "GPU prove failed job_id=b0ac3979-4aee-44f8-b158-517331093bda at 203.0.113.5:9820 in 12 s"
    two = "GPU prove failed job_id=c1bd4080-5bff-55f9-c269-628442104ceb at 198.51.100.7:9820 in 7 s"
    assert signature("prover_panic", one) == signature("prover_panic", two)
    assert signature("prover_panic", one) != signature("prover_panic", "another thing")


def test_nothing_found_is_an_empty_answer() -> None:
    assert arrange([], Stage.BENCH) == ()


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("[ 1843.30] NVRM: Xid (PCI:0000:b3:00.0): 79", "[77.1] NVRM: Xid (PCI:0000:17:00.0): 79"),
        ("Mar 12 07:00:01 box-17 kernel: NVRM: lost", "Apr  3 11:20:41 gpu9 kernel: NVRM: lost"),
        ("ssh4.vast.ai:12345: Connection refused", "198.51.100.7:41022: Connection refused"),
        ("[2001:db8::1]:22: Connection refused", "10.0.0.9:22: Connection refused"),
        ("lookup proofs-eu.example.com: no such host", "lookup proofs.example.org: no such host"),
        ("GET https://a.example.com/c1.json: 404", "GET https://b.example.net/x/c1.json: 404"),
        ("task docker-8f2ab1c in C.41200100", "task docker-0d9e71f in C.7"),
        ("open /tmp/a-1.log: denied", "open /data/32gbench/c1.json: denied"),
    ],
)
def test_numbers_ids_paths_and_addresses_do_not_part_a_fault(one: str, two: str) -> None:
    assert signature("x", one) == signature("x", two)


def test_other_words_are_another_fault() -> None:
    known = {
        signature("x", text) for text in ("libcudart.so.13: not found", "libc.so.6: no version")
    }
    assert len(known) == 2
