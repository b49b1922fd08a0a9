"""What is known of the fleet, and what a walk changes in it. Pure: no I/O, no time of its own."""

from collections.abc import Iterable

from fleetui.domain.instance import Instance, WalkOutcome
from fleetui.domain.intent import Event
from fleetui.domain.text import sanitise
from fleetui.vast.answers import Presence, PresenceKind, WalkResult

WALKS_TO_SUSPECT = 2
_PRICE_STEP = 1e-6


class Inventory:
    """The known instances. Only two complete walks and a "gone" together remove one (rule R2).

    `known` gives what an earlier run left: rows and when each was last seen; `stopping` the ids
    whose last order of ours was a stop.
    """

    def __init__(
        self, known: Iterable[tuple[Instance, float]] = (), *, stopping: Iterable[int] = ()
    ) -> None:
        self._known = {instance.instance_id: instance for instance, _ in known}
        self._prices = {
            instance.instance_id: instance.price_running
            for instance in self._known.values()
            if instance.price_running is not None
        }
        self._misses: dict[int, int] = {}
        self._stopping = set(stopping)

    @property
    def suspects(self) -> tuple[int, ...]:
        """Ids that two complete walks missed and that a single look shall settle."""
        return tuple(sorted(key for key in self._misses if self.is_suspect(key)))

    def __contains__(self, instance_id: int) -> bool:
        """Whether an instance is known and not proven gone."""
        return instance_id in self._known

    def is_suspect(self, instance_id: int) -> bool:
        """Whether an id is still missed by two walks."""
        return self._misses.get(instance_id, 0) >= WALKS_TO_SUSPECT

    @property
    def instances(self) -> tuple[Instance, ...]:
        """Every instance that is not proven gone."""
        return tuple(self._known.values())

    def expect_stop(self, instance_id: int) -> None:
        """Note that somebody here asked for a stop, so that it is not taken for an outbid."""
        self._stopping.add(instance_id)

    def withdraw_stop(self, instance_id: int) -> None:
        """Note that the stop did not come about."""
        self._stopping.discard(instance_id)

    def learn(self, instance: Instance) -> None:
        """Note an instance that a single look found before any walk did."""
        self._known.setdefault(instance.instance_id, instance)

    def apply(self, result: WalkResult) -> tuple[Event, ...]:
        """Take in a walk and say what it changed; a failed one changes nothing."""
        if result.walk.outcome is not WalkOutcome.COMPLETE:
            return ()
        at = result.walk.ended_at
        events: list[Event] = []
        for instance in result.instances:
            before = self._known.get(instance.instance_id)
            events += self._differences(before, instance, at)
            self._known[instance.instance_id] = instance
            self._misses.pop(instance.instance_id, None)
        if not result.unreadable:
            listed = {instance.instance_id for instance in result.instances}
            for instance_id in self._known.keys() - listed:
                self._misses[instance_id] = self._misses.get(instance_id, 0) + 1
        return tuple(events)

    def confirm(self, instance_id: int, presence: Presence, at: float) -> Event | None:
        """Weigh a single look at a suspect; the event says that its absence is now proven.

        It is forgotten then. A look that finds it clears the suspicion; one that does not tell
        leaves it.
        """
        if presence.kind is PresenceKind.PRESENT:
            self._misses.pop(instance_id, None)
        if presence.kind is not PresenceKind.GONE or not self.is_suspect(instance_id):
            return None
        del self._misses[instance_id]
        self._prices.pop(instance_id, None)
        self._stopping.discard(instance_id)
        text = "gone: two complete walks and a single look do not find it"
        return _event(at, "gone", self._known.pop(instance_id), text)

    def _differences(self, before: Instance | None, now: Instance, at: float) -> list[Event]:
        if before is None:
            if now.price_running is not None:
                self._prices[now.instance_id] = now.price_running
            title = " ".join(str(part) for part in (now.num_gpus, now.gpu_name) if part)
            return [_event(at, "new", now, f"new instance: {title or 'unknown GPUs'}")]
        events: list[Event] = []
        if before.actual_status != now.actual_status:
            text = f"{before.actual_status or 'provisioning'} -> {now.actual_status or 'unknown'}"
            events.append(_event(at, "status", now, text))
        price, earlier = now.price_running, self._prices.get(now.instance_id)
        if price is not None:
            # A row without a price in between must not hide that it moved.
            self._prices[now.instance_id] = price
            if earlier is not None and abs(price - earlier) > _PRICE_STEP:
                text = f"price {earlier:.4f} -> {price:.4f} $/h"
                events.append(_event(at, "price", now, text))
        if before.ssh_addresses != now.ssh_addresses:
            places = ", ".join(f"{place.host}:{place.port}" for place in now.ssh_addresses)
            events.append(_event(at, "address", now, f"ssh at {places or 'no address'}"))
        if _stopped(now):
            asked = now.instance_id in self._stopping
            if now.is_bid and not _stopped(before) and not asked:
                text = f"outbid: stopped, the least bid is {now.min_bid or 0.0:.4f} $/h"
                events.append(_event(at, "outbid", now, text))
        elif _stopped(before):
            self._stopping.discard(now.instance_id)
        return events


def _stopped(instance: Instance) -> bool:
    states = (instance.cur_state, instance.intended_status, instance.next_state)
    return all(state == "stopped" for state in states)


def _event(at: float, kind: str, instance: Instance, text: str) -> Event:
    return Event(at=at, kind=kind, text=sanitise(text), instance_id=instance.instance_id)
