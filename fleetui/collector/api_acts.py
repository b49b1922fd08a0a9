"""Acts that are one call of the API: stop, start, label, reboot, recycle; and host keys."""

import asyncio
import logging

from fleetui.collector.acts import (
    Course,
    Tools,
    done,
    failed,
    guard,
    last_look,
    queued,
    refused,
    unsure,
)
from fleetui.domain.host_key import fingerprint
from fleetui.domain.instance import Instance
from fleetui.domain.intent import Intent, Verb
from fleetui.store.interface import FenceLostError, StoreError
from fleetui.vast.client import ActionResult, PresenceKind

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
SHOWN_SECONDS = 0.2
SHOWN_DEADLINE_SECONDS = 10.0
QUEUED = (
    "queued: the machine's GPUs are taken. It starts, and bills, when they are free; a stop"
    " cancels that"
)
WANTED = {Verb.STOP: "stopped", Verb.START: "running"}


async def set_state(intent: Intent, tools: Tools) -> Course:
    """Stop or start the target and see that the API took it in."""
    course = await guard(intent, tools)
    if course is not None:
        return course
    if intent.verb is Verb.STOP:
        tools.inventory.expect_stop(intent.instance_id)
    _observe_new_beginning(intent, tools)
    answer = await tools.client.set_state(intent.instance_id, WANTED[intent.verb])
    if answer.queued:
        tools.walks.ask()
        return queued(QUEUED)
    if not answer.ok:
        if answer.code is not None:
            tools.inventory.withdraw_stop(intent.instance_id)
        return _not_ok(answer)
    return await check_state(intent, tools)


def _observe_new_beginning(intent: Intent, tools: Tools) -> None:
    """Tell the target's reader that it begins anew, so that it is not judged by what was before."""
    watcher = tools.fleet.get(intent.instance_id)
    if intent.verb.begins_anew and watcher is not None:
        watcher.reader.observe_restart(tools.clock.now())


async def check_state(intent: Intent, tools: Tools) -> Course:
    """Tell whether the wanted state is what the API intends, then whether it is so."""
    wanted = WANTED[intent.verb]
    loop = asyncio.get_running_loop()
    end = loop.time() + tools.verify_deadline_seconds
    intended = False
    while True:
        presence = await tools.client.look(intent.instance_id)
        instance = presence.instance
        if presence.kind is PresenceKind.PRESENT and instance is not None:
            intended = _is(instance, wanted, actual=False)
            if instance.is_start_queued and intent.verb is Verb.START:
                return queued(QUEUED)
            if _is(instance, wanted, actual=True):
                tools.walks.ask()
                return done(f"it is {wanted}")
        if loop.time() > end:
            break
        await asyncio.sleep(LOOK_SECONDS)
    if intended:
        return done(f"the API intends it to be {wanted}; it is not yet")
    return unsure(f"the API does not show it {wanted}")


def settle_queued(instance: Instance | None) -> Course | None:
    """Judge a queued start by a later row; `None` while it still waits."""
    if instance is None:
        return failed("it is gone")
    if _is(instance, "running", actual=True):
        return done("it is running")
    if _is(instance, "stopped", actual=False):
        return failed("cancelled: it is meant to be stopped")
    return None


async def label(intent: Intent, tools: Tools) -> Course:
    """Give the target a new label."""
    course = await guard(intent, tools)
    if course is not None:
        return course
    answer = await tools.client.label(intent.instance_id, str(intent.argument or ""))
    if not answer.ok:
        return _not_ok(answer)
    await _until_shown(intent, tools)
    return done(f"its label is {intent.argument or 'empty'}")


