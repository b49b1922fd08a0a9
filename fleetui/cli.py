"""Every verb of the command line. Imports lazily: `--help` loads no screen and no network."""

import asyncio
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from fleetui import __version__, config, verbs

if TYPE_CHECKING:
    from fleetui.domain.check import Check

app = App(
    name="fleetui",
    version=__version__,
    help="Watch and steer a proving fleet on rented GPU instances. Try `fleetui demo` first.",
)

StateDir = Annotated[Path | None, Parameter(help="Folder of the store (default: user's state).")]
ApiUrl = Annotated[str | None, Parameter(help="Vast API to talk to (default: the real one).")]
AsJson = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON object.")]
Lifeline = Annotated[int | None, Parameter(show=False)]


MOST_ENTRIES = 100_000
MOST_DAYS = 3650


@app.default
def console(
    *,
    state_dir: StateDir = None,
    api_url: ApiUrl = None,
    read_only: Annotated[bool | None, Parameter(help="Bind no key that acts.")] = None,
    ascii_only: Annotated[
        bool | None, Parameter(name="--ascii", help="Draw with ASCII characters only.")
    ] = None,
) -> int:
    """Show the fleet; starts a collector when none runs."""
    flags = {
        "state_dir": state_dir,
        "api_url": api_url,
        "read_only": read_only,
        "ascii_only": ascii_only,
    }
    return verbs.open_console(flags)


@app.command
def doctor(*, state_dir: StateDir = None, api_url: ApiUrl = None, as_json: AsJson = False) -> int:
    """Check keys, SSH, store and terminal, and say how to mend each; status 1 when one is bad."""
    from fleetui.console.terminal_check import examine_terminal
    from fleetui.doctor import examine, text_of
    from fleetui.domain.codec import to_builtins

    settings = config.load({"state_dir": state_dir, "api_url": api_url})

    async def look() -> tuple["Check", ...]:
        size = shutil.get_terminal_size()
        terminal = await examine_terminal(os.environ, (size.columns, size.lines))
        return (*await examine(settings), *terminal)

    checks = asyncio.run(look())
    print(verbs.json_text([to_builtins(check) for check in checks]) if as_json else text_of(checks))
    return int(any(check.health == "bad" for check in checks))


@app.command
def demo(
    *,
    hosts: Annotated[int, Parameter(help="How many pretend instances.")] = 24,
    seed: Annotated[int, Parameter(help="Seed of everything in the pretend fleet.")] = 7,
    speed: Annotated[float, Parameter(help="How many times faster its time runs.")] = 20.0,
    headless: Annotated[bool, Parameter(negative="", help="Draw no screen.")] = False,
    for_seconds: Annotated[
        float, Parameter(name="--for", help="With --headless: seconds to run.")
    ] = 30.0,
    as_json: AsJson = False,
    read_only: Annotated[bool | None, Parameter(help="Bind no key that acts.")] = None,
    ascii_only: Annotated[
        bool | None, Parameter(name="--ascii", help="Draw with ASCII characters only.")
    ] = None,
) -> int:
    """Show a pretend fleet on this machine; needs no key and leaves nothing behind."""
    from fleetui.demo import DemoSettings

    settings = DemoSettings(hosts=hosts, seed=seed, speed=speed)
    if headless:
        return verbs.run(verbs.headless_demo(settings, for_seconds, as_json=as_json))
    return verbs.run(verbs.show_demo(settings, read_only=read_only, ascii_only=ascii_only))


@app.command
def simulate(
    *,
    env_file: Annotated[Path, Parameter(help="Where to write how to reach the fleet.")],
    hosts: Annotated[int, Parameter(help="How many pretend instances.")] = 24,
    seed: Annotated[int, Parameter(help="Seed of everything in the pretend fleet.")] = 7,
    speed: Annotated[float, Parameter(help="How many times faster its time runs.")] = 1.0,
    fault: Annotated[
        tuple[str, ...],
        Parameter(help="What is wrong from the start, as NAME or NAME=VALUE; may be repeated."),
    ] = (),
    lifeline: Lifeline = None,
) -> int:
    """Serve a pretend Vast API and pretend hosts over SSH on loopback, for any client."""
    from fleetui.simulator.run import serve

    served = serve(
        hosts=hosts, seed=seed, speed=speed, env_file=env_file, faults=fault, lifeline_fd=lifeline
    )
    try:
        return verbs.run(served)
    except ValueError as error:
        verbs.refuse(str(error))


