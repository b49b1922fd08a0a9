import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_pilot import console
from fleetui.console.actions import ACTIONS, SCOPES
from fleetui.console.commands import candidates
from fleetui.console.filter_completion import completions
from fleetui.console.keymap import Keymap, KeymapError
from fleetui.console.screens.answers import AnswersScreen
from fleetui.console.screens.hosts import HostsScreen, MoneyScreen
from fleetui.console.screens.instance import InstanceScreen
from fleetui.console.screens.lists import FailuresScreen
from fleetui.console.screens.logs import LogsScreen
from fleetui.console.screens.offers import OffersScreen
from fleetui.console.screens.pulse import PulseScreen
from fleetui.domain.query import parse_query
from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage
from fleetui.domain.text import sanitise


async def test_the_command_line_finds_completes_and_runs() -> None:
    async with console() as run:
        await run.press("colon", *"sor")
        await run.shows("sort by a column")
        await run.press("tab", *"co")
        await run.shows("sort cost")
        await run.press("enter")
        assert run.app.fleet_screen.table.selection.sort == "cost"
        await run.press("ctrl+p", *"filter stage=warm", "enter")
        await run.shows("stage=warmup")
        rows = run.app.state.rows
        assert {rows[item].stage for item in run.app.fleet_screen.table.order} == {Stage.WARMUP}
        await run.press("colon", *"go prover-03", "enter")
        await run.shows("the filter hides")
        await run.press("escape", "colon", *"go prover-03", "enter")
        assert run.cursor == 20110111
        await run.press("colon", *"zzzz")
        await run.shows("no such command")
        await run.press("enter", "escape")
        assert run.app.screen is run.app.fleet_screen


async def test_commands_with_their_cursor_and_words() -> None:
    async with console() as run:
        await run.press("colon", *"turn round")
        await run.shows("turn the marks round")
        await run.press("down", "up", "down", "enter")
        assert len(run.app.fleet_screen.table.marks.ids) == 24


async def test_no_act_is_offered_when_read_only() -> None:
    async with console(read_only=True) as run:
        await run.press("colon", *"destroy")
        await run.shows("no such command")


async def test_every_action_is_a_method_somewhere() -> None:
    async with console() as run:
        await run.press("l")
        await run.shows("following")
        nodes: dict[str, list[object]] = {
            "app": [run.app],
            "fleet": [run.app.fleet_screen],
            "log": [run.app.fleet_screen.log_pane],
            "logs": [LogsScreen],
            "failures": [FailuresScreen],
            "instance": [InstanceScreen],
            "answers": [AnswersScreen],
            "hosts": [HostsScreen],
            "money": [MoneyScreen],
            "offers": [OffersScreen],
            "pulse": [PulseScreen],
            "lists": [run.app.fleet_screen.inspector],
        }
        for action in ACTIONS:
            for name in (action.name.partition("(")[0], action.with_argument):
                assert not name or any(
                    hasattr(node, f"action_{name}") for node in nodes.get(action.scope, [])
                ), action.id
            assert bool(action.argument) == bool(action.with_argument)


def test_command_words_are_plain_and_differ_where_they_meet() -> None:
    for scope in SCOPES:
        words = [a.command for a in ACTIONS if a.scope in (scope, "app")]
        doubled = {word for word in words if words.count(word) > 1}
        assert not doubled or scope != "fleet", doubled


async def test_the_filter_completes_from_the_fleet() -> None:
    async with console() as run:
        await run.press("slash", *"sta", "right", *"run", "right", "enter")
        await run.shows("stage=running")
        assert len(run.app.fleet_screen.table.order) < 24


ROW = FleetRow(
    instance_id=7, stage=Stage.WARMUP, gpu=sanitise("RTX 4090"), label=sanitise("a b"),
    geolocation=sanitise("Texas, US"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("st", "stage="), ("gpu=", 'gpu="RTX 4090"'), ("x stage=w", "x stage=warmup"),
        ("!lab", "!label="), ("rate<", "rate<min"), ("", None), ("geo~T", 'geo~"Texas, US"'),
    ],
)  # fmt: skip
def test_completions(typed: str, first: str | None) -> None:
    found = completions(typed, [ROW])
    assert (found[0] if found else None) == first or first in found


@given(st.text(max_size=30))
def test_any_text_completes_without_harm(text: str) -> None:
    for found in completions(text, [ROW]):
        assert found.startswith(text.rpartition(" ")[0])
    candidates(text, ACTIONS, lambda _kind, _begun: ["one", "two"])


def test_completed_values_are_filters() -> None:
    for typed in ("gpu=", "label=", "stage=", "geo=", "rate<", "ssh="):
        for found in completions(typed, [ROW]):
            assert parse_query(found).matches(ROW, 0.0) or "rate" in found


def test_keys_can_be_bound_anew() -> None:
    keymap = Keymap({"fleet.shell": "S", "app.command": [":", "f5"]})
    keys = {action.id: action.keys for action in keymap.all}
    assert keys["fleet.shell"] == ("S",)
    assert keys["app.command"] == ("colon", "f5")
    taken = {action.id: action.keys for action in Keymap({"fleet.range": "G"}).all}
    assert taken["fleet.bottom"] == ("end",)
    assert taken["log.bottom"] == ("G", "end")


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"fleet.shel": "S"}, "did you mean 'fleet.shell'"),
        ({"fleet.shell": "R"}, "fleet.restart is left without a key"),
        ({"fleet.shell": "escape"}, "cannot be given away"),
        ({"fleet.shell": "meta+x"}, "there is no key"),
        ({"fleet.shell": []}, "names no key"),
        ({"fleet.shell": "x", "fleet.open": "x"}, "would be both"),
        ({"fleet.destroy": "delete"}, "choose a less common key"),
    ],
)
def test_keys_that_cannot_be(own: dict[str, str | list[str]], words: str) -> None:
    with pytest.raises(KeymapError, match=words):
        Keymap(own)


async def test_a_key_of_ones_own_works_and_is_shown() -> None:
    async with console(keymap=Keymap({"fleet.log": "x"})) as run:
        await run.shows("x log")
        await run.press("l")
        assert not run.app.fleet_screen.has_class("-log")
        await run.press("x")
        await run.shows("following")
