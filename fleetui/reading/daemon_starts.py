"""Starts of the daemon as its uptime shows them, whether a log tells of them or not."""

from collections import deque

import msgspec

from fleetui.domain.host import DaemonStatus

SLACK_SECONDS = 5.0
"""How far two answers' views of one start may differ: an answer has its way to come."""
SETTLED_SECONDS = 30.0
"""A daemon that answers for so long was not kept from its port (facts: cuzk.md section 1.6)."""
_MOST = 16


class DaemonStart(msgspec.Struct, frozen=True):
    """One start, in epoch seconds; `is_first` was there before us, so it is no restart.

    `jobs` is how many proofs were under way in the last answer before it.
    """

    at: float
    is_first: bool = False
    jobs: int = 0


class DaemonStarts:
    """Follows status answers; a start is where the uptime fell."""

    def __init__(self) -> None:
        self.starts: deque[DaemonStart] = deque(maxlen=_MOST)

    def take(self, status: DaemonStatus, jobs: int) -> None:
        """Take one answer; `jobs` were under way in the one before it."""
        if status.at is None:
            return
        started = status.at - status.uptime_secs
        if not self.starts:
            self.starts.append(DaemonStart(started, is_first=True))
        elif started > self.starts[-1].at + SLACK_SECONDS:
            self.starts.append(DaemonStart(started, jobs=jobs))

    def move(self, seconds: float) -> None:
        """Date all starts anew, as our own clock was set by so much."""
        moved = [msgspec.structs.replace(start, at=start.at + seconds) for start in self.starts]
        self.starts = deque(moved, _MOST)


def clock_step(status: DaemonStatus, before: DaemonStatus) -> float:
    """Return by how much our own clock was set between two answers; 0 when nothing shows that.

    One daemon's uptime goes on whatever our clock does. A later start is a restart where the
    daemon can have been started between the answers, and our clock where it was up for longer.
    """
    if status.at is None or before.at is None:
        return 0.0
    passed = status.at - before.at
    lived = status.uptime_secs - before.uptime_secs
    if passed < 0:
        # No answer comes before an earlier one.
        return passed - max(lived, 0.001)
    is_later = passed - lived > SLACK_SECONDS and lived > 0
    return passed - lived if is_later and status.uptime_secs > passed + SLACK_SECONDS else 0.0
