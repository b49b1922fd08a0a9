import json
from functools import partial
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from console_pilot import NOW, Console, console
from fleetui.console.arranging import GROUPINGS, Group, Marks, arrange, arrange_still
from fleetui.console.columns import BY_NAME, layout
from fleetui.console.preferences import PreferenceFile, Preferences
from fleetui.domain.host import SshState
from fleetui.domain.intent import Verb
from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage
from sample_fleet import build


def marked(run: Console) -> set[int]:
    return run.app.fleet_screen.table.marks.ids


async def test_space_marks_and_goes_down_v_marks_a_range() -> None:
    async with console() as run:
        order = run.app.fleet_screen.table.order
        await run.press("space", "j", "j")
        assert marked(run) == {order[0]}
        assert run.cursor == order[3]
        await run.press("v")
        assert marked(run) == set(order[:4])
        await run.shows("4 marked")
        await run.press("k", "space")
        assert marked(run) == {order[0], order[1], order[3]}
        await run.press("backslash")
        assert not marked(run)
        await run.press("space", "escape")
        assert not marked(run)


async def test_marks_follow_the_filter_and_ghosts_do_not_count() -> None:
    async with console() as run:
        await run.press("slash", *"stage=running", "enter", "A")
        count = len(run.app.fleet_screen.table.order)
        assert len(marked(run)) == count
        await run.press("slash", *(["backspace"] * 7), *"warmup", "enter")
        await run.shows(f"{count} marked ({count} hidden)")
        await run.press("escape", "M")
        assert len(marked(run)) == 24 - count
        gone = next(iter(marked(run)))
        run.store.remove(gone)
        await run.shows(f"{24 - count - 1} marked")
        assert gone not in run.app.fleet_screen.targets()


async def test_a_bulk_act_wants_the_number_and_asks_once_for_each_target() -> None:
    async with console() as run:
        order = list(run.app.fleet_screen.table.order)
        await run.press("space", "space", "space", "R")
        await run.shows("3 marked instances")
        await run.shows("type the number of instances (3)")
        for wrong in ("y", "enter"):
            await run.press(wrong)
        await run.until(lambda: run.app.screen is run.app.fleet_screen, "cancelled")
        assert len(run.store.intent_list) == 1
        await run.press("R")
        await run.shows("type the number of instances (3)")
        # The targets are those of the key press, whatever is marked or shown later.
        run.store.remove(order[1])
        await run.shows(f"{order[1]} is gone: 2 are left")
        await run.press("3", "enter")
        await run.until(lambda: len(run.store.intent_list) == 3, "two intents")
        asked = run.store.intent_list[1:]
        assert {intent.instance_id for intent in asked} == {order[0], order[2]}
        assert {intent.verb for intent in asked} == {Verb.RESTART_DAEMON}
        assert all(
            intent.machine_id == run.app.state.rows[intent.instance_id].machine_id
            for intent in asked
        )


async def test_a_bulk_destroy_counts_down_and_can_be_taken_back() -> None:
    async with console(undo_seconds=60.0) as run:
        await run.press("space", "space", "D")
        await run.shows("all data on their disks is deleted")
        await run.press("2", "enter")
        await run.shows("destroying 2 instances in")
        await run.press("u")
        await run.shows("taken back: nothing was done")
        assert len(run.store.intent_list) == 1


async def test_x_offers_what_acts_and_nothing_else() -> None:
    async with console() as run:
        await run.press("X", *"reboo")
        await run.shows("reboot the container")
        await run.press("enter")
        await run.shows("press y to reboot")
        await run.press("y")
        await run.until(lambda: len(run.store.intent_list) == 2, "an intent")
        assert run.store.intent_list[1].verb is Verb.REBOOT
        await run.press("X", *"theme")
        await run.shows("no such command")


async def test_a_changed_host_key_needs_the_digits() -> None:
    async with console() as run:
        await run.press("K")
        await run.shows("has not changed")
        chosen = run.cursor
        assert chosen is not None
        row = run.store.rows[chosen][1]
        run.store.put(msgspec.structs.replace(row, ssh=SshState.HOST_KEY_CHANGED))
        await run.until(
            lambda: run.app.state.rows[chosen].ssh is SshState.HOST_KEY_CHANGED, "the change"
        )
        await run.press("K")
        await run.shows("somebody may stand between you and the host")
        await run.press("y", *str(chosen)[-4:], "enter")
        await run.until(lambda: len(run.store.intent_list) == 2, "an intent")
        assert run.store.intent_list[1].verb is Verb.ACCEPT_HOST_KEY


async def test_columns_are_chosen_ordered_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "state" / "console.json"
    async with console(size=(160, 45), preferences=PreferenceFile(path)) as run:
        await run.press("O")
        await run.shows("space shows or hides")
        await run.press("j", "space", "j", "J", "enter")
        await run.shows("stage         GPU")
        title = next(line for line in run.text.split("\n") if line.lstrip().startswith("id "))
        assert " label " not in title
    kept = json.loads(path.read_text())["columns"]
    assert kept[:3] == ["id", "stage", "gpu"]
    async with console(size=(160, 45), preferences=PreferenceFile(path)) as run:
        title = next(line for line in run.text.split("\n") if line.lstrip().startswith("id "))
        assert " label " not in title
        await run.press("O", "r", "enter")
        await run.shows("label ")
    assert "columns" not in json.loads(path.read_text())


