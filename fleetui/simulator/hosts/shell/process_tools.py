"""Tools over processes: ps, pgrep, kill and their kin."""

import re
import time

from fleetui.simulator.hosts.machine import Process
from fleetui.simulator.hosts.shell.interpreter import Call, Tool
from fleetui.simulator.hosts.shell.options import UsageError, options

SIGNALS = {
    "HUP": 1,
    "INT": 2,
    "QUIT": 3,
    "ABRT": 6,
    "KILL": 9,
    "USR1": 10,
    "USR2": 12,
    "TERM": 15,
    "CONT": 18,
    "STOP": 19,
}


def _etime(seconds: float) -> str:
    whole = int(seconds)
    days, rest = divmod(whole, 86_400)
    hours, rest = divmod(rest, 3600)
    text = f"{rest // 60:02d}:{rest % 60:02d}"
    if days:
        return f"{days}-{hours:02d}:{text}"
    return f"{hours:02d}:{text}" if hours else text


_COLUMNS: dict[str, tuple[str, int, bool]] = {
    "pid": ("PID", 7, True),
    "ppid": ("PPID", 7, True),
    "stat": ("STAT", 4, False),
    "state": ("S", 1, False),
    "s": ("S", 1, False),
    "wchan": ("WCHAN", 6, False),
    "etime": ("ELAPSED", 11, True),
    "etimes": ("ELAPSED", 7, True),
    "rss": ("RSS", 6, True),
    "vsz": ("VSZ", 7, True),
    "args": ("COMMAND", 27, False),
    "cmd": ("CMD", 27, False),
    "command": ("COMMAND", 27, False),
    "comm": ("COMMAND", 15, False),
    "user": ("USER", 8, False),
    "uid": ("UID", 5, True),
    "tty": ("TT", 8, False),
    "pcpu": ("%CPU", 4, True),
    "%cpu": ("%CPU", 4, True),
    "pmem": ("%MEM", 4, True),
    "%mem": ("%MEM", 4, True),
    "time": ("TIME", 8, True),
    "nlwp": ("NLWP", 4, True),
    "pgid": ("PGID", 7, True),
    "lstart": ("STARTED", 24, True),
    "start": ("STARTED", 8, True),
}


def _cell(process: Process, column: str, call: Call) -> str:
    machine = call.machine
    elapsed = machine.engine.now - process.started
    busy = process.state.startswith("R")
    values = {
        "pid": process.pid,
        "ppid": process.ppid,
        "stat": process.state,
        "state": process.state[0],
        "s": process.state[0],
        "wchan": "-" if busy else process.wait_channel,
        "etime": _etime(elapsed),
        "etimes": int(elapsed),
        "rss": process.rss_kib,
        "vsz": process.rss_kib * 2 + 40_000,
        "args": process.command,
        "cmd": process.command,
        "command": process.command,
        "comm": process.comm + (" <defunct>" if process.state == "Z" else ""),
        "user": process.user,
        "uid": 0,
        "tty": "?",
        "pcpu": f"{85.0 if busy else 0.1:.1f}",
        "%cpu": f"{85.0 if busy else 0.1:.1f}",
        "pmem": f"{process.rss_kib * 100 / (machine.hardware.memory_gib << 20):.1f}",
        "%mem": f"{process.rss_kib * 100 / (machine.hardware.memory_gib << 20):.1f}",
        "time": time.strftime("%H:%M:%S", time.gmtime(elapsed * (0.85 if busy else 0.001))),
        "nlwp": 96 if "l" in process.state else 1,
        "pgid": process.pid,
        "lstart": time.strftime("%a %b %e %H:%M:%S %Y", time.gmtime(process.started)),
        "start": time.strftime("%H:%M:%S", time.gmtime(process.started)),
    }
    return str(values[column])


def _columns(text: str) -> list[tuple[str, str, int]]:
    """Read `-o` lists: (column, header, width); `name=header` sets the header, `name:N` the width."""  # noqa: E501 - a line as it is printed
    found: list[tuple[str, str, int]] = []
    for item in re.split(r"[,\s]+", text.strip()):
        name, given, header = item.partition("=")
        name, _, width = name.partition(":")
        if name not in _COLUMNS:
            raise UsageError(f'error: unknown user-defined format specifier "{name}"')
        found.append(
            (
                name,
                header if given else _COLUMNS[name][0],
                int(width) if width else _COLUMNS[name][1],
            )
        )
    return found


