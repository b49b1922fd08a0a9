"""How an instance does beside its siblings: same cards, same work. Pure."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage
from fleetui.domain.text import SafeText

FEWEST = 4
"""Of fewer peers nothing is said."""

_RATED = frozenset({Stage.BENCH, Stage.BENCH_DONE, Stage.RUNNING})


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """`slower_than` and `faster_than` are parts of `peers`; what is left is as fast."""

    what: SafeText
    peers: int
    slower_than: float
    faster_than: float

    @property
    def words(self) -> str:
        """Say it, e.g. `slower than 88 % of its 24 peers`."""
        is_slow = self.slower_than >= self.faster_than
        share = self.slower_than if is_slow else self.faster_than
        word = "slower" if is_slow else "faster"
        return f"{word} than {share * 100:.0f} % of its {self.peers} peers"


class Peers:
    """The paces of a fleet at one moment.

    Instances that prove are compared by their measured rate, others by how quickly they get on
    in the stage they share.
    """

    def __init__(self, rows: Iterable[FleetRow], now: float) -> None:
        self._now = now
        self._paces: dict[tuple[object, ...], list[float]] = defaultdict(list)
        for row in rows:
            pace = _pace(row, now)
            if pace is not None:
                self._paces[_kind(row, pace[0])].append(pace[1])
        for paces in self._paces.values():
            paces.sort()

    def place_of(self, row: FleetRow) -> Place | None:
        """Return how one of the rows does beside those of the same cards.

        `None` when nothing of it is measured, or it has too few peers.
        """
        pace = _pace(row, self._now)
        if pace is None or row.gpu is None:
            return None
        what, own = pace
        paces = self._paces.get(_kind(row, what), [])
        peers = len(paces) - 1
        if peers < FEWEST:
            return None
        return Place(
            what=SafeText(what),
            peers=peers,
            slower_than=(len(paces) - bisect_right(paces, own)) / peers,
            faster_than=bisect_left(paces, own) / peers,
        )


def _kind(row: FleetRow, what: str) -> tuple[object, ...]:
    return row.gpu, row.num_gpus, what


def _pace(row: FleetRow, now: float) -> tuple[str, float] | None:
    """What is compared, and how quick it is; more is better."""
    if row.stage in _RATED:
        return None if row.proofs_per_hour is None else ("proofs an hour", row.proofs_per_hour)
    if not row.progress_fraction or row.stage_since is None or now <= row.stage_since:
        return None
    return str(row.stage), row.progress_fraction / (now - row.stage_since)
