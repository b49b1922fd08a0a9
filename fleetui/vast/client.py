"""The Vast API as the collector needs it: walks, single looks, actions, the account."""

import asyncio
import dataclasses
import random
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from fleetui.domain.charge import Charge, DayOfCharges
from fleetui.domain.clock import Clock, SystemClock
from fleetui.domain.instance import Instance, Walk, WalkOutcome
from fleetui.domain.money import DAY_SECONDS
from fleetui.domain.text import SafeText, sanitise
from fleetui.vast.answers import (
    Account,
    ActionResult,
    ApiSettings,
    Presence,
    PresenceKind,
    WalkResult,
)
from fleetui.vast.charges import day_query, read_charges
from fleetui.vast.errors import Trouble, VastError, unreadable
from fleetui.vast.gates import number, whole
from fleetui.vast.limiter import Endpoint, Limiter
from fleetui.vast.offers import OffersResult, RentalOrder, read_offer
from fleetui.vast.rows import SELECT_COLUMNS, read_row
from fleetui.vast.transport import BACKOFF_SECONDS, CALL_DEADLINE_SECONDS, Call, Reply, Transport

__all__ = [
    "Account",
    "ActionResult",
    "ApiSettings",
    "Presence",
    "PresenceKind",
    "VastClient",
    "WalkResult",
]

PAGE_ROWS = 25
MOST_OFFERS = 1000
MOST_PAGES = 400
WALK_DEADLINE_SECONDS = 900.0
ERROR_CATEGORY = "vast_api_error"
UNCLEAR = frozenset({Trouble.SERVER, Trouble.UNREADABLE, Trouble.NETWORK, Trouble.TIMEOUT})
"""Answers that leave open whether an action was taken."""