@app.command
def collect(
    *,
    state_dir: StateDir = None,
    api_url: ApiUrl = None,
    auto: Annotated[bool, Parameter(show=False, negative="")] = False,
    lifeline: Lifeline = None,
) -> int:
    """Run the collector: ask the API, tail the hosts, read, write the store, act."""
    from fleetui.collector.launch import run_collector

    settings = config.load({"state_dir": state_dir, "api_url": api_url})
    return run_collector(settings, auto=auto, lifeline_fd=lifeline)


@app.command
def status(*, state_dir: StateDir = None, as_json: AsJson = False) -> int:
    """Print the fleet's state; exit status 1 when a finding is critical."""
    settings = config.load({"state_dir": state_dir})
    return verbs.run(verbs.print_status(settings, as_json=as_json))


@app.command
def audit(
    *,
    state_dir: StateDir = None,
    limit: Annotated[int, Parameter(help="How many entries, the newest first.")] = 100,
    as_json: AsJson = False,
) -> int:
    """Print who asked for what, and what came of it."""
    settings = config.load({"state_dir": state_dir})
    return verbs.run(verbs.print_audit(settings, max(0, min(limit, MOST_ENTRIES)), as_json=as_json))


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
def offers(
    query: Annotated[
        str | None,
        Parameter(
            help="In the official client's query language, e.g. 'gpu_name=RTX_4090 dph<0.6'."
        ),
    ] = None,
    *,
    sort: Annotated[
        Literal["proof", "price", "rate", "download"],
        Parameter(help="Expected $/proof, $/h, expected proofs/h, or time of the download."),
    ] = "proof",
    show_all: Annotated[
        bool, Parameter(name="--all", negative="", help="Also those of blacklisted machines.")
    ] = False,
    no_default: Annotated[
        bool,
        Parameter(negative="", help="Without verified=true external=false rentable=true."),
    ] = False,
    limit: Annotated[int, Parameter(help="How many at most.")] = 100,
    template: Annotated[str | None, Parameter(help="Whose disk the prices shall include.")] = None,
    state_dir: StateDir = None,
    api_url: ApiUrl = None,
    as_json: AsJson = False,
) -> int:
    """Search the market and rank the offers by what a proof is expected to cost."""
    from fleetui import offer_verbs

    work = offer_verbs.print_offers(
        config.load({"state_dir": state_dir, "api_url": api_url}),
        query,
        order=sort,
        defaults=not no_default,
        blacklisted=show_all,
        limit=max(limit, 0),
        template=template,
        as_json=as_json,
    )
    return verbs.run(work)


