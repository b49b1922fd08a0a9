"""Renting an offer: looked at anew, within the owner's limits, never twice, followed until it runs.

An intent's instance carries the intent's mark in its label. Whoever does not know whether a request
to rent was taken (a lost answer, a crash) looks for that label and never asks again.
"""

import asyncio
from collections.abc import Mapping
from typing import Protocol

from fleetui.collector.acts import Course, done, failed, refused, unsure
from fleetui.collector.fleet import Fleet
from fleetui.collector.standing_book import StandingBook
from fleetui.collector.walks import Walks
from fleetui.collector.watcher import START_QUEUED, Watcher
from fleetui.domain.clock import Clock
from fleetui.domain.finding import Severity
from fleetui.domain.intent import Intent
from fleetui.domain.money import DAY_SECONDS, Spend
from fleetui.domain.offer import Offer
from fleetui.domain.policy import Policy
from fleetui.domain.rental import Deploy, Rental, Template, marked_label
from fleetui.domain.stage import Stage
from fleetui.vast.answers import PresenceKind
from fleetui.vast.client import VastClient
from fleetui.vast.offers import RentalOrder
from fleetui.vast.ordering import SecretMissingError, bound_to, find_secrets, order_of

DEPLOYING = "deploying"
LOOK_SECONDS = 0.5
FIND_SECONDS = 3.0
"""Between two looks for a label."""
LEAST_LOOKS = 3
"""So many complete answers without the label, until the deadline, say that nothing was rented."""
FRESH_SECONDS = 10.0
"""Limits are judged on a complete walk that began at most so long ago."""
MISSING_WALKS = 3
"""So many complete walks, begun after a renting, without the instance say that it is gone."""


class SpendBook(Protocol):
    """Where what was spent is noted."""

    async def spend(self, since_day: int) -> tuple[Spend, ...]:
        """Return what was spent on a day (UTC, counted from the epoch) and later."""


