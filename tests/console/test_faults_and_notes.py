"""Going through faults, deciding about them, and what the console says without covering a row."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_pilot import NOW, console
from fleetui.console.fitting import cells
from fleetui.console.glyphs import Glyphs
from fleetui.console.notes import ERROR_SECONDS, NOTE_SECONDS, Notes
from fleetui.console.ordering import Selection, is_failure, select
from fleetui.console.screens.instance import InstanceScreen
from fleetui.console.widgets.lines_view import LinesView
from fleetui.domain.finding_record import DecisionKind, FindingState, begun
from fleetui.domain.quiet import Quiet
from fleetui.domain.text import sanitise
from memory_store import MemoryStore
from sample_fleet import build

FAILED, OTHER_FAILED, RUNNING = 20110148, 20110740, 20110000


def with_records() -> MemoryStore:
    store = build(24, now=NOW)
    for number, (instance_id, reading) in enumerate(store.readings_by_id.items()):
        for finding in reading.findings:
            record = begun(finding, NOW - 900, instance_id=instance_id)
            store.finding_list.append(msgspec.structs.replace(record, finding_id=number))
    return store


@given(st.text(min_size=1, max_size=400), st.integers(20, 300), st.integers(1, 4), st.booleans())
def test_a_note_fits_the_footer_and_goes_after_its_time(
    text: str, width: int, count: int, is_error: bool
) -> None:
    notes = Notes()
    for _ in range(count):
        notes.add(sanitise(text), at=0.0, now=100.0, is_error=is_error)
    line = notes.line(100.0, width, Glyphs())
    assert line
    assert cells(line) <= max(width, 40)
    assert ("! shows all" in "".join(words for words, _ in line).replace("  ", " ")) or count == 1
    seconds = ERROR_SECONDS if is_error else NOTE_SECONDS
    assert notes.line(100.0 + seconds, width, Glyphs()) == []
    assert len(notes.kept) == count


def test_an_error_is_shown_before_a_newer_word() -> None:
    notes = Notes()
    notes.add("bad", at=0.0, now=0.0, is_error=True)
    notes.add("good", at=1.0, now=1.0)
    assert notes.fresh(2.0)[0].text == "bad"


async def test_notes_stand_in_the_footer_and_whole_behind_a_key() -> None:
    async with console(size=(80, 24)) as run:
        long = "first words " + "and more " * 20 + "the last word"
        run.app.say(long, severity="error")
        await run.shows("first words")
        assert "first words" in run.text.splitlines()[-1]
        assert "last word" not in run.text
        await run.press("exclamation_mark")
        await run.shows("last word")
        await run.press("q")
        await run.until(lambda: run.app.screen is run.app.fleet_screen, "the fleet")


async def test_an_error_that_the_header_cuts_is_whole_behind_the_same_key() -> None:
    store = build(24, now=NOW)
    assert store.health is not None
    words = sanitise("the API answers with " + "very " * 12 + "many words")
    store.health = msgspec.structs.replace(store.health, error=words)
    async with console(store, size=(120, 30)) as run:
        await run.shows("the API answers")
        assert "many words" not in run.text
        await run.press("exclamation_mark")
        await run.shows("many words")


async def test_brackets_go_from_fault_to_fault() -> None:
    async with console() as run:
        await run.press("o")
        await run.shows("sort by")
        await run.press("escape")
        run.app.fleet_screen.action_sort_by("label")
        rows = run.app.state.rows
        faults = [i for i in run.app.fleet_screen.table.order if is_failure(rows[i], {})]
        await run.press("g")
        for wanted in faults:
            await run.press("right_square_bracket")
            assert run.cursor == wanted
        await run.press("right_square_bracket")
        await run.shows("no trouble further down")
        await run.press("left_square_bracket")
        assert run.cursor == faults[-2]


async def test_brackets_on_a_page_go_from_instance_to_instance() -> None:
    async with console() as run:
        order = list(run.app.fleet_screen.table.order)
        await run.press("enter")
        await run.shows(str(order[0]))
        await run.press("right_square_bracket")
        await run.shows(f"{order[1]}")
        screen = run.app.screen
        assert isinstance(screen, InstanceScreen)
        assert (screen.instance_id, run.cursor) == (order[1], order[1])
        await run.press("left_square_bracket", "left_square_bracket")
        await run.shows("no instance further up")


async def test_what_is_acknowledged_counts_no_more_in_z_order_and_group_heads() -> None:
    async with console(with_records(), size=(160, 70)) as run:
        await run.press("b")
        await run.shows("group by")
        await run.press("escape")
        run.app.fleet_screen.action_group_by("stage")
        await run.shows("FAILED  2  ✖ 2")
        run.app.fleet_screen.action_group_by("")
        assert run.cursor == FAILED
        await run.press("a")
        await run.shows("quiet until it is over")
        await run.press("enter")
        await run.until(lambda: FAILED in run.app.state.quiet, "the decision")
        assert run.store.decisions[-1].kind is DecisionKind.ACKNOWLEDGE
        await run.until(lambda: run.app.fleet_screen.table.order[0] == OTHER_FAILED, "the order")
        await run.press("z")
        await run.until(lambda: FAILED not in run.app.fleet_screen.table.order, "only trouble")
        await run.press("z")
        run.app.fleet_screen.action_group_by("stage")
        await run.shows("FAILED  2  ✖ 1")


async def test_read_only_decides_nothing() -> None:
    async with console(with_records(), read_only=True) as run:
        await run.press("a")
        await run.shows("read-only: acknowledge is not to be had here")
        run.app.fleet_screen.action_acknowledge()
        await run.shows("read-only: nothing is decided")
        assert run.store.decisions == []


def test_a_quiet_row_stands_behind_all_that_are_not() -> None:
    rows = [row for _, row in build(24, now=NOW).rows.values()]
    quiet = {FAILED: Quiet(FindingState.ACKNOWLEDGED)}
    order = [row.instance_id for row in select(rows, Selection(), NOW, quiet)]
    loud = {row.instance_id for row in rows if is_failure(row, quiet)}
    assert FAILED not in loud
    assert order.index(FAILED) == len(loud)


@pytest.mark.parametrize(("key", "seconds"), [("plus", 0.5), ("minus", 0.25)])
async def test_the_pace_is_changed_by_a_key(key: str, seconds: float) -> None:
    async with console() as run:
        await run.press(key)
        await run.shows(f"every {seconds:g} s")
        assert run.app.loops.tick_seconds == seconds


async def test_a_slow_pace_is_said_in_the_header() -> None:
    async with console() as run:
        await run.press("plus", "plus", "plus")
        await run.shows("every 2 s")
        await run.until(lambda: "every 2 s" in run.text.splitlines()[0], "the header")


async def test_the_table_takes_the_whole_screen_and_gives_it_back() -> None:
    async with console() as run:
        await run.until(lambda: run.app.fleet_screen.inspector.display, "the inspector")
        await run.press("f")
        await run.until(lambda: not run.app.fleet_screen.inspector.display, "the table alone")
        await run.press("f")
        await run.until(lambda: run.app.fleet_screen.inspector.display, "the inspector again")


async def test_a_hidden_sort_column_is_said_to_be_hidden() -> None:
    async with console(size=(80, 24)) as run:
        run.app.fleet_screen.action_sort_by("region")
        await run.shows("region ▲ (hidden column)")
        run.app.fleet_screen.action_sort_by("id")
        await run.until(lambda: "hidden column" not in run.text, "no such words")


async def test_an_odd_row_and_what_was_spent_are_told_in_the_table() -> None:
    store = build(4, now=NOW)
    row = msgspec.structs.replace(
        store.rows[RUNNING][1], odd=sanitise("price is text"), spent=12.5, spent_since=NOW - 60
    )
    store.put(row)
    async with console(store) as run:
        await run.shows(f"{RUNNING}?")
        run.app.prefer(columns=("id", "stage", "spent", "odd"))
        run.app.fleet_screen.prefer_again()
        await run.shows("12.50")
        await run.shows("price is text")


async def test_the_previous_life_is_opened_from_the_table() -> None:
    async with console() as run:
        run.store.begin_anew(RUNNING, "/tmp/cuzk.log")
        run.store.write(RUNNING, "/tmp/cuzk.log", b"second life\n", at=NOW + 1, kind="daemon")
        run.app.fleet_screen.action_go(str(RUNNING))
        await run.press("P")
        await run.until(lambda: run.app.fleet_screen.in_log, "the log")
        await run.shows("no earlier run of this file is stored")


@pytest.mark.parametrize(
    ("screen", "message", "content"),
    [("5", LinesView.Chosen, "41004"), ("6", LinesView.Leave, ""), ("7", LinesView.Leave, "")],
)
async def test_a_held_key_that_leaves_a_screen_leaves_the_fleet_where_it_is(
    screen: str, message: type[LinesView.Chosen | LinesView.Leave], content: str
) -> None:
    async with console() as run:
        await run.press(screen)
        shown = run.app.screen
        await run.until(lambda: len(run.text.split()) > 20, "the screen")
        await run.shows(content)
        for _ in range(3):
            shown.query_one(LinesView).post_message(message())
        await run.until(lambda: run.app.screen is not shown, "it is left")
        await run.pilot.pause()
        assert run.app.screen is run.app.fleet_screen
