"""Our log view beside textual's RichLog: 100,000 lines kept, 5,000 more a second.

In a pseudo-terminal of 200x50: `python benchmarks/log_view.py [--seconds 10] [--rate 5000]`.
Prints for each: lines a second taken in, CPU, memory, bytes to the terminal, key to paint.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

KEPT = 100_000
TICKS = 4
"""Batches a second, on both sides; the console looks for news twice a second."""
LINE = (
    b"\x1b[2m2026-11-30T06:%02d:%02dZ\x1b[0m \x1b[32m INFO\x1b[0m \x1b[2mcuzk::engine\x1b[0m: "
    b"partition \x1b[1m%d\x1b[0m synthesized in 8.%02ds job=c4f1a0b9d2 gpu=1 queue=3 mem=141GiB\n"
)


def line(number: int) -> bytes:
    """Return one line as the daemon writes it."""
    return LINE % (number // 60 % 60, number % 60, number % 10, number % 100)


def main() -> None:
    """Run both sides in turns and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rate", type=int, default=5000)
    parser.add_argument("--child", choices=("ours", "richlog"))
    options = parser.parse_args()
    if options.child:
        asyncio.run((ours if options.child == "ours" else richlog)(options.rate))
        return
    found = {side: measure(side, options.rate, options.seconds) for side in ("ours", "richlog")}
    print(f"{KEPT} lines kept, {options.rate} lines/s wanted, 200x50")
    for side, values in found.items():
        print(side.ljust(8), json.dumps(values))
    ratio = found["richlog"]["memory_mb"] / max(found["ours"]["memory_mb"], 0.1)
    print(json.dumps({"memory_ratio": round(ratio, 1)}))


def measure(side: str, rate: int, seconds: float) -> dict[str, float]:
    """Run one side and look at it from outside."""
    from pty_child import PtyChild  # noqa: PLC0415 - the children do without

    child = PtyChild([sys.executable, __file__, "--child", side, "--rate", str(rate)],
                     TEXTUAL_ANIMATIONS="none")  # fmt: skip
    try:
        before = prefill(child)
        cpu, begun = child.cpu_seconds(), time.monotonic()
        size = 0
        lags: list[float] = []
        while time.monotonic() - begun < seconds:
            # A search key changes the title line; the mark of the key is the first byte after.
            child.read(0.0)
            sent = time.monotonic()
            child.write(b"\x1b[5~" if len(lags) % 2 else b"\x1b[F")
            try:
                size += len(child.read_until(b"\x1b[", 6.0))
                lags.append(time.monotonic() - sent)
            except TimeoutError:
                lags.append(6.0)
            size += len(child.read(0.25))
        took = time.monotonic() - begun
        used = (child.cpu_seconds() - cpu) / took * 100
        child.write(b"!")
        said = child.read_until(b"#end ", 90.0) + child.read(1.0)
        count = int(said.rpartition(b"#end ")[2].split()[0])
        lags.sort()
        return {
            "lines_per_s": round(count / (took + 1)),
            "cpu_percent": round(used, 1),
            "memory_mb": round((child.rss_bytes() - before) / 1e6, 1),
            "kb_per_s": round(size / took / 1000, 1),
            "key_p50_ms": round(statistics.median(lags) * 1000, 1),
            "key_p95_ms": round(lags[int(len(lags) * 0.95)] * 1000, 1),
        }
    finally:
        child.end()


def prefill(child: object) -> int:
    """Wait until the kept lines are there; returns the memory before them."""
    from pty_child import PtyChild  # noqa: PLC0415 - the same

    assert isinstance(child, PtyChild)  # noqa: S101 - for the type
    child.read_until(b"#ready", 60.0)
    before = child.rss_bytes()
    child.write(b"?")
    child.read_until(b"#full", 180.0)
    child.read(1.0)
    return before


