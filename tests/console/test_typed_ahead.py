from textual.events import Key

from console_pilot import Console, StillClock, console
from fleetui.console.app import FleetApp
from fleetui.console.modals.command import CommandLine
from fleetui.console.modals.confirm import ConfirmDialog
from fleetui.console.widgets.prompt import PromptLine
from sample_fleet import build

NAMES = {"/": "slash", ":": "colon", "\r": "enter", "\x1b": "escape"}


def burst(run: Console, text: str) -> None:
    """Send keys all at once, as a lagging line does."""
    driver = run.app._driver
    assert driver is not None
    for character in text:
        name = NAMES.get(character, character)
        driver.send_message(Key(name, character if character.isprintable() else None))


async def test_letters_that_follow_a_slash_at_once_go_into_the_filter() -> None:
    async with console() as run:
        burst(run, "j/gpu")
        line = run.app.fleet_screen.filter_line
        await run.until(lambda: line.value == "gpu", "the filter's text")
        assert line.has_focus
        assert not run.app.frozen
        await run.shows("enter keep")
        assert "D destroy" not in run.text
        burst(run, "\rp")
        await run.until(lambda: run.app.frozen, "the key after enter to act again")


async def test_letters_that_follow_a_colon_at_once_go_into_the_command_line() -> None:
    async with console() as run:
        burst(run, ":destroy")

        def typed() -> bool:
            screen = run.app.screen
            return isinstance(screen, CommandLine) and screen.text == "destroy"

        await run.until(typed, "the command line with all letters")


async def test_letters_that_follow_the_search_of_a_log_opened_in_the_same_burst() -> None:
    async with console() as run:
        burst(run, "l/proof")
        line = run.app.fleet_screen.log_pane.prompt
        await run.until(lambda: line.value == "proof", "the search's text")


async def test_esc_closes_a_line_that_lost_the_focus() -> None:
    async with console() as run:
        screen = run.app.fleet_screen
        await run.press("slash", "z", "z")
        screen.set_focus(screen.table)
        await run.press("escape")
        await run.until(lambda: not screen.filter_line.is_open, "the closed line")
        assert screen.filter_line.value == ""
        assert len(screen.table.order) == 24


async def test_a_key_typed_ahead_of_a_dialog_confirms_nothing() -> None:
    async with console() as run:
        burst(run, "Ry")
        await run.until(lambda: isinstance(run.app.screen, ConfirmDialog), "the dialog")
        await run.pilot.pause(0.2)
        assert isinstance(run.app.screen, ConfirmDialog)
        assert all(intent.intent_id == "a1" for intent in run.store.intent_list)


async def test_keys_before_the_first_screen_fill_no_hidden_line() -> None:
    app = FleetApp(build(24, now=0.0), clock=StillClock(), actor="ana", account="sample")
    early = [Key(letter, letter) for letter in "jjjj"]
    mount = app.on_mount

    def with_keys() -> None:
        for key in early:
            app.post_message(key)
        mount()
        for key in early:
            app.post_message(Key(key.key, key.character))

    app.on_mount = with_keys  # type: ignore[method-assign]  # the moment before the first screen
    async with app.run_test(size=(100, 30)) as pilot:
        run = Console(app, pilot, build(1, now=0.0))
        await run.shows("24 instances")
        assert [line.value for line in app.screen.query(PromptLine)] == [""]
        assert app.screen.focused is app.fleet_screen.table
        app.fleet_screen.filter_line.focus()
        await pilot.pause()
        assert app.screen.focused is app.fleet_screen.table
