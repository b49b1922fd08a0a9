import msgspec
import pytest
from textual.events import Paste

from console_pilot import Console, console
from fleetui.console.modals.confirm import ConfirmDialog
from fleetui.console.modals.dialog import Dialog
from fleetui.domain.intent import Intent, IntentState, Verb
from fleetui.domain.stage import Stage
from fleetui.domain.text import sanitise
from memory_store import MemoryStore, locked


def asked(store: MemoryStore) -> list[Intent]:
    return [intent for intent in store.intent_list if intent.intent_id != "a1"]


async def opened(run: Console, key: str) -> ConfirmDialog:
    await run.press(key)
    dialog = run.app.screen
    assert isinstance(dialog, ConfirmDialog)
    await run.until(lambda: dialog.query("#accept"), "the dialog's buttons")
    await run.pilot.pause()
    return dialog


@pytest.mark.parametrize(
    "keys",
    [
        ["enter"], ["escape"], ["q"], ["space", "escape"], ["Y", "escape"], ["tab", "enter"],
        ["R", "R", "R", "escape"], ["shift+tab", "space", "enter"], ["n", "escape"],
    ],
)  # fmt: skip
async def test_a_restart_needs_a_lower_case_y(keys: list[str]) -> None:
    async with console() as run:
        assert (await opened(run, "R")).request.verb is Verb.RESTART_DAEMON
        await run.shows("press y to restart; enter, esc or q cancels")
        await run.press(*keys)
        await run.until(lambda: run.app.screen is run.app.fleet_screen, "the fleet again")
        assert not asked(run.store)
        await run.shows("cancelled: nothing was done")


async def test_y_restarts_what_the_cursor_was_on() -> None:
    async with console() as run:
        await run.press("j")
        chosen = run.cursor
        assert chosen is not None
        row = run.app.state.rows[chosen]
        await opened(run, "R")
        await run.press("y")
        await run.until(lambda: asked(run.store), "an intent")
        (intent,) = asked(run.store)
        assert intent.verb is Verb.RESTART_DAEMON
        assert (intent.instance_id, intent.machine_id, intent.label) == (
            chosen, row.machine_id, row.label,
        )  # fmt: skip
        assert intent.actor == "ana@ops"
        assert intent.state is IntentState.REQUESTED
        await run.shows("restarting")


WRONG = [
    ["enter"], ["escape"], ["space", "escape"], ["y", "enter"], ["Y", "enter"],
    ["0", "0", "0", "0", "enter", "escape"], ["0", "1", "4", "enter", "escape"],
    ["0", "1", "4", "9", "enter", "enter"], ["tab", "enter"], ["tab", "tab", "enter"],
    ["D", "D", "D", "enter"], ["q"], ["0", "1", "4", "8", "backspace", "enter", "escape"],
    ["0", "1", "4", "8", "escape"], ["f9", "f9", "escape"],
]  # fmt: skip


@pytest.mark.parametrize("keys", WRONG)
async def test_a_destroy_needs_the_last_digits_and_enter(keys: list[str]) -> None:
    async with console() as run:
        assert run.cursor == 20110148
        dialog = await opened(run, "D")
        assert dialog.request.verb is Verb.DESTROY
        await run.press(*keys)
        await run.until(lambda: run.app.screen is run.app.fleet_screen, "the fleet again")
        assert not asked(run.store)


async def test_the_right_digits_destroy_and_the_row_says_so() -> None:
    async with console() as run:
        await opened(run, "D")
        await run.shows("all data on its disk is deleted")
        await run.shows("DELETE /api/v0/instances/20110148/")
        await run.press("0", "1", "4", "8")
        assert not asked(run.store)
        await run.press("enter")
        await run.until(lambda: asked(run.store), "an intent")
        (intent,) = asked(run.store)
        assert (intent.verb, intent.instance_id) == (Verb.DESTROY, 20110148)
        assert intent.machine_id == 41004
        assert intent.label == "prover-04"
        await run.shows("destroying")
        done = msgspec.structs.replace(
            intent, state=IntentState.REFUSED, result=sanitise("another machine [/] now")
        )
        run.store.intent_list[run.store.intent_list.index(intent)] = done
        await run.shows("refused, another machine [/] now")
        await run.until(lambda: "destroying" not in run.text, "the word is gone")


async def test_a_paste_confirms_nothing() -> None:
    async with console() as run:
        dialog = await opened(run, "D")
        dialog.post_message(Paste("0148\n"))
        await run.shows("a paste confirms nothing")
        await run.press("enter")
        await run.until(lambda: run.app.screen is run.app.fleet_screen, "the fleet again")
        dialog = await opened(run, "R")
        dialog.post_message(Paste("y"))
        await run.shows("a paste confirms nothing")
        await run.press("enter")
        assert not asked(run.store)


async def test_the_second_use_in_a_row_starts_from_nothing() -> None:
    async with console() as run:
        await opened(run, "D")
        await run.press("0", "1", "4", "8", "escape")
        await opened(run, "D")
        await run.press("enter")
        await run.until(lambda: run.app.screen is run.app.fleet_screen, "the fleet again")
        assert not asked(run.store)


async def test_the_mouse_can_cancel_and_cannot_destroy_unarmed() -> None:
    async with console() as run:
        await opened(run, "D")
        await run.pilot.click("#accept")
        assert isinstance(run.app.screen, ConfirmDialog)
        await run.pilot.click("#cancel")
        await run.until(lambda: run.app.screen is run.app.fleet_screen, "the fleet again")
        assert not asked(run.store)


