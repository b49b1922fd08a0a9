import sqlite3
import string
from functools import partial

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_pilot import NOW, Console, StillClock, console
from fleetui.console.chart_drawing import draw_chart, reduce_points, time_ticks, value_ticks
from fleetui.console.columns import BY_NAME, Scene, layout
from fleetui.console.fitting import cells, clip, fit, wrap
from fleetui.console.glyphs import Glyphs
from fleetui.console.inspection import Subject, describe
from fleetui.console.size_mode import SizeMode, size_mode
from fleetui.console.widgets.chart import Chart
from fleetui.console.widgets.log_tabs import tabs
from fleetui.domain.finding_groups import group_findings
from fleetui.domain.instance import Walk, WalkOutcome
from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage
from fleetui.domain.text import sanitise
from memory_store import MemoryStore, locked
from sample_fleet import build

HOSTILE = (
    "[/]", "[@click=app.quit]boo[/]", "\x1b]0;x\x07\x1b[2Jred", "[bold", "\u202eevil", "漢字 wide",
    "a" * 5000, "", "{braces} %s \\", "[red]x[/red]",
)  # fmt: skip


@pytest.mark.parametrize(
    "size", [(80, 24), (120, 40), (200, 60), (40, 10), (20, 5), (100, 30), (1, 1)]
)
async def test_every_size_draws(size: tuple[int, int]) -> None:
    async with console(size=size) as run:
        lines = run.text.split("\n")
        assert len(lines) == size[1]
        if size[0] >= 40:
            assert "critical" in run.text or "✖" in run.text
        if size[0] >= 80:
            assert "20110148" in run.text
            assert "proofs/h" in run.text
        for key in (
            "j",
            "l",
            "l",
            "enter",
            "escape",
            "4",
            "q",
            "2",
            "q",
            "5",
            "q",
            "slash",
            "escape",
        ):
            await run.press(key)


def arranged(run: Console, mode: SizeMode) -> bool:
    return run.app.fleet_screen.mode is mode


async def test_growing_and_shrinking_goes_through_all_arrangements() -> None:
    async with console(size=(200, 60)) as run:
        for size in ((139, 40), (99, 30), (79, 24), (39, 9), (20, 5), (120, 40), (200, 60)):
            await run.pilot.resize_terminal(*size)
            await run.until(partial(arranged, run, size_mode(*size)), f"mode at {size}")
        await run.shows("root cause")


async def test_below_80_columns_id_stage_and_flag_stay() -> None:
    async with console(size=(50, 16)) as run:
        await run.shows("prover_lost")
        assert "FAILED" in run.text
        assert "20110148" in run.text


async def test_a_long_account_gives_way_to_the_freshness_at_80_columns() -> None:
    store = build(22, now=NOW)
    async with console(store, size=(80, 24)) as run:
        run.app.account = sanitise("operations-of-the-proving-fleet@storage.example")
        run.app.fleet_screen.draw_bars()
        await run.shows("operations")
        head = run.text.split("\n")[0]
        assert " RW   API 3s ago " in head
        assert " SSH 19/22 " in head
        store.lease_held = False
        await run.shows("no collector for")
        head = run.text.split("\n")[0]
        assert "API 3s ago " in head
        assert " proofs/h" in head


@pytest.mark.parametrize("width", [60, 72, 80, 100])
async def test_a_narrow_footer_keeps_the_keys_that_act(width: int) -> None:
    async with console(size=(width, 24)) as run:
        foot = run.text.split("\n")[-1]
        for words in ("R restart", "D destroy", "? help", "q quit"):
            assert words in foot


class FastClock(StillClock):
    speed = 20.0


async def test_a_scaled_clock_is_shown_in_the_header() -> None:
    async with console(size=(80, 24), clock=FastClock()) as run:
        await run.shows(" RW  20x  API 3s ago")
    async with console(size=(80, 24)) as run:
        assert "1x" not in run.text.split("\n")[0]


def test_the_count_of_restarts_is_never_cut() -> None:
    for stage, shown in ((Stage.RUNNING, "● running #12"), (Stage.PARAMS_DONE, "◐ params… #12")):
        row = FleetRow(instance_id=1, stage=stage, attempt=12)
        assert BY_NAME["stage"].cell(row, Scene(0.0, Glyphs()), 13)[0][0] == shown


