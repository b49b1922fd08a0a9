"""Tools that run others: sh, env, timeout, nohup, and the programs of the machine."""

import asyncio
import re

from fleetui.simulator.hosts.shell.interpreter import Call, Tool
from fleetui.simulator.hosts.shell.options import UsageError

_PROGRAM_POLL_SECONDS = 0.1


async def sleep(call: Call) -> int:
    """Wait in real seconds."""
    seconds = 0.0
    for word in call.args:
        match = re.fullmatch(r"(\d*\.?\d+)([smhd]?)", word)
        if match is None:
            await call.error(f"sleep: invalid time interval '{word}'")
            return 1
        seconds += float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}[match[2]]
    await asyncio.sleep(seconds)
    return 0


async def timeout(call: Call) -> int:
    """Run a command with a time limit."""
    found, rest = until_operand(call.args, "ks")
    del found
    if len(rest) < 2:
        raise UsageError("missing operand")
    match = re.fullmatch(r"(\d*\.?\d+)([smhd]?)", rest[0])
    if match is None:
        raise UsageError(f"invalid time interval '{rest[0]}'")
    limit = float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}[match[2]]
    try:
        return await asyncio.wait_for(call.shell.execute(rest[1:], call.environment), limit)
    except TimeoutError:
        return 124


def until_operand(args: list[str], valued: str) -> tuple[dict[str, str], list[str]]:
    """Split leading options off; the rest belongs to the command that is run."""
    index = 0
    while index < len(args) and args[index].startswith("-") and args[index] != "--":
        index += 2 if args[index][1:2] in valued and len(args[index]) == 2 else 1
    return {}, args[index:]


async def wrapper(call: Call) -> int:
    """`nohup`, `setsid`, `nice`, `stdbuf`: run the command as it is."""
    _, rest = until_operand(call.args, "noe" if call.name in {"nice", "stdbuf"} else "")
    return await call.shell.execute(rest, call.environment) if rest else 0


async def env(call: Call) -> int:
    """Run a command with a changed environment, or print it."""
    args = list(call.args)
    environment = dict(call.environment)
    while args and args[0].startswith("-"):
        word = args.pop(0)
        if word in {"-i", "-"}:
            environment = {}
        elif word == "-u" and args:
            environment.pop(args.pop(0), None)
    while args and re.match(r"[A-Za-z_]\w*=", args[0]):
        name, _, value = args.pop(0).partition("=")
        environment[name] = value
    if args:
        return await call.shell.execute(args, environment)
    for name, value in environment.items():
        await call.out(f"{name}={value}\n")
    return 0


async def run_shell(call: Call) -> int:
    """`sh -c TEXT NAME ARGS...` or a script from a file or stdin."""
    args = list(call.args)
    child = call.shell.fork()
    child.functions = {}
    child.variables = {"IFS": " \t\n", "PWD": child.cwd, **call.environment}
    child.options = set()
    while args and args[0] in {"-l", "-e", "-u", "-x", "--login"}:
        args.pop(0)
    if args[:1] == ["-c"] or args[:1] == ["-lc"]:
        text = args[1] if len(args) > 1 else ""
        child.name = args[2] if len(args) > 2 else child.name
        child.positional = args[3:]
        return await child.run_text(text)
    if args and call.machine.has_program(args[0].rsplit("/", 1)[-1]):
        return await call.shell.execute(args, call.environment)
    if args and args[0] != "-s":
        path = call.path(args[0])
        if not call.machine.files.exists(path):
            await call.error(f"{call.name}: 0: cannot open {args[0]}: No such file")
            return 2
        child.positional = args[1:]
        return await child.run_text(call.machine.files.read(path).decode("latin-1"))
    child.positional = args[1:]
    return await child.run_text((await call.stdin.all()).decode("latin-1"))


async def program(call: Call) -> int:
    """Start one of the machine's programs and wait for its end."""
    machine = call.machine
    machine.sync()
    output = next(
        (path for path in _log_paths(call) if path),
        "/dev/null",
    )
    process = machine.spawn(
        [call.name, *call.args],
        parent=call.shell.pid,
        output=output,
        environment=call.environment,
        folder=call.shell.cwd,
    )
    while process.status is None:
        await asyncio.sleep(_PROGRAM_POLL_SECONDS)
        machine.sync()
    return process.status


def _log_paths(call: Call) -> list[str]:
    return [
        path
        for path in (getattr(call.stdout, "path", ""), getattr(call.stderr, "path", ""))
        if path
    ]


async def false(call: Call) -> int:
    """Fail."""
    del call
    return 1


async def xargs(call: Call) -> int:
    """Run a command with the words of stdin as arguments."""
    found, rest = until_operand(call.args, "nIP")
    del found
    words = (await call.stdin.all()).decode("latin-1").split()
    return await call.shell.execute([*(rest or ["echo"]), *words], call.environment)


TOOLS: dict[str, Tool] = {
    "@program": program,
    "bash": run_shell,
    "env": env,
    "false": false,
    "nice": wrapper,
    "nohup": wrapper,
    "setsid": wrapper,
    "sh": run_shell,
    "sleep": sleep,
    "stdbuf": wrapper,
    "timeout": timeout,
    "xargs": xargs,
}
