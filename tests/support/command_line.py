"""The command line as a process of its own, beside a collector of the test."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable

from collecting import Collecting, Simulated

DEADLINE_SECONDS = 90.0
Verbs = Callable[..., Awaitable[tuple[int, str]]]


def command_line(run: Collecting, fleet: Simulated) -> Verbs:
    """Return what runs `fleetui WORDS...` and gives its exit status and all that it printed."""
    environment = os.environ | {
        "FLEETUI_STATE_DIR": str(run.settings.store_path.parent),
        "FLEETUI_CLOCK": fleet.environment["FLEETUI_CLOCK"],
    }

    async def fleetui(*words: object, **more: str) -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "fleetui", *map(str, words),
            env=environment | more,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                output, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode or 0, output.decode()

    return fleetui
