"""All that can be done from the console, and what is said before it."""

import msgspec
import pytest
from textual.widgets import Input

from console_pilot import NOW, Console, console
from fleetui.console.action import Action
from fleetui.console.command_desk import LOOKS
from fleetui.console.keymap import Keymap
from fleetui.console.losses import loss_of_many, loss_of_one
from fleetui.console.modals.command import CommandLine
from fleetui.console.modals.confirm import TITLES, ConfirmDialog
from fleetui.console.modals.reading import ReadingView
from fleetui.console.screens.answers import AnswersScreen
from fleetui.domain.answer import Answer
from fleetui.domain.command import parse_command
from fleetui.domain.host import SshState
from fleetui.domain.intent import ANYWAY, Intent, IntentState, Verb
from fleetui.domain.policy import Proposal
from fleetui.domain.reading import FleetRow
from fleetui.domain.role import Role
from fleetui.domain.stage import Stage
from fleetui.domain.text import sanitise
from fleetui.store.interface import LogMissing
from sample_fleet import build

FAILED, RUNNING = 20110148, 20110000


def asked(run: Console) -> list[Intent]:
    return [intent for intent in run.store.intent_list if intent.intent_id != "a1"]


async def dialog_of(run: Console) -> ConfirmDialog:
    await run.until(lambda: isinstance(run.app.screen, ConfirmDialog), "the dialog")
    dialog = run.app.screen
    assert isinstance(dialog, ConfirmDialog)
    await run.until(lambda: dialog.is_drawn, "the dialog drawn")
    return dialog


def settle(run: Console, intent: Intent, state: IntentState, result: str) -> None:
    place = run.store.intent_list.index(intent)
    run.store.intent_list[place] = msgspec.structs.replace(
        intent, state=state, result=sanitise(result)
    )


def answer(run: Console, intent: Intent, *lines: str) -> None:
    settle(run, intent, IntentState.DONE, "exit status 0")
    run.store.answers_by_id[intent.intent_id] = Answer(
        intent_id=intent.intent_id, instance_id=intent.instance_id, at=NOW,
        command=sanitise("uname -r"), exit_status=0, lines=tuple(map(sanitise, lines)),
    )  # fmt: skip


def test_every_act_is_a_command_of_the_fleet_and_of_an_instance() -> None:
    def calls(actions: tuple[Action, ...]) -> set[str]:
        return {action.name for action in actions}

    keymap = Keymap()
    for scope in ("fleet", "instance"):
        for verb in set(TITLES) - {Verb.ACCEPT_HOST_KEY}:
            assert f"act('{verb}')" in calls(keymap.actions(scope))
        assert {"accept_key", "run('')"} <= calls(keymap.actions(scope))
    assert set(TITLES) | {Verb.RUN, Verb.READ_OLDER, Verb.DEPLOY} == set(Verb)


def test_the_offered_commands_only_look() -> None:
    for command in LOOKS:
        assert parse_command(command).script


async def test_a_label_is_typed_seen_and_confirmed() -> None:
    async with console() as run:
        await run.press("X", *"label ")
        await run.shows("label prover-04")
        await run.press(*"new name", "enter")
        dialog = await dialog_of(run)
        await run.shows("label: prover-04 becomes new name")
        assert dialog.request.typed == ""
        await run.press("y")
        await run.until(lambda: asked(run), "the intent")
        (intent,) = asked(run)
        assert (intent.verb, intent.argument) == (Verb.LABEL, "new name")


async def test_a_blacklisting_asks_why() -> None:
    async with console(keymap=Keymap({"fleet.blacklist": "H"})) as run:
        await run.press("H")
        await run.until(lambda: isinstance(run.app.screen, CommandLine), "the question")
        assert run.app.screen.query_one(Input).value == "blacklist "
        await run.press(*"slow disk", "enter")
        await dialog_of(run)
        await run.shows("machine 41004: slow disk")
        await run.press("y")
        await run.until(lambda: asked(run), "the intent")
        assert asked(run)[0].argument == "slow disk"