NAMES = st.lists(st.text(string.ascii_lowercase, min_size=1, max_size=12), min_size=1, max_size=8)


@given(NAMES, st.integers(0, 7), st.integers(0, 90))
def test_the_active_tab_is_always_in_sight(names: list[str], active: int, room: int) -> None:
    active %= len(names)
    pieces = tabs(names, active, room, "…")
    assert cells(pieces) <= room
    shown = [text for text, tone in pieces if tone != "dim"]
    assert len(shown) == 1
    if room >= len(names[active]) + 4:
        assert shown == [f" {names[active]} "]
    if sum(len(name) + 2 for name in names) <= room:
        assert len(pieces) == len(names)


async def test_the_smallest_screen_has_the_totals() -> None:
    async with console(size=(39, 9)) as run:
        await run.shows("24 hosts")
        assert len([line for line in run.text.split("\n") if line.strip()]) == 1


async def test_a_narrow_screen_drills_into_the_details() -> None:
    async with console(size=(80, 24)) as run:
        await run.press("enter")
        await run.shows("root cause")
        await run.press("escape")
        await run.shows("24 instances")


async def test_ascii_only_draws_no_other_character() -> None:
    async with console(ascii_only=True, size=(160, 45)) as run:
        for keys in ((), ("4",), ("q", "5"), ("q", "2"), ("q", "l"), ("l", "question_mark")):
            await run.press(*keys)
            await run.pilot.pause(0.1)
            assert run.text.isascii(), sorted({c for c in run.text if not c.isascii()})


async def test_states_are_told_without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with console() as run:
        for words in ("✖ FAILED", "● running", "◐ warmup", "○ stopped", "▲ slow_download", "<4.7"):
            assert words in run.text


@pytest.mark.parametrize("text", HOSTILE)
async def test_hostile_text_in_every_column(text: str) -> None:
    store = build(6, now=NOW)
    safe = sanitise(text)
    for _, row in list(store.rows.values()):
        store.put(
            msgspec.structs.replace(
                row, label=safe, gpu=safe, geolocation=safe, api_status=safe, progress_text=safe,
                progress_fraction=None, finding_category=str(safe), finding_summary=safe,
            )
        )  # fmt: skip
        reading = store.readings_by_id[row.instance_id]
        findings = tuple(
            msgspec.structs.replace(f, summary=safe, advice=safe, category=str(safe))
            for f in reading.findings
        )
        store.readings_by_id[row.instance_id] = msgspec.structs.replace(
            reading, findings=findings, status_error=safe, status=None
        )
    assert store.health
    store.health = msgspec.structs.replace(store.health, error=safe)
    store.walk = Walk(started_at=NOW, ended_at=NOW, outcome=WalkOutcome.FAILED, rows=0, error=safe)
    async with console(store) as run:
        await run.shows("stages")
        for key in ("4", "q", "D", "escape", "R", "escape", "z", "G"):
            await run.press(key)
        run.app.say(text)
        await run.press("j")
        assert not {"\x1b", "\x07", "\u202e"} & set(run.text)
        assert run.app.return_code is None


@pytest.mark.parametrize(
    "trouble", [locked(), sqlite3.DatabaseError("file is not a database"), OSError("disk [/] gone")]
)
async def test_trouble_of_the_store_is_said_and_passes(trouble: Exception) -> None:
    store = build(4, now=NOW)
    store.trouble = trouble
    async with console(store) as run:
        await run.shows("store: " + str(trouble)[:30])
        await run.press("j", "l", "escape", "4", "q")
        store.trouble = None
        await run.shows("4 instances")
        store.trouble = trouble
        await run.shows("store: ")
        assert str(next(iter(store.rows))) in run.text
        store.trouble = None
        await run.until(lambda: "store: " not in run.text, "the trouble is over")


async def test_without_collector_or_walk_it_says_what_it_waits_for() -> None:
    store = MemoryStore()
    store.lease_held = False
    async with console(store) as run:
        await run.shows("no collector yet")
        await run.shows("waiting for the collector's first complete walk")
        await run.press("j", "G", "D", "R", "enter", "l", "escape", "I", ".")


