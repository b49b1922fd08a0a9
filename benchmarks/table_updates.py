"""Our fleet table beside textual's DataTable: CPU, bytes, fill, keys; and ten times the rows.

A tenth of the rows changes four times a second, in a pseudo-terminal of 200x50:
`python benchmarks/table_updates.py [--rows 1000] [--seconds 8] [--rounds 3]`. All sides run in
turns on the same machine; medians are printed. For each side: CPU and bytes under that load,
time from a key to its paint under that load, bytes while nothing changes, and the CPU time of
filling an empty table until its rows are laid out. Ours runs once more with ten times the rows.
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import re
import statistics
import sys
import time
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from pty_child import PtyChild

WARM_UP_SECONDS = 2.0
SHARE, PER_SECOND = 0.1, 4.0
PLANNED_STEPS = 80
"""Steps of changes that are made up before the measuring; they come round again."""
KEYS, BETWEEN_KEYS_SECONDS = 40, 0.13
SIDES = ("ours", "ours-stock-output", "datatable")
FIRST = {"datatable": b"0/0"}
"""What shows that a side's rows are on the screen; ours: the gravest come first."""
CURSOR = {"datatable": b""}
"""What the paint of a moved cursor holds; DataTable paints all, so that any bytes count."""


DOWN, UP = b"\x1b[B", b"\x1b[A"
FILLED = re.compile(rb"fill=([0-9.]+)\x07")


class Found(msgspec.Struct, frozen=True):
    """Percent of a core, bytes a second under load and idle, and milliseconds."""

    cpu: float
    bytes_per_second: float
    idle_bytes_per_second: float
    fill_ms: float
    key_ms: tuple[float, ...]