def test_preferences_outlive_a_broken_file(tmp_path: Path) -> None:
    path = tmp_path / "console.json"
    path.write_text("{nonsense")
    file = PreferenceFile(path)
    assert file.now == Preferences()
    assert file.keep(Preferences(wide=True)) == ""
    assert PreferenceFile(path).now.wide
    (tmp_path / "closed").write_text("")
    assert "closed" in PreferenceFile(tmp_path / "closed" / "x").keep(Preferences(wide=True))


async def test_wide_columns_scroll_sideways_past_the_id() -> None:
    async with console(size=(100, 30)) as run:
        await run.press("w")
        table = run.app.fleet_screen.table
        assert table.hidden_columns > 3
        before = run.text
        for _ in range(40):
            await run.press("right")
        assert table.hidden_columns == 0
        assert run.text != before
        assert str(run.cursor) in run.text
        await run.press("w")
        await run.shows("proofs/h")


def headed(run: Console, title: str) -> bool:
    lines = run.app.fleet_screen.table.lines
    return any(isinstance(line, Group) and line.title == title for line in lines)


async def test_groups_have_heads_with_sums_and_the_cursor_skips_them() -> None:
    async with console(size=(160, 60)) as run:
        table = run.app.fleet_screen.table
        for letter, title in (("s", "running"), ("r", "Texas, US"), ("f", "no finding")):
            await run.press("b", letter)
            await run.until(partial(headed, run, title), title)
            await run.shows(title)
        rows = [line for line in table.lines if not isinstance(line, Group)]
        assert rows == table.order
        await run.press("g")
        seen = []
        for _ in range(24):
            seen.append(run.cursor)
            await run.press("j")
        assert seen == table.order
        await run.press("b", "n")
        await run.until(lambda: len(table.lines) == 24, "no groups")


async def test_the_order_waits_while_somebody_reads() -> None:
    store = build(24, now=NOW)
    async with console(store, reading_seconds=60.0) as run:
        table = run.app.fleet_screen.table
        await run.press("j")
        before = list(table.order)
        last = store.rows[before[-1]][1]
        worst = store.rows[before[0]][1]
        store.put(msgspec.structs.replace(last, finding_severity=worst.finding_severity))
        await run.shows("order waits while you read")
        assert table.order == before
        # A new order of the operator's own is obeyed at once.
        await run.press(".", ",")
        assert table.order != before


async def test_f_follows_a_row_through_the_order() -> None:
    store = build(200, now=NOW)
    async with console(store, size=(120, 30), reading_seconds=60.0) as run:
        table = run.app.fleet_screen.table
        await run.press("o", "$")
        await run.press("escape")
        run.app.fleet_screen.action_sort_by("cost")
        await run.press("G", "F")
        await run.shows("following")
        chosen = run.cursor
        assert chosen is not None
        row = store.rows[chosen][1]
        store.put(msgspec.structs.replace(row, cost_per_hour=9_999.0))
        await run.until(lambda: table.cursor_place == 0, "the first place")
        assert run.cursor == chosen
        assert chosen in table.visible_ids()


async def test_the_sort_menu_takes_a_letter_and_turns_round() -> None:
    async with console() as run:
        await run.press("o", "l")
        assert run.app.fleet_screen.table.selection.sort == "label"
        await run.press("o", "enter")
        assert run.app.fleet_screen.table.selection.descending


ROWS = st.lists(
    st.builds(
        FleetRow,
        instance_id=st.integers(1, 30),
        stage=st.sampled_from(Stage),
        machine_id=st.none() | st.integers(1, 4),
    ),
    max_size=20,
    unique_by=lambda row: row.instance_id,
)


@given(ROWS, ROWS, st.sampled_from(["", *GROUPINGS]))
def test_a_still_order_has_every_row_once_and_moves_none(
    before: list[FleetRow], after: list[FleetRow], grouping: str
) -> None:
    lines = arrange(before, grouping, {})
    still = arrange_still(lines, after, grouping, {})
    ids = [line for line in still if not isinstance(line, Group)]
    assert sorted(ids) == sorted(row.instance_id for row in after)
    kept = [line for line in lines if line in ids]
    assert [item for item in ids if item in kept] == kept
    heads = [line for line in still if isinstance(line, Group)]
    assert sum(head.count for head in heads) == (len(ids) if grouping else 0)


@given(st.lists(st.integers(0, 20), unique=True), st.lists(st.integers(0, 20), max_size=8))
def test_marks_never_hold_what_is_gone(order: list[int], toggled: list[int]) -> None:
    marks = Marks()
    for item in toggled:
        marks.toggle(item)
        marks.extend(order, item)
    rows = {item: FleetRow(instance_id=item, stage=Stage.RUNNING) for item in order}
    live = marks.live(rows, order)
    assert set(live) <= set(order)
    assert live == [item for item in order if item in set(live)]


@given(
    st.integers(0, 300), st.lists(st.sampled_from(sorted(BY_NAME)), unique=True), st.booleans(),
    st.integers(0, 20),
)  # fmt: skip
def test_columns_never_take_more_than_there_is(
    width: int, names: list[str], wide: bool, skip: int
) -> None:
    found = layout(width, names, wide=wide, skip=skip)
    sizes = [size for _, size in found.columns]
    assert all(size >= 0 for size in sizes)
    assert sum(sizes) + max(len([s for s in sizes if s]) - 1, 0) <= max(width - 1, 0) or width < 45