class Deployer:
    """Carries out the intents to rent, one request at a time, so that limits hold for all of them.

    `environment` is where `env:` secrets are. Deadlines are real seconds: `find_seconds` for the
    instance of an unclear request, `run_seconds` for a rented one to run.
    """

    def __init__(
        self,
        client: VastClient,
        *,
        fleet: Fleet,
        walks: Walks,
        standing: StandingBook,
        book: SpendBook,
        terms: Deploy,
        policy: Policy,
        clock: Clock,
        environment: Mapping[str, str],
        find_seconds: float,
        run_seconds: float,
    ) -> None:
        self._client = client
        self._fleet = fleet
        self._walks = walks
        self._standing = standing
        self._book = book
        self._terms = terms
        self._policy = policy
        self._clock = clock
        self._environment = environment
        self._find_seconds = find_seconds
        self._run_seconds = run_seconds
        self._lock = asyncio.Lock()
        self._rented: dict[int, tuple[float, float]] = {}
        """Price, and when it was rented (loop's time), of instances that no list has shown yet."""

    async def deploy(self, intent: Intent) -> Course:
        """Rent what the intent is bound to, unless something speaks against it; then follow."""
        rental = intent.rental
        if rental is None:
            return refused("nothing was done: the request names no offer")
        template = self._terms.templates.get(rental.template)
        wrong = bound_to(rental, template)
        if wrong is not None or template is None:
            return refused(f"nothing was done: {wrong}")
        try:
            secrets = find_secrets(template, self._environment)
        except SecretMissingError as error:
            return refused(f"nothing was done: {error}")
        async with self._lock:
            offer, course = await self._judged(intent, rental, template)
            if offer is None or offer.price is None:
                return course or refused("nothing was done: the offer has no price")
            order = order_of(template, offer.price, intent.intent_id, secrets)
            found = await self._rent(rental.offer_id, order)
            if isinstance(found, int):
                self._rented[found] = offer.price, asyncio.get_running_loop().time()
        if isinstance(found, Course):
            return found
        self._walks.ask()
        return await self._until_running(found)

    async def check(self, intent: Intent) -> Course:
        """Find what became of an earlier run's request to rent; it is not sent again."""
        rental = intent.rental
        template = self._terms.templates.get(rental.template) if rental is not None else None
        if rental is None or template is None:
            return unsure("the collector ended while this was under way, and its template is gone")
        found = await self._find(marked_label(template.label, intent.intent_id))
        if isinstance(found, Course):
            return found
        return await self._until_running(found)

    async def _rent(self, offer_id: int, order: RentalOrder) -> int | Course:
        answer = await self._client.rent(offer_id, order)
        if answer.contract is not None:
            return answer.contract
        if answer.ok or answer.code is None:
            return await self._find(order.label or "")
        return failed(f"the API did not rent it: {answer.text}")

    async def _find(self, label: str) -> int | Course:
        """Look for the instance with a label until it is there, or surely is not.

        A list without it counts only beside a later walk that shows all the rest of the fleet: a
        list can lie.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        without = 0
        while True:
            listed = [item.instance_id for item in self._fleet if item.instance.label == label]
            rows = await self._client.labelled(label)
            found = [row.instance_id for row in rows or ()] or listed
            if found:
                return min(found)
            without = without + 1 if rows is not None and self._shows_all(began) else 0
            if loop.time() - began > self._find_seconds:
                break
            self._walks.ask()
            await asyncio.sleep(min(FIND_SECONDS, self._find_seconds / (2 * LEAST_LOOKS)))
        if without < LEAST_LOOKS:
            return unsure(f"whether it was rented is not known; look for the label {label}")
        return failed(
            f"nothing was rented: no instance has the label {label}; it was not tried again"
        )

    def _shows_all(self, since: float) -> bool:
        """Whether a complete walk since then has listed every instance that is known."""
        newest = self._walks.listed_since
        return newest >= since and all(self._walks.lists(item.instance_id) for item in self._fleet)

    async def _judged(
        self, intent: Intent, rental: Rental, template: Template
    ) -> tuple[Offer | None, Course | None]:
        """Return the offer as it is now, or why it is not rented."""
        answer = await self._client.search_offers(
            {"id": {"eq": rental.offer_id}, "rentable": {"eq": True}}, disk_gb=template.disk_gb
        )
        if answer.error is not None:
            return None, refused(f"nothing was done: the market does not tell ({answer.error})")
        offer = next((item for item in answer.offers if item.offer_id == rental.offer_id), None)
        if offer is None:
            return None, refused("nothing was done: the offer is not there any more")
        reason = self._against_offer(intent, rental, offer) or await self._against_limits(offer)
        return (None, refused(f"nothing was done: {reason}")) if reason else (offer, None)

    def _against_offer(self, intent: Intent, rental: Rental, offer: Offer) -> str | None:
        if offer.machine_id is None or offer.machine_id != intent.machine_id:
            return f"it is machine {offer.machine_id or '?'} now, not {intent.machine_id or '?'}"
        if intent.host_id is not None and offer.host_id != intent.host_id:
            return f"its machine belongs to {offer.host_id} now, not to {intent.host_id}"
        mark = self._standing.blacklisting(offer.machine_id)
        if mark is not None:
            why = mark.reason or "no reason given"
            return f"machine {offer.machine_id} is blacklisted by {mark.by} ({why})"
        if offer.price is None:
            return "its price is not known"
        if offer.price > rental.dearest:
            return f"it costs {offer.price:.4f} $/h now; {rental.price:.4f} was shown"
        return None

    async def _against_limits(self, offer: Offer) -> str | None:
        if not await self._listed():
            return "the fleet cannot be listed in whole just now, so that its limits cannot be held"
        live = {watcher.instance_id for watcher in self._fleet}
        self._rented = {
            key: (price, at)
            for key, (price, at) in self._rented.items()
            if key not in live and not self._is_missing(at)
        }
        count = len(live) + len(self._rented)
        if count >= self._terms.max_instances:
            return (
                f"the fleet has {count} instances, and no more than {self._terms.max_instances}"
                " may be (setting deploy.max_instances)"
            )
        burns = [_burn(watcher) for watcher in self._fleet]
        if any(burn is None for burn in burns):
            return "what an instance of the fleet costs is not known, so that no limit can be held"
        known = [burn for burn in burns if burn is not None]
        awaited = sum(price for price, _ in self._rented.values())
        burn = sum(known) + awaited + (offer.price or 0.0)
        for name, limit in (
            ("deploy.max_dollars_per_hour", self._terms.max_dollars_per_hour),
            ("policy.spend_hour.dollars", self._policy.spend_hour.dollars),
        ):
            if limit is not None and burn > limit:
                return f"the fleet would burn {burn:.2f} of {limit:.2f} $/h (setting {name})"
        return await self._against_day()

    async def _against_day(self) -> str | None:
        limit = self._policy.spend_day.dollars
        if limit is None:
            return None
        spent = await self._book.spend(int(self._clock.now() // DAY_SECONDS))
        today = sum(item.dollars for item in spent)
        if today < limit:
            return None
        return f"{today:.2f} $ were spent today of {limit:.2f} (setting policy.spend_day.dollars)"

    async def _listed(self) -> bool:
        """Wait for a fresh complete walk."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while self._walks.listed_since < began - FRESH_SECONDS:
            if loop.time() - began > self._find_seconds:
                return False
            self._walks.ask()
            await asyncio.sleep(LOOK_SECONDS)
        return True

    def _is_missing(self, rented_at: float) -> bool:
        """Whether later walks that show all the rest of the fleet do not show what was rented."""
        walks = self._walks.complete_since(rented_at)
        return walks >= MISSING_WALKS and self._shows_all(rented_at)

    async def _until_running(self, instance_id: int) -> Course:
        """Follow a rented instance until it runs, fails, or the patience ends."""
        course = await self._followed(instance_id)
        watcher = self._fleet.get(instance_id)
        if watcher is not None:
            watcher.set_acting(None)
        return Course(course.state, course.text, instance_id=instance_id)

    async def _followed(self, instance_id: int) -> Course:
        loop = asyncio.get_running_loop()
        began = loop.time()
        was_listed = False
        shown = ""
        while True:
            watcher = self._fleet.get(instance_id)
            if watcher is not None:
                was_listed = True
                self._rented.pop(instance_id, None)
                course = _arrived(watcher)
                word = START_QUEUED if watcher.instance.is_start_queued else DEPLOYING
                if word != shown:
                    shown = word
                    watcher.set_acting(word)
            elif was_listed or loop.time() - began > self._find_seconds:
                course = await self._missing(instance_id)
            else:
                course = None
            if course is not None:
                return course
            if loop.time() - began > self._run_seconds:
                return _late(instance_id, watcher, self._run_seconds)
            await asyncio.sleep(LOOK_SECONDS)

    async def _missing(self, instance_id: int) -> Course | None:
        """Ask for an instance that is not listed; `None` while it may still come."""
        presence = await self._client.single(instance_id)
        if presence.kind is PresenceKind.GONE:
            self._rented.pop(instance_id, None)
            return failed(f"instance {instance_id} was rented and is gone: {presence.reason}")
        self._walks.ask()
        return None


