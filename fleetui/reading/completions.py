"""Counts of proofs by time: exact for the recent past, of bounded size for ever."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nextafter

_MOST_EXACT = 8192
"""Times kept one by one: nearly an hour of more proofs than any machine makes."""
_FOLDED_AT_ONCE = 1024
_MOST_SPANS = 2048
_SPAN_SECONDS = 60.0


@dataclass(slots=True)
class _Span:
    """Proofs of a piece of the past: when the first and the last was, and how many."""

    first: float
    last: float
    count: int

    def since(self, at: float) -> int:
        """How many were at or after `at`; in the midst of the span by its mean pace."""
        if at <= self.first:
            return self.count
        if at > self.last:
            return 0
        part = (self.last - at) / (self.last - self.first)
        return min(max(round(self.count * part), 1), self.count - 1)


class Completions:
    """When proofs were completed, in any order.

    The newest times are kept as they are. Older ones become counts a minute, and the oldest of
    those, once there are too many, counts of two neighbours: no proof is ever forgotten, only
    its second.
    """

    def __init__(self) -> None:
        self._times: list[float] = []
        self._spans: list[_Span] = []
        self._total = 0

    def __len__(self) -> int:
        return self._total

    def add(self, at: float) -> None:
        """Take one more proof."""
        self._total += 1
        if not self._times or at >= self._times[-1]:
            self._times.append(at)
        else:
            insort(self._times, at)
        if len(self._times) > _MOST_EXACT + _FOLDED_AT_ONCE:
            self._fold()

    @property
    def newest(self) -> float | None:
        """When the last was; `None` before the first."""
        return self._times[-1] if self._times else None

    def since(self, at: float) -> int:
        """How many were at or after `at`."""
        exact = len(self._times) - bisect_left(self._times, at)
        if not self._spans or self._spans[-1].last < at:
            return exact
        return exact + sum(span.since(at) for span in self._spans)

    def between(self, begin: float, end: float) -> int:
        """How many were after `begin`, up to and with `end`."""
        times = self._times
        if not self._spans or self._spans[-1].last <= begin:
            return max(bisect_right(times, end) - bisect_right(times, begin), 0)
        later = len(times) - bisect_right(times, end)
        later += sum(span.since(_after(end)) for span in self._spans)
        return max(self.since(_after(begin)) - later, 0)

    def move(self, moved: Callable[[float], float]) -> None:
        """Date everything anew."""
        self._times = sorted(map(moved, self._times))
        for span in self._spans:
            first, last = moved(span.first), moved(span.last)
            span.first, span.last = min(first, last), max(first, last)
        self._spans.sort(key=lambda span: span.first)

    def _fold(self) -> None:
        oldest, self._times = self._times[:_FOLDED_AT_ONCE], self._times[_FOLDED_AT_ONCE:]
        for at in oldest:
            newest = self._spans[-1] if self._spans else None
            if newest is not None and at - newest.first < _SPAN_SECONDS:
                newest.first, newest.last = min(newest.first, at), max(newest.last, at)
                newest.count += 1
            else:
                self._spans.append(_Span(at, at, 1))
        if len(self._spans) > _MOST_SPANS:
            half = len(self._spans) // 4 * 2
            old = self._spans[:half]
            self._spans[:half] = [
                _Span(one.first, max(one.last, other.last), one.count + other.count)
                for one, other in zip(old[::2], old[1::2], strict=True)
            ]


def _after(at: float) -> float:
    """Return the next moment that a float can tell."""
    return nextafter(at, inf)
