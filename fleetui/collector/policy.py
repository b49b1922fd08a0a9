"""Applies the owner's rules: says, proposes, and where it is allowed asks for the act."""

import asyncio
import logging
import uuid

import msgspec

from fleetui.collector.fleet import Fleet
from fleetui.collector.health import HealthBoard, Part
from fleetui.collector.publisher import Publisher
from fleetui.collector.standing_book import StandingBook
from fleetui.collector.walks import Walks
from fleetui.collector.watcher import Watcher
from fleetui.domain.clock import Clock
from fleetui.domain.intent import Event, Intent, Verb
from fleetui.domain.money import DAY_SECONDS, Spend
from fleetui.domain.policy import Mode, Policy, Proposal
from fleetui.domain.stage import Stage
from fleetui.domain.text import SafeText, sanitise
from fleetui.reading.policy import OF_THE_API, Subject, judge, judge_fleet
from fleetui.store.interface import CollectorStore, StoreError

log = logging.getLogger(__name__)

TICK_SECONDS = 5.0
LEAST_AGE_SECONDS = 60.0
"""A proposal must have stood so long (fleet time) before it is acted on by itself."""
OLDEST_ROW_SECONDS = 90.0
"""Real seconds since the newest complete walk began; older data is stale."""
AGAIN_SECONDS = 600.0
SETTLING_SECONDS = 600.0
"""So long (fleet time) nothing is done by itself to what somebody had begin anew."""
ACTOR = SafeText("policy")


class PolicyRunner:
    """Judges every instance now and then; the proposals that stand are published when they change.

    `auto` acts are intents like any other, so that protection, the last look, the look at the row
    and the blast radius hold for them too.
    """

    def __init__(
        self,
        store: CollectorStore,
        policy: Policy,
        *,
        fleet: Fleet,
        walks: Walks,
        standing: StandingBook,
        publisher: Publisher,
        health: HealthBoard,
        clock: Clock,
    ) -> None:
        self._store = store
        self._policy = policy
        self._fleet = fleet
        self._walks = walks
        self._standing = standing
        self._publisher = publisher
        self._health = health
        self._clock = clock
        self._standing_proposals: dict[tuple[int | None, str], Proposal] = {}
        self._asked: dict[int, float] = {}

    async def run(self) -> None:
        """Judge until cancelled."""
        self._publisher.pending.set_proposals(())
        while True:
            await asyncio.sleep(TICK_SECONDS)
            try:
                await self._judge()
            except StoreError as error:
                log.warning("the policy could not be applied: %s", error)

    async def _judge(self) -> None:
        now = self._clock.now()
        found: dict[tuple[int | None, str], Proposal] = {}
        for watcher in self._fleet:
            for proposal in self._of(watcher, now):
                found[proposal.instance_id, proposal.rule] = proposal
            await asyncio.sleep(0)
        for proposal in await self._of_fleet(now):
            found[None, proposal.rule] = proposal
        self._publish(found, now)
        for proposal in self._standing_proposals.values():
            target = self._fleet.get(proposal.instance_id) if proposal.instance_id else None
            if proposal.mode == Mode.AUTO and target is not None:
                await self._act(proposal, target, now)

    def _of(self, watcher: Watcher, now: float) -> tuple[Proposal, ...]:
        reading, machine_id = watcher.newest_reading, watcher.instance.machine_id
        if reading is None:
            return ()
        mark = None if machine_id is None else self._standing.blacklisting(machine_id)
        subject = Subject(instance=watcher.instance, reading=reading, blacklisted=mark)
        return judge(subject, self._policy, now)

    async def _of_fleet(self, now: float) -> tuple[Proposal, ...]:
        costs = [watcher.instance.cost_per_hour for watcher in self._fleet]
        known = [cost for cost in costs if cost is not None]
        spent: tuple[Spend, ...] = ()
        if self._policy.spend_day.dollars is not None:
            spent = await self._store.spend(int(now // DAY_SECONDS))
        return judge_fleet(
            self._policy,
            burn=sum(known) if known else None,
            spent_today=sum(item.dollars for item in spent),
            balance=self._health.balance,
        )

    def _publish(self, found: dict[tuple[int | None, str], Proposal], now: float) -> None:
        before = self._standing_proposals
        self._standing_proposals = {
            key: _dated(proposal, before.get(key), now) for key, proposal in found.items()
        }
        if self._standing_proposals != before:
            self._publisher.pending.set_proposals(tuple(self._standing_proposals.values()))
        for key, proposal in self._standing_proposals.items():
            if key not in before:
                text = sanitise(f"{proposal.rule} ({proposal.mode}): {proposal.text}")
                event = Event(at=now, kind="policy", text=text, instance_id=proposal.instance_id)
                self._publisher.pending.add_events([event])

    async def _act(self, proposal: Proposal, watcher: Watcher, now: float) -> None:
        if proposal.verb is None or not self._may(proposal, watcher, now):
            return
        self._asked[watcher.instance_id] = asyncio.get_running_loop().time()
        await self._store.intend(_intent(proposal, proposal.verb, watcher, now))

    def _may(self, proposal: Proposal, watcher: Watcher, now: float) -> bool:
        """Tell whether an act may be asked for: on fresh, sure and unprotected ground only."""
        loop_time = asyncio.get_running_loop().time()
        asked = self._asked.get(watcher.instance_id)
        status = str(watcher.instance.actual_status or "").lower()
        return (
            proposal.since is not None
            and now - proposal.since >= LEAST_AGE_SECONDS
            and (asked is None or loop_time - asked >= AGAIN_SECONDS)
            and loop_time - self._walks.listed_since <= OLDEST_ROW_SECONDS
            and self._walks.lists(watcher.instance_id)
            and not self._health.in_trouble(Part.API)
            and status not in ("", "unknown", "offline")
            and not watcher.instance.odd
            and _is_known(proposal, watcher)
            and self._standing.protection(watcher.instance_id) is None
            and not watcher.acting
            and not _is_settling(watcher, now)
        )


def _is_known(proposal: Proposal, watcher: Watcher) -> bool:
    """Tell whether what a rule goes by is known now: of a host that lets nobody in it is not."""
    return proposal.rule in OF_THE_API or watcher.connected or watcher.stage is Stage.LOADING


def _is_settling(watcher: Watcher, now: float) -> bool:
    """Tell whether somebody has just had it begin anew: the evidence may be of before that."""
    reading = watcher.newest_reading
    begun = reading.begun_anew_at if reading is not None else None
    return begun is not None and now - begun < SETTLING_SECONDS


def _dated(proposal: Proposal, earlier: Proposal | None, now: float) -> Proposal:
    """Keep since when it stands; the figures in its text may change meanwhile."""
    since = earlier.since if earlier is not None else now
    return msgspec.structs.replace(proposal, since=since)


def _intent(proposal: Proposal, verb: Verb, watcher: Watcher, now: float) -> Intent:
    instance = watcher.instance
    return Intent(
        intent_id=uuid.uuid4().hex,
        verb=verb,
        instance_id=instance.instance_id,
        actor=ACTOR,
        reason=sanitise(proposal.why),
        created_at=now,
        machine_id=instance.machine_id,
        host_id=instance.host_id,
        label=instance.label,
    )
