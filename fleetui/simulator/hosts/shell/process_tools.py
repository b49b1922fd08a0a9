"""Tools over processes and the machine: ps, kill, nvidia-smi, dmesg and their kin."""

import asyncio
import re
import time

from fleetui.simulator.hosts.machine import DMESG_REFUSED, GIB, Process
from fleetui.simulator.hosts.shell.interpreter import Call, Shell, Tool
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
_PROGRAM_POLL_SECONDS = 0.1


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


async def nvidia_smi(call: Call) -> int:
    """Answer as NVIDIA's tool: the table, `-L`, or `--query-gpu` CSV."""
    machine = call.machine
    machine.sync()
    if machine.nvidia_smi_failure:
        await call.out(machine.nvidia_smi_failure + "\n")
        return 9
    rows = machine.gpu_rows()
    lost = next((row for row in rows if row["lost"]), None)
    if lost is not None and len(rows) == 1:
        await call.out(_lost(lost))
        return 15
    arguments = dict(word.partition("=")[::2] for word in call.args)
    query = arguments.get("--query-gpu")
    if query is not None:
        return await _query(call, rows, query, arguments.get("--format", "csv"))
    if any(word.startswith("--query-compute-apps") for word in call.args):
        await call.out("pid, process_name, used_gpu_memory [MiB]\n")
        for process in machine.find("cuzk-daemon"):
            await call.out(
                f"{process.pid}, /usr/local/bin/cuzk-daemon, {machine.gpus[0].memory_used_mib} MiB\n"  # noqa: E501 - a line as it is printed
            )
        return 0
    if "-L" in call.args or "--list-gpus" in call.args:
        for row in rows:
            await call.out(f"GPU {row['index']}: {row['name']} (UUID: {row['uuid']})\n")
        return 0
    await call.out(_table(call, rows))
    return 0


def _lost(row: dict[str, str]) -> str:
    return (
        f"Unable to determine the device handle for GPU{row['index']}: {row['pci.bus_id']}: "
        "GPU is lost.  Reboot the system to recover this GPU\n"
    )


async def _query(call: Call, rows: list[dict[str, str]], query: str, form: str) -> int:
    fields = [name.strip() for name in query.split(",")]
    unknown = next((name for name in fields if rows and name not in rows[0]), None)
    if unknown is not None:
        await call.out(f'Field "{unknown}" is not a valid field to query.\n\n')
        return 2
    out = []
    if "noheader" not in form:
        out.append(", ".join(_header(name, rows) for name in fields))
    for row in rows:
        if row["lost"]:
            await call.out(_lost(row))
            continue
        cells = [row[name] for name in fields]
        if "nounits" in form:
            cells = [re.sub(r" (?:%|MiB|W|MHz)$", "", cell) for cell in cells]
        out.append(", ".join(cells))
    await call.out("\n".join(out) + "\n")
    return 0


def _header(name: str, rows: list[dict[str, str]]) -> str:
    unit = re.search(r" (%|MiB|W|MHz)$", rows[0][name]) if rows else None
    return f"{name} [{unit[1]}]" if unit else name


def _table(call: Call, rows: list[dict[str, str]]) -> str:
    machine = call.machine
    line = "+-----------------------------------------------------------------------------------------+"  # noqa: E501 - a line as it is printed
    now = time.strftime("%a %b %e %H:%M:%S %Y", time.gmtime(machine.engine.now))
    out = [
        now,
        line,
        f"| NVIDIA-SMI {machine.hardware.driver:<22} Driver Version: {machine.hardware.driver:<14} CUDA Version: {machine.hardware.cuda:<8} |",  # noqa: E501 - a line as it is printed
        "|-----------------------------------------+------------------------+----------------------|",
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",  # noqa: E501 - a line as it is printed
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",  # noqa: E501 - a line as it is printed
        "|=========================================+========================+======================|",
    ]
    for row in rows:
        if row["lost"]:
            out.append(
                "| ERR! ERR! ERR!                          |                   ERR! | ERR!                 |"  # noqa: E501 - a line as it is printed
            )
            continue
        power = f"{float(row['power.draw'][:-2]):.0f}W / {float(row['power.limit'][:-2]):.0f}W"
        memory = f"{row['memory.used'].replace(' ', '')} / {row['memory.total'].replace(' ', '')}"
        out.append(
            f"|   {row['index']}  {row['name'][:24]:<26} On  |   {row['pci.bus_id']} Off |                  N/A |"  # noqa: E501 - a line as it is printed
        )
        out.append(
            f"| {row['fan.speed'].replace(' ', ''):>3}   {row['temperature.gpu']}C    {row['pstate']}  {power:>20}   |"  # noqa: E501 - a line as it is printed
            f" {memory:>22} | {row['utilization.gpu'].replace(' ', ''):>8}      Default |"
        )
        out.append(
            "+-----------------------------------------+------------------------+----------------------+"
        )
    return "\n".join(out) + "\n"


async def dmesg(call: Call) -> int:
    """Print the kernel's messages, or the refusal of a container."""
    call.machine.sync()
    lines = call.machine.kernel_lines
    if lines is None:
        await call.error(DMESG_REFUSED)
        return 1
    await call.stdout.write("".join(f"{line}\n" for line in lines).encode())
    return 0


