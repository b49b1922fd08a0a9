"""Tools over the machine: dmesg, ss, free, uname, date and their kin."""

import time

from fleetui.simulator.hosts.machine import DMESG_REFUSED, GIB
from fleetui.simulator.hosts.shell.interpreter import Call, Tool
from fleetui.simulator.hosts.shell.options import options


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


TOOLS: dict[str, Tool] = {
    "date": date,
    "dmesg": dmesg,
    "free": free,
    "hostname": hostname,
    "id": identity,
    "nproc": nproc,
    "ss": ss,
    "uname": uname,
    "uptime": uptime,
    "whoami": identity,
}
