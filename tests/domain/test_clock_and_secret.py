import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.clock import ScaledClock, SystemClock, parse_clock
from fleetui.domain.secret import Secret


def test_a_scaled_clock_runs_faster_from_its_origin() -> None:
    real = 1000.0
    clock = ScaledClock(1000.0, 5000.0, 20.0, real=lambda: real)
    assert clock.now() == 5000.0
    real = 1003.0
    assert clock.now() == 5060.0


@given(st.floats(0, 2e9), st.floats(0, 2e9), st.floats(0.1, 1000))
def test_the_text_form_carries_the_clock_to_another_process(
    real: float, fleet: float, speed: float
) -> None:
    clock = parse_clock(str(ScaledClock(real, fleet, speed)))
    assert isinstance(clock, ScaledClock)
    assert (clock.origin_real, clock.origin_fleet, clock.speed) == (real, fleet, speed)


def test_no_text_is_the_real_time() -> None:
    assert isinstance(parse_clock(""), SystemClock)


@pytest.mark.parametrize("text", ["1,2", "1,2,0", "1,2,-3", "a,b,c", "nan,1,1", "1,inf,1"])
def test_a_bad_clock_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"FLEETUI_CLOCK|could not convert"):
        parse_clock(text)


def test_a_secret_shows_itself_to_nobody() -> None:
    secret = Secret("hunter2")
    assert "hunter2" not in f"{secret} {secret!r} {[secret]}"
    assert secret.reveal() == "hunter2"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
