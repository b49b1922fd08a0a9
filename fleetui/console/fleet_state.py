"""The console's own picture of the fleet: fed by views, read by widgets. Pure."""

from collections import Counter

import msgspec

from fleetui.console.tally import Tally, Totals
from fleetui.domain.clock import Clock
from fleetui.domain.finding import Severity
from fleetui.domain.instance import Walk, WalkOutcome
from fleetui.domain.quiet import Quiet
from fleetui.domain.reading import FleetRow
from fleetui.domain.text import SafeText, sanitise
from fleetui.store.interface import CollectorHealth, FleetView

MISSED_WALK_SECONDS = 60.0
"""Real seconds without a complete API walk after which rows count as stale."""
COLLECTOR_SILENCE_SECONDS = 15.0
"""Real seconds without a word of the collector after which it counts as absent."""


class FleetState:
    """Rows by id and what is known of the collector and the last walk."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.speed = float(getattr(clock, "speed", 1.0))
        self.rows: dict[int, FleetRow] = {}
        self.revision = 0
        self.last_walk: Walk | None = None
        self.last_complete_walk: Walk | None = None
        self.health: CollectorHealth | None = None
        self.lease_held = False
        self.loaded = False
        self.trouble: SafeText | None = None
        self.write_trouble: SafeText | None = None
        """Why the store takes nothing (a full disk); reading may go on meanwhile."""
        self.acting: dict[int, SafeText] = {}
        self.quiet: dict[int, Quiet] = {}
        """Instances of which a finding was acknowledged or snoozed."""
        self.proposals = 0
        """How many acts the owner's rules propose now."""
        self.collector_starting = False
        """Whether a collector that was just started may still be on its way."""
        self._still_at: float | None = None
        self._tally = Tally()
        self._changes = 0
        """Counts the views that changed a row."""
        self._totals: tuple[object, Totals] | None = None
        self._kinds: tuple[object, Counter[tuple[Severity, str]]] | None = None

    def apply(self, view: FleetView) -> set[int]:
        """Take a view in; returns the ids whose row is new, changed or removed."""
        changed: set[int] = set()
        if view.whole or not self.loaded:
            kept = {row.instance_id for row in view.rows}
            changed |= self.rows.keys() - kept
            for instance_id in self.rows.keys() - kept:
                self._tally.replace(self.rows.pop(instance_id), None)
        for row in view.rows:
            old = self.rows.get(row.instance_id)
            if old != row:
                self._tally.replace(old, row)
                self.rows[row.instance_id] = row
                changed.add(row.instance_id)
        for instance_id in view.removed:
            if (old := self.rows.pop(instance_id, None)) is not None:
                self._tally.replace(old, None)
                changed.add(instance_id)
        self._changes += bool(changed)
        self.revision = view.revision
        self.last_walk = view.last_walk
        self.last_complete_walk = view.last_complete_walk
        self.loaded = True
        self.look_alive(view)
        return changed

    def look_alive(self, view: FleetView) -> None:
        """Take in of a view only what tells whether anybody watches the fleet."""
        self.health = view.health
        self.lease_held = view.lease_held
        self.trouble = None

    def freeze(self, *, still: bool) -> None:
        """Let rows stay as old as they are now, or grow older again."""
        self._still_at = self.now() if still else None

    def shown_at(self) -> float:
        """Return the fleet time of what is shown: of the freezing while frozen."""
        return self.now() if self._still_at is None else self._still_at

    def fail(self, error: BaseException) -> None:
        """Note that the store could not be read; what is known stays."""
        text = str(error) or type(error).__name__
        self.trouble = sanitise(text, 200)

    def row(self, instance_id: int) -> FleetRow | None:
        """Return a row with the word for what this console has asked to be done to it."""
        row = self.rows.get(instance_id)
        word = self.acting.get(instance_id)
        if row is None or word is None or row.acting:
            return row
        return msgspec.structs.replace(row, acting=word)

    def now(self) -> float:
        """Return the fleet's time."""
        return self.clock.now()

    def totals(self) -> Totals:
        """Sum what the fleet costs and proves; summed anew for each change of the fleet."""
        key = (self._changes, int(self.shown_at() / self.speed))
        if self._totals is None or self._totals[0] != key:
            self._totals = (key, self._tally.totals(self.shown_at(), self.speed))
        return self._totals[1]

    def severities(self) -> Counter[Severity]:
        """Count rows by the severity of their worst finding."""
        counts: Counter[Severity] = Counter()
        for (severity, _), count in self._loud_counts().items():
            counts[severity] += count
        return counts

    def categories(self, severity: Severity) -> list[tuple[str, int]]:
        """Count rows by category of their first finding, the most frequent first."""
        counts = [
            (category, count)
            for (found, category), count in self._loud_counts().items()
            if found is severity
        ]
        return sorted(counts, key=lambda item: (-item[1], item[0]))

    def _loud_counts(self) -> Counter[tuple[Severity, str]]:
        key = (self._changes, self.quiet)
        if self._kinds is None or self._kinds[0] != key:
            self._kinds = (key, self._tally.loud(self.rows, self.quiet))
        return self._kinds[1]

    def walk_age(self) -> float | None:
        """Return the age of the last complete API walk in fleet seconds."""
        if self.last_complete_walk is None:
            return None
        return max(self.shown_at() - self.last_complete_walk.ended_at, 0.0)

    def walk_error(self) -> SafeText | None:
        """Return why the newest walk failed, `None` when it did not."""
        walk = self.last_walk
        if walk is None or walk.outcome is WalkOutcome.COMPLETE:
            return None
        return walk.error or sanitise(walk.error_category or "failed")

    def collector_silence(self) -> float | None:
        """Return how long the collector has been silent, `None` while it is well.

        Nobody holding the lease counts at once; a holder that says nothing counts after a while.
        """
        if self.collector_starting and not self.lease_held:
            return None
        if self.health is None:
            return None if self.lease_held else 0.0
        silence = max(self.now() - self.health.at, 0.0)
        if self.lease_held and silence < COLLECTOR_SILENCE_SECONDS * self.speed:
            return None
        return silence

    def stale_before(self) -> float:
        """Return the fleet time before which a row was last seen too long ago to trust."""
        limit = self.shown_at() - MISSED_WALK_SECONDS * self.speed
        if self.last_complete_walk is None:
            return limit
        # A row that the last complete walk did not contain is stale as well.
        return max(limit, min(self.last_complete_walk.started_at - 1.0, self.now()))