async def ss(call: Call) -> int:
    """List listening ports."""
    call.machine.sync()
    await call.out("State  Recv-Q Send-Q Local Address:Port Peer Address:Port\n")
    for port in sorted(call.machine.ports):
        address = "0.0.0.0" if port == 22 else "127.0.0.1"  # noqa: S104 - text of a listing
        backlog = 128 if port == 22 else 1024 if port in {9820, 9821} else 4096
        await call.out(f"LISTEN 0      {backlog:<6} {address}:{port:<10} 0.0.0.0:*\n")
    return 0


async def free(call: Call) -> int:
    """Show the memory."""
    found, _ = options(call.args, "hmgkbt")
    machine = call.machine
    machine.sync()
    divisor = (
        GIB
        if found.keys() & {"g", "h"}
        else 1 << 20
        if "m" in found
        else 1
        if "b" in found
        else 1024
    )
    unit = "Gi" if "h" in found else ""
    total = machine.hardware.memory_gib * GIB
    used = machine.memory_used() + 6 * GIB
    cells = [
        f"{value // divisor}{unit}"
        for value in (total, used, total - used, 0, 2 * GIB, total - used)
    ]
    await call.out(
        "               total        used        free      shared  buff/cache   available\n"
    )
    await call.out("Mem:    " + "".join(f"{cell:>12}" for cell in cells) + "\n")
    await call.out("Swap:   " + "".join(f"{f'0{unit}':>12}" for _ in range(3)) + "\n")
    return 0


async def _line(call: Call, text: str) -> int:
    call.machine.sync()
    await call.out(text + "\n")
    return 0


async def nproc(call: Call) -> int:
    """Print the number of processors."""
    return await _line(call, str(call.machine.hardware.cores))


async def uptime(call: Call) -> int:
    """Print the host's uptime and load."""
    call.machine.sync()
    load = call.machine.files.read("/proc/loadavg").decode().split()
    now = time.strftime("%H:%M:%S", time.gmtime(call.machine.engine.now))
    return await _line(
        call, f" {now} up 10 days,  3:07,  0 user,  load average: {load[0]}, {load[1]}, {load[2]}"
    )


async def uname(call: Call) -> int:
    """Print the kernel's name."""
    found, _ = options(call.args, "asrnmvpio")
    release = "6.8.0-60-generic"
    if "a" in found:
        return await _line(
            call,
            f"Linux {call.machine.hostname} {release} #63-Ubuntu SMP PREEMPT_DYNAMIC x86_64 x86_64 x86_64 GNU/Linux",  # noqa: E501 - a line as it is printed
        )
    parts = {"s": "Linux", "n": call.machine.hostname, "r": release, "m": "x86_64"}
    return await _line(call, " ".join(parts[key] for key in found if key in parts) or "Linux")


async def hostname(call: Call) -> int:
    """Print the container's name."""
    return await _line(call, call.machine.hostname)


async def identity(call: Call) -> int:
    """Print who runs this."""
    if call.name == "whoami":
        return await _line(call, "root")
    short = "0" if "-u" in call.args else "uid=0(root) gid=0(root) groups=0(root)"
    return await _line(call, "root" if "-un" in call.args else short)


async def date(call: Call) -> int:
    """Print the fleet's time."""
    call.machine.sync()
    now = call.machine.engine.now
    form = next(
        (word[1:] for word in call.args if word.startswith("+")), "%a %b %e %H:%M:%S UTC %Y"
    )
    form = form.replace("%N", f"{int(now % 1 * 1e9):09d}").replace("%s", str(int(now)))
    return await _line(call, time.strftime(form, time.gmtime(now)))


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
    found, rest = _until_operand(call.args, "ks")
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


def _until_operand(args: list[str], valued: str) -> tuple[dict[str, str], list[str]]:
    """Split leading options off; the rest belongs to the command that is run."""
    index = 0
    while index < len(args) and args[index].startswith("-") and args[index] != "--":
        index += 2 if args[index][1:2] in valued and len(args[index]) == 2 else 1
    return {}, args[index:]


async def wrapper(call: Call) -> int:
    """`nohup`, `setsid`, `nice`, `stdbuf`: run the command as it is."""
    _, rest = _until_operand(call.args, "noe" if call.name in {"nice", "stdbuf"} else "")
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
    found, rest = _until_operand(call.args, "nIP")
    del found
    words = (await call.stdin.all()).decode("latin-1").split()
    return await call.shell.execute([*(rest or ["echo"]), *words], call.environment)


def shell_pid(shell: Shell) -> int:
    """Return the pid of a shell."""
    return shell.pid


TOOLS: dict[str, Tool] = {
    "@program": program,
    "bash": run_shell,
    "date": date,
    "dmesg": dmesg,
    "env": env,
    "false": false,
    "free": free,
    "hostname": hostname,
    "id": identity,
    "kill": kill,
    "killall": killall,
    "nice": wrapper,
    "nohup": wrapper,
    "nproc": nproc,
    "nvidia-smi": nvidia_smi,
    "pgrep": pgrep,
    "pkill": pkill,
    "ps": ps,
    "setsid": wrapper,
    "sh": run_shell,
    "sleep": sleep,
    "ss": ss,
    "stdbuf": wrapper,
    "timeout": timeout,
    "uname": uname,
    "uptime": uptime,
    "whoami": identity,
    "xargs": xargs,
}
