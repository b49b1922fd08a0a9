"""Proofs per hour: measured, with window and source; never an estimate."""

from collections import deque
from dataclasses import dataclass

from fleetui.domain.host import DaemonStatus
from fleetui.domain.rate import Rate, RateSource
from fleetui.reading.daemon_starts import SLACK_SECONDS
from fleetui.reading.jobs import Done

WINDOWS = (900.0, 3600.0, 86400.0)
SHORTEST_SECONDS = 60.0
"""A window shorter than this says nothing."""

_BELIEVED_AFTER = 5
"""After so many odd answers in a row they are what is true, and counting begins anew."""
_HOUR = 3600.0
MOST_PER_HOUR = 10_000.0
"""More proofs than any machine makes: who claims more has not measured them."""


def completion_rates(done: deque[Done], since: float, now: float) -> tuple[Rate, ...]:
    """Return the rates of self-checked proofs over 15 min, 1 h, 24 h and since `since`.

    A window that reaches back before `since` (when the present work began) is cut there; of
    equal windows one is kept.
    """
    age = now - since
    if age < SHORTEST_SECONDS:
        return ()
    rates = []
    for window in [*(window for window in WINDOWS if window < age), age]:
        proofs = sum(now - window < proof.at <= now for proof in done)
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
        self._base = 0
        self.restarts = 0
        self._odd = 0

    def take(self, status: DaemonStatus) -> None:
        """Take one status answer."""
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

    def completed_since(self, since: float) -> int:
        """How many proofs were counted after the first answer at or after `since`."""
        first = next((total for at, _, total in self._samples if at >= since), None)
        return 0 if first is None else self._samples[-1][2] - first

    def rate(self) -> Rate | None:
        """Return the rate over the last hour of answers."""
        if not self._samples:
            return None
        at, _, total = self._samples[-1]
        recent = [sample for sample in self._samples if sample[0] >= at - _HOUR]
        window = at - recent[0][0]
        if window < SHORTEST_SECONDS:
            return None
        proofs = total - recent[0][2]
        return Rate(
            proofs_per_hour=proofs * _HOUR / window,
            proofs=proofs,
            window_seconds=window,
            measured_at=at,
            source=RateSource.STATUS,
        )
