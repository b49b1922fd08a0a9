"""What the verbs that ask the collector for something do. Imports lazily, like `verbs`."""

import contextlib
import sys
from typing import TYPE_CHECKING

from fleetui import config
from fleetui.verbs import actor, existing_store, json_text, refuse, require_collector

if TYPE_CHECKING:
    from fleetui.domain.intent import Verb


def refuse_beyond_role(settings: config.Settings, verb: "Verb") -> None:
    """Refuse what these settings do not allow to ask for."""
    if settings.read_only and not verb.only_reads:
        refuse("read_only is set: nothing may be changed from here")
    if not settings.role_here.covers(verb.needs):
        refuse(f"the role {settings.role_here} may not ask for {verb}; it needs {verb.needs}")


async def act_on(
    settings: config.Settings,
    verb: "Verb",
    instance_ids: tuple[int, ...],
    *,
    argument: str | None,
    reason: str,
    ask_first: bool,
    dry_run: bool,
    wait: float,
    as_json: bool,
) -> int:
    """Ask for an action on instances and tell how it ended; 1 when not all was done."""
    from fleetui.domain.clock import parse_clock
    from fleetui.domain.intent import IntentState
    from fleetui.reports import act

    clock = parse_clock(settings.clock)
    store = await existing_store(settings)
    async with contextlib.aclosing(store):
        try:
            rows = await act.targets(store, instance_ids)
        except act.ActError as error:
            refuse(str(error))
        if dry_run:
            print(act.plan_text(verb, rows, argument))
            return 0
        await require_collector(store)
        if ask_first and not verb.only_reads:
            print(act.plan_text(verb, rows, argument), file=sys.stderr)
            confirm(act.word_to_type(verb, rows))
        asked = await act.ask(
            store,
            verb,
            rows,
            clock=clock,
            actor=actor(),
            role=settings.role_here,
            reason=reason,
            argument=argument,
        )
        intents = await act.outcomes(store, asked, patience_seconds=wait)
    print(json_text(act.outcome_report(intents)) if as_json else act.outcome_text(intents))
    return int(any(intent.state is not IntentState.DONE for intent in intents))


async def withdraw(
    settings: config.Settings, instance_ids: tuple[int, ...], *, as_json: bool
) -> int:
    """Take back what waits on these instances; 1 when nothing of one could be."""
    from fleetui.domain.clock import parse_clock
    from fleetui.reports import act

    clock = parse_clock(settings.clock)
    store = await existing_store(settings)
    async with contextlib.aclosing(store):
        intents = await act.withdraw(store, instance_ids, clock=clock, actor=actor())
    withdrawn = {intent.instance_id for intent in intents}
    missed = [instance_id for instance_id in instance_ids if instance_id not in withdrawn]
    for instance_id in missed:
        print(f"fleetui: no request waits on instance {instance_id}", file=sys.stderr)
    print(json_text(act.outcome_report(intents)) if as_json else act.outcome_text(intents))
    return int(bool(missed))


async def run_on(
    settings: config.Settings,
    command: str,
    instance_ids: tuple[int, ...],
    *,
    everywhere: bool,
    numbers: bool,
    wait: float,
    as_json: bool,
) -> int:
    """Run a command that only looks and compare the answers; 1 unless all answered alike."""
    from fleetui.domain.clock import parse_clock
    from fleetui.domain.command import CommandRefusedError, parse_command
    from fleetui.domain.intent import Verb
    from fleetui.reports import act, answers

    try:
        parse_command(command)
    except CommandRefusedError as error:
        refuse(str(error))
    clock = parse_clock(settings.clock)
    store = await existing_store(settings)
    async with contextlib.aclosing(store):
        try:
            rows = await act.targets(store, None if everywhere else instance_ids)
        except act.ActError as error:
            refuse(str(error))
        await require_collector(store)
        asked = await act.ask(
            store,
            Verb.RUN,
            rows,
            clock=clock,
            actor=actor(),
            role=settings.role_here,
            reason="asked for on a command line",
            argument=command,
        )
        intents = await act.outcomes(store, asked, patience_seconds=wait)
        found = await store.answers([intent.intent_id for intent in intents])
    report = answers.comparison(command, intents, found, numbers=numbers)
    print(json_text(answers.report(report)) if as_json else answers.text(report))
    return int(not report.alike)


def confirm(word: str) -> None:
    """Have the word typed at a terminal; refuse everything else."""
    if not sys.stdin.isatty():
        refuse("say --yes to act without a terminal to ask at")
    print(f"Type {word} to confirm: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() != word:
        refuse("not confirmed: nothing was done", status=1)
