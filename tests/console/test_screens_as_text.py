"""Each screen at three sizes as text, beside what was looked at and found good.

`FLEETUI_WRITE_SCREENS=1 pytest tests/console/test_screens_as_text.py` writes them anew.
"""

import os
import re
import time
from pathlib import Path

import pytest

from console_pilot import Console, console
from fleetui.console.widgets.chart import Chart

FOLDER = Path(__file__).parents[1] / "data" / "screens"
SCREENS = {
    "fleet": (), "pulse": ("2",), "logs": ("3",), "failures": ("4",), "hosts": ("5",),
    "activity": ("6",), "instance": ("enter",), "help": ("question_mark",),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def curves_are_drawn(run: Console) -> bool:
    charts = [c for c in run.app.screen.query(Chart) if c.display and c.size.height >= 4]
    return all(chart._drawn_for is not None and not chart._busy for chart in charts)


def settled(run: Console, seen: list[str]) -> bool:
    """Tell whether the screen has shown the same for a few looks."""
    seen.append(run.text)
    return len(seen) > 15 and len(set(seen[-15:])) == 1 and curves_are_drawn(run)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_screens_look_as_they_were_found_good(size: tuple[int, int]) -> None:
    async with console(size=size) as run:
        for name, keys in SCREENS.items():
            await run.press(*keys)
            seen: list[str] = []
            await run.until(lambda seen=seen: settled(run, seen), name)  # type: ignore[misc]  # bound now
            compare(f"{name}-{size[0]}x{size[1]}", run.text)
            if keys:
                await run.press("q")


def compare(name: str, text: str) -> None:
    path = FOLDER / f"{name}.txt"
    drawn = "\n".join(line.rstrip() for line in text.split("\n")) + "\n"
    if os.environ.get("FLEETUI_WRITE_SCREENS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(drawn, "utf-8")
    # Curves may differ by a dot between versions of plotext.
    same = [re.sub("[\u2800-\u28ff]", " ", t) for t in (drawn, path.read_text("utf-8"))]
    assert same[0] == same[1], f"{name} looks different:\n{drawn}"
