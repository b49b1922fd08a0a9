"""Takes requested actions, does them one at a time per instance, and settles them."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Coroutine
from typing import Any

from fleetui.collector import (
    api_acts,
    benchmark,
    command_run,
    destroy,
    drain,
    ending,
    older_acts,
    restart,
    standing_acts,
)
from fleetui.collector.acts import Course, Tools, failed, first_try, refused, unsure
from fleetui.collector.admission import Admission, Permissions
from fleetui.collector.blast_radius import BlastRadius
from fleetui.collector.health import HealthBoard, Part
from fleetui.collector.publisher import Publisher
from fleetui.collector.standing_acts import stopped_by_protection
from fleetui.collector.watcher import START_QUEUED
from fleetui.domain.intent import Event, Intent, IntentState, Verb
from fleetui.domain.text import sanitise
from fleetui.store.interface import CollectorStore, FenceLostError, Lease, StoreError

log = logging.getLogger(__name__)

CLAIM_SECONDS = 0.5
SETTLE_SECONDS = (0.5, 5.0)
"""First and longest pause between tries to settle."""
SETTLE_DEADLINE_SECONDS = 120.0
WAITING = "waiting its turn"
AT_ONCE = 256
"""Far more than the API takes in a minute: a destroy waits here for its proof."""

Act = Callable[[Intent, Tools], Coroutine[Any, Any, Course]]

ACTS: dict[Verb, tuple[str, Act, Act]] = {
    Verb.RESTART_DAEMON: ("restarting daemon", restart.restart_daemon, restart.check_restart),
    Verb.RESTART_BENCHMARK: (
        "restarting benchmark",
        benchmark.restart_benchmark,
        benchmark.check_benchmark,
    ),
    Verb.RUN: ("running a command", command_run.run_command, command_run.check_command),
    Verb.DESTROY: ("destroying", destroy.destroy, destroy.check_destroy),
    Verb.DRAIN_DESTROY: ("draining", drain.drain_destroy, drain.check_drain),
    Verb.STOP: ("stopping", api_acts.set_state, api_acts.check_state),
    Verb.START: ("starting", api_acts.set_state, api_acts.check_state),
    Verb.REBOOT: ("rebooting", api_acts.reboot, api_acts.check_nothing),
    Verb.RECYCLE: ("recycling", api_acts.reboot, api_acts.check_nothing),
    Verb.LABEL: ("labelling", api_acts.label, api_acts.check_label),
    Verb.ACCEPT_HOST_KEY: (
        "accepting host key",
        api_acts.accept_host_key,
        api_acts.check_host_key,
    ),
    Verb.PROTECT: ("protecting", standing_acts.protect, standing_acts.protect),
    Verb.UNPROTECT: ("unprotecting", standing_acts.protect, standing_acts.protect),
    Verb.BLACKLIST: ("blacklisting", standing_acts.blacklist, standing_acts.blacklist),
    Verb.UNBLACKLIST: ("unblacklisting", standing_acts.blacklist, standing_acts.blacklist),
    Verb.DEPLOY: (
        "deploying",
        lambda intent, tools: tools.deployer.deploy(intent),
        lambda intent, tools: tools.deployer.check(intent),
    ),
    Verb.READ_OLDER: ("reading older log", older_acts.read_older, older_acts.check_older),
}
"""Verb to the word shown while it runs, the act, and the look at an earlier run's act."""

GOES_ON = frozenset({
    Verb.DESTROY,
    Verb.DRAIN_DESTROY,
    Verb.PROTECT,
    Verb.UNPROTECT,
    Verb.BLACKLIST,
    Verb.UNBLACKLIST,
})  # fmt: skip
"""Verbs whose earlier run's act is gone on with; of the others it is only found out."""


class _Errand:
    """An intent that is being carried out."""

    def __init__(self, intent: Intent) -> None:
        self.intent = intent
        self.work: asyncio.Task[Course] | None = None
        self.overtaken = False


