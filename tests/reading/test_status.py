"""The daemon's status and its traps."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.host import DaemonStatus, Pipeline
from fleetui.domain.stage import ProgressPart
from fleetui.domain.stream import LogChunk, StreamId
from fleetui.domain.text import SafeText
from fleetui.profiles.loader import load
from fleetui.reading.rates import StatusCounters
from fleetui.reading.reader import Reader
from fleetui.reading.status import parse_status
from fleetui.reading.status_watch import STUCK_SECONDS, StatusWatch

SAMPLES = Path(__file__).parent.parent / "data" / "hosts" / "status_samples"


def body(**changes: Any) -> bytes:  # noqa: ANN401 - JSON has no narrower type
    answer = {"uptime_secs": 100_000.0, "counters": {"total_completed": 0, "total_failed": 0}}
    return json.dumps({**answer, **changes}).encode()


def job(states: list[str], age: float = 60.0, done: int | None = None) -> dict[str, Any]:
    return {
        "job_id": "ps-porep-1000-1-1",
        "proof_kind": "porep-c2",
        "started_secs_ago": age,
        "total_partitions": len(states),
        "partitions_done": states.count("done") if done is None else done,
        "partitions": [
            {"index": index, "state": state, "synth_ms": 30000, "gpu_ms": 3000}
            for index, state in enumerate(states)
        ],
    }


def watch(*answers: DaemonStatus) -> StatusWatch:
    seen = StatusWatch()
    for answer in answers:
        seen.take(answer)
    return seen


def running_pipelines(status: DaemonStatus) -> tuple[Pipeline, ...]:
    return watch(status).running()


def failed_pipelines(status: DaemonStatus) -> tuple[Pipeline, ...]:
    return watch(status).failed()


def test_the_samples_read() -> None:
    idle = parse_status((SAMPLES / "idle_fresh.json").read_bytes(), 5.0)
    assert (idle.at, running_pipelines(idle), failed_pipelines(idle)) == (5.0, (), ())
    assert len(idle.gpu_workers) >= 1
    middle = parse_status((SAMPLES / "mid_porep.json").read_bytes(), 5.0)
    assert running_pipelines(middle)
    ages = [pipeline.started_secs_ago or 0 for pipeline in middle.pipelines]
    assert ages == sorted(ages, reverse=True)
    failed = parse_status((SAMPLES / "after_failures.json").read_bytes(), 5.0)
    assert failed_pipelines(failed)
    assert not set(failed_pipelines(failed)) & set(running_pipelines(failed))


def test_a_failed_job_stays_listed_but_does_not_run() -> None:
    listed = [job(["done", "failed", "pending"], age=9000), job(["done", "gpu", "pending"])]
    status = parse_status(body(pipelines=listed), 1.0)
    assert [len(item.partitions) for item in running_pipelines(status)] == [3]
    assert running_pipelines(status)[0].started_secs_ago == 60
    assert len(failed_pipelines(status)) == 1


def test_a_complete_job_that_never_leaves_has_failed() -> None:
    lingering = parse_status(body(pipelines=[job(["done"] * 10, age=340)]), 1.0)
    stuck = parse_status(body(pipelines=[job(["done"] * 10, age=9000)]), 1.0)
    assert (running_pipelines(lingering), failed_pipelines(lingering)) == ((), ())
    assert (running_pipelines(stuck), len(failed_pipelines(stuck))) == ((), 1)


def test_a_partition_that_never_leaves_the_gpu_is_lost() -> None:
    stuck = body(pipelines=[job(["done"] * 9 + ["gpu"])])
    seen = watch(parse_status(stuck, 0.0), parse_status(stuck, STUCK_SECONDS))
    assert (len(seen.running()), seen.failed()) == (1, ())
    seen.take(parse_status(stuck, STUCK_SECONDS + 1))
    assert (seen.running(), len(seen.failed())) == ((), 1)
    seen.take(parse_status(body(pipelines=[job(["done"] * 10)]), STUCK_SECONDS + 2))
    assert seen.failed() == ()
    slow = job(["done"] * 9 + ["gpu"])
    for part in slow["partitions"]:
        part["gpu_ms"] = 600_000
    answer = body(pipelines=[slow])
    assert watch(parse_status(answer, 0.0), parse_status(answer, 2900.0)).failed() == ()
    assert watch(parse_status(answer, 0.0), parse_status(answer, 3100.0)).running() == ()


@given(
    st.lists(
        st.lists(
            st.tuples(
                st.sampled_from("abcd"),
                st.lists(st.sampled_from(["pending", "gpu", "done", "failed", "x"]), max_size=4),
            ),
            max_size=4,
            unique_by=lambda entry: entry[0],
        ),
        max_size=8,
    )
)
def test_no_job_is_both_running_and_failed(answers: list[list[tuple[str, list[str]]]]) -> None:
    seen = StatusWatch()
    for number, listed in enumerate(answers):
        pipelines = [{**job(states), "job_id": name} for name, states in listed]
        seen.take(parse_status(body(pipelines=pipelines), number * 400.0))
        running, failed = (
            {item.job_id for item in jobs} for jobs in (seen.running(), seen.failed())
        )
        assert not running & failed
        assert running | failed <= {name for name, _ in listed}


def test_a_benchmark_without_a_log_is_counted_by_the_daemon() -> None:
    reader = Reader(load("cuzk"), 1)
    text = b"=== Batch Benchmark ===\ncount:       12\nconcurrency: 3\n"
    chunk = LogChunk(
        stream=StreamId(1, "/tmp/benchmark-full.log"), generation=1, offset=0, data=text, at=1000.0
    )
    reader.feed(chunk, "bench")
    for minute in range(6):
        answer = body(uptime_secs=100.0 + minute * 60, counters={"total_completed": 5 + minute})
        reader.observe_status(
            parse_status(answer, 1060.0 + minute * 60), None, 1060.0 + minute * 60
        )
    progress = reader.reading(1361.0).progress
    assert progress is not None
    assert (progress.done, progress.total) == (5.0, 12.0)


def test_what_is_new_or_missing_in_the_answer_does_no_harm() -> None:
    status = parse_status(body(surprise={"x": [1]}, pipelines=[{"job_id": "a", "new": 1}]), 2.0)
    assert status.pipelines[0].job_id == "a"
    status = parse_status(b'{"uptime_secs": 3}', 2.0)
    assert status.counters.total_completed == 0


def test_names_from_the_daemon_are_made_safe() -> None:
    status = parse_status(body(pipelines=[{"job_id": "a\x1b[31mb\u202e\n"}]), 2.0)
    assert status.pipelines[0].job_id == "ab "


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "not JSON"),
        (b"404 Not Found\n", "not JSON"),
        (b"[]", "no object but list"),
        (b'{"error": "lock \x1b[31mpoisoned"}'.replace(b"\x1b", b"\\u001b"), "lock poisoned"),
        (b"{}", "another shape"),
        (b'{"uptime_secs": "x"}', "another shape"),
        (b'{"uptime_secs": -1}', "impossible uptime"),
        (b'{"uptime_secs": 1, "pipelines": {"a": 1}}', "another shape"),
        (b" " * 2_000_000, "more than"),
        (b"[" * 100_000, "not JSON"),
        (b'{"uptime_secs": 1, "x": ' + b"[" * 100_000, "not JSON"),
        (body(counters={"total_failed": -3}), "impossible total_failed: -3"),
        (body(counters={"total_completed": -1}), "impossible total_completed: -1"),
        (body(counters={"total_completed": 10**15}), "impossible total_completed"),
    ],
)
def test_a_bad_answer_is_refused_with_its_reason(answer: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_status(answer, 1.0)


def test_what_cannot_be_is_not_known() -> None:
    answer = body(
        uptime_secs=500,
        memory={"total_bytes": 2**64 - 1, "used_bytes": -5},
        synthesis={"max_concurrent": -1, "active": 2**64 - 1},
        counters={"total_completed": 3, "queue_depth": -2},
        gpu_workers=[
            {"worker_id": -1, "state": "idle"},
            {"worker_id": 1, "state": "proving\n", "current_partition": -4, "busy_secs": -1.0},
        ],
        pipelines=[
            {**job(["done", "gpu"]), "total_partitions": 10**9, "started_secs_ago": 1e300},
            {"job_id": "b", "total_partitions": -3, "partitions_done": 7},
            {
                "job_id": "c",
                "total_partitions": 3,
                "partitions": [
                    {"index": 1, "state": "done", "gpu_ms": -1, "synth_ms": 2**62},
                    {"index": 1, "state": "done"},
                    {"index": -1, "state": "done"},
                    {"index": 4096, "state": "done"},
                ],
            },
        ],
    )
    status = parse_status(answer, 1.0)
    assert status.memory.total_bytes == 0
    assert (status.synthesis.active, status.counters.queue_depth) == (0, None)
    (worker,) = status.gpu_workers
    assert (worker.state, worker.current_partition, worker.busy_secs) == ("proving ", None, None)
    jobs = {item.job_id[:1]: item for item in status.pipelines}
    assert (jobs["p"].total_partitions, jobs["p"].started_secs_ago) == (2, None)
    assert (jobs["b"].total_partitions, jobs["b"].partitions_done) == (0, 0)
    assert (jobs["c"].total_partitions, jobs["c"].partitions_done) == (3, 1)
    assert [(part.gpu_ms, part.synth_ms) for part in jobs["c"].partitions] == [(None, None)]
    (part,) = [one for one in running_parts(answer) if one.name == "b"]
    assert part.total is None


def running_parts(answer: bytes) -> tuple[ProgressPart, ...]:
    reader = Reader(load("cuzk"), 1)
    said = b"INFO cuzk_core::scheduler: job enqueued job_id=ps-porep-1 proof_kind=porep-c2\n"
    chunk = LogChunk(stream=StreamId(1, "/tmp/cuzk.log"), generation=1, offset=0, data=said, at=1.0)
    reader.feed(chunk, "daemon")
    reader.observe_status(parse_status(answer, 2.0), None, 2.0)
    progress = reader.reading(3.0).progress
    assert progress is not None
    return progress.parts


def test_leaked_counts_of_failed_synthesis_are_not_shown() -> None:
    listed = [job(["done", "failed", "pending"]), job(["synthesizing", "pending"])]
    status = parse_status(body(pipelines=listed, synthesis={"active": 7}), 1.0)
    assert status.synthesis.active == 1


_FIGURES = st.sampled_from([-(2**63), -1, 0, 1, 9, 10**6, 2**63, 2**64 - 1, -0.5, 0.5, 1e300])


@given(st.data())
def test_any_figures_are_refused_or_sound(data: st.DataObject) -> None:
    def table(*names: str) -> st.SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries({}, optional=dict.fromkeys(names, _FIGURES))

    partition = table("index", "synth_ms", "gpu_ms").map(lambda one: {"index": 0, **one})
    pipeline = st.builds(
        lambda one, parts: {"job_id": "a", "partitions": parts, **one},
        table("started_secs_ago", "total_partitions", "partitions_done"),
        st.lists(partition, max_size=3),
    )
    answer = body(
        pipelines=data.draw(st.lists(pipeline, max_size=2)),
        memory=data.draw(table("total_bytes", "used_bytes", "available_bytes")),
        synthesis=data.draw(table("active", "max_concurrent")),
        counters=data.draw(table("total_completed", "total_failed", "queue_depth")),
        **data.draw(table("uptime_secs")),
    )
    try:
        status = parse_status(answer, 1.0)
    except ValueError:
        return
    assert 0 <= status.counters.total_completed <= 100 + status.uptime_secs / 3600 * 10_000
    assert 0 <= status.memory.used_bytes < 2**60
    for item in status.pipelines:
        assert 0 <= item.partitions_done <= item.total_partitions <= 256
        assert 0 <= (item.started_secs_ago or 0) <= status.uptime_secs + 5
        for part in item.partitions:
            assert 0 <= part.index < 256
            assert 0 <= (part.gpu_ms or 0) < 1e15


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(answer: bytes) -> None:
    try:
        parse_status(answer, 1.0)
    except ValueError as error:
        said = str(error)
        assert "status answer" in said or "daemon answers" in said


def test_counters_go_on_over_a_restart() -> None:
    counters = StatusCounters()
    for at, uptime, total in [(0, 500, 40), (600, 1100, 46), (900, 20, 0), (1200, 320, 3)]:
        answer = body(uptime_secs=uptime, counters={"total_completed": total})
        counters.take(parse_status(answer, float(at)))
    rate = counters.rate()
    assert counters.restarts == 1
    assert rate is not None
    assert (rate.proofs, rate.window_seconds, rate.proofs_per_hour) == (9, 1200.0, 27.0)


def test_a_count_that_falls_without_a_restart_is_not_counted() -> None:
    counters = StatusCounters()
    for number in range(61):
        total = 20 if number % 2 else 0
        answer = body(uptime_secs=1000 + number * 60, counters={"total_completed": total})
        counters.take(parse_status(answer, number * 60.0))
    rate = counters.rate()
    assert rate is not None
    assert (counters.restarts, rate.proofs) == (0, 20)
    for number in range(61, 81):
        answer = body(uptime_secs=1000 + number * 60, counters={"total_completed": number - 61})
        counters.take(parse_status(answer, number * 60.0))
    assert counters.completed_since(62 * 60.0) in range(14, 20)


def test_answers_of_two_daemons_in_turn_are_no_proofs() -> None:
    counters = StatusCounters()
    for number in range(60):
        uptime, total = (9000, 500) if number % 2 else (90, 7)
        answer = body(uptime_secs=uptime + number * 60, counters={"total_completed": total})
        counters.take(parse_status(answer, number * 60.0))
    rate = counters.rate()
    assert rate is not None
    assert (counters.restarts, rate.proofs) == (0, 0)


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 1000), st.integers(0, 50)), max_size=40)
)
def test_a_status_rate_is_never_negative(polls: list[tuple[int, int, int]]) -> None:
    counters = StatusCounters()
    at = 0.0
    for gap, uptime, total in polls:
        at += gap
        answer = body(uptime_secs=uptime, counters={"total_completed": total})
        counters.take(parse_status(answer, at))
    rate = counters.rate()
    assert rate is None or (rate.proofs >= 0 and rate.proofs_per_hour >= 0)


def test_the_reader_keeps_the_last_good_answer_beside_the_error() -> None:
    reader = Reader(load("cuzk"), 1)
    reader.observe_status(parse_status(body(), 10.0), None, 10.0)
    reader.observe_status(None, SafeText("connection refused"), 25.0)
    reading = reader.reading(30.0)
    assert reading.status is not None
    assert reading.status.at == 10.0
    assert reading.status_error == "connection refused"
