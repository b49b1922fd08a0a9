"""Every verb of the command line. Imports lazily: `--help` loads no screen and no network."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from cyclopts import App, Parameter

from fleetui import __version__, config

if TYPE_CHECKING:
    from fleetui.domain.check import Check
    from fleetui.store.sqlite import SqliteStore

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


def main() -> None:
    """Run the command line; the exit status is 0 fine, 1 a bad state, 2 wrong use."""
    try:
        result = app(result_action="return_value")
    except config.ConfigError as error:
        _refuse(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader went away (`| head`); say nothing more on that pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    sys.exit(result if isinstance(result, int) else 0)


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
    from fleetui.collector.launch import CollectorLaunchError, ensure_collector

    flags = {
        "state_dir": state_dir,
        "api_url": api_url,
        "read_only": read_only,
        "ascii_only": ascii_only,
    }
    settings = config.load(flags)
    notice = ""
    try:
        ensure_collector(settings)
    except CollectorLaunchError as error:
        # On a terminal the screen itself explains what is missing.
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            _refuse(str(error))
        notice = str(error)
    account = settings.api_url.removeprefix("https://")
    return _run(_show(settings, account=account, clock=settings.clock, notice=notice))


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
    print(_json([to_builtins(check) for check in checks]) if as_json else text_of(checks))
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
        return _run(_headless_demo(settings, for_seconds, as_json=as_json))
    return _run(_demo(settings, read_only=read_only, ascii_only=ascii_only))


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
        return _run(served)
    except ValueError as error:
        _refuse(str(error))


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
    return _run(_status(settings, as_json=as_json))


@app.command
def audit(
    *,
    state_dir: StateDir = None,
    limit: Annotated[int, Parameter(help="How many entries, the newest first.")] = 100,
    as_json: AsJson = False,
) -> int:
    """Print who asked for what, and what came of it."""
    settings = config.load({"state_dir": state_dir})
    return _run(_audit(settings, max(0, min(limit, MOST_ENTRIES)), as_json=as_json))


@app.command
def act(
    verb: Annotated[
        str,
        Parameter(
            help="restart-daemon, destroy, drain-destroy, stop, start, reboot, recycle, label,"
            " accept-host-key, protect, unprotect, blacklist or unblacklist."
        ),
    ],
    instance: Annotated[tuple[int, ...], Parameter(help="Ids of the instances.")],
    *,
    argument: Annotated[
        str | None,
        Parameter(help="The new label for `label`, the reason for `blacklist`."),
    ] = None,
    reason: Annotated[str, Parameter(help="Why, for the audit.")] = "asked for on a command line",
    dry_run: Annotated[bool, Parameter(negative="", help="Only say what would run.")] = False,
    yes: Annotated[bool, Parameter(negative="", help="Do not ask.")] = False,
    wait: Annotated[float, Parameter(help="Seconds to wait for the outcome.")] = 600.0,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> int:
    """Ask the collector for an action; exit status 0 when all was done, 1 when not."""
    from fleetui.domain.intent import Verb

    known = {str(name).replace("_", "-"): name for name in Verb}
    if verb.replace("_", "-") not in known:
        _refuse(f"no such action: {verb}; known: {', '.join(known)}")
    settings = config.load({"state_dir": state_dir})
    if settings.read_only and not dry_run:
        _refuse("read_only is set: nothing may be changed from here")
    wanted = known[verb.replace("_", "-")]
    if (argument is not None) != wanted.takes_argument:
        _refuse("`label` and `blacklist` need --argument (the new label, the reason); no other has")
    work = _act(
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
    return _run(work)


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
    return _run(_findings(settings, resolved=resolved, info=info, as_json=as_json))


@app.command
def ack(
    target: Annotated[str, Parameter(help="A finding's #id, its signature, or its category.")],
    *,
    note: Annotated[str, Parameter(help="Why, for the audit.")] = "",
    state_dir: StateDir = None,
) -> int:
    """Say that somebody has seen a finding; it stays quiet until it is over."""
    return _run(_decide(config.load({"state_dir": state_dir}), target, None, note))


@app.command
def snooze(
    target: Annotated[str, Parameter(help="A finding's #id, its signature, or its category.")],
    *,
    for_time: Annotated[str, Parameter(name="--for", help="How long: 30m, 2h, 1d.")] = "1h",
    note: Annotated[str, Parameter(help="Why, for the audit.")] = "",
    state_dir: StateDir = None,
) -> int:
    """Keep a finding quiet for a time; a signature also on hosts that get it meanwhile."""
    return _run(_decide(config.load({"state_dir": state_dir}), target, for_time, note))


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
        return _run(_diagnose_stored(settings, int(str(path)), as_json=as_json))
    try:
        if path.is_dir():
            answer = diagnose_folder(path)
        elif not path.exists():
            _refuse(f"{path}: no such file or folder")
        elif stream is None:
            _refuse(f"{path} is not a folder; for a single file say what it is with --stream KIND")
        else:
            answer = diagnose_file(path, stream)
    except DiagnoseError as error:
        _refuse(str(error))
    doubt = no_all_clear(answer)
    if as_json and doubt is not None:
        print(f"fleetui: {doubt}", file=sys.stderr)
    print(_json(answer) if as_json else answer_text(answer))
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
    return _run(_bundle(config.load({"state_dir": state_dir}), instance_id, output))


@app.command(name="demo-keeper", show=False)
def demo_keeper(*, folder: Path, lifeline: int, hosts: int, seed: int, speed: float) -> int:
    """Keep a demo's processes; started by `fleetui demo`."""
    from fleetui.demo import DemoSettings, keep

    return keep(folder, lifeline, DemoSettings(hosts=hosts, seed=seed, speed=speed))