async def test_who_types_acts_on_what_was_chosen_before() -> None:
    async with console() as run:
        await run.press("X", *"label x")
        run.store.remove(FAILED)
        await run.until(lambda: FAILED not in run.app.state.rows, "it is gone")
        await run.press("enter")
        await run.shows("there is no such instance any more")
        await run.until(lambda: run.cursor not in (None, FAILED), "another row")
        assert run.app.fleet_screen.targets() == [run.cursor]


async def test_a_new_benchmark_loses_only_work_that_was_seen() -> None:
    async with console() as run:
        rows = run.app.state.rows
        idle = next(item for item, row in rows.items() if row.stage is Stage.BENCH_DONE)
        run.app.acts.ask(Verb.RESTART_BENCHMARK, [RUNNING, idle])
        await dialog_of(run)
        await run.shows("work in flight is lost on 1 of them")
        await run.press("2", "enter")
        await run.until(lambda: len(asked(run)) == 2, "the intents")
        assert {i.instance_id: i.argument for i in asked(run)} == {RUNNING: ANYWAY, idle: None}


async def test_protected_ones_are_left_out() -> None:
    store = build(24, now=NOW)
    store.put(msgspec.structs.replace(store.rows[RUNNING][1], protected=True))
    async with console(store) as run:
        run.app.acts.ask(Verb.STOP, [RUNNING])
        await run.shows(f"protected, and left out: {RUNNING}")
        run.app.acts.ask(Verb.STOP, [RUNNING, FAILED])
        assert [row.instance_id for row in (await dialog_of(run)).request.rows] == [FAILED]
        await run.press("escape")
        run.app.acts.ask(Verb.UNPROTECT, [RUNNING])
        await dialog_of(run)


# -- a command on marked hosts ---------------------------------------------------------------------


async def test_a_command_on_marked_hosts_is_compared() -> None:
    async with console() as run:
        await run.press("space", "space", "space", "space", "e", *"uname -r", "enter")
        await run.until(lambda: isinstance(run.app.screen, AnswersScreen), "the answers")
        assert len(asked(run)) == 4
        await run.shows("0 of 4")
        one, two, three, four = asked(run)
        assert all((i.verb, i.argument) == (Verb.RUN, "uname -r") for i in asked(run))
        answer(run, one, "6.1.0", "a")
        await run.shows("1 of 4")
        answer(run, two, "6.1.0", "a")
        answer(run, three, "5.15.0", "a")
        settle(run, four, IntentState.REFUSED, "no SSH connection (lost)")
        await run.shows("3 of 4 hosts answered")
        for words in ("2 hosts answered the same", "1 host differs", "- 6.1.0", "+ 5.15.0"):
            await run.shows(words)
        await run.shows(f"no answer: {four.instance_id}")
        await run.shows("no SSH connection (lost)")
        await run.press("w")
        await run.until(lambda: "- 6.1.0" not in run.text, "whole answers")
        await run.press("n")
        await run.shows("3 hosts answered the same")
        await run.press("n", "j", "f")
        await run.until(lambda: run.app.screen is run.app.fleet_screen, "the fleet")
        assert run.app.fleet_screen.table.marks.ids == {three.instance_id}
        await run.press("6")
        await run.shows("(uname -r) no SSH connection")
        await run.press("enter")
        await run.shows("3 of 4 hosts answered")
        await run.press("escape")
        await run.shows("intents")


async def test_a_command_that_does_more_than_look_is_refused_with_its_reason() -> None:
    async with console() as run:
        await run.press("e", *"rm x", "enter")
        await run.shows("not run: rm")
        assert run.app.screen.query_one(Input).value == "run rm x"
        await run.press("backspace")
        await run.until(lambda: "not run" not in run.text, "the reason is gone")
        await run.press("escape")
        assert not asked(run)


# -- proposals -------------------------------------------------------------------------------------


def proposal(verb: Verb, mode: str = "ask") -> Proposal:
    text = sanitise("40 proofs/h, the minimum is 57")
    return Proposal(
        rule="rate_below_minimum", mode=mode, text=text, instance_id=RUNNING, verb=verb,
        since=NOW - 600,
    )  # fmt: skip


