"""What was wrong and is no more: restarts that worked, proofs that passed, benchmarks run again."""

from datetime import UTC, datetime

import pytest

from fleetui.domain.finding import Finding, Severity
from fleetui.domain.stage import Stage
from fleetui.domain.stream import LogChunk, StreamId
from fleetui.profiles.loader import load
from fleetui.reading.reader import Reader

START = datetime(2026, 3, 12, 7, 0, tzinfo=UTC).timestamp()
DAEMON, BENCH, SETUP = "/tmp/cuzk-bench-daemon.log", "/tmp/benchmark-full.log", "/tmp/setup.log"
KINDS = {DAEMON: "daemon", BENCH: "bench", SETUP: "setup"}
BEGUN = (SETUP, "[entrypoint] Starting benchmark")
WANTED = (BENCH, "C1 output not found at /data/32gbench/c1.json")
SUBMITTED = (BENCH, "submitting proof to http://127.0.0.1:9820")
CUT = (BENCH, "  1: stream closed because of a broken pipe")
FAILED = (SETUP, "[entrypoint] benchmark.sh exited with error")
HELD = (DAEMON, "Error: error binding to 127.0.0.1:9820: Address already in use (os error 98)")
STARTING = (DAEMON, "cuzk_daemon: cuzk-daemon starting")
READY = (DAEMON, "cuzk_daemon: cuzk-daemon ready, serving on 127.0.0.1:9820")
TAKEN = (DAEMON, "cuzk_core::scheduler: job enqueued job_id=ps-porep-1 proof_kind=porep-c2")
PASSED = (
    DAEMON,
    "cuzk_core::engine: Phase 7: PoRep proof self-check PASSED job_id=ps-porep-1",
)
"""Steps of a story: the file and what is added to it, a minute after the step before."""


def read(*story: tuple[str, str] | str) -> tuple[Reader, float]:
    """Return a reader that has followed the story live, and the time at its end."""
    reader, at = Reader(load("cuzk"), 7), START
    offsets = dict.fromkeys(KINDS, 0)
    for step in story:
        at += 60.0
        if isinstance(step, str):
            reader.observe_restart(at)
            continue
        path, text = step
        if text.startswith("cuzk_"):
            text = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S.%fZ}  INFO {text}"
        data = f"{text}\n".encode()
        stream = StreamId(instance_id=7, path=path)
        chunk = LogChunk(stream=stream, generation=1, offset=offsets[path], data=data, at=at)
        reader.feed(chunk, KINDS[path])
        offsets[path] += len(data)
    return reader, at


def found(*story: tuple[str, str] | str, later: float = 5.0) -> dict[str, Finding]:
    reader, at = read(*story)
    return {one.category: one for one in reader.reading(at + later).findings}


def grave(findings: dict[str, Finding]) -> list[str]:
    return [name for name, one in findings.items() if one.severity is Severity.CRITICAL]


LIFE = (BEGUN, WANTED, STARTING, READY)


def test_a_held_port_is_over_when_a_daemon_that_was_started_later_serves() -> None:
    held = found(*LIFE, STARTING, READY, HELD)
    assert grave(held) == ["daemon_port_in_use"]
    mended = found(*LIFE, STARTING, READY, HELD, "restart", STARTING, READY)
    assert mended["daemon_port_in_use"].over
    assert mended["daemon_port_in_use"].severity is Severity.INFO
    again = found(*LIFE, STARTING, READY, HELD, "restart", STARTING, READY, HELD)
    assert grave(again) == ["daemon_port_in_use"]


@pytest.mark.parametrize("asked", [(), ("restart",)])
def test_a_lost_prover_is_over_when_a_fresh_daemon_has_proved(asked: tuple[str, ...]) -> None:
    lost = (*LIFE, SUBMITTED, CUT, FAILED)
    assert grave(found(*lost)) == ["prover_lost"]
    mended = found(*lost, *asked, STARTING, READY, TAKEN, PASSED)
    assert grave(mended) == []
    assert mended["prover_lost"].over


def test_a_failed_benchmark_accuses_no_host_that_proves_for_the_fleet() -> None:
    failed = (*LIFE, SUBMITTED, FAILED)
    assert grave(found(*failed)) == ["bench_script_failed"]
    reader, at = read(*failed, STARTING, READY, TAKEN, PASSED)
    reading = reader.reading(at + 5.0)
    assert reading.stage is Stage.RUNNING
    assert [one for one in reading.findings if one.severity is not Severity.INFO] == []


def test_a_failed_benchmark_that_was_run_again_has_not_failed_yet() -> None:
    assert grave(found(*LIFE, SUBMITTED, FAILED, BEGUN, WANTED)) == []


def test_a_daemon_without_a_benchmark_is_not_overdue() -> None:
    assert "bench_timeout" not in found(STARTING, READY, later=4000.0)
    assert "bench_timeout" in found(*LIFE, SUBMITTED, later=4000.0)


def test_a_daemon_that_proves_is_ready_whatever_was_read_of_its_log() -> None:
    assert "daemon_not_ready" in found(STARTING, later=4000.0)
    assert "daemon_not_ready" not in found(STARTING, TAKEN, PASSED, later=4000.0)


def test_no_line_is_cited_twice_in_a_finding() -> None:
    story = (*LIFE, SUBMITTED, CUT, FAILED, HELD, STARTING, READY, HELD)
    for finding in found(*story).values():
        places = [(one.source, one.generation, one.line or one.text) for one in finding.evidence]
        assert len(places) == len(set(places)), finding.category