async def _until_shown(intent: Intent, tools: Tools) -> None:
    """Wait, bounded, until rows have the new label: it guards whatever is asked for next."""
    tools.walks.ask()
    try:
        async with asyncio.timeout(SHOWN_DEADLINE_SECONDS):
            while True:
                rows = (await tools.view()).rows
                row = next((one for one in rows if one.instance_id == intent.instance_id), None)
                if row is None or (row.label or "") == (intent.argument or ""):
                    return
                await asyncio.sleep(SHOWN_SECONDS)
    except TimeoutError:
        return
    except StoreError as error:
        log.warning("whether the new label is shown cannot be read: %s", error)


async def check_label(intent: Intent, tools: Tools) -> Course:
    """Tell whether the label is the new one."""
    presence = await tools.client.look(intent.instance_id)
    if presence.instance is not None and (presence.instance.label or "") == (intent.argument or ""):
        return done("its label is the new one")
    return unsure("the collector ended while this was under way; its label is not the new one")


async def reboot(intent: Intent, tools: Tools) -> Course:
    """Restart the target's container, or (recycle) make it anew, which drops its data."""
    course = await guard(intent, tools)
    missed = ""
    if course is None and intent.verb is Verb.RECYCLE:
        missed = await last_look(intent, tools)
        # The look took its time: the target is looked at anew just before the call.
        course = await guard(intent, tools)
    if course is not None:
        return course
    _observe_new_beginning(intent, tools)
    if intent.verb is Verb.RECYCLE:
        answer = await tools.client.recycle(intent.instance_id)
        if answer.ok:
            # The new container has a new host key, by the operator's own wish.
            tools.host_keys.forget(intent.instance_id)
            tools.keeper.keep(intent.instance_id, "")
    else:
        answer = await tools.client.reboot(intent.instance_id)
    if not answer.ok:
        return _not_ok(answer)
    tools.walks.ask()
    return done(f"the API took it: {answer.text or 'ok'}{missed}")


async def check_nothing(intent: Intent, tools: Tools) -> Course:
    """Say that nothing can be found out afterwards."""
    del tools
    return unsure(
        f"the collector ended while {intent.verb} was under way; whether it came about cannot be"
        " seen. It was not tried again: ask again if it is still wanted"
    )


async def accept_host_key(intent: Intent, tools: Tools) -> Course:
    """Bind the host key that was shown in place of the bound one, and no other.

    With an argument, only a key of that fingerprint: the one that the operator saw.
    """
    watcher = tools.fleet.get(intent.instance_id)
    key = tools.host_keys.refused(intent.instance_id)
    if watcher is None:
        return refused("nothing was done: there is no such instance")
    if key is None:
        return refused("nothing was done: the host has shown no other key than the one it has")
    shown = fingerprint(key)
    if intent.argument and intent.argument != shown:
        return refused(f"nothing was done: the host shows {shown} now, not {intent.argument}")
    try:
        await tools.keeper.keep_now(intent.instance_id, key)
    except FenceLostError:
        raise
    except StoreError as error:
        return failed(f"the key could not be stored: {error}")
    tools.host_keys.accept(intent.instance_id, key)
    watcher.reconnect()
    return done(f"{shown} is the instance's host key now")


async def check_host_key(intent: Intent, tools: Tools) -> Course:
    """Tell whether the key that the operator saw is the bound one."""
    bound = tools.host_keys.get(intent.instance_id)
    if bound is not None and fingerprint(bound) == intent.argument:
        return done(f"{intent.argument} is the instance's host key now")
    return unsure(
        "the collector ended while this was under way; accept the key again if the host is"
        " refused still"
    )


def _is(instance: Instance, wanted: str, *, actual: bool) -> bool:
    status = str((instance.actual_status if actual else instance.intended_status) or "").lower()
    names = {"stopped": ("stopped", "exited"), "running": ("running",)}[wanted]
    return status in names


def _not_ok(answer: ActionResult) -> Course:
    text = answer.text or "no reason given"
    # Without a code no answer came: the call may or may not have been taken.
    return failed(f"the API refused: {text}") if answer.code else unsure(f"no answer: {text}")
