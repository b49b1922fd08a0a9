"""How far a host's clock is from ours, from the times of lines that were just written."""

from collections import deque

WINDOW_SECONDS = 300.0
"""How long a sample counts: a clock may be set right, or drift."""

_JUMP_SECONDS = 120.0
"""A change as large as this is believed only when several samples agree on it."""
_AGREEING = 3
_AGREEING_SECONDS = 20.0
_MOST = 256
_WORTH_SECONDS = 5.0
"""A smaller skew is what it takes to read a line, and is left alone."""
LONGEST_FIRST_SECONDS = 86400.0
"""The most that one line alone is believed to tell of a clock."""


class Skew:
    """A recent estimate; strays and old samples leave no trace.

    The least lag of late is the skew, as no line comes before it is written.
    """

    def __init__(self) -> None:
        self.seconds: float | None = None
        """Positive when the host's clock is behind ours; `None` when not measured."""
        self._samples: deque[tuple[float, float]] = deque(maxlen=_MOST)
        self._doubted: deque[tuple[float, float]] = deque(maxlen=_AGREEING)

    @property
    def correction(self) -> float:
        """What to add to a time of the host to have it in our time, in seconds."""
        return (
            self.seconds if self.seconds is not None and abs(self.seconds) > _WORTH_SECONDS else 0
        )

    def take(self, at: float, lag: float) -> None:
        """Take how old the newest line was when it came at `at`."""
        lag = round(lag, 1) + 0.0  # never -0.0
        base = self.seconds
        if abs(lag - (base or 0.0)) > (LONGEST_FIRST_SECONDS if base is None else _JUMP_SECONDS):
            self._doubt(at, lag)
            return
        self._doubted.clear()
        self._samples.append((at, lag))
        while self._samples[0][0] < at - WINDOW_SECONDS:
            self._samples.popleft()
        self.seconds = min(lag for _, lag in self._samples)

    def _doubt(self, at: float, lag: float) -> None:
        if self._doubted and abs(self._doubted[-1][1] - lag) > _JUMP_SECONDS:
            self._doubted.clear()
        self._doubted.append((at, lag))
        if len(self._doubted) < _AGREEING or at - self._doubted[0][0] < _AGREEING_SECONDS:
            return
        self._samples = deque(self._doubted, maxlen=_MOST)
        self._doubted.clear()
        self.seconds = min(lag for _, lag in self._samples)
