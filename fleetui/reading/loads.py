"""What the daemon loads or works out before it can prove: the SRS and the PCE."""

from collections.abc import Callable

from fleetui.domain.stage import Progress, ProgressPart
from fleetui.domain.text import SafeText
from fleetui.reading.eta import from_times, progress_with
from fleetui.reading.figures import whole

_BEGINS = {
    "srs_loading": "loading the SRS",
    "pce_loading": "loading the PCE",
    "pce_extracting": "extracting the PCE",
}
_ENDS = {
    "srs_loaded": "loading the SRS",
    "pce_loaded": "loading the PCE",
    "pce_extracted": "extracting the PCE",
    "pce_finished": "extracting the PCE",
}
_LONGEST_MS = 86_400_000
SIGNALS = frozenset(_BEGINS) | frozenset(_ENDS)


class Loads:
    """Loads under way, and how long each took the last time on this host."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._took: dict[str, float] = {}

    def take(self, signal: str, fields: dict[str, str], at: float) -> None:
        """Take one of `SIGNALS`."""
        if signal in _BEGINS:
            self._began[_BEGINS[signal]] = at
            return
        what = _ENDS[signal]
        began = self._began.pop(what, None)
        took = whole(fields, "elapsed_ms") or whole(fields, "extract_ms")
        if took is not None and took <= _LONGEST_MS:
            self._took[what] = took / 1000.0
        elif began is not None:
            self._took[what] = max(at - began, 0.0)

    def restart(self) -> None:
        """Take that the daemon starts anew."""
        self._began.clear()

    def move(self, moved: Callable[[float], float]) -> None:
        """Date everything anew."""
        self._began = {what: moved(at) for what, at in self._began.items()}

    def progress(self, now: float) -> Progress | None:
        """Return the newest load under way; how long it takes is known from the last time."""
        if not self._began:
            return None
        what, began = max(self._began.items(), key=lambda entry: entry[1])
        took = self._took.get(what)
        left = [] if took is None else [max(took - (now - began), 1.0)]
        return progress_with(
            from_times(left, 0.5),
            what,
            done=0.0,
            total=None,
            unit="B",
            updated_at=began,
            parts=self.parts(),
        )

    def parts(self) -> tuple[ProgressPart, ...]:
        """Return all loads under way."""
        return tuple(
            ProgressPart(name=SafeText(what), done=0.0, state=SafeText("under way"))
            for what in sorted(self._began)
        )