async def _show(
    settings: config.Settings, *, account: str, clock: str, notice: str = "", own: bool = True
) -> int:
    """Show the console; `own`: it may start a collector for these settings."""
    from fleetui.console.terminal import mouse_wanted, prepare_terminal

    prepare_terminal(os.environ)
    from fleetui.console.app import FleetApp
    from fleetui.console.keymap import Keymap, KeymapError
    from fleetui.console.preferences import PreferenceFile
    from fleetui.console.shell import ShellSettings
    from fleetui.doctor import examine
    from fleetui.domain.clock import parse_clock
    from fleetui.store.interface import StoreError

    fleet_clock = parse_clock(clock)
    try:
        keymap = Keymap(settings.keys, read_only=settings.read_only)
    except KeymapError as error:
        _refuse(str(error))
    try:
        store = await _open(settings, clock)
    except StoreError as error:
        _refuse(str(error))
    async with contextlib.aclosing(store):
        screen = FleetApp(
            store,
            clock=fleet_clock,
            actor=_actor(),
            account=account,
            read_only=settings.read_only,
            ascii_only=settings.ascii_only,
            keymap=keymap,
            examine=partial(examine, settings) if own else None,
            start_collector=partial(_start_collector, settings) if own else None,
            notice=notice,
            theme=settings.theme,
            preferences=PreferenceFile(settings.state_dir / "console.json"),
            shell=ShellSettings(
                user=settings.ssh_user, key_files=settings.ssh_keys, use_agent=settings.ssh_agent
            ),
            save_folder=settings.state_dir / "saved",
        )
        for number in (signal.SIGTERM, signal.SIGHUP):
            # The terminal is given back in order, whoever ends the console.
            asyncio.get_running_loop().add_signal_handler(number, screen.exit)
        await screen.run_async(mouse=mouse_wanted(os.environ))
        return screen.return_code or 0


async def _start_collector(settings: config.Settings) -> str:
    """Start a collector beside the console; returns why it could not, empty when one runs."""
    from fleetui.collector.launch import CollectorLaunchError, ensure_collector

    try:
        await asyncio.to_thread(ensure_collector, settings)
    except CollectorLaunchError as error:
        return str(error)
    return ""


