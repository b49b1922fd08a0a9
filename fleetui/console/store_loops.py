"""The console's three loops over the store: follow the fleet, read for the screen, be alive."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from fleetui.console.screens.base import FleetUIScreen
from fleetui.console.terminal import has_terminal
from fleetui.domain.policy import open_proposals
from fleetui.domain.quiet import quiet_instances
from fleetui.domain.text import sanitise
from fleetui.store.interface import StoreFullError

if TYPE_CHECKING:
    from fleetui.console.app import FleetApp

PACES = (0.25, 0.5, 1.0, 2.0, 5.0)
"""Seconds between two readings of the fleet; the first is the usual one."""
PULL_SECONDS = 0.5
CURSOR_REST_SECONDS = 0.1
HEARTBEAT_SECONDS = 2.0
HEARTBEAT_LIFE_SECONDS = 10.0
STORE_DEADLINE_SECONDS = 5.0


class StoreLoops:
    """Each loop is named, owned by the app and ends with it; trouble is shown, never fatal."""

    def __init__(self, app: "FleetApp", viewer: str) -> None:
        """Keep what the loops need; `viewer` names this console among others."""
        self._app = app
        self._viewer = viewer
        self._wake = asyncio.Event()
        self.tick_seconds = PACES[0]

    def all(self) -> dict[str, Callable[[], Coroutine[Any, Any, None]]]:
        """Return the loops by name."""
        return {"follow": self._follow, "pull": self._pull, "heartbeat": self._heartbeat}

    def wake(self) -> None:
        """Read for the screen that is shown soon, without waiting for the next pull."""
        self._wake.set()

    async def read_decisions(self) -> None:
        """Read which findings were acknowledged or snoozed, here or elsewhere."""
        state = self._app.state
        async with asyncio.timeout(STORE_DEADLINE_SECONDS):
            records = await self._app.store.findings()
        state.quiet = quiet_instances(records, state.now())

    async def _follow(self) -> None:
        app, state = self._app, self._app.state
        while True:
            changed: set[int] = set()
            try:
                async with asyncio.timeout(STORE_DEADLINE_SECONDS):
                    if state.loaded:
                        view = await app.store.follow(state.revision)
                    else:
                        view = await app.store.fleet()
                if app.frozen:
                    app.behind = len(view.rows)
                    state.look_alive(view)
                else:
                    changed = state.apply(view)
                self._tell(changed)
            except Exception as error:  # noqa: BLE001 - any trouble of the store is shown, never fatal
                self._trouble(error)
            app.acts.advance()
            await asyncio.sleep(self.tick_seconds)

    async def _pull(self) -> None:
        while True:
            self._wake.clear()
            screen = self._app.screen
            try:
                if (
                    isinstance(screen, FleetUIScreen)
                    and screen.is_laid_out
                    and not self._app.frozen
                ):
                    async with asyncio.timeout(STORE_DEADLINE_SECONDS):
                        await screen.pull()
            except Exception as error:  # noqa: BLE001 - the same
                self._trouble(error)
            try:
                await asyncio.wait_for(self._wake.wait(), PULL_SECONDS)
                # Let the cursor come to rest: a held key must not read every row it passes.
                await asyncio.sleep(CURSOR_REST_SECONDS)
            except TimeoutError:
                pass

    async def _heartbeat(self) -> None:
        app, state = self._app, self._app.state
        watches_terminal = not app.is_headless and has_terminal()
        while not watches_terminal or has_terminal():
            try:
                async with asyncio.timeout(STORE_DEADLINE_SECONDS):
                    until = state.now() + HEARTBEAT_LIFE_SECONDS * state.speed
                    await app.store.watch(self._viewer, app.fleet_screen.table.cursor_id, until)
                    await app.acts.look_after()
                    state.proposals = len(open_proposals(await app.store.proposals()))
                await self.read_decisions()
                await app.collector.look_after()
                state.write_trouble = None
            except StoreFullError as error:
                state.write_trouble = sanitise(str(error), 200)
            except Exception as error:  # noqa: BLE001 - the same
                self._trouble(error)
            await asyncio.sleep(HEARTBEAT_SECONDS)
        app.exit(return_code=1)

    def _tell(self, changed: set[int]) -> None:
        screen = self._app.screen
        dialog = self._app.acts.dialog
        if dialog is not None:
            dialog.fleet_changed()
            self._app.fleet_screen.fleet_changed(changed)
        elif isinstance(screen, FleetUIScreen) and screen.is_laid_out:
            screen.fleet_changed(changed)

    def _trouble(self, error: Exception) -> None:
        if isinstance(error, TimeoutError):
            error = TimeoutError(f"no answer within {STORE_DEADLINE_SECONDS:.0f} s")
        self._app.state.fail(error)
        screen = self._app.screen
        if isinstance(screen, FleetUIScreen) and screen.is_laid_out:
            screen.draw_bars()
