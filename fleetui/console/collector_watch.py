"""A console whose collector died starts a new one."""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleetui.console.app import FleetApp

COLLECTOR_GONE_SECONDS = 5.0
"""So long nobody must hold the lease before this console starts a collector."""
COLLECTOR_STARTS_SECONDS = 45.0
"""So long a collector that was started may take to say its first word."""
COLLECTOR_AGAIN_SECONDS = 60.0
"""Pause between two tries to start one."""

Start = Callable[[], Awaitable[str]]
"""Starts a collector; returns why it could not, empty when one runs."""


class CollectorWatch:
    """Looks whether somebody holds the lease, and starts a collector when nobody does."""

    def __init__(self, app: "FleetApp", start: Start | None) -> None:
        self._app = app
        self._start = start
        self._started_at = float("-inf")
        self._collector_gone_at: float | None = None
        self._looked = False
        self._starts_until = time.monotonic() + COLLECTOR_STARTS_SECONDS
        app.state.collector_starting = start is not None

    async def look_after(self) -> None:
        """Start a collector when none has been there for a while."""
        state = self._app.state
        state.collector_starting &= time.monotonic() < self._starts_until
        gone = state.loaded and not state.lease_held
        if state.loaded and not self._looked:
            # The fleet is on the screen: now there is time for a collector.
            self._looked = True
            if gone:
                self.start()
                return
        waited = time.monotonic() - self._started_at
        if gone and self._start is not None and waited > COLLECTOR_AGAIN_SECONDS:
            if self._collector_gone_at is None:
                self._collector_gone_at = time.monotonic()
            elif time.monotonic() - self._collector_gone_at > COLLECTOR_GONE_SECONDS:
                self.start()
        elif not gone:
            self._collector_gone_at = None

    def start(self) -> None:
        """Start a collector now, if one can be started from here."""
        if self._start is None:
            return
        self._started_at = time.monotonic()
        self._starts_until = self._started_at + COLLECTOR_STARTS_SECONDS
        self._app.state.collector_starting = True
        self._app.work(self._try(self._start), "collector", "collector")

    async def _try(self, start: Callable[[], Awaitable[str]]) -> None:
        self._app.say("starting a collector")
        trouble = await start()
        if not trouble:
            self._app.say("a collector runs")
            return
        self._app.state.collector_starting = False
        self._app.explain_start(trouble)
        self._app.say(f"no collector could be started: {trouble}", severity="error")
