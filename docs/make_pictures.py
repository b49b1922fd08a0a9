"""Draw the pictures of the documentation: the real console on the real demo.

Usage: python docs/make_pictures.py [FOLDER]; writes console-WIDTHxHEIGHT.svg for three sizes,
and console.svg for the README.
"""

import asyncio
import os
import sys
from pathlib import Path

from fleetui import config
from fleetui.console.terminal import prepare_terminal
from fleetui.demo import DemoSettings, demo_fleet

SIZES = ((80, 24), (120, 40), (200, 60))
SETTLE_SECONDS = 40.0


async def draw(folder: Path) -> None:
    """Run the demo until the fleet shows its troubles, then draw it at each size."""
    prepare_terminal(os.environ)
    from fleetui.console.app import FleetApp
    from fleetui.domain.clock import parse_clock
    from fleetui.store.sqlite import SqliteStore

    async with demo_fleet(DemoSettings()) as (state, environment):
        clock = parse_clock(environment["FLEETUI_CLOCK"])
        await asyncio.sleep(SETTLE_SECONDS)
        path = config.load({"state_dir": state}, {}).store_path
        for size in SIZES:
            store = await SqliteStore.open(path, clock=clock, viewer=True)
            app = FleetApp(
                store,
                clock=clock,
                actor="operator@console",
                account="demo",
                read_only=False,
                ascii_only=False,
            )
            async with app.run_test(size=size) as pilot:
                await pilot.press("j", "j", "l")
                await asyncio.sleep(3)
                picture = app.export_screenshot(title="FleetUI")
                (folder / f"console-{size[0]}x{size[1]}.svg").write_text(picture, "utf-8")
                for key in ("question_mark", "4", "2"):
                    await pilot.press("escape")
                    await pilot.press(key)
                    await asyncio.sleep(2)
                    picture = app.export_screenshot(title="FleetUI")
                    name = f"console-{size[0]}x{size[1]}-{key}.svg"
                    (folder / name).write_text(picture, "utf-8")
            await store.close()


if __name__ == "__main__":
    asyncio.run(draw(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)))
