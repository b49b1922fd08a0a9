"""How many instances may be taken from their work within a short time."""

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