async def test_a_failed_walk_keeps_the_rows_and_says_why() -> None:
    store = build(4, now=NOW)
    store.walk = Walk(
        started_at=NOW, ended_at=NOW, outcome=WalkOutcome.FAILED, rows=0, error=sanitise("HTTP 503")
    )
    async with console(store) as run:
        await run.shows("HTTP 503")
        assert "4 instances" in run.text


@given(st.integers(-5, 400))
def test_columns_fill_the_width_exactly(width: int) -> None:
    chosen = layout(width)
    assert all(size >= 0 for _, size in chosen.columns)
    if width >= 60:
        used = sum(size for _, size in chosen.columns) + len(chosen.columns) - 1
        assert used == width - 2
        names = {column.name for column, _ in chosen.columns}
        assert {"id", "stage", "finding"} <= names


def test_at_120_columns_every_figure_has_its_column() -> None:
    sizes = {column.name: size for column, size in layout(119).columns}
    assert {
        "id", "label", "gpu", "stage", "progress", "rate", "cost", "proof", "util", "age", "finding"
    } <= sizes.keys()  # fmt: skip
    assert sizes["rate"] >= 11
    assert sizes["gpu"] >= 16
    assert sizes["util"] >= 9
    assert sizes["finding"] >= 16


async def test_at_120_columns_the_titles_show_it() -> None:
    async with console(size=(120, 40)) as run:
        for title in ("$/h", "$/proof", "GPU% temp", "log", "proofs/h", "finding"):
            assert title in run.text


FLEET_ROWS = st.builds(
    FleetRow,
    instance_id=st.integers(0, 10**9),
    label=st.none() | st.text(max_size=30).map(sanitise),
    gpu=st.none() | st.text(max_size=30).map(sanitise),
    num_gpus=st.none() | st.integers(0, 16),
    stage=st.sampled_from(Stage),
    attempt=st.integers(1, 200),
    progress_fraction=st.none() | st.floats(0, 1),
    eta_seconds=st.none() | st.floats(0, 1e9),
    proofs_per_hour=st.none() | st.floats(0, 1e6),
    min_rate=st.none() | st.floats(0, 1e4),
    cost_per_hour=st.none() | st.floats(0, 1e4),
    cost_per_proof=st.none() | st.floats(0, 1e5),
    gpu_util=st.none() | st.floats(0, 100),
    gpu_temp=st.none() | st.floats(-10, 120),
    stage_since=st.none() | st.floats(0, 1e9),
    newest_byte_at=st.none() | st.floats(0, 1e9),
)


@given(FLEET_ROWS, st.integers(20, 220), st.booleans())
def test_every_cell_has_exactly_its_width(row: FleetRow, width: int, ascii_only: bool) -> None:
    scene = Scene(1e9, Glyphs(ascii_only))
    for column, size in layout(width).columns:
        assert cells(column.cell(row, scene, size)) == size, column.name


@given(FLEET_ROWS, st.integers(1, 120))
def test_the_details_never_fail(row: FleetRow, width: int) -> None:
    assert describe(Subject(row=row, now=1e9), width, Glyphs())


@given(st.text(max_size=60).map(sanitise), st.integers(1, 40))
def test_fit_and_wrap_keep_to_the_width(text: str, width: int) -> None:
    assert cells([(fit(text, width), "text")]) == width
    if width > 1:
        assert all(cells([(line, "text")]) <= width for line in wrap(text, width))


def test_size_modes() -> None:
    assert size_mode(200, 60) is SizeMode.SIDE
    assert size_mode(120, 40) is SizeMode.BELOW
    assert size_mode(80, 24) is SizeMode.DRILL
    assert size_mode(79, 24) is SizeMode.SHORT
    assert size_mode(40, 9) is SizeMode.TOTALS


@given(
    st.lists(st.tuples(st.floats(0, 1e9), st.none() | st.floats(0, 1e6)), max_size=50),
    st.integers(1, 20),
)
def test_points_are_reduced_to_the_columns(
    points: list[tuple[float, float | None]], columns: int
) -> None:
    points.sort(key=lambda point: point[0])
    assert len(reduce_points(points, columns)) <= columns


