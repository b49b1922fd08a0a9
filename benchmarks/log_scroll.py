"""Our log pane on 5,000,000 stored lines beside itself on 500: act to paint, and stalls.

Run: python benchmarks/log_scroll.py [--lines 5000000] [--folder FOLDER]. The store is built once
in the folder (by default a new one) and used again. In turns, in one process, 200x50. A stall is
how long the event loop did nothing else, the drawing of a frame included.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from textual.app import ComposeResult

from fleetui.console.diff_output import DiffOutputApp
from fleetui.console.glyphs import Glyphs
from fleetui.console.keymap import Keymap
from fleetui.console.line_filter import line_filter
from fleetui.console.log_source import LogSource
from fleetui.console.widgets.log_pane import LogPane
from fleetui.domain.clock import SystemClock
from fleetui.domain.stream import LogChunk, StreamId, StreamPosition
from fleetui.store.interface import Batch
from fleetui.store.log_budget import LogBudget
from fleetui.store.sqlite import SqliteStore

FEW = 500
BATCH_LINES = 5_000
FIRST_AT = 1_773_000_000.0
LINES_A_SECOND = 50
STREAM = StreamId(1, "/tmp/cuzk.log")  # noqa: S108 - a path on a pretend host
LINE = (
    "{stamp}Z \x1b[32m INFO\x1b[0m \x1b[2mcuzk::engine\x1b[0m: partition {part} synthesized in"
    " 8.{number:08}s job=c4f1a0b9d2 gpu=1{rare}\n"
)


def batches(count: int) -> Iterator[tuple[float, bytes]]:
    """Yield the lines in parts, with the time at which the last line of each was written."""
    for begin in range(0, count, BATCH_LINES):
        made = []
        at = FIRST_AT
        for number in range(begin, min(begin + BATCH_LINES, count)):
            at = FIRST_AT + number / LINES_A_SECOND
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))
            rare = " once" if number == count // 2 else " often" if number % 100 == 7 else ""
            made.append(LINE.format(stamp=stamp, part=number % 10, number=number, rare=rare))
        yield at, "".join(made).encode()


async def build(path: Path, count: int) -> None:
    """Store so many lines of one file."""
    budget = LogBudget(stream_bytes=1 << 40, instance_bytes=1 << 40, total_bytes=1 << 40)
    store = await SqliteStore.open(path, clock=SystemClock(), budget=budget)
    lease = await store.take_lease("benchmark", 3600.0)
    assert lease is not None  # noqa: S101 - nobody else has the store
    end = 0
    for at, data in batches(count):
        chunk = LogChunk(stream=STREAM, generation=1, offset=end, data=data, at=at)
        end += len(data)
        position = StreamPosition(stream=STREAM, kind="daemon", offset=end, last_byte_at=at)
        await store.publish(lease, Batch(at=at, chunks=(chunk,), positions=(position,)))
    await store.close()


class PaneApp(DiffOutputApp):
    """A log pane alone; counts the frames it draws."""

    frames = 0

    def compose(self) -> ComposeResult:
        """The pane."""
        self.pane = LogPane(SystemClock(), Glyphs(), Keymap())
        yield self.pane

    def _display(self, *arguments: object) -> None:
        self.frames += 1
        super()._display(*arguments)  # type: ignore[arg-type]  # passed on as it came


class Lags:
    """How long the loop let its other tasks wait at most."""

    def __init__(self) -> None:
        self.worst = 0.0

    async def watch(self) -> None:
        """Look every millisecond."""
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.001)
            self.worst = max(self.worst, time.monotonic() - before - 0.001)


async def act(app: PaneApp, do: Callable[[], None]) -> float:
    """Do something and wait until it is done and drawn; returns seconds."""
    frames, begun = app.frames, time.monotonic()
    do()
    while app.pane.is_busy or app.frames == frames:
        await asyncio.sleep(0.0005)
        if time.monotonic() - begun > 300:
            raise TimeoutError
    return time.monotonic() - begun


async def run(path: Path, count: int) -> dict[str, tuple[list[float], float]]:
    """Act in the pane on a store; returns the seconds of each act and the longest stall."""
    store = await SqliteStore.open(path, clock=SystemClock(), viewer=True)
    app = PaneApp()
    results: dict[str, tuple[list[float], float]] = {}
    lags = Lags()

    async def measure(name: str, times: int, *acts: Callable[[], None]) -> None:
        lags.worst = 0.0
        seconds = []
        for _ in range(times):
            for before in acts[:-1]:
                await act(app, before)
            seconds.append(await act(app, acts[-1]))
        results[name] = seconds, lags.worst

    async with app.run_test(size=(200, 50)):
        pane = app.pane
        watching = asyncio.create_task(lags.watch(), name="lags")
        pane.show_source(LogSource(store, STREAM.instance_id))
        await pane.advance()
        pane.view.utc = True
        middle = FIRST_AT + count / LINES_A_SECOND / 2
        typed = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(middle))

        def look_back_for(text: str) -> None:
            pane.view.set_search(line_filter(text))
            pane.action_next_match(-1)

        await measure("page up", 9, lambda: pane.action_page(-1))
        await measure("page down", 9, lambda: pane.action_page(1))
        await measure("home", 5, pane.action_bottom, pane.action_top)
        await measure("end", 5, pane.action_top, pane.action_bottom)
        await measure("search, next match", 9, lambda: look_back_for("often"))
        await measure("jump to time", 5, pane.action_bottom, lambda: pane.action_to_time(typed))
        await measure("page up there", 9, lambda: pane.action_page(-1))
        await measure("only matches", 3, lambda: pane.action_show_only("often"))
        await measure("all lines again", 1, lambda: pane.action_show_only(""))
        await measure("search through half", 1, pane.action_bottom, lambda: look_back_for("once"))
        watching.cancel()
    await store.close()
    return results


async def compare(folder: Path, lines: int) -> None:
    """Run both sides in turns and print."""
    sides = (lines, FEW)
    for count in sides:
        path = folder / f"{count}.db"
        if not path.exists():
            begun = time.monotonic()
            await build(path, count)
            print(f"{count} lines stored in {time.monotonic() - begun:.0f} s")
    found: dict[int, dict[str, tuple[list[float], float]]] = {count: {} for count in sides}
    for _ in range(3):
        for count in sides:
            for name, (seconds, stall) in (await run(folder / f"{count}.db", count)).items():
                before, worst = found[count].get(name, ([], 0.0))
                found[count][name] = before + seconds, max(worst, stall)
    print("ms, act to paint".ljust(22) + "".join(f"{count:>32}" for count in sides))
    for name in found[lines]:
        cells = ""
        for count in sides:
            seconds, stall = found[count][name]
            cells += f"{statistics.median(seconds) * 1000:8.1f} p50 {max(seconds) * 1000:8.1f} max"
            cells += f" {stall * 1000:4.0f} st"
        print(name.ljust(22) + cells)


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=5_000_000)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
        asyncio.run(compare(options.folder, options.lines))
        return
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(compare(Path(folder), options.lines))


if __name__ == "__main__":
    main()