async def test_a_target_that_changes_or_goes_disarms() -> None:
    async with console() as run:
        await opened(run, "D")
        await run.press("0", "1", "4", "8")
        row = run.store.rows[20110148][1]
        run.store.put(msgspec.structs.replace(row, stage=Stage.RUNNING))
        await run.shows("meanwhile it went from FAILED to running")
        await run.press("enter")
        assert not asked(run.store)
        await run.until(lambda: run.app.screen is run.app.fleet_screen, "the fleet again")
        await opened(run, "D")
        await run.press("0", "1", "4", "8")
        run.store.remove(20110148)
        await run.shows("the instance is gone")
        await run.press("enter")
        assert not asked(run.store)


async def test_the_order_stands_still_under_a_dialog() -> None:
    async with console() as run:
        await opened(run, "D")
        table = run.app.fleet_screen.table
        before = list(table.order)
        row = run.store.rows[before[-1]][1]
        run.store.put(
            msgspec.structs.replace(
                row, finding_severity=run.store.rows[before[0]][1].finding_severity
            )
        )
        await run.until(lambda: run.app.state.rows[before[-1]].finding_severity, "the new finding")
        await run.pilot.pause()
        assert table.order == before
        await run.press("escape")
        await run.until(lambda: table.order != before, "the new order")


async def test_a_destroy_can_be_taken_back() -> None:
    async with console(undo_seconds=60.0) as run:
        await opened(run, "D")
        await run.press("0", "1", "4", "8", "enter")
        await run.shows("u takes it back")
        assert not asked(run.store)
        await run.press("q")
        assert run.app.return_code is None
        await run.press("u")
        await run.shows("taken back: nothing was done")
        assert run.app.acts.pending is None
        assert not asked(run.store)


async def test_quitting_twice_takes_a_pending_destroy_back() -> None:
    async with console(undo_seconds=60.0) as run:
        await opened(run, "D")
        await run.press("0", "1", "4", "8", "enter")
        await run.shows("u takes it back")
        await run.press("q", "q")
        assert run.app.return_code == 0
        assert not asked(run.store)


async def test_after_the_countdown_the_intent_is_written() -> None:
    async with console(undo_seconds=0.3) as run:
        await opened(run, "D")
        await run.press("0", "1", "4", "8", "enter")
        await run.until(lambda: asked(run.store), "an intent")


async def test_a_store_that_refuses_is_said() -> None:
    async with console() as run:
        await opened(run, "R")
        run.store.trouble = locked()
        await run.press("y")
        await run.shows("was not asked for")
        assert not asked(run.store)


async def test_read_only_has_no_such_keys_and_refuses_forged_calls() -> None:
    async with console(read_only=True) as run:
        await run.shows(" RO ")
        assert "destroy" not in run.text.splitlines()[-1]
        for key in ("R", "D", "f9"):
            await run.press(key)
            assert run.app.screen is run.app.fleet_screen
            assert key not in run.app.fleet_screen.table._bindings.key_to_bindings
        for verb in Verb:
            run.app.acts.ask(verb, [20110148])
        assert run.app.screen is run.app.fleet_screen
        assert not asked(run.store)
        await run.press("question_mark")
        await run.shows("read-only")
        assert "destroy it" not in run.text


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20)])
@pytest.mark.parametrize("key", ["R", "D"])
async def test_nothing_of_the_confirmation_is_clipped_and_a_resize_is_harmless(
    size: tuple[int, int], key: str
) -> None:
    async with console(size=(140, 45)) as run:
        await opened(run, key)
        await run.pilot.resize_terminal(*size)
        await run.shows("Cancel (esc)")
        await run.shows("Restart (y)" if key == "R" else "Destroy (enter)")
        await run.shows("20110148")
        await run.pilot.resize_terminal(20, 5)
        await run.pilot.pause()
        await run.pilot.resize_terminal(140, 45)
        await run.press("escape")
        await run.until(lambda: run.app.screen is run.app.fleet_screen, "the fleet again")
        assert not asked(run.store)


@pytest.mark.parametrize("key", ["R", "D", "X", "T", "question_mark", "colon", "O"])
async def test_a_second_answer_on_its_way_takes_only_the_dialog_away(key: str) -> None:
    async with console() as run:
        await run.press(key)
        await run.until(lambda: run.app.screen is not run.app.fleet_screen, "a dialog")
        await run.pilot.pause()
        dialog = run.app.screen
        assert isinstance(dialog, Dialog)
        for _ in range(3):
            dialog.dismiss(None)
        await run.until(lambda: run.app.screen is run.app.fleet_screen, "the fleet again")
        await run.pilot.pause()
        assert run.app.screen is run.app.fleet_screen
        before = run.cursor
        await run.press("j")
        await run.until(lambda: run.cursor != before, "the table has the keys")


@pytest.mark.parametrize("key", ["R", "D"])
async def test_a_dialog_that_finds_no_room_to_ask_cancels_itself(key: str) -> None:
    async with console(size=(140, 45)) as run:
        await opened(run, key)
        await run.pilot.resize_terminal(40, 10)
        await run.shows("then enter" if key == "D" else "press y")
        await run.shows("Destroy (enter)" if key == "D" else "Restart (y)")
        assert "Cancel (esc)" in run.text
        assert "account" in run.text
        await run.pilot.resize_terminal(20, 5)
        await run.until(lambda: run.app.screen is run.app.fleet_screen, "no dialog")
        await run.pilot.resize_terminal(140, 45)
        before = run.cursor
        await run.press("j")
        await run.until(lambda: run.cursor != before, "the table has the keys again")
        assert not asked(run.store)
