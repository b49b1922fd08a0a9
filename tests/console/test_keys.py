import os
from functools import partial

import msgspec
import pytest

from console_pilot import NOW, StillClock, console
from fleetui.console.action import key_word
from fleetui.console.actions import ACTIONS, keymap_markdown
from fleetui.console.fitting import cells
from fleetui.console.keymap import Keymap
from fleetui.console.modals.confirm import TITLES
from fleetui.console.ordering import is_failure
from fleetui.console.widgets.fleet_table import FleetTable
from fleetui.console.widgets.lines_view import LinesView
from fleetui.domain.query import FIELDS
from fleetui.domain.role import Role
from fleetui.domain.stage import Stage
from sample_fleet import build


async def test_the_fleet_is_shown_with_header_flags_and_details() -> None:
    async with console() as run:
        await run.shows("root cause")
        text = run.text
        for word in ("proofs/h", "RW", "SSH 21/24", "24 instances", "2 critical", "prover_lost"):
            assert word in text
        assert "Restart the daemon" in text
        assert "FAILED" in text


async def test_cursor_keys_move_by_row_page_and_end() -> None:
    async with console(size=(120, 30)) as run:
        table = run.app.fleet_screen.table
        places = []
        for key in ("j", "down", "k", "G", "g", "end", "home", "pagedown", "pageup", "ctrl+d"):
            await run.press(key)
            places.append(table.cursor_place)
        last, page = len(table.order) - 1, table.page - 1
        assert places == [1, 2, 1, last, 0, last, 0, page, 0, page]
        assert str(table.cursor_id) in run.text


async def test_the_details_follow_the_cursor() -> None:
    async with console() as run:
        await run.press("j", "j")
        row = run.app.state.rows[run.cursor or 0]
        await run.shows(f"{row.instance_id}  {row.label}")
        await run.shows("slow_download")


async def test_sorting_keeps_the_cursor_on_its_instance() -> None:
    async with console() as run:
        await run.press("j", "j", "j", "j", "j")
        chosen = run.cursor
        for key in (".", ".", "I", ",", "I"):
            await run.press(key)
            assert run.cursor == chosen
        await run.shows(str(chosen))


async def test_new_figures_resort_without_moving_the_cursor_on_the_screen() -> None:
    store = build(200, now=NOW)
    async with console(store, size=(120, 30)) as run:
        screen = run.app.fleet_screen
        screen.select(sort="cost", descending=True)
        screen.action_cursor(60)
        chosen = run.cursor
        assert chosen is not None
        line = screen.table.cursor_place - screen.table.scroll_offset.y
        row = store.rows[chosen][1]
        store.put(msgspec.structs.replace(row, cost_per_hour=99.0))
        await run.until(lambda: run.app.state.rows[chosen].cost_per_hour == 99.0, "the new cost")
        await run.pilot.pause()
        assert run.cursor == chosen
        assert screen.table.cursor_place == 0
        store.put(msgspec.structs.replace(row, cost_per_hour=row.cost_per_hour))
        await run.until(lambda: screen.table.cursor_place > 50, "the old place")
        assert run.cursor == chosen
        assert abs(screen.table.cursor_place - screen.table.scroll_offset.y - line) <= line


async def test_a_removed_instance_hands_the_cursor_to_its_neighbour() -> None:
    async with console() as run:
        await run.press("j")
        chosen = run.cursor
        assert chosen is not None
        run.store.remove(chosen)
        await run.until(lambda: run.cursor != chosen, "another cursor")
        assert run.app.fleet_screen.table.cursor_place == 1


async def test_filter_types_lives_and_clears() -> None:
    async with console() as run:
        table = run.app.fleet_screen.table
        await run.press("slash", *"stage=running")
        running = [r for r in run.app.state.rows.values() if r.stage is Stage.RUNNING]
        assert len(table.order) == len(running)
        await run.press("enter")
        await run.shows(f"{len(running)} of 24 instances")
        await run.press("slash", *" x=1")
        await run.shows("there is no field 'x'")
        await run.press("escape")
        assert len(table.order) == 24
        await run.press("slash", *"nothing-at-all", "enter")
        await run.shows("no instance passes the filter")
        await run.press("escape")
        assert len(table.order) == 24


