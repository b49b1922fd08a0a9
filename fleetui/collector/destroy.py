"""Destroying an instance, and being sure that it is gone.

A destroy is asynchronous, idempotent in effect, and its answer can be lost (facts: vast_api.md
section 5.1). It is done when the inventory has the proof of its absence; until then it is asked
for again and again, since money runs.
"""

import asyncio

from fleetui.collector.acts import (
    Course,
    Tools,
    differs,
    done,
    failed,
    judged,
    last_look,
    refused,
    unsure,
)
from fleetui.collector.standing_acts import stopped_by_protection
from fleetui.domain.intent import Intent, IntentState
from fleetui.vast.client import ActionResult, Presence, PresenceKind

OPEN_CODES = (408, 429)
TAKEN = "the API took it; its absence is not confirmed yet"
"""Result of an intent under way whose DELETE was answered."""


async def refusal(intent: Intent, tools: Tools) -> Course | None:
    """Refuse a target that is not what the operator saw; one that is gone is no refusal."""
    presence = await tools.client.look(intent.instance_id)
    return None if presence.kind is PresenceKind.GONE else judged(intent, presence)


async def destroy(intent: Intent, tools: Tools) -> Course:
    """Keep what the host can still tell, and destroy it when it is what the operator saw."""
    missed = await last_look(intent, tools)
    presence = await tools.client.look(intent.instance_id)
    if presence.kind is not PresenceKind.GONE:
        # It may have been protected while its host was looked at, or drained.
        course = judged(intent, presence) or stopped_by_protection(intent, tools)
        if course is not None:
            return course
    course = await _until_gone(intent, tools, presence)
    return Course(course.state, course.text + missed)


async def check_destroy(intent: Intent, tools: Tools) -> Course:
    """Go on with an earlier run's destroy: it was confirmed, and is not forgotten.

    What the host can still tell is kept first, unless the earlier run had done that.
    """
    presence = await tools.client.look(intent.instance_id)
    missed = ""
    if not await tools.black_box.has_since(intent.instance_id, _begun_at(intent)):
        missed = "; without a last look: the collector ended before it had one"
        is_meant = judged(intent, presence) is None and too_old(intent, tools) is None
        if is_meant:
            missed = await last_look(intent, tools)
            presence = await tools.client.look(intent.instance_id)
    course = await _until_gone(intent, tools, presence, begun=True)
    is_lost = course.state is not IntentState.REFUSED
    return Course(course.state, course.text + missed) if is_lost else course


async def let_be(intent: Intent, tools: Tools, reason: str) -> Course:
    """Do not go on with an earlier run's destroy; says how far it had come, as far as is known."""
    presence = await tools.client.look(intent.instance_id)
    if presence.kind is PresenceKind.GONE:
        if intent.instance_id not in tools.inventory or await _proven(intent, tools):
            return done("gone: the API has no such instance")
        return unsure(f"not gone on with: {reason}; the API says it is gone, the list not yet")
    taken = intent.result == TAKEN
    if presence.kind is PresenceKind.UNKNOWN:
        return unsure(f"not gone on with: {reason}; the API does not tell whether it is there")
    if taken:
        return unsure(f"not asked for again: {reason}; but the API had taken the destroy before")
    return failed(
        f"not gone on with: {reason}; no answer to its destroy is known, and it is still there"
    )


def too_old(intent: Intent, tools: Tools) -> Course | None:
    """Refuse to go on with what was begun so long ago that nobody reckons with it any more."""
    age = tools.clock.now() - _begun_at(intent)
    if abs(age) <= tools.expiry_seconds:
        return None
    return failed(
        f"begun {age / 60:.0f} min ago by a collector that ended since, and it is still there:"
        " it was not asked for again; ask anew if it is still wanted"
    )


def _begun_at(intent: Intent) -> float:
    return intent.started_at or intent.created_at


async def _until_gone(
    intent: Intent, tools: Tools, presence: Presence, *, begun: bool = False
) -> Course:
    """Ask until it is gone, each time after a look that found what the operator saw.

    `begun`: by an earlier run.
    """
    old = too_old(intent, tools) if begun else None
    asked = False
    while True:
        if old is not None and presence.kind is PresenceKind.PRESENT:
            return old
        if asked and stopped_by_protection(intent, tools) is not None:
            return unsure("it was protected after its destroy was asked for; not asked again")
        if presence.kind is PresenceKind.PRESENT and presence.instance is not None:
            difference = differs(intent, presence.instance)
            if difference is not None:
                text = f"stopped trying: {difference}"
                return failed(text) if asked else refused(text)
            tools.inventory.learn(presence.instance)
            answer = await tools.client.destroy(intent.instance_id)
            asked = True
            if _rejected(answer):
                return failed(f"the API refused: {answer.text}")
            if answer.ok:
                await tools.note(intent, TAKEN)
        known = intent.instance_id in tools.inventory
        if presence.kind is PresenceKind.GONE and not known:
            return done("gone: the API has no such instance")
        if await _proven(intent, tools):
            return done("gone: the API has no such instance and complete walks do not list it")
        presence = await tools.client.look(intent.instance_id)


async def _proven(intent: Intent, tools: Tools) -> bool:
    """Wait for the proof of absence; false when it is time to look again."""
    wanted_after = asyncio.get_running_loop().time() + tools.ask_again_seconds
    try:
        async with asyncio.timeout(tools.absence_deadline_seconds):
            return await tools.walks.absence_proven(intent.instance_id, loop_time=wanted_after)
    except TimeoutError:
        return False


def _rejected(answer: ActionResult) -> bool:
    """Tell a firm refusal from success, and from an answer that leaves it open.

    A refusal may come as HTTP 200 with `success: false` (facts: vast_api.md section 5).
    """
    code = answer.code
    return not answer.ok and code is not None and code < 500 and code not in OPEN_CODES
