"""Simulated lives without a fault call nobody."""

import pytest

from fleetui.domain.stage import Stage
from healthy_life import above_info, readings


@pytest.mark.parametrize("seed", [11, 12, 13])
@pytest.mark.parametrize("scenario", ["boot", "running"])
def test_a_healthy_life_has_no_finding_above_info(scenario: str, seed: int) -> None:
    alarms: set[str] = set()
    reading = None
    for age, reading in readings(scenario, seed, seconds=2400):
        alarms |= {f"{age} s: {text}" for text in above_info(reading)}
    assert alarms == set()
    assert reading is not None
    assert reading.stage is Stage.RUNNING


@pytest.mark.parametrize(
    ("scenario", "category"),
    [("incident_hang", "prover_lost"), ("crash_loop", "daemon_crash_loop")],
)
def test_the_same_look_at_a_life_with_a_fault_names_it(scenario: str, category: str) -> None:
    *_, (_, reading) = readings(scenario, 11, seconds=1200)
    assert reading.findings[0].category == category
