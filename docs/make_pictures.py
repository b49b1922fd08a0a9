"""Draw the pictures of the documentation: the real console on the real demo.

Usage: python docs/make_pictures.py [FOLDER]; writes console.svg for the README, console-200x60.svg,
and one picture of each screen.
"""

import asyncio
import os
import sys
from pathlib import Path

from fleetui import config
from fleetui.console.terminal import prepare_terminal
from fleetui.demo import DemoSettings, demo_fleet
from fleetui.market import VastMarket

SETTLE_SECONDS = 40.0
PICTURES: tuple[tuple[str, tuple[int, int], tuple[str, ...]], ...] = (
    ("console", (120, 40), ("j", "j", "l")),
    ("console-200x60", (200, 60), ("j", "j")),
    ("pulse", (120, 40), ("2",)),
    ("logs", (120, 40), ("space", "space", "space", "3", "t")),
    ("failures", (120, 40), ("4",)),
    ("hosts", (120, 40), ("5",)),
    ("money", (120, 40), ("5", "m")),
    ("offers", (120, 40), ("5", "n")),
    ("answers", (120, 40), ("A", "e", *"df -h", "enter")),
    ("activity", (120, 40), ("6",)),
    ("instance", (120, 40), ("enter",)),
    ("groups", (120, 40), ("b", "s")),
    ("command", (120, 40), ("colon", "s", "o")),
    ("destroy", (80, 24), ("D",)),
)
"""File name, size, and the keys that lead there from the fleet."""
LONG = {" ": "space", "-": "minus"}
"""Characters that are typed by their names."""


async def draw(folder: Path) -> None:
    """Run the demo until the fleet shows its troubles, then draw each screen."""
    prepare_terminal(os.environ)
    from fleetui.console.app import FleetApp
    from fleetui.domain.clock import parse_clock
    from fleetui.store.sqlite import SqliteStore

    async with demo_fleet(DemoSettings()) as (state, environment):
        clock = parse_clock(environment["FLEETUI_CLOCK"])
        await asyncio.sleep(SETTLE_SECONDS)
        settings = config.load({"state_dir": state}, environment)
        path = settings.store_path
        market = VastMarket(settings, environment)
        for name, size, keys in PICTURES:
            store = await SqliteStore.open(path, clock=clock, viewer=True)
            app = FleetApp(
                store,
                clock=clock,
                actor="operator@console",
                account="demo",
                theme="dark",
                market=market,
            )
            async with app.run_test(size=size) as pilot:
                await asyncio.sleep(1)
                await pilot.press(*(LONG.get(key, key) for key in keys))
                await asyncio.sleep(4)
                picture = app.export_screenshot(title="FleetUI")
                (folder / f"{name}.svg").write_text(picture, "utf-8")
            await store.close()


if __name__ == "__main__":
    asyncio.run(draw(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)))
