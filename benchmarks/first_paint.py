"""First paint of the console with 1,000 instances in the store, beside a minimal DataTable app.

`python benchmarks/first_paint.py [--rows 1000] [--rounds 5]`: from the start of the process to
the first row on a pseudo-terminal of 200x50, in turns; prints medians and their ratio, on the
clock and in CPU time (which a busy machine does not change). A second figure of ours is taken in
the same process: one chart redraw.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleetui.store.sqlite import SqliteStore

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))


def main() -> None:
    """Fill a store, run both sides in turns, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", choices=("datatable",))
    options = parser.parse_args()
    if options.child:
        asyncio.run(datatable())
        return
    sides = {
        "ours": ([sys.executable, "-m", "fleetui"], b"20110148"),
        "datatable": ([sys.executable, __file__, "--child", "datatable"], b"row 0"),
    }
    found: dict[str, list[tuple[float, float]]] = {side: [] for side in sides}
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        # A collector holds the lease, so that the console need not start one.
        store = runner.run(fill(Path(folder), options.rows))
        for _ in range(options.rounds):
            for side, (command, wanted) in sides.items():
                found[side].append(paint(command, wanted, folder))
        runner.run(store.close())
    print(f"{options.rows} instances in the store, 200x50, {options.rounds} rounds")
    ratios: dict[str, float] = {}
    for place, name in enumerate(("wall", "cpu")):
        medians = {
            side: statistics.median(values[place] for values in several) * 1000
            for side, several in found.items()
        }
        print(name, json.dumps({side: f"{value:.0f} ms" for side, value in medians.items()}))
        ratios[f"first_paint_{name}_ratio"] = round(medians["ours"] / medians["datatable"], 2)
    print(json.dumps(ratios | {"chart_ms": round(chart(), 1)}))


async def fill(folder: Path, rows: int) -> "SqliteStore":
    """Publish a fleet into a store as a collector does."""
    from fleetui.domain.clock import SystemClock  # noqa: PLC0415 - this side only
    from fleetui.store.interface import Batch  # noqa: PLC0415 - the same
    from fleetui.store.sqlite import SqliteStore  # noqa: PLC0415 - the same
    from sample_fleet import build  # noqa: PLC0415 - the same

    made = build(rows)
    store = await SqliteStore.open(folder / "fleet.db", clock=SystemClock())
    lease = await store.take_lease("bench", 3600)
    assert lease is not None  # noqa: S101 - an empty store
    await store.publish(
        lease,
        Batch(
            at=time.time(), rows=[row for _, row in made.rows.values()],
            instances=list(made.instances.values()), readings=list(made.readings_by_id.values()),
            walk=made.complete_walk, health=made.health,
        ),
    )  # fmt: skip
    return store


def paint(command: list[str], wanted: bytes, folder: str) -> tuple[float, float]:
    """Return wall and CPU seconds from the start of a process to the wanted bytes."""
    from pty_child import PtyChild  # noqa: PLC0415 - the child does without

    child = PtyChild(command, TEXTUAL_ANIMATIONS="none", FLEETUI_STATE_DIR=folder)
    try:
        child.read_until(wanted, 60.0)
        return time.monotonic() - child.started_at, child.cpu_seconds()
    finally:
        child.end()


async def datatable() -> None:
    """A minimal app with one DataTable of a screenful of rows."""
    from textual.app import App, ComposeResult  # noqa: PLC0415 - a side imports only its own
    from textual.widgets import DataTable  # noqa: PLC0415 - the same

    class TableApp(App[None]):
        """One table."""

        def compose(self) -> ComposeResult:
            """The table alone."""
            yield DataTable()

        def on_mount(self) -> None:
            """Fill it."""
            table = self.query_one(DataTable)
            for column in range(13):
                table.add_column(f"column {column}", width=11)
            for row in range(50):
                table.add_row(*(f"row {row}" for _ in range(13)))

    await TableApp().run_async()


def chart() -> float:
    """Return the milliseconds of one chart redraw (median of 20), as the thread does it."""
    from fleetui.console.chart_drawing import draw_chart  # noqa: PLC0415 - this side only

    points = [(1.7e9 + 60.0 * n, 40.0 + n % 17) for n in range(2000)]
    took = []
    for _ in range(21):
        begun = time.perf_counter()
        draw_chart(points, 160, 15, tone="ok", ascii_only=False)
        took.append((time.perf_counter() - begun) * 1000)
    return statistics.median(took[1:])


if __name__ == "__main__":
    main()
