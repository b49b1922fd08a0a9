"""Time, passed in wherever it is needed."""

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Tells the fleet's time in epoch seconds."""

    def now(self) -> float:
        """Return the present time of the fleet."""


class SystemClock:
    """The real time."""

    def now(self) -> float:
        """Return the epoch time of this machine."""
        return time.time()


class ScaledClock:
    """A clock that runs `speed` times faster since it stood at `origin_fleet`.

    The simulator and everything that watches it share one: `origin_real` and `origin_fleet` are
    epoch seconds of the same moment. Its text form is `ORIGIN_REAL,ORIGIN_FLEET,SPEED`
    (`FLEETUI_CLOCK`).
    """

    def __init__(
        self,
        origin_real: float,
        origin_fleet: float,
        speed: float,
        real: Callable[[], float] = time.time,
    ) -> None:
        self.origin_real = origin_real
        self.origin_fleet = origin_fleet
        self.speed = speed
        self._real = real

    def now(self) -> float:
        """Return the scaled time."""
        return self.origin_fleet + (self._real() - self.origin_real) * self.speed

    def __str__(self) -> str:
        return f"{self.origin_real!r},{self.origin_fleet!r},{self.speed!r}"


def parse_clock(text: str | None) -> Clock:
    """Build the clock that `FLEETUI_CLOCK` describes; no text is the real time.

    Raises:
        ValueError: the text is not three finite numbers with a positive speed.
    """
    if not text:
        return SystemClock()
    parts = [float(part) for part in text.split(",")]
    if len(parts) != 3 or not parts[2] > 0 or any(part - part != 0 for part in parts):
        message = f"FLEETUI_CLOCK must be ORIGIN_REAL,ORIGIN_FLEET,SPEED, not {text!r}"
        raise ValueError(message)
    return ScaledClock(parts[0], parts[1], parts[2])
