"""Proofs per hour: measured, with window and source; never an estimate."""

from collections import deque
from dataclasses import dataclass

from fleetui.domain.host import DaemonStatus
from fleetui.domain.rate import Rate, RateSource
from fleetui.reading.completions import Completions
from fleetui.reading.daemon_starts import SLACK_SECONDS

WINDOWS = (900.0, 3600.0, 86400.0)
SHORTEST_SECONDS = 60.0
"""A window shorter than this says nothing."""

_BELIEVED_AFTER = 5
"""After so many odd answers in a row they are what is true, and counting begins anew."""
_HOUR = 3600.0
_APART = 60.0
"""Answers farther apart than this leave open when a proof between them was done."""
MOST_PER_HOUR = 10_000.0
"""More proofs than any machine makes: who claims more has not measured them."""


def completion_rates(done: Completions, since: float, now: float) -> tuple[Rate, ...]:
    """Return the rates of self-checked proofs over 15 min, 1 h, 24 h and since `since`.

    A window that reaches back before `since` (when the present work began) is cut there; of
    equal windows one is kept.
    """
    age = now - since
    if age < SHORTEST_SECONDS:
        return ()
    rates = []
    for window in [*(window for window in WINDOWS if window < age), age]:
        proofs = done.between(now - window, now)
        rates.append(
            Rate(
                proofs_per_hour=proofs * _HOUR / window,
                proofs=proofs,
                window_seconds=window,
                measured_at=now,
                source=RateSource.COMPLETIONS,
            )
        )
    return tuple(rates)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What cuzk-bench reported at its end."""

    per_minute: float
    at: float
    proofs: int = 0
    seconds: float = 0.0

    def rate(self) -> Rate:
        """The benchmark's own throughput as a rate."""
        return Rate(
            proofs_per_hour=self.per_minute * 60.0,
            proofs=self.proofs,
            window_seconds=self.seconds,
            measured_at=self.at,
            source=RateSource.BENCHMARK,
        )


class StatusCounters:
    """The daemon's own count of completed proofs, over restarts that set it to zero.

    It counts assembled PoRep and Snap proofs only, before their self-check: a cross-check, not
    the measure (facts: cuzk.md section 3.1).
    """

    def __init__(self) -> None:
        self._samples: deque[tuple[float, float, int]] = deque(maxlen=2048)
        """When, the uptime, the count: of answers with one count the first and the last."""
        self._base = 0
        self.restarts = 0
        self._odd = 0

    def take(self, status: DaemonStatus) -> None:
        """Take one status answer; the times of answers never fall (`move`)."""
        if status.at is None:
            return
        total = status.counters.total_completed
        if self._samples:
            at, uptime, before = self._samples[-1]
            if status.at <= at:
                return
            later = (status.at - status.uptime_secs) - (at - uptime)
            is_restart = later > SLACK_SECONDS or status.uptime_secs < uptime
            if later < -SLACK_SECONDS or (not is_restart and self._base + total < before):
                # Not the daemon that was asked before, or no count: one daemon's never fall.
                self._odd += 1
                if self._odd < _BELIEVED_AFTER:
                    return
                self._base = before - total
            elif is_restart:
                self.restarts += 1
                self._base = before
            self._odd = 0
            # An unchanged count only moves the end of the last sample.
            is_same = self._base + total == before and len(self._samples) > 1
            if is_same and self._samples[-2][2] == before:
                self._samples.pop()
        self._samples.append((status.at, status.uptime_secs, self._base + total))

    def move(self, seconds: float) -> None:
        """Date all answers anew, as our own clock was set by so much."""
        moved = [(at + seconds, uptime, total) for at, uptime, total in self._samples]
        self._samples = deque(moved, self._samples.maxlen)

    def completed_since(self, since: float) -> int:
        """How many proofs were counted after the first answer at or after `since`."""
        first = next((total for at, _, total in self._samples if at >= since), None)
        return 0 if first is None else self._samples[-1][2] - first

    def rate(self) -> Rate | None:
        """Return the rate over the last hour of answers, or as much of it as they cover."""
        if not self._samples:
            return None
        at, _, total = self._samples[-1]
        begin, before = self._begin(at - _HOUR)
        window = at - begin
        if window < SHORTEST_SECONDS:
            return None
        proofs = total - before
        return Rate(
            proofs_per_hour=proofs * _HOUR / window,
            proofs=proofs,
            window_seconds=window,
            measured_at=at,
            source=RateSource.STATUS,
        )

    def _begin(self, wanted: float) -> tuple[float, int]:
        """Return the moment nearest to `wanted` at which the count is known, and the count.

        Between two answers with one count it is known at every moment. Where it rose between two
        answers far apart, nobody knows when: counting begins with the later one.
        """
        samples = list(self._samples)
        place = next(place for place, sample in enumerate(samples) if sample[0] > wanted)
        later_at, _, later = samples[place]
        if not place:
            return later_at, later
        earlier_at, _, earlier = samples[place - 1]
        if earlier == later:
            return wanted, later
        return (later_at, later) if later_at - earlier_at > _APART else (earlier_at, earlier)