async def ours(rate: int) -> None:
    """Our view on a ring that is fed."""
    from textual.app import App, ComposeResult  # noqa: PLC0415 - a side imports only its own

    from fleetui.console.diff_output import DiffOutputApp  # noqa: PLC0415 - the same
    from fleetui.console.glyphs import Glyphs  # noqa: PLC0415 - the same
    from fleetui.console.log_ring import LogRing  # noqa: PLC0415 - the same
    from fleetui.console.widgets.log_view import LogView  # noqa: PLC0415 - the same

    class LogApp(DiffOutputApp):
        """One log view."""

        def compose(self) -> ComposeResult:
            """The view alone."""
            self.view = LogView(Glyphs())
            yield self.view

        def on_mount(self) -> None:
            """Say so."""
            self.view.show(LogRing(KEPT))
            self.set_timer(0.5, lambda: say(self, "#ready"))

        def on_key(self, event: object) -> None:
            """Move, fill, end."""
            key = getattr(event, "key", "")
            if key == "question_mark":
                self.view.ring.feed(b"".join(line(n) for n in range(KEPT)))
                self.view.grown()
                self.call_after_refresh(say, self, "#full")
                self.run_worker(self.feed(), exit_on_error=False)
            elif key == "exclamation_mark":
                say(self, f"#end {self.count} ")
            elif key == "pageup":
                self.view.scroll_lines(-self.view.page)
            elif key == "end":
                self.view.go_end()

        count = 0

        async def feed(self) -> None:
            """Append and draw, as a pull does."""
            begun = time.monotonic()
            while True:
                await asyncio.sleep(1 / TICKS)
                due = int((time.monotonic() - begun) * rate) - self.count
                self.view.ring.feed(b"".join(line(self.count + n) for n in range(due)))
                self.count += due
                self.view.grown()

    def say(app: App[None], text: str) -> None:
        if app._driver is not None:  # noqa: SLF001 - a mark for the reader of the pseudo-terminal
            app._driver.write(text)  # noqa: SLF001 - the same

    await LogApp().run_async()


async def richlog(rate: int) -> None:  # noqa: C901 - one app, its keys and its feed
    """The stock widget, coloured lines."""
    from rich.text import Text  # noqa: PLC0415 - a side imports only its own
    from textual.app import App, ComposeResult  # noqa: PLC0415 - the same
    from textual.widgets import RichLog  # noqa: PLC0415 - the same

    class RichApp(App[None]):
        """One RichLog."""

        count = 0

        def compose(self) -> ComposeResult:
            """The log alone."""
            yield RichLog(max_lines=KEPT, wrap=False)

        def on_mount(self) -> None:
            """Say so."""
            self.set_timer(0.5, lambda: self.say("#ready"))

        def say(self, text: str) -> None:
            """Leave a mark for the reader of the pseudo-terminal."""
            if self._driver is not None:
                self._driver.write(text)

        def on_key(self, event: object) -> None:
            """Move, fill, end."""
            log = self.query_one(RichLog)
            key = getattr(event, "key", "")
            if key == "question_mark":
                self.run_worker(self.feed(), exit_on_error=False)
            elif key == "exclamation_mark":
                self.say(f"#end {self.count} ")
            elif key == "pageup":
                log.scroll_page_up(animate=False)
            elif key == "end":
                log.scroll_end(animate=False)

        async def feed(self) -> None:
            """Fill it, then append as far as it keeps up."""
            log = self.query_one(RichLog)
            for number in range(KEPT):
                log.write(Text.from_ansi(line(number).decode()[:-1]))
                if number % 500 == 0:
                    await asyncio.sleep(0)
            self.say("#full")
            begun = time.monotonic()
            while True:
                await asyncio.sleep(1 / TICKS)
                due = min(int((time.monotonic() - begun) * rate) - self.count, rate // TICKS)
                for _ in range(due):
                    log.write(Text.from_ansi(line(self.count).decode()[:-1]))
                    self.count += 1

    await RichApp().run_async()


if __name__ == "__main__":
    main()
