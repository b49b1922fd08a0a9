"""What the verbs of the command line do. Imports lazily, as the command line itself does."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from fleetui import config

if TYPE_CHECKING:
    from fleetui.domain.check import Check
    from fleetui.domain.intent import Verb
    from fleetui.store.sqlite import SqliteStore


def open_console(flags: Mapping[str, Any]) -> int:
    """Show the fleet; the console starts a collector when none runs.

    Raises:
        ConfigError: the settings are wrong.
    """
    settings = config.load(flags)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        # Without a terminal there is no screen that could explain what is missing.
        from fleetui.collector.launch import CollectorLaunchError, ensure_collector

        try:
            ensure_collector(settings)
        except CollectorLaunchError as error:
            refuse(str(error))
    account = settings.api_url.removeprefix("https://")
    return run(show(settings, os.environ, account=account, clock=settings.clock))


async def show(
    settings: config.Settings,
    environment: Mapping[str, str],
    *,
    account: str,
    clock: str,
    own: bool = True,
) -> int:
    """Show the console; `environment` has the API's keys; `own`: it may start a collector."""
    from fleetui.console.terminal import mouse_wanted, prepare_terminal

    prepare_terminal(os.environ)
    from fleetui.console.app import FleetApp
    from fleetui.console.keymap import Keymap, KeymapError
    from fleetui.console.preferences import PreferenceFile
    from fleetui.console.shell import ShellSettings
    from fleetui.domain.clock import parse_clock
    from fleetui.market import VastMarket
    from fleetui.store.interface import StoreError

    fleet_clock = parse_clock(clock)
    try:
        keymap = Keymap(settings.keys, role=settings.role_here)
    except KeymapError as error:
        refuse(str(error))
    try:
        store = await open_store(settings, clock)
    except StoreError as error:
        refuse(str(error))
    async with contextlib.aclosing(store):
        screen = FleetApp(
            store,
            clock=fleet_clock,
            actor=actor(),
            account=account,
            role=settings.role_here,
            ascii_only=settings.ascii_only,
            keymap=keymap,
            examine=partial(_examine, settings) if own else None,
            policy=settings.policy,
            market=VastMarket(settings, environment),
            start_collector=partial(_start_collector, settings) if own else None,
            script_of=partial(_script_of, settings),
            expiry_seconds=settings.request_expiry_minutes * 60.0,
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


async def _examine(settings: config.Settings) -> "tuple[Check, ...]":
    """Let the doctor look at these settings."""
    from fleetui.doctor import examine

    return await examine(settings)


async def _script_of(settings: config.Settings, verb: "Verb") -> str:
    """Return the script that the profile has for a verb, empty when it has none."""
    from fleetui.profiles.loader import load
    from fleetui.profiles.model import ProfileError

    try:
        profile = await asyncio.to_thread(load, settings.profile, settings.profile_dir)
    except ProfileError as error:
        return f"# the profile cannot be read: {error}"
    action = profile.actions.get(verb.value)
    return action.script if action else ""


async def _start_collector(settings: config.Settings) -> str:
    """Start a collector beside the console; returns why it could not, empty when one runs."""
    from fleetui.collector.launch import CollectorLaunchError, ensure_collector

    try:
        await asyncio.to_thread(ensure_collector, settings)
    except CollectorLaunchError as error:
        return str(error)
    return ""


async def show_demo(
    demo: Any,  # noqa: ANN401 - DemoSettings, imported lazily
    *,
    read_only: bool | None,
    ascii_only: bool | None,
) -> int:
    """Show a pretend fleet until the screen is left."""
    from fleetui.demo import DemoError, config_file, demo_fleet

    try:
        async with demo_fleet(demo) as (folder, environment):
            flags = {
                "state_dir": folder,
                "api_url": environment["VAST_URL"],
                "read_only": read_only,
                "ascii_only": ascii_only,
                # For `s`, the operator's own shell on a pretend host.
                "ssh_keys": [environment["FLEETUI_SSH_KEY"]],
                "ssh_agent": False,
            }
            clock = environment["FLEETUI_CLOCK"]
            settings = config.load(flags, {"FLEETUI_CONFIG": str(config_file(folder))})
            return await show(settings, environment, account="demo", clock=clock, own=False)
    except DemoError as error:
        refuse(str(error), status=1)


async def headless_demo(
    settings: Any,  # noqa: ANN401 - DemoSettings, imported lazily
    seconds: float,
    *,
    as_json: bool,
) -> int:
    """Run a pretend fleet for some seconds and print its report."""
    from fleetui.demo import DemoError, demo_fleet
    from fleetui.reports.fleet import fleet_report, report_text

    try:
        async with demo_fleet(settings) as (folder, environment):
            store = await open_store(
                config.load({"state_dir": folder}, {}), environment["FLEETUI_CLOCK"]
            )
            async with contextlib.aclosing(store):
                await asyncio.sleep(seconds)
                report = await fleet_report(store)
    except DemoError as error:
        refuse(str(error), status=1)
    print(json_text(report) if as_json else report_text(report))
    return 0


async def print_status(settings: config.Settings, *, as_json: bool) -> int:
    """Print the fleet's state; 1 when an open finding is critical."""
    from fleetui.domain.clock import parse_clock
    from fleetui.reports.fleet import status_report, status_text

    store = await existing_store(settings)
    async with contextlib.aclosing(store):
        report = await status_report(store, parse_clock(settings.clock).now())
    print(json_text(report) if as_json else status_text(report))
    return int(
        any(
            finding["severity"] == "critical" and finding["state"] == "open"
            for finding in report["findings"]
        )
    )


async def print_audit(settings: config.Settings, limit: int, *, as_json: bool) -> int:
    """Print the newest entries of the audit."""
    from fleetui.domain.codec import to_builtins
    from fleetui.reports.audit import audit_text

    store = await existing_store(settings)
    async with contextlib.aclosing(store):
        entries = await store.audit(limit=limit)
    print(json_text([to_builtins(entry) for entry in entries]) if as_json else audit_text(entries))
    return 0


async def apply_policy(
    settings: config.Settings, verb: str, instance_id: int | None, *, as_json: bool
) -> int:
    """Show the owner's rules, replay the past with them, or accept what they propose."""
    from fleetui.domain.clock import parse_clock
    from fleetui.domain.codec import to_builtins
    from fleetui.profiles.loader import load
    from fleetui.reports import act
    from fleetui.reports import policy as rules

    clock = parse_clock(settings.clock)
    store = await existing_store(settings)
    async with contextlib.aclosing(store):
        if verb == "show":
            report = await rules.policy_report(store, settings.policy)
            print(json_text(report) if as_json else rules.policy_text(report))
            return 0
        if verb == "test":
            profile = load(settings.profile, settings.profile_dir)
            strikes = await rules.replay(store, profile, settings.policy)
            print(
                json_text([to_builtins(strike) for strike in strikes])
                if as_json
                else rules.replay_text(strikes, clock.now())
            )
            return 0
        try:
            rows = await act.targets(store, (instance_id or 0,))
        except act.ActError as error:
            refuse(str(error))
        proposed = [item for item in await store.proposals() if item.instance_id == instance_id]
        found = next((item for item in proposed if item.verb is not None), None)
        if found is None or found.verb is None:
            refuse(f"nothing is proposed for instance {instance_id}; see `fleetui policy show`")
        await require_collector(store)
        asked = await act.ask(
            store,
            found.verb,
            rows,
            clock=clock,
            actor=actor(),
            role=settings.role_here,
            reason=found.why,
            argument=None,
        )
        intents = await act.outcomes(store, asked, patience_seconds=600.0)
    print(json_text(act.outcome_report(intents)) if as_json else act.outcome_text(intents))
    return int(any(intent.state != "done" for intent in intents))


async def print_findings(
    settings: config.Settings, *, resolved: bool, info: bool, as_json: bool
) -> int:
    """Print what is wrong, by signature; 1 when a critical one is open."""
    from fleetui.domain.clock import parse_clock
    from fleetui.reports.findings import findings_report, findings_text, worst

    now = parse_clock(settings.clock).now()
    store = await existing_store(settings)
    async with contextlib.aclosing(store):
        report = await findings_report(store, now, resolved=resolved, with_info=info)
    print(json_text(report) if as_json else findings_text(report, now))
    return int(worst(report))


async def decide(settings: config.Settings, target: str, snooze_for: str | None, note: str) -> int:
    """Acknowledge a finding, or snooze it."""
    from fleetui.domain.clock import parse_clock
    from fleetui.reports.findings import DecisionError, acknowledge, snooze

    if settings.read_only:
        refuse("read_only is set: nothing may be changed from here")
    clock = parse_clock(settings.clock)
    store = await existing_store(settings)
    async with contextlib.aclosing(store):
        try:
            if snooze_for is None:
                said = await acknowledge(store, target, clock=clock, actor=actor(), note=note)
            else:
                said = await snooze(
                    store, target, snooze_for, clock=clock, actor=actor(), note=note
                )
        except DecisionError as error:
            refuse(str(error))
    print(said)
    return 0


async def diagnose_stored(settings: config.Settings, instance_id: int, *, as_json: bool) -> int:
    """Print the diagnosis of an instance from the store."""
    from fleetui.domain.clock import parse_clock
    from fleetui.reports.diagnose import answer_text
    from fleetui.reports.inquest import InquestError, diagnose_instance, notes_on

    now = parse_clock(settings.clock).now()
    store = await existing_store(settings)
    async with contextlib.aclosing(store):
        try:
            answer = await diagnose_instance(store, instance_id)
        except InquestError as error:
            refuse(str(error))
        notes = await notes_on(store, instance_id, now)
    print(
        json_text({**answer, "notes": notes})
        if as_json
        else "\n".join([answer_text(answer), "", *notes])
    )
    return int(any(finding["severity"] == "critical" for finding in answer["findings"]))


async def bundle_up(settings: config.Settings, instance_id: int, output: Path | None) -> int:
    """Write all that is known of an instance to one archive."""
    from fleetui.domain.clock import parse_clock
    from fleetui.reports.bundle import default_name, write_bundle
    from fleetui.reports.inquest import InquestError

    now = parse_clock(settings.clock).now()
    target = output or default_name(instance_id, now)
    store = await existing_store(settings)
    async with contextlib.aclosing(store):
        try:
            names = settings.deploy.secret_names
            await write_bundle(store, instance_id, target, now, secret_names=names)
        except (InquestError, OSError) as error:
            refuse(str(error))
    print(target)
    return 0


async def existing_store(settings: config.Settings) -> "SqliteStore":
    """Open the store; refuse when there is none."""
    from fleetui.store.interface import StoreError

    if not settings.store_path.exists():
        refuse(
            f"no store at {settings.store_path}: start `fleetui` or `fleetui collect` first,"
            " or name its folder with --state-dir"
        )
    try:
        return await open_store(settings, settings.clock)
    except StoreError as error:
        refuse(str(error))


async def require_collector(store: "SqliteStore") -> None:
    """Refuse to ask for an act that nobody would carry out."""
    if not (await store.fleet()).lease_held:
        refuse("no collector is running to do it: start `fleetui collect` or `fleetui`")


async def open_store(settings: config.Settings, clock: str) -> "SqliteStore":
    """Open the store as a viewer.

    Raises:
        StoreError: it cannot be opened.
    """
    from fleetui.domain.clock import parse_clock
    from fleetui.store.sqlite import SqliteStore

    return await SqliteStore.open(settings.store_path, clock=parse_clock(clock), viewer=True)


def actor() -> str:
    """Say who sits here, for the audit: user and host, and where an SSH login came from."""
    import getpass
    import platform

    origin = os.environ.get("SSH_CONNECTION", "").split(" ")[0]
    key = _login_key()
    return (
        f"{getpass.getuser()}@{platform.node()}"
        + (f" from {origin}" if origin else "")
        + (f" key {key}" if key else "")
    )


def _login_key() -> str:
    """Return the fingerprint of the key of an SSH login, where sshd exposes it (ExposeAuthInfo)."""
    from fleetui.domain.host_key import fingerprint

    path = os.environ.get("SSH_USER_AUTH", "")
    try:
        lines = Path(path).read_text("ascii").splitlines() if path else []
    except (OSError, UnicodeDecodeError):
        return ""
    keys = (line.removeprefix("publickey ") for line in lines if line.startswith("publickey "))
    return next((fingerprint(key) for key in keys), "")


def run(work: Coroutine[Any, Any, int]) -> int:
    """Run to the end; returns the exit status."""
    return asyncio.run(work)


def json_text(value: object) -> str:
    """Return a value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False)


def refuse(message: str, status: int = 2) -> NoReturn:
    """Say what is wrong and end."""
    print(f"fleetui: {message}", file=sys.stderr)
    sys.exit(status)