class Executor:
    """Executes intents under the lease.

    The store writes `running` when it hands an intent out, so before anything is done. What an
    earlier run left `running` or `unknown` is looked at first, never repeated blindly.
    """

    def __init__(
        self,
        store: CollectorStore,
        lease: Lease,
        tools: Tools,
        *,
        admission: Admission,
        permissions: Permissions,
        blast_radius: BlastRadius,
        publisher: Publisher,
        health: HealthBoard,
    ) -> None:
        self._store = store
        self._lease = lease
        self._tools = tools
        self._admission = admission
        self._permissions = permissions
        self._blast_radius = blast_radius
        self._publisher = publisher
        self._health = health
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._errands: dict[str, _Errand] = {}
        self._held: set[int] = set()
        """Instances with a request that waits its turn."""
        self._queued: dict[str, tuple[Intent, float]] = {}
        """Starts that wait at the API, by intent, and since when in the loop's time."""

    async def run(self) -> None:
        """Check what earlier runs left, then execute what is asked, until cancelled.

        Raises:
            FenceLostError: somebody else holds the lease.
        """
        async with asyncio.TaskGroup() as group:
            for intent in await self._store.unfinished(self._lease):
                self._begin(group, intent, check=True)
            while True:
                for intent in await self._claimed():
                    self._begin(group, intent, check=False)
                await self._settle_queued()
                await asyncio.sleep(CLAIM_SECONDS)

    async def _claimed(self) -> tuple[Intent, ...]:
        try:
            waiting = await self._store.requested()
            if not waiting and not self._held:
                return ()
            found = self._admission.sort(waiting, self._tools.clock.now())
            for intent in found.stale:
                await self._refuse_stale(intent)
            self._show_held(found.held)
            taken = [intent.intent_id for intent in found.taken]
            intents = await self._store.claim(self._lease, taken) if taken else ()
        except FenceLostError:
            raise
        except StoreError as error:
            self._health.trouble(Part.INTENTS, f"cannot take requests: {error}")
            return ()
        self._health.well(Part.INTENTS)
        return intents

    async def _refuse_stale(self, intent: Intent) -> None:
        minutes = (self._tools.clock.now() - intent.created_at) / 60
        await self._finish(
            intent,
            refused(
                f"nothing was done: it was asked for {minutes:.0f} min ago, and no collector took"
                f" it within {self._tools.expiry_seconds / 60:.0f} min (setting"
                " request_expiry_minutes); ask again if it is still wanted"
            ),
        )

    def _show_held(self, held: tuple[Intent, ...]) -> None:
        """Say of rows that they wait their turn."""
        now = {intent.instance_id: intent for intent in held}
        for instance_id in self._held | set(now):
            watcher = self._tools.fleet.get(instance_id)
            if watcher is not None and (not watcher.acting or instance_id in self._held):
                watcher.set_acting(WAITING if instance_id in now else None)
        self._held = set(now)

    def _begin(self, group: asyncio.TaskGroup, intent: Intent, *, check: bool) -> None:
        errand = _Errand(intent)
        self._errands[intent.intent_id] = errand
        name = f"{'check' if check else 'act'}-{intent.verb}-{intent.instance_id}"
        group.create_task(self._carry_out(errand, check=check), name=name)

    def _overtake(self, instance_id: int) -> None:
        """Give up what is under way on an instance: its destroy must not wait behind it."""
        for errand in self._errands.values():
            if errand.intent.instance_id == instance_id and errand.intent.verb is not Verb.DESTROY:
                errand.overtaken = True
                if errand.work is not None:
                    errand.work.cancel()

    async def _carry_out(self, errand: _Errand, *, check: bool) -> None:
        intent = errand.intent
        course = failed("given up: the instance is to be destroyed")
        if not errand.overtaken:
            work = asyncio.create_task(self._in_turn(intent, check=check), name="work")
            errand.work = work
            try:
                await asyncio.wait({work})
            finally:
                await ending.end(work)
            if not work.cancelled():
                course = work.result()
        del self._errands[intent.intent_id]
        if course.queued:
            self._show(intent, START_QUEUED)
            self._queued[intent.intent_id] = intent, asyncio.get_running_loop().time()
        still_unknown = intent.state is course.state is IntentState.UNKNOWN
        if not (check and still_unknown):
            await self._settle(intent, course)

    async def _in_turn(self, intent: Intent, *, check: bool) -> Course:
        if intent.verb is Verb.DESTROY and not check:
            # One that is refused must end nothing else.
            course = self._forbidden(intent) or await destroy.refusal(intent, self._tools)
            return course or await self._counted(intent, self._destroy(intent))
        if intent.verb.stands_apart:
            # A protection must not wait behind the drain that it is to stop.
            return await self._course(intent, check=check)
        async with self._locks[intent.instance_id], self._slots:
            return await self._course(intent, check=check)

    async def _destroy(self, intent: Intent) -> Course:
        self._overtake(intent.instance_id)
        async with self._locks[intent.instance_id], self._slots:
            return await self._course(intent, check=False)

    async def _course(self, intent: Intent, *, check: bool) -> Course:
        word, act, look = ACTS[intent.verb]
        self._show(intent, word)
        try:
            if check:
                course = await self._forbidden_meanwhile(intent)
                return course or await look(intent, self._tools)
            course = self._forbidden(intent)
            if course is None and intent.verb.needs_host:
                await first_try(intent, self._tools)
                course = self._forbidden(intent)
            if course is not None:
                return course
            if intent.verb is Verb.DESTROY:  # counted already
                return await act(intent, self._tools)
            return await self._counted(intent, act(intent, self._tools))
        except Exception as error:
            log.exception("intent %s on instance %d broke", intent.verb, intent.instance_id)
            return unsure(f"the collector broke while at it: {type(error).__name__}")
        finally:
            self._show(intent, None)

    def _forbidden(self, intent: Intent) -> Course | None:
        """Refuse what the asker may not, and what protection forbids."""
        reason = self._permissions.refusal(intent)
        return refused(reason) if reason else stopped_by_protection(intent, self._tools)

    async def _forbidden_meanwhile(self, intent: Intent) -> Course | None:
        """End an earlier run's act that may not be gone on with now.

        What lies in the store as begun may be old, or written by anybody.
        """
        if intent.verb not in GOES_ON:
            return None
        reason = self._permissions.refusal(intent)
        if intent.verb.loses_data:
            if stopped_by_protection(intent, self._tools) is not None:
                reason = "the instance was protected meanwhile"
            at = intent.started_at or intent.created_at
            reason = reason or self._blast_radius.exceeded_at(
                at, self._tools.clock.now(), self._fleet_size
            )
        if reason is None:
            return None
        reason = reason.removeprefix("nothing was done: ")
        if intent.verb in (Verb.DESTROY, Verb.DRAIN_DESTROY):
            return await destroy.let_be(intent, self._tools, reason)
        return failed(f"not gone on with: {reason}")

    async def _counted(self, intent: Intent, act: Coroutine[Any, Any, Course]) -> Course:
        """Do an act if it stays within the blast radius; one that is refused does not count."""
        if not intent.verb.ends_work:
            return await act
        at = self._tools.clock.now()
        reason = self._blast_radius.take(at, self._fleet_size)
        if reason is not None:
            act.close()
            return refused(reason)
        course = await act
        if course.state is IntentState.REFUSED:
            self._blast_radius.give_back(at)
        return course

    @property
    def _fleet_size(self) -> int:
        return sum(1 for _ in self._tools.fleet)

    async def _settle_queued(self) -> None:
        """Judge queued starts by rows that were listed since."""
        for intent_id, (intent, since) in list(self._queued.items()):
            watcher = self._tools.fleet.get(intent.instance_id)
            if self._tools.walks.listed_since < since:
                continue
            course = api_acts.settle_queued(watcher.instance if watcher else None)
            if course is not None:
                del self._queued[intent_id]
                self._show(intent, None)
                await self._settle(intent, course)

    async def _settle(self, intent: Intent, course: Course) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + SETTLE_DEADLINE_SECONDS
        pause, longest = SETTLE_SECONDS
        while True:
            try:
                await self._finish(intent, course)
            except FenceLostError:
                raise
            except StoreError as error:
                self._health.trouble(Part.INTENTS, f"cannot note a result: {error}")
                if loop.time() > end:
                    # It stays running, so the next collector looks at it.
                    log.error("intent %s is not settled: %s", intent.intent_id, error)  # noqa: TRY400 - no bug
                    return
                await asyncio.sleep(pause)
                pause = min(pause * 2, longest)
            else:
                return

    async def _finish(self, intent: Intent, course: Course) -> None:
        at = self._tools.clock.now()
        made = course.instance_id
        await self._store.settle(
            self._lease, intent.intent_id, course.state, sanitise(course.text), at, made=made
        )
        text = f"{intent.verb} by {intent.actor}: {course.state}: {course.text}"
        instance_id = made or intent.instance_id or None
        event = Event(at=at, kind="intent", text=sanitise(text), instance_id=instance_id)
        self._publisher.pending.add_events([event])

    def _show(self, intent: Intent, word: str | None) -> None:
        watcher = self._tools.fleet.get(intent.instance_id)
        if watcher is not None and not intent.verb.stands_apart:
            watcher.set_acting(word)
