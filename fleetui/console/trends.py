"""The sparklines of the table's rows: read a few at a time, for visible rows only."""

from collections.abc import Iterable

from fleetui.console.chart_drawing import reduce_points
from fleetui.console.fleet_state import FleetState
from fleetui.store.interface import ViewerStore

TREND_HOURS = 6.0
TREND_SECONDS = 120.0
"""Real seconds after which a trend is read again."""
TRENDS_AT_ONCE = 12
TREND_POINTS = 12


class Trends:
    """Proofs an hour of instances over the last hours, reduced to the cells of a column."""

    def __init__(self, state: FleetState) -> None:
        self._state = state
        self._read_at: dict[int, float] = {}
        self.points: dict[int, tuple[float | None, ...]] = {}

    async def pull(self, store: ViewerStore, shown: Iterable[int]) -> bool:
        """Read the trends of some of the instances shown; true when any was read."""
        now = self._state.now()
        age = TREND_SECONDS * self._state.speed
        stale = [item for item in shown if now - self._read_at.get(item, float("-inf")) > age]
        for instance_id in stale[:TRENDS_AT_ONCE]:
            samples = await store.samples(instance_id, now - TREND_HOURS * 3600)
            points = reduce_points([(s.at, s.proofs_per_hour) for s in samples], TREND_POINTS)
            self.points[instance_id] = tuple(value for _, value in points)
            self._read_at[instance_id] = now
        return bool(stale)