class VastClient:
    """Asks one account's API. Times in its answers are the clock's (fleet time)."""

    def __init__(
        self,
        settings: ApiSettings,
        limiter: Limiter,
        http: httpx.AsyncClient,
        *,
        clock: Clock | None = None,
        randomness: random.Random | None = None,
        deadline_seconds: float = CALL_DEADLINE_SECONDS,
        backoff_seconds: float = BACKOFF_SECONDS,
    ) -> None:
        self._transport = Transport(
            settings,
            limiter,
            http,
            randomness=randomness,
            deadline_seconds=deadline_seconds,
            backoff_seconds=backoff_seconds,
        )
        self._clock = clock or SystemClock()

    async def walk(self) -> WalkResult:
        """Read the whole list. Whatever goes wrong makes the walk failed, never short.

        Complete is only what brought as many different rows as the last page's
        `total_instances` (facts: vast_api.md rule R1).
        """
        walker = _Walker(self._transport)
        started = self._clock.now()
        try:
            async with asyncio.timeout(WALK_DEADLINE_SECONDS):
                error = await walker.run()
        except TimeoutError:
            error = sanitise(f"the list took more than {WALK_DEADLINE_SECONDS:.0f} s")
        walk = Walk(
            started_at=started,
            ended_at=self._clock.now(),
            outcome=WalkOutcome.COMPLETE if error is None else WalkOutcome.FAILED,
            rows=walker.rows,
            total_reported=walker.total,
            error=error,
            error_category=None if error is None else ERROR_CATEGORY,
        )
        if error is not None:
            return WalkResult(walk)
        return WalkResult(walk, tuple(walker.instances.values()), walker.unreadable)

    async def look(self, instance_id: int) -> Presence:
        """Look at one id ahead of an act.

        A list of this one row is asked first: it waits half as long for its turn as a single
        look, which is left to tell gone from unknown, also for a row that a destroy left behind.
        """
        query = {
            "limit": 1,
            "select_cols": list(SELECT_COLUMNS),
            "select_filters": {"id": {"eq": instance_id}},
        }
        reply = await self._transport.send(
            Call(Endpoint.LIST, "GET", "/api/v1/instances/", query, urgent=True)
        )
        rows = reply.data.get("instances") if reply.problem is None else None
        if isinstance(rows, list) and len(rows) == 1:
            instance = read_row(rows[0])
            is_it = instance is not None and instance.instance_id == instance_id
            if instance is not None and is_it and instance.cur_state != "unloaded":
                return Presence(PresenceKind.PRESENT, instance)
        return await self.single(instance_id, urgent=True)

    async def labelled(self, label: str) -> tuple[Instance, ...] | None:
        """Return the instances with exactly this label; `None` when the list does not tell."""
        query = {
            "select_cols": list(SELECT_COLUMNS),
            "select_filters": {"label": {"eq": label}},
        }
        reply = await self._transport.send(
            Call(Endpoint.LIST, "GET", "/api/v1/instances/", query, urgent=True)
        )
        rows = reply.data.get("instances")
        if reply.problem is not None or not isinstance(rows, list):
            return None
        if reply.data.get("total_instances") != len(rows):
            return None
        found = [read_row(row) for row in rows]
        return tuple(row for row in found if row is not None and row.label == label)

    async def single(self, instance_id: int, *, urgent: bool = False) -> Presence:
        """Look at one id. Gone is only what section 2.3 of the facts calls gone."""
        path = f"/api/v0/instances/{instance_id}/"
        reply = await self._transport.send(
            Call(Endpoint.SINGLE, "GET", path, {"owner": "me"}, urgent=urgent)
        )
        problem = reply.problem
        if problem is not None:
            if problem.trouble is Trouble.NO_SUCH_INSTANCE:
                return Presence(PresenceKind.GONE, reason=problem.text)
            return Presence(PresenceKind.UNKNOWN, reason=problem.text)
        if "instances" not in reply.data:
            return _unknown("the answer lacks 'instances'")
        row = reply.data["instances"]
        if row is None:
            return Presence(PresenceKind.GONE, reason=sanitise("the API has no such instance"))
        if isinstance(row, list) and len(row) == 1:
            row = row[0]
        instance = read_row(row)
        if instance is None or instance.instance_id != instance_id:
            return _unknown("the answer is not about this instance")
        return Presence(PresenceKind.PRESENT, instance)

    async def destroy(self, instance_id: int) -> ActionResult:
        """Ask for the end of a contract; one that is gone already counts as done."""
        path = f"/api/v0/instances/{instance_id}/"
        reply = await self._act(Call(Endpoint.DESTROY, "DELETE", path))
        problem = reply.problem
        if problem is not None and problem.trouble is Trouble.NO_SUCH_INSTANCE:
            gone = sanitise("it was gone already")
            return ActionResult(ok=True, text=gone, code=problem.status)
        return _result(reply)

    async def set_state(self, instance_id: int, state: str) -> ActionResult:
        """Ask for `running` or `stopped`. Only a stop is repeated by itself.

        Raises:
            ValueError: another state.
        """
        if state not in ("running", "stopped"):
            raise ValueError(f"no such state: {state!r}")
        return await self._manage(instance_id, {"state": state}, repeatable=state == "stopped")

    async def label(self, instance_id: int, text: str) -> ActionResult:
        """Give an instance a label."""
        return await self._manage(instance_id, {"label": text}, repeatable=True)

    async def reboot(self, instance_id: int) -> ActionResult:
        """Stop and start the container; its data stays."""
        path = f"/api/v0/instances/reboot/{instance_id}/"
        return _result(await self._act(Call(Endpoint.REBOOT, "PUT", path, repeatable=False)))

    async def recycle(self, instance_id: int) -> ActionResult:
        """Make the container anew in its place; its data is lost."""
        path = f"/api/v0/instances/recycle/{instance_id}/"
        return _result(await self._act(Call(Endpoint.RECYCLE, "PUT", path, repeatable=False)))

    async def search_offers(
        self,
        conditions: Mapping[str, object],
        *,
        order: Sequence[tuple[str, str]] = (),
        limit: int = MOST_OFFERS,
        disk_gb: float = 5.0,
    ) -> OffersResult:
        """Search the market: `{column: {operation: value}}`, ordered by `(column, asc|desc)`.

        `disk_gb` is the disk that prices shall include. A search waits behind nothing, but the
        API lets only ten a minute through.
        """
        body = {
            **conditions,
            "order": [list(item) for item in order],
            "type": "on-demand",
            "limit": limit,
            "allocated_storage": disk_gb,
        }
        reply = await self._transport.send(
            Call(Endpoint.SEARCH, "POST", "/api/v0/bundles/", body=body)
        )
        if reply.problem is not None:
            return OffersResult(error=reply.problem.text)
        rows = reply.data.get("offers")
        if not isinstance(rows, list):
            return OffersResult(error=sanitise("the answer lacks 'offers'"))
        offers = [read_offer(raw) for raw in rows[:limit]]
        known = tuple(offer for offer in offers if offer is not None)
        return OffersResult(known, len(offers) - len(known), cut=len(rows) >= limit)

    async def rent(self, offer_id: int, order: RentalOrder) -> ActionResult:
        """Rent an offer. Never sent twice: each time would be another contract."""
        path = f"/api/v0/asks/{offer_id}/"
        reply = await self._act(
            Call(Endpoint.RENT, "PUT", path, body=order.body(), repeatable=False)
        )
        result = dataclasses.replace(_result(reply), contract=whole(reply.data.get("new_contract")))
        return dataclasses.replace(result, text=order.masked(result.text))

    async def account(self) -> Account:
        """Read the account's money and nothing else of it.

        Raises:
            VastError: the API did not answer usably.
        """
        reply = await self._transport.send(Call(Endpoint.ACCOUNT, "GET", "/api/v0/users/current/"))
        if reply.problem is not None:
            raise VastError(reply.problem)
        return Account(number(reply.data.get("balance")), number(reply.data.get("credit")))

    async def charges(self, day: int) -> DayOfCharges:
        """Read what was charged on one day (UTC, counted from the epoch), all of it.

        Raises:
            VastError: the API did not answer usably.
        """
        read_at = self._clock.now()
        found: list[Charge] = []
        token: str | None = None
        for _ in range(MOST_PAGES):
            query = day_query(day, token)
            reply = await self._transport.send(
                Call(Endpoint.CHARGES, "GET", "/api/v0/charges/", query)
            )
            if reply.problem is not None:
                raise VastError(reply.problem)
            rows = reply.data.get("results")
            if not isinstance(rows, list):
                raise unreadable("the answer lacks 'results'")
            charges, odd = read_charges(rows)
            if odd:
                raise unreadable(f"{odd} of {len(rows)} charges cannot be read")
            found += charges
            following = reply.data.get("next_token")
            if not following:
                whole_day = read_at >= (day + 1) * DAY_SECONDS
                return DayOfCharges(day=day, read_at=read_at, charges=tuple(found), whole=whole_day)
            if not isinstance(following, str) or following == token:
                raise unreadable("the charges turn in a circle")
            token = following
        raise unreadable(f"the charges have more than {MOST_PAGES} pages")

    async def _manage(
        self, instance_id: int, body: dict[str, object], *, repeatable: bool
    ) -> ActionResult:
        path = f"/api/v0/instances/{instance_id}/"
        call = Call(Endpoint.MANAGE, "PUT", path, body=body, repeatable=repeatable)
        return _result(await self._act(call))

    async def _act(self, call: Call) -> Reply:
        return await self._transport.send(call)


