"""The download of the proof's input, as curl's bar or meter tells it."""

from fleetui.domain.stage import Progress
from fleetui.reading.download import size
from fleetui.reading.eta import from_paces, progress_with
from fleetui.reading.figures import figure

_FRESH_SECONDS = 10.0
"""A speed that was said so long ago is none."""
_ROUNDED = 0.01
"""How far the meter's size may be from the true one for its few digits alone, as a part of it."""


class ProofInput:
    """One file. The bar tells only which part of it is there, the meter sizes as well."""

    def __init__(self, usual_bytes: float | None) -> None:
        self._usual = usual_bytes
        self._total = usual_bytes
        self._first: tuple[float, float] | None = None
        self._last = (0.0, 0.0)
        self._speed: float | None = None

    def take(self, signal: str, fields: dict[str, str], at: float) -> None:
        """Take one signal that arrived at `at`; all but a step of the bar begins anew."""
        if signal != "input_progress":
            self._first = self._speed = None
            self._total = self._usual
            return
        stated = size(fields.get("total", "").upper())
        if stated:
            usual = self._usual
            is_usual = usual is not None and abs(stated - usual) <= _ROUNDED * usual
            self._total = usual if is_usual else stated
        part = min(figure(fields.get("percent"), 0.0) / 100.0, 1.0)
        done = size(fields.get("done", "").upper())
        if done and self._total:
            part = max(part, min(done / self._total, 1.0))
        if self._first is None or part < self._last[1]:
            self._first, self._speed = (at, part), None
        self._last = (at, part)
        self._speed = size(fields.get("speed", "").upper()) or self._speed

    def progress(self, now: float) -> Progress | None:
        """Return how much is there; `None` before anything is, or when no size is known."""
        total = self._total
        if self._first is None or total is None:
            return None
        at, part = self._last
        length, gained = at - self._first[0], part - self._first[1]
        mean = gained * total / length if length > 0.5 and gained > 0 else None
        is_stale = now - at > _FRESH_SECONDS
        paces = [] if is_stale else [pace for pace in (self._speed, mean) if pace]
        return progress_with(
            from_paces(total * (1.0 - part), paces, gained * 100.0),
            "proof input",
            done=total * part,
            total=total,
            unit="B",
            updated_at=at,
            pace=paces[0] if paces else None,
        )