@app.command
def deploy(
    offer: Annotated[tuple[int, ...], Parameter(help="Ids of the offers.")],
    *,
    template: Annotated[
        str | None, Parameter(help="Template of the settings; not needed where there is one.")
    ] = None,
    reason: Annotated[str, Parameter(help="Why, for the audit.")] = "asked for on a command line",
    dry_run: Annotated[
        bool, Parameter(negative="", help="Only print the exact requests, secrets masked.")
    ] = False,
    yes: Annotated[bool, Parameter(negative="", help="Do not ask.")] = False,
    wait: Annotated[float, Parameter(help="Seconds to wait until they run.")] = 1900.0,
    state_dir: StateDir = None,
    api_url: ApiUrl = None,
    as_json: AsJson = False,
) -> int:
    """Rent offers; exit status 0 when all run, 1 when not."""
    from fleetui import offer_verbs

    work = offer_verbs.deploy_offers(
        config.load({"state_dir": state_dir, "api_url": api_url}),
        offer,
        template=template,
        reason=reason,
        dry_run=dry_run,
        ask_first=not yes,
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


@app.command
def money(
    *,
    state_dir: StateDir = None,
    days: Annotated[int, Parameter(help="How many days (UTC), the present one included.")] = 30,
    csv: Annotated[
        Literal["instances", "days", "stages"] | None,
        Parameter(help="Print this table as CSV instead."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Print what the fleet burns, what it cost by stage, day and instance, and per proof."""
    from fleetui.money_verbs import print_money

    if not 1 <= days <= MOST_DAYS:
        verbs.refuse(f"--days must lie between 1 and {MOST_DAYS}")
    settings = config.load({"state_dir": state_dir})
    return verbs.run(print_money(settings, days, table=csv, as_json=as_json))


@app.command
def hosts(
    *words: Annotated[str, Parameter(help="Machine id, GPU, place, finding; all must occur.")],
    state_dir: StateDir = None,
    sort: Annotated[
        Literal["machine", "rate", "running", "price", "proof", "download", "findings", "seen"],
        Parameter(help="What comes first."),
    ] = "proof",
    as_json: AsJson = False,
) -> int:
    """Print what is remembered of the machines that were rented; status 1 when none fits."""
    from fleetui.money_verbs import print_hosts

    settings = config.load({"state_dir": state_dir})
    return verbs.run(print_hosts(settings, words, sort, as_json=as_json))


@app.command
def findings(
    *,
    state_dir: StateDir = None,
    resolved: Annotated[bool, Parameter(negative="", help="Also those that are over.")] = False,
    info: Annotated[bool, Parameter(negative="", help="Also those for information only.")] = False,
    as_json: AsJson = False,
) -> int:
    """Print what is wrong, grouped by signature; exit status 1 when a critical one is open."""
    settings = config.load({"state_dir": state_dir})
    return verbs.run(verbs.print_findings(settings, resolved=resolved, info=info, as_json=as_json))


@app.command
def ack(
    target: Annotated[str, Parameter(help="A finding's #id, its signature, or its category.")],
    *,
    note: Annotated[str, Parameter(help="Why, for the audit.")] = "",
    state_dir: StateDir = None,
) -> int:
    """Say that somebody has seen a finding; it stays quiet until it is over."""
    return verbs.run(verbs.decide(config.load({"state_dir": state_dir}), target, None, note))


@app.command
def snooze(
    target: Annotated[str, Parameter(help="A finding's #id, its signature, or its category.")],
    *,
    for_time: Annotated[str, Parameter(name="--for", help="How long: 30m, 2h, 1d.")] = "1h",
    note: Annotated[str, Parameter(help="Why, for the audit.")] = "",
    state_dir: StateDir = None,
) -> int:
    """Keep a finding quiet for a time; a signature also on hosts that get it meanwhile."""
    return verbs.run(verbs.decide(config.load({"state_dir": state_dir}), target, for_time, note))


@app.command
def diagnose(
    path: Annotated[
        Path, Parameter(help="A host's folder (fs/, probe/), one file, or an instance's id.")
    ],
    *,
    state_dir: StateDir = None,
    stream: Annotated[
        str | None,
        Parameter(
            help="What a single file is a log of: dmesg, daemon, bench, setup, curio, vast,"
            " nvidia_smi or ssh."
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Name the root cause in a folder, a file, or of an instance, also when it is gone.

    The exit status is 1 when a finding is critical.
    """
    from fleetui.reports.diagnose import (
        DiagnoseError,
        answer_text,
        diagnose_file,
        diagnose_folder,
        no_all_clear,
    )

    if str(path).isascii() and str(path).isdigit() and not path.exists():
        settings = config.load({"state_dir": state_dir})
        return verbs.run(verbs.diagnose_stored(settings, int(str(path)), as_json=as_json))
    try:
        if path.is_dir():
            answer = diagnose_folder(path)
        elif not path.exists():
            verbs.refuse(f"{path}: no such file or folder")
        elif stream is None:
            verbs.refuse(
                f"{path} is not a folder; for a single file say what it is with --stream KIND"
            )
        else:
            answer = diagnose_file(path, stream)
    except DiagnoseError as error:
        verbs.refuse(str(error))
    for unread in answer.unread:
        print(f"fleetui: left out, as it cannot be read: {unread}", file=sys.stderr)
    doubt = no_all_clear(answer)
    if as_json and doubt is not None:
        print(f"fleetui: {doubt}", file=sys.stderr)
    print(verbs.json_text(answer) if as_json else answer_text(answer))
    return int(any(finding["severity"] == "critical" for finding in answer["findings"]))


@app.command
def bundle(
    instance_id: int,
    *,
    output: Annotated[
        Path | None, Parameter(name=["-o", "--output"], help="The archive: .tar.gz or .zip.")
    ] = None,
    state_dir: StateDir = None,
) -> int:
    """Write all that is known of an instance to one archive, secrets masked."""
    return verbs.run(verbs.bundle_up(config.load({"state_dir": state_dir}), instance_id, output))


@app.command(name="demo-keeper", show=False)
def demo_keeper(*, folder: Path, lifeline: int, hosts: int, seed: int, speed: float) -> int:
    """Keep a demo's processes; started by `fleetui demo`."""
    from fleetui.demo import DemoSettings, keep

    return keep(folder, lifeline, DemoSettings(hosts=hosts, seed=seed, speed=speed))
