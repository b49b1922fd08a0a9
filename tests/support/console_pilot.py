"""Drive the console in tests: wait on conditions, read what is drawn."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from fleetui.console.app import FleetApp
from fleetui.domain.clock import Clock
from fleetui.domain.role import Role
from memory_store import MemoryStore
from sample_fleet import build

NOW = 1_764_480_000.0
DEADLINE_SECONDS = 15.0


class StillClock:
    """A clock that moves only when told to."""

    def __init__(self, at: float = NOW) -> None:
        self.at = at

    def now(self) -> float:
        return self.at


def screen_text(app: App[None]) -> str:
    """Return the lines of the topmost screen as drawn."""
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text for strip in strips)


class Console:
    """A running console on a store."""

    def __init__(self, app: FleetApp, pilot: Pilot[None], store: MemoryStore) -> None:
        self.app = app
        self.pilot = pilot
        self.store = store

    @property
    def text(self) -> str:
        return screen_text(self.app)

    @property
    def cursor(self) -> int | None:
        return self.app.fleet_screen.table.cursor_id

    async def until(self, condition: Callable[[], object], what: str) -> None:
        end = time.monotonic() + DEADLINE_SECONDS
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"not in time: {what}; the screen shows:\n{self.text}")
            await self.pilot.pause(0.02)

    async def shows(self, text: str) -> None:
        await self.until(lambda: text in self.text, repr(text))

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()


@asynccontextmanager
async def console(
    store: MemoryStore | None = None,
    *,
    size: tuple[int, int] = (160, 45),
    clock: Clock | None = None,
    read_only: bool = False,
    role: Role = Role.OWNER,
    ascii_only: bool = False,
    undo_seconds: float = 0.0,
    hosts: int = 24,
    reading_seconds: float = 0.0,
    **more: Any,  # noqa: ANN401 - whatever else the app takes
) -> AsyncIterator[Console]:
    """Run a console until the block ends; the first fleet view has been drawn."""
    store = build(hosts, now=NOW) if store is None else store
    app = FleetApp(
        store,
        clock=clock or StillClock(),
        actor="ana@ops",
        account="sample",
        role=Role.VIEWER if read_only else role,
        ascii_only=ascii_only,
        undo_seconds=undo_seconds,
        reading_seconds=reading_seconds,
        **more,
    )
    async with app.run_test(size=size, notifications=True) as pilot:
        running = Console(app, pilot, store)
        if store.trouble is None and not store.stall:
            await running.until(
                lambda: (
                    app.state.loaded
                    and app.fleet_screen.is_laid_out
                    and len(app.fleet_screen.table.order) == len(store.rows)
                ),
                "the first view",
            )
            await pilot.pause()
        yield running
        # An error inside a handler must fail the test, not only close the app.
        assert app._exception is None
