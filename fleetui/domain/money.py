"""What instances cost, added up."""

import msgspec

from fleetui.domain.stage import Stage

DAY_SECONDS = 86_400
"""Days are those of UTC, counted from the epoch."""


class Spend(msgspec.Struct, frozen=True, kw_only=True):
    """Money of one instance on one day in one stage, in US dollars.

    `day` counts days since the epoch in UTC, `began_at` is its first second in epoch seconds.
    `seconds` is how long it was paid for; of these,
    `unseen_seconds` lie between two rows further apart than walks ever are, so that what it
    cost then is the earlier row's word, and of `unpriced_seconds` no row ever told the cost: they
    are not in `dollars`.
    """

    instance_id: int
    machine_id: int | None
    day: int
    stage: Stage
    began_at: float
    seconds: float
    unseen_seconds: float
    dollars: float
    unpriced_seconds: float = 0.0

    def plus(self, other: "Spend") -> "Spend":
        """Add what else was spent on the same instance, day and stage."""
        return msgspec.structs.replace(
            self,
            began_at=min(self.began_at, other.began_at),
            seconds=self.seconds + other.seconds,
            unseen_seconds=self.unseen_seconds + other.unseen_seconds,
            dollars=self.dollars + other.dollars,
            unpriced_seconds=self.unpriced_seconds + other.unpriced_seconds,
        )


class SpendTotal(msgspec.Struct, frozen=True, kw_only=True):
    """What one instance has cost since FleetUI first saw it (`since`, epoch seconds).

    `None`: it never told its cost. With `unpriced_seconds` it cost at least this.
    """

    since: float
    dollars: float | None
    unpriced_seconds: float = 0.0


def hours_left(balance: float | None, burn: float | None) -> float | None:
    """Return how many hours a balance lasts at a burn in dollars an hour.

    `None` where either is not known or nothing burns.
    """
    if balance is None or burn is None or burn <= 0:
        return None
    return max(balance, 0.0) / burn
