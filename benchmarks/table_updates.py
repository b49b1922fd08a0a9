"""Our fleet table beside textual's DataTable: CPU and bytes to the terminal.

A thousand rows, a tenth of them changing, four times a second, in a pseudo-terminal of 200x50:
`python benchmarks/table_updates.py [--rows 1000] [--seconds 8] [--rounds 3]`. Prints the medians
and ratios; both sides run in turns on the same machine.
"""

import argparse
import asyncio
import fcntl
import json
import os
import pty
import random
import select
import statistics
import struct
import subprocess
import sys
import termios
import time

import msgspec

WARM_UP_SECONDS = 3.0
SHARE, PER_SECOND = 0.1, 4.0
SIDES = ("ours", "ours-stock-output", "datatable")


def main() -> None:
    """Run all sides in turns and print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", choices=SIDES)
    options = parser.parse_args()
    if options.child:
        asyncio.run(child(options.child, options.rows))
        return
    results: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
    for _ in range(options.rounds):
        for side in SIDES:
            results[side].append(measure(side, options.rows, options.seconds))
    medians = {
        side: (
            statistics.median(cpu for cpu, _ in found),
            statistics.median(rate for _, rate in found),
        )
        for side, found in results.items()
    }
    print(f"{options.rows} rows, {SHARE:.0%} changing, {PER_SECOND:g}/s, 200x50")
    for side, (cpu, rate) in medians.items():
        print(f"{side:18} {cpu:6.1f} % of a core   {rate / 1000:8.1f} kB/s")
    cpu_ratio = medians["datatable"][0] / max(medians["ours"][0], 0.01)
    byte_ratio = medians["datatable"][1] / max(medians["ours"][1], 1.0)
    print(json.dumps({"cpu_ratio": round(cpu_ratio, 1), "bytes_ratio": round(byte_ratio, 1)}))


def measure(side: str, rows: int, seconds: float) -> tuple[float, float]:
    """Return percent of a core and bytes a second of one side, after it has warmed up."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    process = subprocess.Popen(
        [sys.executable, __file__, "--child", side, "--rows", str(rows)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment,
    )
    os.close(slave)
    try:
        drain(master, WARM_UP_SECONDS)
        before, begun = cpu_seconds(process.pid), time.monotonic()
        count = drain(master, seconds)
        took = time.monotonic() - begun
        return (cpu_seconds(process.pid) - before) / took * 100, count / took
    finally:
        process.kill()
        process.wait()
        os.close(master)


def drain(master: int, seconds: float) -> int:
    """Read what the terminal gets for a while; returns how many bytes it was."""
    count, end = 0, time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if select.select([master], [], [], left)[0]:
            count += len(os.read(master, 1 << 16))
    return count


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process so far, from /proc."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123 - one line of /proc
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def child(side: str, rows: int) -> None:
    """Run one side until it is ended."""
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    await (run_datatable(rows) if side == "datatable" else run_ours(rows, diff=side == "ours"))


async def run_ours(rows: int, *, diff: bool) -> None:
    """Run the console on a store in memory whose rows change."""
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "support"))  # noqa: PTH118, PTH120 - only here
    from fleetui.console.app import FleetApp  # noqa: PLC0415 - a side imports only its own
    from fleetui.domain.clock import SystemClock  # noqa: PLC0415 - the same
    from sample_fleet import build  # noqa: PLC0415 - the same

    store = build(rows)
    app = FleetApp(store, clock=SystemClock(), actor="bench", account="bench")
    app.diff_output = diff
    chance = random.Random(1)  # noqa: S311 - made-up figures

    async def change() -> None:
        while True:
            await asyncio.sleep(1 / PER_SECOND)
            for instance_id in chance.sample(sorted(store.rows), int(rows * SHARE)):
                row = store.rows[instance_id][1]
                now = time.time()
                store.put(
                    msgspec.structs.replace(
                        row,
                        gpu_util=float(chance.randrange(100)),
                        gpu_temp=float(chance.randrange(40, 84)),
                        gpu_at=now,
                        row_seen_at=now,
                        newest_byte_at=now,
                        progress_fraction=chance.random(),
                        proofs_per_hour=chance.random() * 20,
                        cost_per_proof=chance.random(),
                    )
                )

    task = asyncio.create_task(change(), name="change")
    await app.run_async()
    task.cancel()


async def run_datatable(rows: int) -> None:
    """Run textual's DataTable with as many columns, updated cell by cell."""
    from textual.app import App, ComposeResult  # noqa: PLC0415 - a side imports only its own
    from textual.widgets import DataTable  # noqa: PLC0415 - the same

    chance = random.Random(1)  # noqa: S311 - made-up figures

    class TableApp(App[None]):
        def compose(self) -> ComposeResult:
            yield DataTable()

        def on_mount(self) -> None:
            table = self.query_one(DataTable)
            for column in range(13):
                table.add_column(f"column {column}", key=str(column), width=11)
            for row in range(rows):
                table.add_row(*(f"{row}/{column}" for column in range(13)), key=str(row))
            self.set_interval(1 / PER_SECOND, self.change)

        def change(self) -> None:
            table = self.query_one(DataTable)
            for row in chance.sample(range(rows), int(rows * SHARE)):
                for column in range(6):
                    table.update_cell(str(row), str(column), f"{chance.random():.4f}")

    await TableApp().run_async()


if __name__ == "__main__":
    main()
