"""Jobs of the daemon's log: failures, late lines, kinds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.logs.matcher import Matcher
from fleetui.profiles.loader import load
from fleetui.reading.jobs import Jobs

MATCHER = Matcher(load("cuzk").rules)


def told(*lines: str) -> Jobs:
    jobs = Jobs()
    for second, line in enumerate(lines):
        for rule, fields in MATCHER.match("daemon", line):
            if rule.signal is not None:
                jobs.take(rule.signal, fields, float(second))
    return jobs


def queued(job: str, kind: str = "porep-c2") -> str:
    return f"INFO cuzk_core::scheduler: job enqueued job_id={job} proof_kind={kind}"


def dispatched(job: str, count: int = 10) -> str:
    return f"INFO dispatching per-partition synthesis job_id={job} num_partitions={count}"


def proved(job: str, partition: int) -> str:
    return f"INFO partition GPU prove complete job_id={job} partition={partition} gpu_ms=3000"


def test_a_job_of_which_nothing_is_said_any_more_does_not_run() -> None:
    jobs = told(queued("a"), dispatched("a"), queued("b"), queued("c"), dispatched("c"))
    assert jobs.stuck(600.0, 600.0) == frozenset()
    stuck = jobs.stuck(603.0, 600.0)
    assert stuck == {"a"}, "who waits in the queue may wait for long"
    states = [(part.name, part.state) for part in jobs.parts(stuck)]
    assert states == [("b", "queued"), ("c", "proving"), ("a", "stuck")]


@given(st.integers(1, 300), st.integers(1, 3))
def test_jobs_that_are_too_many_are_left_out_and_counted(count: int, starts: int) -> None:
    life = ["INFO cuzk_daemon: cuzk-daemon starting", *(queued(f"j{n}") for n in range(count))]
    jobs = told(*(life * starts))
    assert len(jobs.parts()) == min(count, 64)
    assert jobs.unlisted == count - len(jobs.parts())


FAILED = "ERROR partition GPU proving failed error=x job_id=a partition=3"


def test_a_failed_job_does_not_come_back_with_its_next_partition() -> None:
    jobs = told(queued("a"), dispatched("a"), proved("a", 1), FAILED, proved("a", 4))
    assert (jobs.parts(), jobs.failed) == ((), 1)
    again = told(queued("a"), FAILED, proved("a", 4), FAILED, queued("a"), proved("a", 1))
    assert [part.done for part in again.parts()] == [1.0]
    assert again.failed == 1


def test_proofs_that_share_a_name_count_each() -> None:
    passed = "INFO Phase 7: PoRep proof self-check PASSED job_id=ps-porep-1000-1"
    once = [queued("ps-porep-1000-1"), passed, passed]
    assert len(told(*once).done) == 1
    assert len(told(*once, *once).done) == 2


def test_a_job_whose_input_cannot_be_read_leaves_the_queue() -> None:
    jobs = told(
        queued("a"), dispatched("a"), queued("b"), queued("c"),
        "ERROR Phase 7: C1 parse/SRS load failed error=bad",
    )  # fmt: skip
    assert [part.name for part in jobs.parts()] == ["a", "c"]
    assert jobs.failed == 1


@pytest.mark.parametrize(("others", "left"), [(0, []), (1, ["a", "b"])])
def test_a_failed_start_on_the_gpu_ends_the_only_job_it_can_mean(
    others: int, left: list[str]
) -> None:
    lines = [queued("a"), dispatched("a"), *[queued("b"), dispatched("b")][: others * 2]]
    jobs = told(*lines, "ERROR GPU prove start failed error=cuda", proved("b", 1)[: others * 99])
    assert [part.name for part in jobs.parts()] == left
    assert jobs.failed == 1


@pytest.mark.parametrize("text", ["failed error=cuda", "task panicked error=task 2 panicked"])
def test_a_failed_start_on_the_gpu_is_its_workers(text: str) -> None:
    span = (
        "gpu_worker{worker_id=0 gpu=0 job_id=b proof_kind=porep-c2 batch_size=1 partition=Some(3)}"
    )
    lines = [line for name in "abc" for line in (queued(name), dispatched(name))]
    jobs = told(*lines, f"ERROR {span}: cuzk_core::engine: GPU prove start {text}", proved("b", 1))
    assert [part.name for part in jobs.parts()] == ["a", "c"]
    assert jobs.failed == 1


def test_a_failure_of_a_job_that_was_never_seen_counts_once() -> None:
    jobs = told(FAILED, FAILED, proved("a", 1), queued("b"))
    assert [part.name for part in jobs.parts()] == ["b"]
    assert jobs.failed == 1


@pytest.mark.parametrize("job", ["snap-1-2-3", "ps-snap-1", "0d0e-unknown"])
def test_a_snap_deal_seen_from_the_middle_has_all_its_partitions(job: str) -> None:
    (part,) = told(*(proved(job, number) for number in range(12))).parts()
    assert (part.done, part.total) == (12, 16)