@given(st.floats(0, 1e9), st.integers(1, 9))
def test_value_ticks_are_round_and_cover(top: float, count: int) -> None:
    ticks = value_ticks(top, count)
    assert ticks[0] == 0
    assert ticks[-1] >= top * 0.999
    assert len(ticks) <= 7


@given(st.floats(0, 2e9), st.floats(1, 1e7), st.integers(1, 20))
def test_time_ticks_lie_inside(start: float, span: float, count: int) -> None:
    for at, label in time_ticks(start, start + span, count):
        assert start <= at <= start + span
        assert label


def test_a_chart_of_nothing_but_zeros_has_plain_ticks() -> None:
    assert value_ticks(0.0, 5) == [0.0, 1.0]


def test_a_chart_fits_its_place() -> None:
    points = [(NOW + n * 60.0, 40.0 + n % 7) for n in range(400)]
    lines = draw_chart(points, 90, 12, tone="ok", ascii_only=False)
    assert len(lines) == 12
    assert all(cells(line) <= 90 for line in lines)
    assert any("⠀" <= c <= "⣿" for line in lines for text, _ in line for c in text)
    assert draw_chart([], 90, 12, tone="ok", ascii_only=False) == []


async def test_a_chart_loads_and_then_says_what_is_proved_now() -> None:
    store = build(24, now=NOW)
    async with console(store) as run:
        await run.press("2")
        fresh = Chart("proofs")
        assert "loading" in str(fresh._head)
        fresh.set_points([(NOW, 4.0), (NOW + 1, None)], None)
        assert "avg 4.0" in str(fresh._head)
        fresh.set_points([], None)
        assert "nothing measured yet" in str(fresh._head)
        rates = [row.proofs_per_hour or 0.0 for _, row in store.rows.values()]
        await run.shows(f"fleet proofs/h  24 h  {sum(rates):.1f}")
        costs = [row.cost_per_hour or 0.0 for _, row in store.rows.values()]
        await run.shows(f"fleet $/h  24 h  {sum(costs):.1f}")
        await run.until(lambda: any("⠀" < c <= "⣿" for c in run.text), "the curve")


async def test_a_failure_is_acknowledged_and_snoozed_by_key() -> None:
    store = build(24, now=NOW)
    async with console(store) as run:
        await run.press("4")
        await run.shows("failures by signature")
        await run.press("a")
        await run.until(lambda: bool(store.decisions), "a decision")
        await run.shows("acknowledged")
        await run.press("s")
        await run.shows("snoozed")
    assert {str(one.actor) for one in store.decisions} == {run.app.actor}
    kinds = [one.kind for one in store.decisions]
    assert (kinds[0], kinds[-1]) == ("acknowledge", "snooze")


async def test_read_only_decides_nothing() -> None:
    store = build(24, now=NOW)
    async with console(store, read_only=True) as run:
        await run.press("4")
        await run.shows("failures by signature")
        await run.press("a", "s")
        await run.press("z")
        await run.until(lambda: "failures by signature" not in "\n".join(run.text), "back")
    assert store.decisions == []


async def test_failures_are_grouped_by_signature() -> None:
    store = build(64, now=NOW)
    groups = group_findings(await store.findings(), NOW)
    assert [g.category for g in groups][-1] == "slow_download"
    assert sum(len(g.instance_ids) for g in groups) == sum(
        bool(r.findings) for r in store.readings_by_id.values()
    )


@given(st.text(max_size=300), st.integers(2, 30), st.integers(1, 4))
def test_what_wrap_and_clip_leave_out_is_said(text: str, width: int, limit: int) -> None:
    text = str(sanitise(text))
    lines = wrap(text, width, limit)
    whole = wrap(text, width, 1000)
    assert len(lines) <= limit
    assert lines == whole or lines[-1].endswith("…")
    assert clip([(text, "text")], 400) == [(text, "text")] or cells([(text, "text")]) > 400
    cut = clip([(text, "text"), ("end", "dim")], width)
    assert cells(cut) <= width
    assert cells([(text, "text")]) + 3 <= width or cut[-1][0].endswith("…")


async def test_entries_that_are_cut_at_the_edge_say_so() -> None:
    async with console(size=(60, 20)) as run:
        await run.press("6")
        await run.shows("daemon answers again…")
        await run.press("enter")
        await run.shows("ana@ops")
