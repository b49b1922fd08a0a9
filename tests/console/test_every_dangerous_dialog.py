"""Every act's dialog under everything but the exact confirmation, and then that one."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.events import Paste

from console_pilot import Console, console
from fleetui.console.modals.confirm import TITLES, ConfirmDialog
from fleetui.domain.intent import Intent, Verb

Trick = Callable[[Console, ConfirmDialog], Awaitable[None]]


def asked(run: Console) -> list[Intent]:
    return [intent for intent in run.store.intent_list if intent.intent_id != "a1"]


async def opened(run: Console, verb: Verb, targets: list[int]) -> ConfirmDialog:
    run.app.acts.ask(verb, targets, argument="words" if verb.takes_argument else "")
    await run.until(lambda: isinstance(run.app.screen, ConfirmDialog), "the dialog")
    dialog = run.app.screen
    assert isinstance(dialog, ConfirmDialog)
    await run.until(lambda: dialog.is_drawn, "the dialog drawn")
    return dialog


async def closed(run: Console) -> None:
    if isinstance(run.app.screen, ConfirmDialog):
        await run.press("escape")
    await run.until(lambda: run.app.screen is run.app.fleet_screen, "the fleet again")


def right_keys(dialog: ConfirmDialog) -> list[str]:
    return [*dialog.request.typed, "enter"] if dialog.request.typed else ["y"]


def pressing(*keys: str) -> Trick:
    async def trick(run: Console, dialog: ConfirmDialog) -> None:
        for key in keys:
            if run.app.screen is dialog:
                await run.press(key)

    return trick


async def paste(run: Console, dialog: ConfirmDialog) -> None:
    text = dialog.request.typed or "y"
    dialog.post_message(Paste(text + "\n"))
    await run.shows("a paste confirms nothing")
    await run.press("enter")


async def click_beside(run: Console, dialog: ConfirmDialog) -> None:
    box = dialog.query_one("#dialog").region
    for offset in ((0, 0), (box.x - 2, box.y), (box.x + 1, box.bottom + 1)):
        await run.pilot.click(offset=offset)
    assert run.app.screen is dialog


async def click_unarmed(run: Console, dialog: ConfirmDialog) -> None:
    if dialog.request.typed:
        await run.pilot.click("#accept")


async def nearly(run: Console, dialog: ConfirmDialog) -> None:
    typed = dialog.request.typed
    if typed:
        last = str((int(typed[-1]) + 1) % 10)
        await pressing(*typed[:-1], last, "enter")(run, dialog)
        await run.shows("that is not")
        await pressing(*typed[:-1], "enter")(run, dialog)
    else:
        await pressing("Y", "1", "e", "s")(run, dialog)


TRICKS: dict[str, Trick] = {
    "enter": pressing("enter"),
    "enter held": pressing(*["enter"] * 5),
    "esc": pressing("escape"),
    "space held": pressing(*["space"] * 5),
    "opening keys held": pressing(*"RRRRDDDD", "f9", "f9", "K", "X"),
    "caps lock": pressing("Y", "D", "R", "Q"),
    "tab and enter": pressing("tab", "tab", "enter"),
    "back tab, space, enter": pressing("shift+tab", "space", "enter"),
    "paste": paste,
    "click beside": click_beside,
    "click on the button": click_unarmed,
    "nearly right": nearly,
}
MANY = ("enter held", "paste", "nearly right")


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
@pytest.mark.parametrize("verb", list(TITLES), ids=lambda verb: verb.value)
async def test_only_the_exact_confirmation_acts(verb: Verb, *, many: bool) -> None:
    async with console(hosts=6, size=(110, 32)) as run:
        targets = run.app.fleet_screen.table.order[: 3 if many else 1]
        for name in MANY if many else TRICKS:
            trick = TRICKS[name]
            dialog = await opened(run, verb, targets)
            await trick(run, dialog)
            await closed(run)
            assert not asked(run), name
        dialog = await opened(run, verb, targets)
        await run.press(*right_keys(dialog))
        await run.until(lambda: len(asked(run)) == len(targets), "the intents")
        assert [(item.verb, item.instance_id) for item in asked(run)] == [
            (verb, target) for target in targets
        ]


@pytest.mark.parametrize("verb", list(TITLES), ids=lambda verb: verb.value)
async def test_who_goes_meanwhile_is_no_target_any_more(verb: Verb) -> None:
    async with console(hosts=8, size=(110, 32)) as run:
        first, second, third = run.app.fleet_screen.table.order[:3]
        dialog = await opened(run, verb, [first])
        run.store.remove(first)
        await run.shows("the instance is gone")
        await run.press(*right_keys(dialog))
        await closed(run)
        assert not asked(run)
        dialog = await opened(run, verb, [second, third])
        run.store.remove(second)
        await run.shows(f"{second} is gone: 1 are left")
        await run.press(*right_keys(dialog))
        await run.until(lambda: asked(run), "an intent")
        await closed(run)
        assert [item.instance_id for item in asked(run)] == [third]


KEYS = st.sampled_from([*"0123456789yYnqDR", "enter", "escape", "backspace", "space", "tab"])


def expected(wanted: str, keys: list[str]) -> tuple[bool | None, int]:
    """Return whether the keys confirm (`None`: the dialog stays) and how many of them it takes."""
    typed = ""
    for count, key in enumerate(keys, 1):
        if key in {"escape", "q"} or (key == "enter" and not (wanted and typed)):
            return False, count
        if not wanted:
            if key == "y":
                return True, count
        elif key == "enter":
            if typed == wanted:
                return True, count
            typed = ""
        elif key == "backspace":
            typed = typed[:-1]
        elif key.isdigit() and len(typed) < len(wanted):
            typed += key
    return None, len(keys)


@settings(max_examples=4, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(list(TITLES)), st.lists(KEYS, max_size=9), st.booleans()),
        min_size=1,
        max_size=6,
    )
)
def test_any_keys_act_exactly_when_they_are_the_confirmation(
    rounds: list[tuple[Verb, list[str], bool]],
) -> None:
    async def play() -> None:
        async with console(hosts=8, size=(110, 32)) as run:
            targets = run.app.fleet_screen.table.order
            for place, (verb, noise, ends_right) in enumerate(rounds):
                dialog = await opened(run, verb, [targets[place]])
                wanted = dialog.request.typed
                keys = [*noise, *["backspace"] * 4, *right_keys(dialog)] if ends_right else noise
                confirms, count = expected(wanted, keys)
                before = len(asked(run))
                await run.press(*keys[:count])
                if confirms is None:
                    assert run.app.screen is dialog
                await closed(run)
                if confirms:
                    await run.until(lambda: len(asked(run)) > before, "the intent")  # noqa: B023 - awaited in its turn
                assert len(asked(run)) == before + bool(confirms)

    asyncio.run(play())
