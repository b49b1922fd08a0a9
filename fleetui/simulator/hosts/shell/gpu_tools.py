"""NVIDIA's tool: the table, `-L` and `--query-gpu`."""

import re
import time

from fleetui.simulator.hosts.shell.interpreter import Call, Tool


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


TOOLS: dict[str, Tool] = {
    "nvidia-smi": nvidia_smi,
}
