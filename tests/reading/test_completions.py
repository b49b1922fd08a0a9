"""Proofs are counted for ever, in bounded memory."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fleetui.reading.completions import Completions

DAY = 86_400.0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 2000), max_size=60), st.integers(0, 2000), st.integers(0, 2000))
def test_few_proofs_are_counted_to_the_second_in_any_order(
    times: list[int], begin: int, end: int
) -> None:
    done = Completions()
    for at in times:
        done.add(float(at))
    assert len(done) == len(times)
    assert done.newest == max(times, default=None)
    assert done.since(begin) == sum(at >= begin for at in times)
    assert done.between(begin, end) == sum(begin < at <= end for at in times)
    done.move(lambda at: at + 500)
    assert done.since(begin + 500) == sum(at >= begin for at in times)


@settings(max_examples=12, deadline=None)
@given(st.integers(3, 600), st.floats(0, 0.99), st.integers(0, 30))
def test_none_of_many_proofs_is_forgotten(pace: int, part: float, late: int) -> None:
    done = Completions()
    count = 30_000
    for number in range(count):
        # Two files may tell of proofs a little out of order.
        done.add(float(number * pace - (late if number % 7 == 0 else 0)))
    end = float((count - 1) * pace)
    assert done.since(-DAY) == count
    assert done.between(-DAY, end) == count
    assert done.between(end, end + DAY) == 0
    recent = 900 // pace
    assert abs(done.between(end - 900, end) - recent) <= 1 + 30 // pace
    begin = part * end
    true = count - begin / pace
    assert abs(done.since(begin) - true) <= 2 + 2 * (60 + late) / pace
    assert done.since(end + 1) == 0


def test_memory_is_bounded_and_the_sum_stays_true() -> None:
    done = Completions()
    count = 100_000
    for number in range(count):
        done.add(number * 120.0)
    kept = len(done._times) + len(done._spans)
    assert kept < 12_000
    assert done.since(0) == count
    assert abs(done.since(count * 60.0) - count / 2) <= 40