async def _demo(
    settings: Any,  # noqa: ANN401 - DemoSettings, imported lazily
    *,
    read_only: bool | None,
    ascii_only: bool | None,
) -> int:
    from fleetui.demo import DemoError, demo_fleet

    try:
        async with demo_fleet(settings) as (folder, environment):
            flags = {
                "state_dir": folder,
                "read_only": read_only,
                "ascii_only": ascii_only,
                # For `s`, the operator's own shell on a pretend host.
                "ssh_keys": [environment["FLEETUI_SSH_KEY"]],
                "ssh_agent": False,
            }
            clock = environment["FLEETUI_CLOCK"]
            return await _show(config.load(flags, {}), account="demo", clock=clock, own=False)
    except DemoError as error:
        _refuse(str(error), status=1)


async def _headless_demo(
    settings: Any,  # noqa: ANN401 - DemoSettings, imported lazily
    seconds: float,
    *,
    as_json: bool,
) -> int:
    from fleetui.demo import DemoError, demo_fleet
    from fleetui.reports.fleet import fleet_report, report_text

    try:
        async with demo_fleet(settings) as (folder, environment):
            store = await _open(
                config.load({"state_dir": folder}, {}), environment["FLEETUI_CLOCK"]
            )
            async with contextlib.aclosing(store):
                await asyncio.sleep(seconds)
                report = await fleet_report(store)
    except DemoError as error:
        _refuse(str(error), status=1)
    print(_json(report) if as_json else report_text(report))
    return 0


async def _status(settings: config.Settings, *, as_json: bool) -> int:
    from fleetui.domain.clock import parse_clock
    from fleetui.reports.fleet import status_report, status_text

    store = await _existing_store(settings)
    async with contextlib.aclosing(store):
        report = await status_report(store, parse_clock(settings.clock).now())
    print(_json(report) if as_json else status_text(report))
    return int(any(finding["severity"] == "critical" for finding in report["findings"]))


async def _audit(settings: config.Settings, limit: int, *, as_json: bool) -> int:
    from fleetui.domain.codec import to_builtins
    from fleetui.reports.audit import audit_text

    store = await _existing_store(settings)
    async with contextlib.aclosing(store):
        entries = await store.audit(limit=limit)
    print(_json([to_builtins(entry) for entry in entries]) if as_json else audit_text(entries))
    return 0


async def _act(
    settings: config.Settings,
    verb: Any,  # noqa: ANN401 - Verb, imported lazily
    instance_ids: tuple[int, ...],
    *,
    argument: str | None,
    reason: str,
    ask_first: bool,
    dry_run: bool,
    wait: float,
    as_json: bool,
) -> int:
    from fleetui.domain.clock import parse_clock
    from fleetui.domain.intent import IntentState
    from fleetui.reports import act

    store = await _existing_store(settings)
    async with contextlib.aclosing(store):
        try:
            rows = await act.targets(store, instance_ids)
        except act.ActError as error:
            _refuse(str(error))
        if dry_run:
            print(act.plan_text(verb, rows))
            return 0
        if not (await store.fleet()).lease_held:
            _refuse("no collector is running to do it: start `fleetui collect` or `fleetui`")
        if ask_first:
            print(act.plan_text(verb, rows), file=sys.stderr)
            _confirm(act.word_to_type(verb, rows))
        asked = await act.ask(
            store,
            verb,
            rows,
            clock=parse_clock(settings.clock),
            actor=_actor(),
            reason=reason,
            argument=argument,
        )
        intents = await act.outcomes(store, asked, patience_seconds=wait)
    print(_json(act.outcome_report(intents)) if as_json else act.outcome_text(intents))
    return int(any(intent.state is not IntentState.DONE for intent in intents))


