"""Destroying an instance, and being sure that it is gone.

A destroy is asynchronous, idempotent in effect, and its answer can be lost (facts: vast_api.md
section 5.1). It counts as done when a single look finds nothing and a complete walk that began
after that look does not list the id.
"""

import asyncio

from fleetui.collector.acts import Course, Tools, differs, done, failed, judged, refused, unsure
from fleetui.domain.intent import Intent
from fleetui.vast.client import ActionResult, Presence, PresenceKind

LOOK_SECONDS = 2.0
ASK_AGAIN_SECONDS = 12.0
CHECK_SECONDS = 45.0
"""How long an earlier run's destroy may still be taking effect."""
OPEN_CODES = (408, 429)


async def destroy(intent: Intent, tools: Tools) -> Course:
    """Destroy the target when it still is what the operator saw."""
    presence = await tools.client.single(intent.instance_id)
    if presence.kind is not PresenceKind.GONE:
        course = judged(intent, presence)
        if course is not None:
            return course
        answer = await tools.client.destroy(intent.instance_id)
        if _rejected(answer):
            return failed(f"the API refused: {answer.text}")
    return await _until_absent(intent, tools)


async def check_destroy(intent: Intent, tools: Tools) -> Course:
    """Find out what became of an earlier run's destroy; never asks for it again."""
    if await _absent_within(intent, tools, min(CHECK_SECONDS, tools.absence_deadline_seconds)):
        return done("gone: confirmed after a restart of the collector")
    return unsure(
        "the collector ended while this was under way; the instance is still listed or the API"
        " does not tell. It was not tried again: ask again if it is still wanted"
    )


async def _until_absent(intent: Intent, tools: Tools) -> Course:
    """Wait for the proof of absence, asking again now and then while the row stands."""
    loop = asyncio.get_running_loop()
    end = loop.time() + tools.absence_deadline_seconds
    last = "no answer"
    while (left := end - loop.time()) > 0:
        if await _absent_within(intent, tools, min(ASK_AGAIN_SECONDS, left)):
            return done("gone: the API has no such instance and a complete walk does not list it")
        if loop.time() >= end:
            break
        presence = await tools.client.single(intent.instance_id)
        last = str(presence.kind)
        if presence.kind is PresenceKind.PRESENT and presence.instance is not None:
            difference = differs(intent, presence.instance)
            if difference is not None:
                return refused(f"stopped trying: {difference}")
            answer = await tools.client.destroy(intent.instance_id)
            last = answer.text
            if _rejected(answer):
                return failed(f"the API refused: {answer.text}")
    return unsure(
        f"asked for, but its absence is not confirmed after {tools.absence_deadline_seconds:.0f} s"
        f" ({last})"
    )


async def _absent_within(intent: Intent, tools: Tools, seconds: float) -> bool:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(seconds):
            while True:
                looked = loop.time()
                presence: Presence = await tools.client.single(intent.instance_id)
                if presence.kind is PresenceKind.GONE:
                    walk = await tools.walks.complete_since(looked)
                    if intent.instance_id not in walk.ids:
                        # The inventory wants a second walk before it drops the row.
                        tools.walks.ask()
                        return True
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        return False


def _rejected(answer: ActionResult) -> bool:
    """Tell a firm refusal from success, and from an answer that leaves it open.

    A refusal may come as HTTP 200 with `success: false` (facts: vast_api.md section 5).
    """
    code = answer.code
    return not answer.ok and code is not None and code < 500 and code not in OPEN_CODES
