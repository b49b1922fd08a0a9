"""Verbs that show the fleet, and the programs behind it."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from fleetui import config, verbs
from fleetui.cli.options import ApiUrl, AsJson, Lifeline, StateDir, app

if TYPE_CHECKING:
    from fleetui.domain.check import Check

MOST_ENTRIES = 100_000


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


@app.command(name="demo-keeper", show=False)
def demo_keeper(*, folder: Path, lifeline: int, hosts: int, seed: int, speed: float) -> int:
    """Keep a demo's processes; started by `fleetui demo`."""
    from fleetui.demo import DemoSettings, keep

    return keep(folder, lifeline, DemoSettings(hosts=hosts, seed=seed, speed=speed))