def _confirm(word: str) -> None:
    """Have the word typed at a terminal; refuse everything else."""
    if not sys.stdin.isatty():
        _refuse("say --yes to act without a terminal to ask at")
    print(f"Type {word} to confirm: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() != word:
        _refuse("not confirmed: nothing was done", status=1)


async def _findings(settings: config.Settings, *, resolved: bool, info: bool, as_json: bool) -> int:
    from fleetui.domain.clock import parse_clock
    from fleetui.reports.findings import findings_report, findings_text, worst

    now = parse_clock(settings.clock).now()
    store = await _existing_store(settings)
    async with contextlib.aclosing(store):
        report = await findings_report(store, now, resolved=resolved, with_info=info)
    print(_json(report) if as_json else findings_text(report, now))
    return int(worst(report))


async def _decide(settings: config.Settings, target: str, snooze_for: str | None, note: str) -> int:
    from fleetui.domain.clock import parse_clock
    from fleetui.reports.findings import DecisionError, acknowledge, snooze

    if settings.read_only:
        _refuse("read_only is set: nothing may be changed from here")
    clock = parse_clock(settings.clock)
    store = await _existing_store(settings)
    async with contextlib.aclosing(store):
        try:
            if snooze_for is None:
                said = await acknowledge(store, target, clock=clock, actor=_actor(), note=note)
            else:
                said = await snooze(
                    store, target, snooze_for, clock=clock, actor=_actor(), note=note
                )
        except DecisionError as error:
            _refuse(str(error))
    print(said)
    return 0


async def _diagnose_stored(settings: config.Settings, instance_id: int, *, as_json: bool) -> int:
    from fleetui.domain.clock import parse_clock
    from fleetui.reports.diagnose import answer_text
    from fleetui.reports.inquest import InquestError, diagnose_instance, notes_on

    now = parse_clock(settings.clock).now()
    store = await _existing_store(settings)
    async with contextlib.aclosing(store):
        try:
            answer = await diagnose_instance(store, instance_id)
        except InquestError as error:
            _refuse(str(error))
        notes = [] if as_json else await notes_on(store, instance_id, now)
    print(_json(answer) if as_json else "\n".join([answer_text(answer), "", *notes]))
    return int(any(finding["severity"] == "critical" for finding in answer["findings"]))


async def _bundle(settings: config.Settings, instance_id: int, output: Path | None) -> int:
    from fleetui.domain.clock import parse_clock
    from fleetui.reports.bundle import default_name, write_bundle
    from fleetui.reports.inquest import InquestError

    now = parse_clock(settings.clock).now()
    target = output or default_name(instance_id, now)
    store = await _existing_store(settings)
    async with contextlib.aclosing(store):
        try:
            await write_bundle(store, instance_id, target, now)
        except (InquestError, OSError) as error:
            _refuse(str(error))
    print(target)
    return 0


async def _existing_store(settings: config.Settings) -> "SqliteStore":
    from fleetui.store.interface import StoreError

    if not settings.store_path.exists():
        _refuse(
            f"no store at {settings.store_path}: start `fleetui` or `fleetui collect` first,"
            " or name its folder with --state-dir"
        )
    try:
        return await _open(settings, settings.clock)
    except StoreError as error:
        _refuse(str(error))


async def _open(settings: config.Settings, clock: str) -> "SqliteStore":
    from fleetui.domain.clock import parse_clock
    from fleetui.store.sqlite import SqliteStore

    return await SqliteStore.open(settings.store_path, clock=parse_clock(clock), viewer=True)


def _actor() -> str:
    """Say who sits here, for the audit: user and host, and where an SSH login came from."""
    import getpass
    import platform

    origin = os.environ.get("SSH_CONNECTION", "").split(" ")[0]
    return f"{getpass.getuser()}@{platform.node()}" + (f" from {origin}" if origin else "")


def _run(work: Coroutine[Any, Any, int]) -> int:
    return asyncio.run(work)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _refuse(message: str, status: int = 2) -> NoReturn:
    print(f"fleetui: {message}", file=sys.stderr)
    sys.exit(status)