@pytest.mark.parametrize("size", [(160, 45), (80, 24), (60, 20)])
async def test_a_wrong_filter_keeps_the_last_result_and_says_all_that_is_wrong(
    size: tuple[int, int],
) -> None:
    async with console(size=size) as run:
        table = run.app.fleet_screen.table
        await run.press("slash", *"xyzzy=1", "enter")
        assert len(table.order) == 24
        words = " ".join(run.text.split())
        for word in ("there is no field 'xyzzy'; fields: id", "stage", "severity acting"):
            assert word in words
        await run.press("escape")
        assert "xyzzy" not in run.text
        await run.press("slash", *"stage=running", "enter")
        running = len(table.order)
        assert 0 < running < 24
        await run.press("slash", *(["backspace"] * 13), *"stagee=running")
        assert len(table.order) == running
        await run.shows("did you mean stage?")
        await run.press("backspace", "enter")
        await run.shows("did you mean stage?")
        await run.press("escape")
        assert len(table.order) == 24


async def test_no_letter_acts_while_a_filter_is_typed() -> None:
    async with console() as run:
        await run.press("slash")
        for key in ("R", "D", "q", "u", "z", "4", "f9", "G"):
            await run.press(key)
        assert len(run.app.screen_stack) == 2
        assert run.app.fleet_screen.query_one("#filter").has_focus
        assert not run.store.intent_list[1:]


async def test_z_shows_only_trouble() -> None:
    async with console() as run:
        await run.press("z")
        expected = [r for r in run.app.state.rows.values() if is_failure(r, {})]
        assert len(run.app.fleet_screen.table.order) == len(expected)
        await run.press("z")
        assert len(run.app.fleet_screen.table.order) == 24


async def test_screens_open_and_close() -> None:
    async with console() as run:
        for key, words in (
            ("2", "fleet $/h"),
            ("5", "24 machines"),
            ("7", "true colour" if os.environ.get("COLORTERM") else "colours"),
            ("4", "failures by signature"),
            ("6", "daemon answers again after 41 s"),
            ("question_mark", "the fleet"),
        ):
            await run.press(key)
            await run.shows(words)
            await run.press("q")
            await run.until(lambda: run.app.screen is run.app.fleet_screen, "the fleet again")
        await run.press("6", "4")
        await run.shows("failures by signature")
        await run.press("1")
        assert run.app.screen is run.app.fleet_screen


@pytest.mark.parametrize("size", [(160, 45), (80, 24), (50, 20)])
async def test_the_help_lists_the_fields_and_cuts_nothing(size: tuple[int, int]) -> None:
    async with console(size=size) as run:
        await run.press("question_mark")
        await run.shows("Everywhere")
        view = run.app.screen.query_one(LinesView)
        assert all(cells(line) <= view.inner_width for line in view._lines)
        whole = " ".join(text for line in view._lines for text, _ in line).split()
        assert {"!label~test", "log>5m", *FIELDS} <= set(whole)


async def test_a_group_of_failures_opens_in_the_fleet() -> None:
    async with console() as run:
        await run.press("4")
        await run.shows("slow_download")
        await run.press("j", "j", "f")
        await run.shows("finding=slow_download")
        assert len(run.app.fleet_screen.table.order) == 2


async def test_q_quits_and_ctrl_c_does_not() -> None:
    async with console() as run:
        await run.press("ctrl+c")
        await run.shows("ctrl+c does nothing here")
        assert run.app.return_code is None
        await run.press("q")
        assert run.app.return_code == 0


@pytest.mark.parametrize(
    ("keys", "levels"),
    [("lf", 2), ("L", 1), ("l", 1), ("lff", 1)],
)
async def test_q_in_the_log_goes_back_a_level_at_a_time(keys: str, levels: int) -> None:
    async with console() as run:
        screen = run.app.fleet_screen
        await run.press(*keys)
        await run.shows("q back")
        for left in range(levels, 0, -1):
            assert screen.log_view.has_focus
            assert screen.has_class("-full") is (left == 2 or (keys == "L"))
            await run.press("q")
            assert run.app.return_code is None
        await run.until(lambda: screen.table.has_focus, "the table")
        assert not screen.has_class("-log")
        assert not screen.has_class("-full")
        await run.shows("q quit")
        await run.press("q")
        assert run.app.return_code == 0


