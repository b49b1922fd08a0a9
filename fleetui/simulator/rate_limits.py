"""The pretend API's own rate limits, in real time (facts: vast_api.md section 6.2)."""

from collections.abc import Callable

LEAST_SPACING = {
    "GET list": 1.0,
    "GET single": 2.0,
    "DELETE": 3.0,
    "PUT manage": 1.0,
    "PUT reboot": 1.0,
    "PUT recycle": 1.0,
    "asks": 4.5,
    "search": 6.0,
    "GET account": 0.0,
    "GET account keys": 0.0,
    "GET keys": 0.0,
    "deposit": 3.0,
    "GET charges": 1.0,
    "logs": 0.0,
    "bid": 5.5,
}
_MOST_IDENTITIES = 1024


class RateLimits:
    """Least spacing per identity and endpoint. `pace` scales it; 0 lets everything through.

    A refused call does not count: the next is let in when the spacing is over.
    """

    def __init__(self, real: Callable[[], float], pace: float = 1.0) -> None:
        self._real = real
        self.pace = pace
        self._last: dict[tuple[str, str], float] = {}

    def wait(self, identity: str, endpoint: str) -> float:
        """Count a call; returns the seconds still to wait, 0 when it is let in."""
        spacing = LEAST_SPACING[endpoint] * self.pace
        now = self._real()
        key = (identity, endpoint)
        left = self._last.get(key, -1e9) + spacing - now
        if left > 0:
            return left
        if len(self._last) > _MOST_IDENTITIES:
            self._last.clear()
        self._last[key] = now
        return 0.0
