"""The download of the proof's input: curl's bar, its meter, and sizes of their own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.stage import Progress
from fleetui.logs.matcher import Matcher
from fleetui.profiles.loader import load
from fleetui.reading.proof_input import ProofInput

MATCHER = Matcher(load("cuzk").rules)
METER = (
    " {percent:>2} {total}   {percent} {done}    0     0  15.1M      0"
    "  0:00:03  0:00:01  0:00:02 15.1M"
)


def told(proof_input: ProofInput, line: str, at: float) -> None:
    for rule, fields in MATCHER.match("bench", line):
        if rule.signal is not None:
            proof_input.take(rule.signal, fields, at)


def after(*lines: str, usual: float | None = 60e6) -> Progress:
    proof_input = ProofInput(usual)
    for second, line in enumerate(lines):
        told(proof_input, line, float(second))
    progress = proof_input.progress(float(len(lines)))
    assert progress is not None
    return progress


def meter(percent: int, total: str, done: str) -> str:
    return METER.format(percent=percent, total=total, done=done)


def test_the_bar_tells_a_part_of_the_usual_size() -> None:
    progress = after("###   40.0%", "####  50.0%")
    assert (progress.done, progress.total) == (30e6, 60e6)
    assert progress.per_second == pytest.approx(6e6)


def test_the_meter_tells_its_own_size() -> None:
    progress = after(meter(40, "95.4M", "38.2M"))
    assert (progress.total, progress.per_second) == (95.4 * 2**20, 15.1 * 2**20)
    assert progress.done == pytest.approx(38.2 * 2**20)


def test_a_meter_of_the_usual_size_is_rounded() -> None:
    assert after(meter(40, "57.2M", "22.9M")).total == 60e6
    assert after(meter(40, "57.2M", "22.9M"), usual=None).total == 57.2 * 2**20


def test_a_meter_without_a_size_goes_by_the_usual_one() -> None:
    unknown = "  0     0    0     0    0     0      0      0 --:--:--  0:00:01 --:--:--     0"
    assert [rule.id for rule, _ in MATCHER.match("bench", unknown)] == ["bench.c1_meter"]
    assert after(unknown).done == 0
    proof_input = ProofInput(None)
    told(proof_input, unknown, 0.0)
    assert proof_input.progress(1.0) is None


def test_another_download_begins_anew() -> None:
    progress = after(meter(90, "95.4M", "86M"), "Downloading from https://x/c1", "###   10.0%")
    assert (progress.done, progress.total) == (6e6, 60e6)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "0", "7.5", "40", "100", "999", "1e9", "x"]),
            st.sampled_from(["", "0", "12", "57.2M", "95.4M", "999999999G", "."]),
            st.sampled_from(["", "0", "12k", "86M", "99999G"]),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_any_fields_make_a_sound_progress(steps: list[tuple[str, str, str]]) -> None:
    proof_input = ProofInput(60e6)
    for second, (percent, total, done) in enumerate(steps):
        fields = {"percent": percent, "total": total, "done": done}
        proof_input.take("input_progress", fields, float(second))
        progress = proof_input.progress(second + 0.5)
        assert progress is not None
        assert progress.total is not None
        assert 0 <= progress.done <= progress.total