async def ps(call: Call) -> int:
    """List processes."""
    call.machine.sync()
    args = [
        word if word[:1] == "-" or not re.fullmatch(r"[axuefw]+", word) else f"-{word}"
        for word in call.args
    ]
    bsd = args != call.args
    found, _ = options(args, "eAafxuwHFl", "opC", ("no-headers", "sort"))
    form = found.get("o")
    if form is None:
        if bsd and "u" in found:
            form = "user,pid,%cpu,%mem,vsz,rss,tty,stat,start,time,args"
        elif "f" in found:
            form = "user,pid,ppid,pcpu,start,tty,time,cmd"
        elif bsd:
            form = "pid,tty,stat,time,args"
        else:
            form = "pid,tty,time,comm"
    columns = _columns(form)
    processes = [*call.machine.processes.values(), *_own(call)]
    if "p" in found:
        wanted = set(re.split(r"[,\s]+", found["p"]))
        processes = [process for process in processes if str(process.pid) in wanted]
    elif "C" in found:
        processes = [process for process in processes if process.comm == found["C"]]
    headers = (
        []
        if "no-headers" in found or not any(header for _, header, _ in columns)
        else [[header for _, header, _ in columns]]
    )
    rows = headers + [
        [_cell(process, name, call) for name, _, _ in columns] for process in processes
    ]
    widths = [
        max([len(row[index]) for row in rows] + [width if headers else 0])
        for index, (_, _, width) in enumerate(columns)
    ]
    for row in rows:
        cells = [
            cell.rjust(widths[index])
            if _COLUMNS[columns[index][0]][2]
            else cell.ljust(widths[index])
            for index, cell in enumerate(row)
        ]
        cells[-1] = row[-1] if not _COLUMNS[columns[-1][0]][2] else cells[-1]
        await call.out(" ".join(cells) + "\n")
    return 0 if processes else 1


def _own(call: Call) -> list[Process]:
    now = call.machine.engine.now
    shell, tool = call.shell.pid, call.shell.pid + 1
    return [
        Process(shell, 1, [call.shell.name], now - 1, 1800, "do_wait", "Ss"),
        Process(tool, shell, [call.name, *call.args], now, 4200, "-", "R"),
    ]


def _chosen(call: Call, found: dict[str, str], pattern: str) -> list[Process]:
    call.machine.sync()
    try:
        compiled = re.compile(pattern)
    except re.error:
        raise UsageError("invalid regular expression") from None
    matching = []
    for process in call.machine.processes.values():
        text = process.command if "f" in found else process.comm
        hit = compiled.fullmatch(text) if "x" in found else compiled.search(text)
        if hit is not None:
            matching.append(process)
    return matching[-1:] if "n" in found else matching[:1] if "o" in found else matching


async def pgrep(call: Call) -> int:
    """Print the ids of processes that match."""
    found, names = options(call.args, "flaxnocv", "uPd")
    chosen = _chosen(call, found, names[0] if names else "")
    if "c" in found:
        await call.out(f"{len(chosen)}\n")
        return int(not chosen)
    for process in chosen:
        text = f" {process.command}" if "a" in found else f" {process.comm}" if "l" in found else ""
        await call.out(f"{process.pid}{text}\n")
    return int(not chosen)


def _signal(args: list[str]) -> tuple[int, list[str]]:
    number = 15
    rest: list[str] = []
    index = 0
    while index < len(args):
        word = args[index]
        index += 1
        if word in {"-s", "--signal"} and index < len(args):
            word = "-" + args[index]
            index += 1
        name = word[1:].removeprefix("SIG")
        if word.startswith("-") and (name.isdigit() or name in SIGNALS) and not rest:
            number = int(name) if name.isdigit() else SIGNALS[name]
        else:
            rest.append(word)
    return number, rest


async def kill(call: Call) -> int:
    """Send a signal to processes."""
    if call.args[:1] == ["-l"]:
        await call.out(" ".join(SIGNALS) + "\n")
        return 0
    number, targets = _signal(call.args)
    call.machine.sync()
    status = 0
    for word in targets:
        if not word.isdigit():
            await call.error(f"{call.shell.name}: 1: kill: Illegal number: {word}")
            status = 1
        elif not call.machine.signal(int(word), number):
            await call.error(f"{call.shell.name}: 1: kill: No such process")
            status = 1
    return status


async def pkill(call: Call) -> int:
    """Send a signal to the processes that match."""
    number, rest = _signal(call.args)
    found, names = options(rest, "fxno", "uP")
    chosen = _chosen(call, found, names[0] if names else "")
    for process in chosen:
        call.machine.signal(process.pid, number)
    return int(not chosen)


async def killall(call: Call) -> int:
    """Send a signal to the processes of a name."""
    number, rest = _signal(call.args)
    call.machine.sync()
    status = 0
    for name in [word for word in rest if not word.startswith("-")]:
        chosen = call.machine.find(name)
        if not chosen:
            await call.error(f"{name}: no process found")
            status = 1
        for process in chosen:
            call.machine.signal(process.pid, number)
    return status


TOOLS: dict[str, Tool] = {
    "kill": kill,
    "killall": killall,
    "pgrep": pgrep,
    "pkill": pkill,
    "ps": ps,
}
