"""What every act on an instance needs, and the guard before it."""

from dataclasses import dataclass

from fleetui.collector.black_box import BlackBox
from fleetui.collector.fleet import Fleet
from fleetui.collector.host_keys import HostKeyKeeper
from fleetui.collector.standing_book import StandingBook
from fleetui.collector.walks import Walks
from fleetui.domain.clock import Clock
from fleetui.domain.instance import Instance
from fleetui.domain.intent import Intent, IntentState
from fleetui.profiles.model import Profile
from fleetui.ssh.host_keys import HostKeyBook
from fleetui.vast.client import Presence, PresenceKind, VastClient
from fleetui.vast.inventory import Inventory


@dataclass(frozen=True, kw_only=True)
class Tools:
    """What acts reach the world with. Deadlines are real seconds."""

    client: VastClient
    inventory: Inventory
    walks: Walks
    fleet: Fleet
    black_box: BlackBox
    standing: StandingBook
    profile: Profile
    host_keys: HostKeyBook
    keeper: HostKeyKeeper
    clock: Clock
    ask_again_seconds: float
    absence_deadline_seconds: float
    drain_deadline_seconds: float
    verify_deadline_seconds: float
    script_timeout_seconds: float


@dataclass(frozen=True)
class Course:
    """How an act went: the state to settle the intent in, and a sentence for the audit.

    `queued` is an act that the API keeps for later: the intent stays unsettled until a row tells.
    """

    state: IntentState
    text: str
    queued: bool = False


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


async def last_look(intent: Intent, tools: Tools) -> None:
    """Keep what the host can still tell before its data is lost; bounded in time, never fails."""
    watcher = tools.fleet.get(intent.instance_id)
    if watcher is not None:
        await tools.black_box.take(watcher, f"before {intent.verb} by {intent.actor}")


async def guard(intent: Intent, tools: Tools) -> Course | None:
    """Ask the API for the target just before the act; `None` says that it may be done.

    A target that is gone is not a refusal of its own: see the caller.
    """
    return judged(intent, await tools.client.look(intent.instance_id))


def judged(intent: Intent, presence: Presence) -> Course | None:
    """Judge an answer about the target; `None` says that it is what the operator saw."""
    if presence.kind is PresenceKind.UNKNOWN:
        return refused(f"nothing was done: the API does not tell about it ({presence.reason})")
    if presence.kind is PresenceKind.GONE or presence.instance is None:
        return refused("nothing was done: the API says that there is no such instance")
    difference = differs(intent, presence.instance)
    return refused(f"nothing was done: {difference}") if difference else None
