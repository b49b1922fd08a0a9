"""How many instances may be taken from their work within a short time."""

import contextlib
from collections import deque
from collections.abc import Iterable


class BlastRadius:
    """Counts the acts that end work; pure.

    At most `instances`, or `share` of the fleet when that is more, within `window_seconds`.
    `earlier` has the times of those that an earlier run let through.
    """

    def __init__(
        self,
        *,
        instances: int,
        share: float,
        window_seconds: float,
        earlier: Iterable[float] = (),
    ) -> None:
        self._instances = instances
        self._share = share
        self._window = window_seconds
        self._times = deque(sorted(earlier))

    def limit(self, fleet: int) -> int:
        """Return how many instances of a fleet of this size may be taken within the window."""
        return max(self._instances, int(self._share * fleet))

    def take(self, now: float, fleet: int) -> str | None:
        """Count one more; returns why it may not be, or `None`."""
        while self._times and now - self._times[0] > self._window:
            self._times.popleft()
        limit = self.limit(fleet)
        if len(self._times) >= limit:
            return (
                f"nothing was done: {len(self._times)} instances were taken from their work within"
                f" {self._window / 60:.0f} min, and no more than {limit} may be"
                " (settings blast_radius_instances, blast_radius_share)"
            )
        self._times.append(now)
        return None

    def give_back(self, at: float) -> None:
        """Take back what was counted at a time: it was refused, and nothing was done."""
        with contextlib.suppress(ValueError):
            self._times.remove(at)

    def exceeded_at(self, at: float, now: float, fleet: int) -> str | None:
        """Say why an act that an earlier run began at `at` goes beyond the limit, or `None`.

        Those that were taken from the fleet since count as of it.
        """
        recent = [time for time in self._times if now - time <= self._window]
        before = sum(time <= at for time in recent)
        limit = self.limit(fleet + len(recent))
        if before <= limit:
            return None
        return (
            f"{before} instances were taken from their work within {self._window / 60:.0f} min, and"
            f" no more than {limit} may be (settings blast_radius_instances, blast_radius_share)"
        )