def _arrived(watcher: Watcher) -> Course | None:
    """Tell whether an instance runs, or will not; `None` while it is on its way."""
    instance, reading = watcher.instance, watcher.newest_reading
    name = f"instance {instance.instance_id} on machine {instance.machine_id or '?'}"
    if instance.actual_status == "running":
        price = instance.price_running
        return done(f"{name} runs" + (f" at {price:.4f} $/h" if price is not None else ""))
    if reading is not None:
        grave = [item for item in reading.findings if item.severity is Severity.CRITICAL]
        if grave or reading.stage is Stage.FAILED:
            said = grave[0].summary if grave else "it failed"
            return failed(f"{name} was rented and does not get to run: {said}")
    return None


def _late(instance_id: int, watcher: Watcher | None, seconds: float) -> Course:
    status = "not listed" if watcher is None else watcher.instance.actual_status or "not there yet"
    if watcher is not None and watcher.instance.is_start_queued:
        status = "queued: its machine's GPUs are taken"
    return unsure(
        f"instance {instance_id} was rented and is {status} after {seconds / 60:.0f} min; it is"
        " kept, and bills"
    )


def _burn(watcher: Watcher) -> float | None:
    """What an instance costs once it runs; a stopped one can be started again."""
    instance = watcher.instance
    known = [cost for cost in (instance.price_running, instance.cost_per_hour) if cost is not None]
    return max(known, default=None)
