"""Verbs that ask the collector for something."""

from typing import Annotated, Literal

from cyclopts import Parameter

from fleetui import config, verbs
from fleetui.cli.options import AsJson, StateDir, app


@app.command
def act(
    verb: Annotated[
        str,
        Parameter(
            help="restart-daemon, restart-benchmark, destroy, drain-destroy, stop, start, reboot,"
            " recycle, label, accept-host-key, protect, unprotect, blacklist, unblacklist or"
            " read-older (the next older part of a log); or withdraw, to take back what no"
            " collector has taken."
        ),
    ],
    instance: Annotated[tuple[int, ...], Parameter(help="Ids of the instances.")],
    *,
    argument: Annotated[
        str | None,
        Parameter(
            help="The new label for `label`, the reason for `blacklist`, the path of a log for"
            " `read-older`; `anyway` for"
            " `restart-benchmark` while a benchmark or a proof is at work."
        ),
    ] = None,
    reason: Annotated[str, Parameter(help="Why, for the audit.")] = "asked for on a command line",
    dry_run: Annotated[bool, Parameter(negative="", help="Only say what would run.")] = False,
    yes: Annotated[bool, Parameter(negative="", help="Do not ask.")] = False,
    wait: Annotated[float, Parameter(help="Seconds to wait for the outcome.")] = 600.0,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> int:
    """Ask the collector for an action; exit status 0 when all was done, 1 when not."""
    from fleetui import act_verbs
    from fleetui.domain.intent import ANYWAY, Verb

    settings = config.load({"state_dir": state_dir})
    if verb == "withdraw":
        if settings.read_only:
            verbs.refuse("read_only is set: nothing may be changed from here")
        return verbs.run(act_verbs.withdraw(settings, instance, as_json=as_json))
    known = {str(name).replace("_", "-"): name for name in Verb}
    wanted = known.get(verb.replace("_", "-"))
    if wanted is None:
        verbs.refuse(f"no such action: {verb}; known: {', '.join(known)}, withdraw")
    if wanted is Verb.DEPLOY:
        verbs.refuse("offers are rented by `fleetui deploy OFFER...`")
    if wanted is Verb.RUN:
        verbs.refuse("commands are run by `fleetui run COMMAND ID...`")
    if not dry_run:
        act_verbs.refuse_beyond_role(settings, wanted)
    if wanted is Verb.RESTART_BENCHMARK:
        fits = argument in (None, ANYWAY)
    else:
        fits = (argument is not None) == wanted.takes_argument
    if not fits:
        verbs.refuse(
            "`label`, `blacklist` and `read-older` need --argument (the new label, the reason, the"
            " path of a log),"
            f" `restart-benchmark` may have --argument {ANYWAY}; no other has one"
        )
    work = act_verbs.act_on(
        settings,
        wanted,
        instance,
        argument=argument,
        reason=reason,
        ask_first=not yes,
        dry_run=dry_run,
        wait=wait,
        as_json=as_json,
    )
    return verbs.run(work)


@app.command
def run(
    command: Annotated[str, Parameter(help="A command that only looks, e.g. 'nvidia-smi -L'.")],
    instance: Annotated[tuple[int, ...], Parameter(help="Ids of the instances.")] = (),
    *,
    everywhere: Annotated[
        bool, Parameter(name="--all", negative="", help="On all instances that are connected.")
    ] = False,
    ignore_numbers: Annotated[
        bool, Parameter(negative="", help="Numbers tell no difference between answers.")
    ] = False,
    wait: Annotated[float, Parameter(help="Seconds to wait for the answers.")] = 120.0,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> int:
    """Run a command that only looks on hosts and compare the answers.

    The exit status is 0 when all answered alike and without an error, 1 when not.
    """
    from fleetui import act_verbs
    from fleetui.domain.intent import Verb

    settings = config.load({"state_dir": state_dir})
    act_verbs.refuse_beyond_role(settings, Verb.RUN)
    if everywhere == bool(instance):
        verbs.refuse("name instances, or say --all")
    work = act_verbs.run_on(
        settings,
        command,
        instance,
        everywhere=everywhere,
        numbers=not ignore_numbers,
        wait=wait,
        as_json=as_json,
    )
    return verbs.run(work)


@app.command
def policy(
    verb: Annotated[
        Literal["show", "test", "accept"],
        Parameter(help="show the rules, test them on the stored past, or accept a proposal."),
    ] = "show",
    instance: Annotated[int | None, Parameter(help="With accept: the instance.")] = None,
    *,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> int:
    """Show what the owner's rules are and propose, or what they would have done."""
    settings = config.load({"state_dir": state_dir})
    if (verb == "accept") != (instance is not None):
        verbs.refuse("`policy accept` needs the id of one instance; show and test take none")
    if verb == "accept":
        from fleetui import act_verbs
        from fleetui.domain.intent import Verb

        act_verbs.refuse_beyond_role(settings, Verb.DESTROY)
    return verbs.run(verbs.apply_policy(settings, verb, instance, as_json=as_json))