async def test_a_proposal_is_counted_and_accepted_in_the_usual_dialog() -> None:
    store = build(24, now=NOW)
    store.proposal_list = (proposal(Verb.DESTROY), proposal(Verb.STOP, mode="observe"))
    async with console(store) as run:
        await run.shows("1 proposal of your rules")
        await run.press("4")
        await run.shows("your rules propose")
        await run.shows("A accepts")
        await run.shows("40 proofs/h, the minimum is 57")
        await run.press("A")
        dialog = await dialog_of(run)
        await run.shows("because rate_below_minimum: 40 proofs/h")
        assert dialog.request.typed == "0000"
        await run.press("y", "enter")
        await run.until(lambda: not isinstance(run.app.screen, ConfirmDialog), "cancelled")
        assert not asked(run)
        await run.press("A")
        await dialog_of(run)
        await run.press(*"0000", "enter")
        await run.until(lambda: asked(run), "the intent")
        (intent,) = asked(run)
        assert (intent.verb, intent.instance_id) == (Verb.DESTROY, RUNNING)
        assert intent.reason.startswith("rate_below_minimum: 40")
        await run.press("j", "A")
        await run.shows("no proposal is chosen")
        await run.press("G")
        await run.shows("(observe)")


# -- taking back -----------------------------------------------------------------------------------


async def test_u_takes_back_what_no_collector_has_taken() -> None:
    store = build(24, now=NOW)
    store.lease_held = False
    async with console(store) as run:
        await run.press("R")
        await dialog_of(run)
        await run.press("y")
        await run.shows("but none runs")
        await run.press("6")
        await run.shows("no collector runs, lapses in 15m; u takes it back")
        await run.press("u")
        await run.shows("taken back: nothing was done")
        await run.shows("withdrawn by ana@ops")
        (intent,) = asked(run)
        assert intent.state is IntentState.REFUSED
        assert intent.instance_id not in run.app.state.acting
        await run.press("u")
        await run.shows("nothing is pending, and no request waits")


async def test_u_in_the_fleet_takes_back_what_waits_on_the_row() -> None:
    async with console() as run:
        await run.press("R")
        await dialog_of(run)
        await run.press("y")
        await run.until(lambda: asked(run), "the intent")
        await run.press("j", "u")
        await run.shows("no request waits on")
        assert asked(run)[0].state is IntentState.REQUESTED
        await run.press("k", "u")
        await run.until(lambda: asked(run)[0].state is IntentState.REFUSED, "withdrawn")
        settle(run, asked(run)[0], IntentState.RUNNING, "")
        await run.press("u")
        await run.shows("no request waits on")
        assert asked(run)[0].state is IntentState.RUNNING


# -- roles -----------------------------------------------------------------------------------------


async def test_an_operator_acts_but_loses_no_data() -> None:
    store = build(24, now=NOW)
    store.proposal_list = (proposal(Verb.DESTROY),)
    async with console(store, role=Role.OPERATOR) as run:
        await run.shows("RW no destroy")
        await run.press("D")
        await run.shows("role operator: destroy is not to be had here")
        assert run.app.screen is run.app.fleet_screen
        await run.press("colon", *"destroy")
        await run.shows("no such command")
        await run.press("escape")
        for verb in (Verb.DESTROY, Verb.DRAIN_DESTROY, Verb.RECYCLE):
            run.app.acts.ask(verb, [FAILED])
            await run.shows(f"may not {verb.value.replace('_', ' ')}: it needs owner")
        await run.press("4")
        await run.shows("your rules propose")
        await run.press("A")
        await run.shows("may not destroy")
        await run.press("q", "R")
        await dialog_of(run)
        await run.press("y")
        await run.until(lambda: asked(run), "an intent")
        (intent,) = asked(run)
        assert (intent.verb, intent.role) == (Verb.RESTART_DAEMON, Role.OPERATOR)


