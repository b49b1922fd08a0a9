"""How long to wait before the next try."""

import random
from collections.abc import Callable


class Backoff:
    """Doubling pauses with jitter: between half of the pause and all of it.

    `first` and `limit` are seconds. `reset` after a success starts again from `first`.
    """

    def __init__(
        self, first: float, limit: float, *, jitter: Callable[[], float] = random.random
    ) -> None:
        self._first = first
        self._limit = max(first, limit)
        self._jitter = jitter
        self.tries = 0

    def next(self, at_least: float = 0.0) -> float:
        """Count a failure and return the seconds to wait."""
        pause = min(self._limit, self._first * 2.0 ** min(self.tries, 32))
        self.tries += 1
        return max(pause, min(at_least, self._limit)) * (0.5 + 0.5 * self._jitter())

    def reset(self) -> None:
        """Forget the failures."""
        self.tries = 0
