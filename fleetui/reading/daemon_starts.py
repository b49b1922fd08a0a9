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