async def test_a_viewer_has_none_of_it_and_forged_calls_do_nothing() -> None:
    store = build(24, now=NOW)
    store.proposal_list = (proposal(Verb.DESTROY),)
    waiting = msgspec.structs.replace(
        store.intent_list[0], intent_id="b2", state=IntentState.REQUESTED, instance_id=FAILED
    )
    store.intent_list.append(waiting)
    async with console(store, role=Role.VIEWER) as run:
        await run.shows(" RO ")
        for verb in Verb:
            run.app.acts.ask(verb, [FAILED], argument="uptime")
        run.app.acts.run("uptime", [FAILED])
        await run.press("u", "e", "X", "D", "K")
        run.app.acts.take_back()
        await run.shows("read-only")
        await run.press("4")
        await run.shows("your rules propose")
        assert "accepts" not in run.text
        await run.press("A", "1", "colon")
        await run.until(lambda: isinstance(run.app.screen, CommandLine), "the commands")
        for word in ("restart", "label", "run ", "undo"):
            run.app.screen.query_one(Input).value = word
            await run.shows("no such command" if word != "run " else "run ")
        await run.press("escape")
        await run.pilot.pause()
        assert run.store.intent_list[-1] == waiting
        assert run.app.screen is run.app.fleet_screen


# -- what the dialog says --------------------------------------------------------------------------


async def test_a_destroy_of_what_proves_offers_the_drain() -> None:
    async with console() as run:
        run.app.acts.ask(Verb.DESTROY, [FAILED])
        await dialog_of(run)
        assert "(drain)" not in run.text
        await run.press("d")
        assert isinstance(run.app.screen, ConfirmDialog)
        await run.press("escape")
        run.app.acts.ask(Verb.DESTROY, [RUNNING])
        await dialog_of(run)
        await run.shows("d lets it end its proofs before (drain)")
        await run.press("d")
        await run.shows("Destroy for good after the proofs in flight?")
        assert (await dialog_of(run)).request.verb is Verb.DRAIN_DESTROY
        await run.press(*"0000", "enter")
        await run.until(lambda: asked(run), "the intent")
        assert asked(run)[0].verb is Verb.DRAIN_DESTROY


async def test_the_whole_script_can_be_read_with_its_secrets_masked() -> None:
    async def script_of(verb: Verb) -> str:
        if verb is not Verb.RESTART_DAEMON:
            return ""
        return "# stops it\nif x; then\n    API_TOKEN=abcdef123456 run\nfi"

    async with console(script_of=script_of) as run:
        await run.press("R")
        await dialog_of(run)
        await run.shows("the profile's script of 4 lines")
        await run.press("v")
        await run.until(lambda: isinstance(run.app.screen, ReadingView), "the script")
        await run.shows("    API_TOKEN=")
        assert "abcdef" not in run.text
        await run.press("escape", "escape")
        await run.shows("cancelled: nothing was done")


ROW = FleetRow(
    instance_id=7, stage=Stage.RUNNING, cost_per_hour=0.5, ssh=SshState.LOST,
    newest_byte_at=NOW - 120, progress_fraction=0.43, progress_text=sanitise("proof 3"),
)  # fmt: skip


def test_what_is_lost_is_told() -> None:
    def loss(verb: Verb, row: FleetRow, missing: LogMissing | None = None) -> str:
        lines = loss_of_one(verb, row, None, missing=missing, argument=None, now=NOW)
        return "\n".join(lines)

    destroy = loss(Verb.DESTROY, ROW, LogMissing(skipped=3_000_000))
    assert "in flight, lost: 43% done (proof 3)" in destroy
    assert "no last look can be kept before: SSH is lost" in destroy
    assert "what it logged in the last 2m is not stored" in destroy
    assert "of them were never read" in destroy
    assert "a replacement downloads the parameters again" in destroy
    connected = msgspec.structs.replace(ROW, ssh=SshState.CONNECTED)
    assert "a last look is kept before" in loss(Verb.RECYCLE, connected)
    assert "waited for: 43%" in loss(Verb.DRAIN_DESTROY, connected)
    assert "the parameters stay" in loss(Verb.REBOOT, ROW)
    assert "lost" not in loss(Verb.PROTECT, ROW)


@pytest.mark.parametrize("verb", [Verb.DESTROY, Verb.STOP, Verb.LABEL])
def test_what_many_lose_is_summed(verb: Verb) -> None:
    rows = [ROW, msgspec.structs.replace(ROW, instance_id=8, progress_fraction=0.9)]
    text = "\n".join(loss_of_many(verb, rows, sanitise("why")))
    assert ("work in flight is lost on 2 of them, up to 90% of it done" in text) == (
        verb is not Verb.LABEL
    )
    assert ("no last look can be kept of 2 of them" in text) == verb.loses_data
    assert "why" in text
