"""Which requests are taken now, which wait their turn, and who may ask at all."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fleetui.domain.intent import Intent
from fleetui.domain.role import Role, lesser, role_of

PACE_SECONDS = 60.0
POLICY_ACTOR = "policy"


@dataclass(frozen=True)
class Permissions:
    """Who may ask for what: `own` bounds everybody, `actors` is read by `role_of`."""

    own: Role = Role.OWNER
    actors: Mapping[str, Role] | None = None

    def refusal(self, intent: Intent) -> str | None:
        """Say why an intent may not be carried out, or `None`."""
        role = lesser(lesser(self.own, intent.role), self._role_of(intent.actor))
        if role.covers(intent.verb.needs):
            return None
        return (
            f"nothing was done: {intent.actor} has the role {role} here, and {intent.verb} needs"
            f" the role {intent.verb.needs} (settings read_only, role, roles)"
        )

    def _role_of(self, actor: str) -> Role:
        actors = dict(self.actors or {})
        if actor == POLICY_ACTOR:
            # The owner's own rules: what is said of everybody is not meant for them.
            actors.pop("*", None)
        return role_of(actor, actors, Role.OWNER)


@dataclass(frozen=True)
class Sorted:
    """Requests by what is to become of them now; each in its order."""

    taken: tuple[Intent, ...] = ()
    held: tuple[Intent, ...] = ()
    stale: tuple[Intent, ...] = ()


class Admission:
    """Sorts waiting requests; pure.

    Of the verbs that interrupt work at most `per_minute` are taken within a minute (0: no bound),
    counted apart for those that end work for good. `earlier` has the times of those that an earlier
    run took. A request that is older than `expiry_seconds` when it is first seen is stale; one that
    was seen in time is not, however long it is held back.
    """

    def __init__(
        self, *, per_minute: int, expiry_seconds: float, earlier: Iterable[tuple[bool, float]] = ()
    ) -> None:
        self._per_minute = per_minute
        self._expiry = expiry_seconds
        self._times: dict[bool, list[float]] = {True: [], False: []}
        for ends_work, at in earlier:
            self._times[ends_work].append(at)
        self._seen: set[str] = set()

    def sort(self, waiting: Sequence[Intent], now: float) -> Sorted:
        """Sort requests; those taken are counted, whether or not they come to be done."""
        taken: list[Intent] = []
        held: list[Intent] = []
        stale: list[Intent] = []
        seen = self._seen
        self._seen = set()
        for intent in waiting:
            if intent.intent_id not in seen and self.is_stale(intent.created_at, now):
                stale.append(intent)
                continue
            self._seen.add(intent.intent_id)
            (taken if self._has_room(intent, now) else held).append(intent)
        return Sorted(tuple(taken), tuple(held), tuple(stale))

    def is_stale(self, since: float, now: float) -> bool:
        """Tell whether a time is too far from now, before or (by a wrong clock) after it."""
        return abs(now - since) > self._expiry

    def _has_room(self, intent: Intent, now: float) -> bool:
        if not intent.verb.interrupts_work or not self._per_minute:
            return True
        ends_work = intent.verb.ends_work
        times = [at for at in self._times[ends_work] if 0 <= now - at < PACE_SECONDS]
        self._times[ends_work] = times
        if len(times) >= self._per_minute:
            return False
        times.append(now)
        return True