@pytest.mark.parametrize("size", [(160, 45), (80, 24)])
async def test_q_in_the_details_goes_back_to_the_table(size: tuple[int, int]) -> None:
    async with console(size=size) as run:
        await run.press("enter")
        await run.shows("root cause")
        await run.shows("q back")
        await run.press("q")
        await run.until(lambda: run.app.screen is run.app.fleet_screen, "the fleet again")
        assert run.app.fleet_screen.table.has_focus
        assert run.app.return_code is None
        await run.shows("q quit")


def listed(table: FleetTable, instance_id: int) -> bool:
    return instance_id in table.order


async def test_until_a_key_is_pressed_the_worst_rows_are_in_sight() -> None:
    store = build(120, now=NOW)
    rows = [row for _, row in store.rows.values()]
    bad = [row for row in rows if is_failure(row, {})]
    for row in bad:
        store.remove(row.instance_id)
    async with console(store, size=(120, 30)) as run:
        table = run.app.fleet_screen.table
        for row in (*bad[::2], *bad[1::2]):
            store.put(row)
            await run.until(partial(listed, table, row.instance_id), "the new row")
            assert table.scroll_offset.y == 0
            assert table.cursor_place == 0
        assert len(table.order) == 120
        assert str(table.order[0]) in run.text
        await run.press("j")
        assert table.cursor_place == 1


async def test_the_heartbeat_names_the_shown_instance() -> None:
    async with console() as run:
        await run.until(lambda: run.store.watches, "a heartbeat")
        viewer, _, until = run.store.watches[-1]
        assert viewer.startswith("ana@ops")
        assert until > NOW
        await run.press("j")
        await run.until(lambda: run.store.watches[-1][1] == run.cursor, "the new instance")


async def test_the_inspector_can_be_hidden_and_entered() -> None:
    async with console() as run:
        await run.shows("root cause")
        await run.press("tab")
        assert run.app.fleet_screen.inspector.has_focus
        await run.press("j", "k", "G", "g", "escape")
        assert run.app.fleet_screen.table.has_focus
        await run.press("i")
        assert "root cause" not in run.text
        await run.press("i")
        await run.shows("root cause")


async def test_ages_grow_and_old_rows_dim() -> None:
    clock = StillClock()
    async with console(clock=clock, theme="dark") as run:
        clock.at += 45
        assert run.store.health
        run.store.health = msgspec.structs.replace(run.store.health, at=clock.at)
        await run.shows("API 48s ago")
        clock.at += 40
        await run.shows("no collector for 40s")
        strip = run.app.fleet_screen.table.render_line(1)
        faint = [s for s in strip if s.style and s.style.color and s.text.strip()]
        assert len({str(segment.style and segment.style.color) for segment in faint}) == 2


@pytest.mark.parametrize("scope", ["app", "fleet", "log", "lists"])
def test_the_registry_has_no_key_twice_in_a_scope(scope: str) -> None:
    keys = [key for action in Keymap().actions(scope) for key in action.keys]
    assert len(keys) == len(set(keys))


def test_dangerous_actions_need_no_chord_and_are_never_read_only() -> None:
    dangerous = {action.id for action in ACTIONS if action.dangerous}
    own = {"restart_daemon": "restart", "accept_host_key": "accept_key"}
    acts = {own.get(verb, verb) for verb in TITLES} | {"acts"}
    assert {f"{scope}.{act}" for scope in ("fleet", "instance") for act in acts} <= dangerous
    assert all(action.needs is not Role.VIEWER for action in ACTIONS if action.dangerous)
    for scope in ("app", "fleet", "log", "lists"):
        harmless = Keymap(role=Role.VIEWER)
        assert not [action for action in harmless.actions(scope) if action.dangerous]
    for action in ACTIONS:
        if action.command_only:
            continue
        # Chords are aliases only, but for what a plain key does as well.
        spare = action.id in {"app.plain", "app.no_act", "log.previous_stream"}
        half = action.id in {"log.half_left", "log.half_right"}
        assert spare or half or any("+" not in key for key in action.keys)
        assert key_word(action.keys[0])
    assert "| `D` `F9` ⚠ | destroy it…" in keymap_markdown()