class _Walker:
    """One pass in progress."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.instances: dict[int, Instance] = {}
        self.unreadable = 0
        self.rows = 0
        self.total: int | None = None

    async def run(self) -> SafeText | None:
        """Read page after page; returns why the pass failed, or `None`."""
        seen: set[str] = set()
        query: dict[str, object] = {
            "limit": PAGE_ROWS,
            "select_cols": list(SELECT_COLUMNS),
            "order_by": [{"col": "id", "dir": "asc"}],
        }
        for _ in range(MOST_PAGES):
            reply = await self._transport.send(
                Call(Endpoint.LIST, "GET", "/api/v1/instances/", query)
            )
            if reply.problem is not None:
                return reply.problem.text
            error = self._take(reply.data)
            if error is not None:
                return sanitise(error)
            token = reply.data.get("next_token")
            if not token:
                return self._judge()
            if not isinstance(token, str) or token in seen:
                return sanitise("the list turns in a circle")
            seen.add(token)
            query["after_token"] = token
        return sanitise(f"the list has more than {MOST_PAGES} pages")

    def _take(self, page: Any) -> str | None:  # noqa: ANN401 - decoded JSON
        if "instances" not in page:
            return "the answer lacks 'instances'"
        rows = page["instances"]
        if rows is None:
            rows = []
        if not isinstance(rows, list):
            return "'instances' is not a list"
        if len(rows) > PAGE_ROWS:
            return f"a page of {len(rows)} rows where {PAGE_ROWS} were asked for"
        total = page.get("total_instances")
        count = number(total)
        if count is None or count < 0 or count != int(count):
            return "the answer lacks 'total_instances'"
        if count == 0 and page.get("success") is not True:
            return "no instances, in an answer that does not claim to be a success"
        self.total = int(count)
        for raw in rows:
            self.rows += 1
            instance = read_row(raw)
            if instance is None:
                self.unreadable += 1
            else:
                self.instances[instance.instance_id] = instance
        return None

    def _judge(self) -> SafeText | None:
        found = len(self.instances) + self.unreadable
        if found == self.total and self.rows == found:
            return None
        return sanitise(f"the list brought {found} of {self.total} instances")


def _unknown(reason: str) -> Presence:
    return Presence(PresenceKind.UNKNOWN, reason=sanitise(reason))


def _result(reply: Reply) -> ActionResult:
    problem = reply.problem
    if problem is not None:
        code = 401 if problem.trouble is Trouble.AUTH else problem.status
        if problem.trouble in UNCLEAR:
            code = None
        queued = problem.trouble is Trouble.REFUSED and "queued" in problem.text.lower()
        return ActionResult(ok=False, text=problem.text, code=code, queued=queued)
    said = reply.data.get("msg")
    return ActionResult(
        ok=True, text=sanitise(said if isinstance(said, str) else "", 300), code=reply.status
    )
