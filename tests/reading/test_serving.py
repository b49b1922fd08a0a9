"""A daemon that is seen to serve is not starting, whatever line of its start was missed."""

import pytest

from fleetui.domain.host import DaemonStatus, Pipeline, StatusCounters
from fleetui.domain.rate import RateSource
from fleetui.domain.stage import Stage
from fleetui.domain.stream import LogChunk, StreamId
from fleetui.reading.summary import fleet_row, sample
from written_life import (
    BENCH_JOB,
    JOB,
    PASSED,
    READY,
    STARTING,
    SUBMIT,
    T0,
    Life,
    instance,
    to_bench,
)

UUID = "95975193-f4a7-4915-9a07-d6043ff0a043"
OTHER = "d5f4b1d0-3d5e-4b8a-9f0e-0123456789ab"


def answer(
    life: Life, second: float, since: float, *, done: int = 0, jobs: tuple[str, ...] = ()
) -> None:
    pipelines = tuple(Pipeline(job, started_secs_ago=1.0, total_partitions=10) for job in jobs)
    status = DaemonStatus(
        uptime_secs=second - since,
        pipelines=pipelines,
        counters=StatusCounters(total_completed=done),
    )
    life.reader.observe_status(status, None, T0 + second)


def ends(life: Life) -> list[tuple[str, str]]:
    return [(stage, outcome) for stage, _, outcome in life.stages()]


def test_a_passed_proof_ends_a_start_without_a_ready_line() -> None:
    life = Life().say(1, "daemon", STARTING).say(900, "daemon", PASSED)
    assert ends(life) == [("daemon_start", "done"), ("running", "active")]


def test_a_daemon_that_answers_is_not_called_unready() -> None:
    life = Life().say(1, "daemon", STARTING)
    assert [one.category for one in life.at(900).findings] == ["daemon_not_ready"]
    answer(life, 900, 2)
    assert life.at(901).findings == ()


def test_the_warm_up_tells_its_partition_workers() -> None:
    life = Life().say(1, "bench", SUBMIT).say(2, "daemon", BENCH_JOB)
    dispatch = (
        "{{z}}  INFO Phase 7: dispatching per-partition synthesis job_id={} num_partitions=10"
    )
    life.say(3, "daemon", dispatch.format(UUID) + " partition_workers=4")
    progress = life.at(4).progress
    assert progress is not None
    assert progress.what == "warm-up proof, 4 partition workers"


@pytest.mark.parametrize("done", [0, 3])
def test_answers_end_a_restart_without_a_ready_line(done: int) -> None:
    life = Life().say(1, "daemon", STARTING).say(20, "daemon", JOB).say(1000, "daemon", STARTING)
    answer(life, 1040, 1001, done=done)
    assert ends(life)[-2:] == [("daemon_restart", "done"), ("running", "active")]
    evidence = life.at(1041).spans[-1].evidence
    assert evidence is not None
    assert evidence.source == "status"


def test_an_answer_of_the_daemon_before_proves_nothing() -> None:
    life = Life().say(1, "daemon", STARTING).say(20, "daemon", JOB).say(1000, "daemon", STARTING)
    answer(life, 1001, 1, done=40, jobs=("ps-porep-1-1-9",))
    assert ends(life)[-1] == ("daemon_restart", "active")
    answer(life, 1010, 1003)
    assert ends(life)[-1] == ("daemon_restart", "active")
    answer(life, 1035, 1003)
    assert ends(life)[-1] == ("running", "active")


@pytest.mark.parametrize(
    ("done", "jobs", "stage"),
    [
        (0, (UUID,), "warmup"),
        (0, ("ps-porep-1-1-9",), "running"),
        (2, (), "running"),
        (0, (), "daemon_start"),
    ],
)
def test_answers_tell_what_a_daemon_first_seen_at_its_start_does(
    done: int, jobs: tuple[str, ...], stage: str
) -> None:
    life = Life().say(1, "daemon", STARTING)
    answer(life, 60, 2, done=done, jobs=jobs)
    assert ends(life)[0] == ("daemon_start", "done")
    assert ends(life)[-1][0] == stage