def main() -> None:
    """Run all sides in turns and print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", choices=SIDES)
    parser.add_argument("--still", action="store_true")
    options = parser.parse_args()
    if options.child:
        os.environ["TEXTUAL_ANIMATIONS"] = "none"
        run = run_datatable if options.child == "datatable" else run_ours
        asyncio.run(run(options.rows, diff=options.child == "ours", still=options.still))
        return
    many = f"ours, {options.rows * 10} rows"
    sides = [(side, side, options.rows) for side in SIDES] + [(many, "ours", options.rows * 10)]
    results: dict[str, list[Found]] = {name: [] for name, _, _ in sides}
    for _ in range(options.rounds):
        for name, side, rows in sides:
            results[name].append(measure(side, rows, options.seconds))
    print(f"{options.rows} rows, {SHARE:.0%} changing, {PER_SECOND:g}/s, 200x50")
    for name, several in results.items():
        keys = sorted(value for found in several for value in found.key_ms)
        print(
            f"{name:18} {middle(several, 'cpu'):6.1f} % of a core"
            f" {middle(several, 'bytes_per_second') / 1000:7.1f} kB/s"
            f" {middle(several, 'idle_bytes_per_second'):6.0f} B/s idle"
            f" {middle(several, 'fill_ms'):8.1f} ms fill"
            f"   key p50 {keys[len(keys) // 2]:.0f} ms, p95 {keys[int(len(keys) * 0.95)]:.0f} ms"
        )
    ours, theirs = results["ours"], results["datatable"]
    ratios = {
        "cpu": middle(theirs, "cpu") / max(middle(ours, "cpu"), 0.01),
        "bytes": middle(theirs, "bytes_per_second") / max(middle(ours, "bytes_per_second"), 1.0),
        "fill": middle(theirs, "fill_ms") / max(middle(ours, "fill_ms"), 0.001),
        "cpu_of_ten_times_the_rows": middle(results[many], "cpu") / max(middle(ours, "cpu"), 0.01),
    }
    print(json.dumps({name: round(value, 1) for name, value in ratios.items()}))


def middle(several: list[Found], name: str) -> float:
    """Return the median of one figure."""
    return float(statistics.median(getattr(found, name) for found in several))


def measure(side: str, rows: int, seconds: float) -> Found:
    """Measure one side: first under load, then at rest."""
    first, cursor = FIRST.get(side, b"FAILED"), CURSOR.get(side, "▌".encode())
    busy = start(side, rows, still=False)
    try:
        fill = filled(busy, first)
        drain(busy, WARM_UP_SECONDS)
        before, begun = busy.cpu_seconds(), time.monotonic()
        count = drain(busy, seconds)
        took = time.monotonic() - begun
        cpu = (busy.cpu_seconds() - before) / took * 100
        keys = tuple(
            key_to_paint(busy, DOWN if number % 2 == 0 else UP, cursor) for number in range(KEYS)
        )
    finally:
        busy.end()
    still = start(side, rows, still=True)
    try:
        filled(still, first)
        drain(still, WARM_UP_SECONDS)
        idle = drain(still, seconds)
    finally:
        still.end()
    return Found(cpu, count / took, idle / seconds, fill, keys)


def start(side: str, rows: int, *, still: bool) -> PtyChild:
    """Start one side in a terminal of its own."""
    command = [sys.executable, __file__, "--child", side, "--rows", str(rows)]
    return PtyChild([*command, "--still"] if still else command)


def filled(child: PtyChild, first: bytes) -> float:
    """Wait until rows are on the screen and the fill was measured; returns its milliseconds."""
    found, end = b"", time.monotonic() + 60.0
    while (match := FILLED.search(found)) is None or first not in found:
        if time.monotonic() > end:
            raise TimeoutError(f"no rows within a minute: {found[-500:]!r}")
        found += child.read(0.02)
    return float(match[1])


def drain(child: PtyChild, seconds: float) -> int:
    """Read what the terminal gets for a while; returns how many bytes it was."""
    count, end = 0, time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        count += len(child.read(min(left, 0.05)))
    return count


def key_to_paint(child: PtyChild, key: bytes, cursor: bytes) -> float:
    """Press a key after a while; returns the milliseconds until the cursor was painted."""
    drain(child, BETWEEN_KEYS_SECONDS)
    begun = time.monotonic()
    child.write(key)
    found = b""
    while (not found or cursor not in found) and time.monotonic() - begun < 5.0:
        found += child.read(0.002)
    return (time.monotonic() - begun) * 1000


def say_filled(seconds: float) -> None:
    """Tell the reader of the terminal how long the fill took, in a title that nobody shows."""
    os.write(2, f"\x1b]0;fill={seconds * 1000:.3f}\x07".encode())


async def run_ours(rows: int, *, diff: bool, still: bool) -> None:
    """Run the console on a store in memory whose rows change."""
    from fleetui.console.app import FleetApp  # noqa: PLC0415 - a side imports only its own
    from fleetui.domain.clock import SystemClock  # noqa: PLC0415 - the same
    from fleetui.domain.reading import FleetRow  # noqa: PLC0415 - the same
    from sample_fleet import build  # noqa: PLC0415 - the same

    store = build(rows)
    app = FleetApp(store, clock=SystemClock(), actor="bench", account="bench")
    app.diff_output = diff
    chance = random.Random(1)  # noqa: S311 - made-up figures
    ids = sorted(store.rows)

    async def change() -> None:
        table = app.fleet_screen.table
        while not (app.fleet_screen.is_laid_out and table.lines):  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.01)
        await asyncio.sleep(1.5)  # what the first paint leaves to be done is over by then
        took, steps = await fill(), [] if still else planned()
        say_filled(took)
        for step in itertools.cycle(steps):
            await asyncio.sleep(1 / PER_SECOND)
            store.put(*step)

    def planned() -> list[list[FleetRow]]:
        """Make up the changes before anything is measured: they are the collector's cost."""
        return [
            [
                msgspec.structs.replace(
                    store.rows[instance_id][1],
                    gpu_util=float(chance.randrange(100)),
                    gpu_temp=float(chance.randrange(40, 84)),
                    gpu_at=at,
                    row_seen_at=at,
                    newest_byte_at=at,
                    progress_fraction=chance.random(),
                    proofs_per_hour=chance.random() * 20,
                    cost_per_proof=chance.random(),
                )
                for instance_id in chance.sample(ids, int(rows * SHARE))
            ]
            for at in (time.time() + step / PER_SECOND for step in range(PLANNED_STEPS))
        ]

    async def fill() -> float:
        """Empty the table, fill it again and let it be painted."""
        table, view = app.fleet_screen.table, list(app.state.rows.values())
        app.state.rows.clear()
        table.put_in_order()
        begun = time.thread_time()
        app.state.rows.update((row.instance_id, row) for row in view)
        table.put_in_order()
        painted = asyncio.Event()
        app.call_after_refresh(painted.set)
        await painted.wait()
        return time.thread_time() - begun

    task = asyncio.create_task(change(), name="change")
    await app.run_async()
    task.cancel()


async def run_datatable(rows: int, *, diff: bool, still: bool) -> None:
    """Run textual's DataTable with as many columns, updated cell by cell."""
    from textual.app import App, ComposeResult  # noqa: PLC0415 - a side imports only its own
    from textual.widgets import DataTable  # noqa: PLC0415 - the same

    del diff
    chance = random.Random(1)  # noqa: S311 - made-up figures

    steps = itertools.cycle(
        [
            (str(row), str(column), f"{chance.random():.4f}")
            for row in chance.sample(range(rows), int(rows * SHARE))
            for column in range(6)
        ]
        for _ in range(PLANNED_STEPS)
    )

    class TableApp(App[None]):
        def compose(self) -> ComposeResult:
            yield DataTable(cursor_type="row")

        def on_mount(self) -> None:
            table = self.query_one(DataTable)
            for column in range(13):
                table.add_column(f"column {column}", key=str(column), width=11)
            begun = time.thread_time()
            for row in range(rows):
                table.add_row(*(f"{row}/{column}" for column in range(13)), key=str(row))
            self.call_after_refresh(lambda: say_filled(time.thread_time() - begun))
            if not still:
                self.set_interval(1 / PER_SECOND, self.change)

        def change(self) -> None:
            table = self.query_one(DataTable)
            for row, column, words in next(steps):
                table.update_cell(row, column, words)

    await TableApp().run_async()


if __name__ == "__main__":
    main()
