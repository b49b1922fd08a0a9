"""How far a host's clock is from ours, from times that it told and when they came.

What comes is as old as its way was long, so each sample is the skew and some delay: the least of
them is the skew. A delay can be hours where a backlog is read, and looks like a clock that is
behind; but it does not stay the same, so only samples that agree are believed to tell of one.
"""

from collections import deque

_WORTH_SECONDS = 5.0
"""A smaller skew is what it takes to read a line, and is left alone."""
_JUMP_SECONDS = 120.0
"""A line that is so much too early may be a stray one."""
_AGREEING = 3
_AGREEING_SECONDS = 20.0
_ALIKE_SECONDS = 10.0
_SETTLED_SECONDS = 600.0
"""What was true for so long was no delay: a clock that differs from it later was set."""
_CLOCK_SECONDS = 900.0
"""For how long a look at the host's own clock is better than what its lines tell."""
_MOST = 16
LONGEST_FIRST_SECONDS = 86400.0
"""The most that one line alone is believed to tell of a clock."""


class Skew:
    """The skew that is believed, and whether the past is to be dated by it too."""

    def __init__(self) -> None:
        self.seconds: float | None = None
        """Positive when the host's clock is behind ours; `None` when not measured."""
        self._doubted: deque[tuple[float, float]] = deque(maxlen=_MOST)
        self._alike = 0
        self._believed_since = 0.0
        self._seen_at = 0.0
        self._clock_at: float | None = None

    @property
    def correction(self) -> float:
        """What to add to a time of the host to have it in our time, in seconds."""
        return _correction(self.seconds)

    def take_line(self, at: float, lag: float, *, is_live: bool = True) -> float:
        """Take how old the newest line was when it came at `at`; see `take_clock`.

        A line that was not just written proves only that a clock is ahead.
        """
        if not is_live and lag >= min(self.seconds or 0.0, 0.0):
            return 0.0
        if self._clock_at is not None and abs(at - self._clock_at) < _CLOCK_SECONDS:
            return 0.0
        return self._take(at, lag, is_live=is_live)

    def take_clock(self, at: float, lag: float) -> float:
        """Take how far the host's own clock was behind ours when its answer came at `at`.

        Returns by how much all that was dated so far must be moved, in seconds: what was
        believed until now was never true. It is 0 when a clock was set.
        """
        self._clock_at = at
        return self._take(at, lag, is_live=True)

    def _take(self, at: float, lag: float, *, is_live: bool) -> float:
        lag = round(lag, 1) + 0.0  # never -0.0
        base = self.seconds
        if base is None:
            # No delay makes a line come before it is written.
            is_sure = -LONGEST_FIRST_SECONDS <= lag <= _WORTH_SECONDS
            return self._believe(at, lag, at, is_live) if is_sure else self._doubt(at, lag)
        if lag > base + _WORTH_SECONDS or lag < base - _JUMP_SECONDS:
            return self._doubt(at, lag)
        self._doubted.clear()
        if lag < base - _WORTH_SECONDS:
            return self._believe(at, lag, at, is_live)
        self.seconds = min(base, lag)
        if is_live:
            if not self._alike:
                self._believed_since = at
            self._alike += 1
            self._seen_at = at
        return 0.0

    def _doubt(self, at: float, lag: float) -> float:
        base = self.seconds
        if base is not None and self._doubted and (self._doubted[-1][1] > base) != (lag > base):
            self._doubted.clear()
        self._doubted.append((at, lag))
        least = min(lag for _, lag in self._doubted)
        agreeing = [when for when, lag in self._doubted if lag <= least + _ALIKE_SECONDS]
        if len(agreeing) < _AGREEING or abs(agreeing[-1] - agreeing[0]) < _AGREEING_SECONDS:
            return 0.0
        return self._believe(at, least, agreeing[0], len(agreeing))

    def _believe(self, at: float, seconds: float, since: float, alike: int = 1) -> float:
        """Go over to another skew; return by how much the past is to be moved."""
        base = self.seconds
        if base is None:
            was_wrong = True
        elif seconds < base:
            was_wrong = abs(self._seen_at - self._believed_since) < _SETTLED_SECONDS
        else:
            # Two lines that came so early had no stray times.
            was_wrong = self._alike < 2
        self.seconds, self._alike = seconds, alike
        self._believed_since, self._seen_at = since, at
        self._doubted.clear()
        return _correction(seconds) - _correction(base) if was_wrong else 0.0


def _correction(seconds: float | None) -> float:
    return seconds if seconds is not None and abs(seconds) > _WORTH_SECONDS else 0.0
