"""The download of the proof's input, as curl's bar or meter tells it."""

from fleetui.domain.stage import Progress
from fleetui.reading.download import size
from fleetui.reading.eta import from_paces, progress_with
from fleetui.reading.figures import figure

_FRESH_SECONDS = 10.0
"""A speed that was said so long ago is none."""


class ProofInput:
    """One file of a known size, of which only the part that is there is told."""

    def __init__(self) -> None:
        self._first: tuple[float, float] | None = None
        self._last = (0.0, 0.0)
        self._speed: float | None = None

    def take(self, signal: str, fields: dict[str, str], at: float) -> None:
        """Take one signal that arrived at `at`; all but a step of the bar begins anew."""
        if signal != "input_progress":
            self._first = self._speed = None
            return
        percent = min(figure(fields.get("percent"), 0.0), 100.0)
        if self._first is None or percent < self._last[1]:
            self._first, self._speed = (at, percent), None
        self._last = (at, percent)
        self._speed = size(fields.get("speed", "").upper()) or self._speed

    def progress(self, total: float | None, now: float) -> Progress | None:
        """Return how much of `total` bytes is there."""
        if self._first is None or total is None:
            return None
        at, percent = self._last
        length, gained = at - self._first[0], percent - self._first[1]
        mean = gained / 100.0 * total / length if length > 0.5 and gained > 0 else None
        is_stale = now - at > _FRESH_SECONDS
        paces = [] if is_stale else [pace for pace in (self._speed, mean) if pace]
        return progress_with(
            from_paces(total * (1.0 - percent / 100.0), paces, gained),
            "proof input",
            done=total * percent / 100.0,
            total=total,
            unit="B",
            updated_at=at,
            pace=paces[0] if paces else None,
        )
