"""What the collector knows of its own state: counters and the newest trouble of each part."""

from enum import StrEnum

from fleetui import __version__
from fleetui.domain.clock import Clock
from fleetui.domain.instance import WalkOutcome
from fleetui.domain.text import SafeText, sanitise
from fleetui.store.interface import CollectorHealth
from fleetui.vast.answers import WalkResult


class Part(StrEnum):
    """A part of the collector that can be in trouble, the gravest first."""

    STORE = "store"
    API = "API"
    ROWS = "rows"
    ACCOUNT = "account"
    CHARGES = "charges"
    INTENTS = "intents"
    INTERNAL = "collector"


class HealthBoard:
    """Gathers counters and troubles; `report` gives the published form."""

    def __init__(self, holder: str, clock: Clock) -> None:
        self._holder = holder
        self._clock = clock
        self._started_at = clock.now()
        self._troubles: dict[Part, SafeText] = {}
        self.instances = 0
        self.ssh_connected = 0
        self.ssh_wanted = 0
        self.walks_complete = 0
        self.walks_failed = 0
        self.rows_odd = 0
        self.log_bytes = 0
        self.balance: float | None = None

    def trouble(self, part: Part, text: str) -> None:
        """Say what is wrong with a part, replacing what was said before."""
        self._troubles[part] = sanitise(text)

    def well(self, part: Part) -> None:
        """Say that a part works."""
        self._troubles.pop(part, None)

    def in_trouble(self, part: Part) -> bool:
        """Whether a part is in trouble now."""
        return part in self._troubles

    def walked(self, result: WalkResult) -> None:
        """Count a walk, and its rows that could not be read in full."""
        walk = result.walk
        if walk.outcome is WalkOutcome.COMPLETE:
            self.walks_complete += 1
            self.well(Part.API)
            self.well(Part.ROWS)
            odd = [instance.instance_id for instance in result.instances if instance.odd]
            self.rows_odd = len(odd) + result.unreadable
            if result.unreadable:
                text = f"{result.unreadable} of {walk.rows} rows have no id; none counts as gone"
                self.trouble(Part.API, text)
            elif odd:
                text = f"{len(odd)} of {walk.rows} rows cannot be read in full, such as {odd[0]}"
                self.trouble(Part.ROWS, text)
        else:
            self.walks_failed += 1
            self.trouble(Part.API, str(walk.error or "the walk over the instance list failed"))

    @property
    def error(self) -> SafeText | None:
        """The gravest present trouble as one line, or `None`."""
        for part in Part:
            if part in self._troubles:
                return sanitise(f"{part}: {self._troubles[part]}")
        return None

    def report(self) -> CollectorHealth:
        """Return the state as of now."""
        return CollectorHealth(
            at=self._clock.now(),
            holder=self._holder,
            version=__version__,
            started_at=self._started_at,
            instances=self.instances,
            ssh_connected=self.ssh_connected,
            ssh_wanted=self.ssh_wanted,
            walks_complete=self.walks_complete,
            walks_failed=self.walks_failed,
            rows_odd=self.rows_odd,
            log_bytes=self.log_bytes,
            balance=self.balance,
            error=self.error,
        )
