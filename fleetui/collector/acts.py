"""What every act on an instance needs, and the guard before it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleetui.collector.black_box import BlackBox
from fleetui.collector.fleet import Fleet
from fleetui.collector.host_keys import HostKeyKeeper
from fleetui.collector.older_logs import OlderLogs
from fleetui.collector.standing_book import StandingBook
from fleetui.collector.walks import Walks
from fleetui.collector.watcher import Watcher
from fleetui.domain.answer import Answer
from fleetui.domain.clock import Clock
from fleetui.domain.instance import Instance
from fleetui.domain.intent import Intent, IntentState
from fleetui.profiles.model import Profile
from fleetui.ssh.host_keys import HostKeyBook
from fleetui.ssh.link import HostLink
from fleetui.store.interface import FleetView
from fleetui.vast.client import Presence, PresenceKind, VastClient
from fleetui.vast.inventory import Inventory

if TYPE_CHECKING:
    from fleetui.collector.deploy import Deployer

LOOK_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True)
class Tools:
    """What acts reach the world with. Deadlines are real seconds.

    An earlier run's act that ends work is gone on with for `expiry_seconds` (fleet time) only.
    """

    client: VastClient
    inventory: Inventory
    walks: Walks
    fleet: Fleet
    black_box: BlackBox
    standing: StandingBook
    profile: Profile
    host_keys: HostKeyBook
    keeper: HostKeyKeeper
    deployer: "Deployer"
    older_logs: OlderLogs
    keep_answer: Callable[[Answer], Awaitable[None]]
    answers: Callable[[Sequence[str]], Awaitable[tuple[Answer, ...]]]
    note: Callable[[Intent, str], Awaitable[None]]
    view: Callable[[], Awaitable[FleetView]]
    secret_names: frozenset[str]
    clock: Clock
    expiry_seconds: float
    command_seconds: float
    ask_again_seconds: float
    absence_deadline_seconds: float
    drain_deadline_seconds: float
    verify_deadline_seconds: float
    script_timeout_seconds: float
    first_try_seconds: float


@dataclass(frozen=True)
class Course:
    """How an act went: the state to settle the intent in, and a sentence for the audit.

    `queued` is an act that the API keeps for later: the intent stays unsettled until a row tells.
    """

    state: IntentState
    text: str
    queued: bool = False
    instance_id: int | None = None
    """The instance that an act made, where there was none before."""


def done(text: str) -> Course:
    """It was done, and that is confirmed."""
    return Course(IntentState.DONE, text)


def failed(text: str) -> Course:
    """It was tried and did not come about."""
    return Course(IntentState.FAILED, text)


def refused(text: str) -> Course:
    """Nothing was done."""
    return Course(IntentState.REFUSED, text)


def unsure(text: str) -> Course:
    """Whether it came about is not known."""
    return Course(IntentState.UNKNOWN, text)


def queued(text: str) -> Course:
    """The API will do it when it can."""
    return Course(IntentState.UNKNOWN, text, queued=True)


def differs(intent: Intent, instance: Instance) -> str | None:
    """Say how an instance differs from what the operator saw at the key press."""
    if instance.machine_id != intent.machine_id:
        return f"it is on machine {instance.machine_id} now, not on {intent.machine_id}"
    if intent.host_id is not None and instance.host_id != intent.host_id:
        return f"its machine belongs to {instance.host_id} now, not to {intent.host_id}"
    if (instance.label or "") != (intent.label or ""):
        return f"its label is {instance.label or 'empty'} now, not {intent.label or 'empty'}"
    return None


async def first_try(intent: Intent, tools: Tools) -> None:
    """Wait, bounded, until it is known whether the target lets anybody in.

    Of a collector that has just started no host has been heard yet, which is no reason to refuse.
    """
    end = asyncio.get_running_loop().time() + tools.first_try_seconds
    while asyncio.get_running_loop().time() < end:
        watcher = tools.fleet.get(intent.instance_id)
        if watcher is None or not watcher.awaits_first_try:
            return
        await asyncio.sleep(LOOK_SECONDS)


async def last_look(intent: Intent, tools: Tools) -> str:
    """Keep what the host can still tell before its data is lost; bounded in time, never fails.

    Returns what to add to the act's result: nothing, or that there was no look and why.
    """
    await first_try(intent, tools)
    watcher = tools.fleet.get(intent.instance_id)
    if watcher is None:
        return "; without a last look: it is not followed"
    if await tools.black_box.take(watcher, f"before {intent.verb} by {intent.actor}"):
        return ""
    why = "it did not answer in time" if watcher.connected else f"SSH: {watcher.sink.ssh_state}"
    return f"; without a last look at its disk: {why}"


async def guard(intent: Intent, tools: Tools) -> Course | None:
    """Ask the API for the target just before the act; `None` says that it may be done.

    A target that is gone is not a refusal of its own: see the caller.
    """
    return judged(intent, await tools.client.look(intent.instance_id))


@dataclass(frozen=True)
class Reached:
    """A target that may be acted on over SSH, and the profile's script for it."""

    watcher: Watcher
    link: HostLink
    script: str


async def reach(intent: Intent, tools: Tools, action: str) -> Reached | Course:
    """Find the target of a script of the profile, looked at anew; else why nothing was done."""
    found = tools.profile.actions.get(action)
    if found is None:
        return refused(f"the profile {tools.profile.name} has no action {action}")
    watcher = tools.fleet.get(intent.instance_id)
    if watcher is None:
        return refused("nothing was done: there is no such instance")
    course = await guard(intent, tools)
    if course is not None:
        return course
    link = watcher.link
    if link is None or not watcher.connected:
        return refused(f"nothing was done: no SSH connection ({watcher.sink.ssh_state})")
    return Reached(watcher, link, found.script)


def judged(intent: Intent, presence: Presence) -> Course | None:
    """Judge an answer about the target; `None` says that it is what the operator saw."""
    if presence.kind is PresenceKind.UNKNOWN:
        return refused(f"nothing was done: the API does not tell about it ({presence.reason})")
    if presence.kind is PresenceKind.GONE or presence.instance is None:
        return refused("nothing was done: the API says that there is no such instance")
    difference = differs(intent, presence.instance)
    return refused(f"nothing was done: {difference}") if difference else None