def test_a_count_during_a_benchmark_is_the_warm_ups() -> None:
    life = Life().say(1, "setup", "[entrypoint] {t} Starting benchmark (proofs=12)")
    life.say(5, "daemon", STARTING)
    answer(life, 300, 6, done=1)
    assert ends(life)[-1] == ("warmup", "active")


def test_who_serves_after_its_benchmark_is_running() -> None:
    life = to_bench().say(900, "bench", "throughput:    0.5 proofs/min (120s/proof)")
    life.say(950, "daemon", STARTING).say(980, "daemon", READY)
    assert ends(life)[-2:] == [("daemon_start", "done"), ("running", "active")]
    life.say(981, "daemon", "Error: transport error: Address already in use (os error 98)")
    assert ends(life)[-1] == ("daemon_start", "failed")


def test_the_second_job_after_a_planned_restart_is_the_benchmarks() -> None:
    life = Life().say(440, "bench", "Restarting daemon with full partition_workers=16")
    life.say(500, "daemon", BENCH_JOB)
    assert ends(life) == [("daemon_restart", "active")]
    life.say(501, "daemon", BENCH_JOB.replace(UUID, OTHER))
    assert ends(life) == [("daemon_restart", "done"), ("bench", "active")]


def test_what_answers_let_suppose_gives_way_to_what_a_log_tells() -> None:
    life = Life()
    answer(life, 100, 2, done=1)
    assert ends(life) == [("running", "active")]
    life.say(110, "bench", "=== Batch Benchmark ===")
    assert ends(life) == [("bench", "active")]


def test_a_count_without_any_log_is_a_rate_of_the_daemons_own() -> None:
    life = Life()
    life.reader.observe_row(instance("running"), T0)
    for second in range(0, 3601, 60):
        answer(life, second, -9000, done=100 + second // 120)
    reading = life.at(3600)
    assert reading.stage is Stage.RUNNING
    assert [rate.source for rate in reading.rates] == [RateSource.STATUS]
    row = fleet_row(instance("running"), reading, row_seen_at=T0, acting=None)
    assert (row.proofs_per_hour, row.rate_source) == (30.0, RateSource.STATUS)
    assert sample(instance("running"), reading, T0 + 3601).proofs_per_hour == 30.0
    assert sample(instance("running"), reading, T0 + 3801).proofs_per_hour is None


def test_a_log_that_is_read_from_its_middle_counts_from_there() -> None:
    life = Life().say(1, "curio", "{z}\tINFO\tcurio\tx.go:1\trepopath")
    lines = b"".join(
        b"2026-03-12T08:%02d:00Z  INFO cuzk_core::engine: "
        b"Phase 7: PoRep proof self-check PASSED job_id=ps-porep-1-1-%d\n" % (minute, minute)
        for minute in range(60)
    )
    half = lines.index(b"2026-03-12T08:29") + 5
    chunk = LogChunk(
        stream=StreamId(7, "/tmp/cuzk.log"),
        generation=1,
        offset=half,
        data=lines[half:],
        at=T0 + 7200,
    )
    life.reader.feed(chunk, "daemon")
    rates = {rate.window_seconds: rate.proofs_per_hour for rate in life.at(7200).rates}
    assert rates == {900.0: pytest.approx(60, abs=5), 1800.0: pytest.approx(58)}


@pytest.mark.parametrize(
    "said",
    [
        "[entrypoint] {t} POST /bench-done rate=24.5 -> passed=false",
        '[entrypoint] {t} bench-done {{"rate":24.5}}: {{"ok":true,"passed":false}}',
    ],
)
def test_a_refused_rate_is_too_low_whether_the_minimum_was_read_or_not(said: str) -> None:
    life = Life().say(900, "bench", "throughput:    0.408 proofs/min (147s/proof)")
    life.say(901, "setup", said)
    (finding,) = life.at(960).findings
    assert finding.category == "bench_rate_below_min"
    assert "24.5 proofs/h" in finding.summary
    failed = Life().say(901, "setup", said.replace("24.5", "0"))
    assert "bench_rate_below_min" not in [one.category for one in failed.at(960).findings]
    accepted = Life().say(901, "setup", said.replace("false", "true"))
    assert accepted.at(960).findings == ()
