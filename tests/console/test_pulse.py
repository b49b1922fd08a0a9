"""The pulse: rates by window, stages, failures and downloads over time."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from console_pilot import NOW, console
from fleetui.console.pulse_figures import (
    download_speed,
    failures_over_time,
    moments,
    stages_over_time,
)
from fleetui.domain.finding import Finding, Severity
from fleetui.domain.finding_record import begun
from fleetui.domain.reading import Reading
from fleetui.domain.stage import Progress, Stage, StageSpan
from fleetui.domain.text import sanitise

STARTS = st.lists(st.floats(0, 1000), min_size=1, max_size=6)


def reading(starts: list[float], instance_id: int = 1) -> Reading:
    stages = list(Stage)
    spans = tuple(StageSpan(stage=stages[n], started_at=at) for n, at in enumerate(sorted(starts)))
    return Reading(instance_id=instance_id, at=NOW, stage=Stage.RUNNING, spans=spans)


@given(st.lists(STARTS, max_size=5), st.integers(2, 20))
def test_an_instance_is_in_one_stage_at_a_time_and_in_none_before_its_first(
    fleet: list[list[float]], count: int
) -> None:
    times = moments(0.0, 1000.0, count)
    counts = stages_over_time([reading(starts) for starts in fleet], times)
    for index, at in enumerate(times):
        begun_by_then = sum(min(starts) <= at for starts in fleet)
        assert sum(line[index] or 0 for line in counts.values()) == begun_by_then
    assert len(times) == count
    assert (times[0], times[-1]) == (0.0, 1000.0)


def test_failures_count_from_when_they_began_to_when_they_were_over() -> None:
    finding = Finding(
        category="x", severity=Severity.CRITICAL, confidence=1.0, summary=sanitise("x"),
        advice=sanitise("x"), first_seen=100.0, last_seen=100.0, signature="x",
    )  # fmt: skip
    over = msgspec.structs.replace(begun(finding, 100.0, instance_id=1), resolved_at=300.0)
    stands = begun(msgspec.structs.replace(finding, first_seen=200.0), 200.0, instance_id=2)
    info = begun(msgspec.structs.replace(finding, severity=Severity.INFO), 100.0, instance_id=3)
    times = [50.0, 150.0, 250.0, 350.0]
    assert failures_over_time([over, stands, info], times) == [0.0, 1.0, 2.0, 1.0]


def test_only_bytes_count_as_a_download() -> None:
    some = reading([0.0])
    files = Progress(what=sanitise("parameters"), done=1, total=None, unit="B", per_second=3e6)
    proofs = Progress(what=sanitise("proofs"), done=1, total=None, unit="proofs", per_second=1.0)
    fleet = [msgspec.structs.replace(some, progress=one) for one in (files, files, proofs, None)]
    assert download_speed(fleet) == (6e6, 2)


async def test_the_pulse_tells_rates_by_window_stages_failures_and_downloads() -> None:
    async with console(size=(200, 50)) as run:
        row = next(r for _, r in run.store.rows.values() if r.stage is Stage.RUNNING)
        counted = ((900.0, 3), (3600.0, 10), (7200.0, 18))
        run.store.put(msgspec.structs.replace(row, counted=counted, counted_at=NOW))
        await run.press("2")
        await run.shows("15 min 12.0 (1 of ")
        await run.shows("1 h 10.0")
        await run.shows("whole run 9.0")
        await run.shows("findings")
        await run.shows("MiB/s")
        await run.until(lambda: "█" in run.text, "a course")


async def test_the_figures_of_gpu_types_stand_below_their_titles() -> None:
    async with console(size=(80, 30)) as run:
        row = next(iter(run.store.rows.values()))[1]
        long_name = sanitise("RTX PRO 6000 Blackwell Server Edition")
        for _, other in list(run.store.rows.values()):
            if other.gpu == row.gpu:
                run.store.put(msgspec.structs.replace(other, gpu=long_name))
        await run.press("2")
        await run.shows("RTX PRO 6000 Blackwell …")
        lines = run.text.split("\n")
        titles = next(line for line in lines if "hosts" in line and "$/proof" in line)
        figures = next(line for line in lines if "Blackwell …" in line)
        for title in ("hosts", "proofs/h", "$/h"):
            end = titles.index(title) + len(title)
            assert figures[end - 1].isdigit(), title
            assert figures[end] == " ", title
