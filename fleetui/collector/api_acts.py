"""Acts that are one call of the API: stop, start, label, reboot, recycle; and host keys."""

import asyncio

from fleetui.collector.acts import Course, Tools, done, failed, guard, refused, unsure
from fleetui.domain.instance import Instance
from fleetui.domain.intent import Intent, Verb
from fleetui.vast.client import ActionResult, PresenceKind

LOOK_SECONDS = 2.0
WANTED = {Verb.STOP: "stopped", Verb.START: "running"}


async def set_state(intent: Intent, tools: Tools) -> Course:
    """Stop or start the target and see that the API took it in."""
    course = await guard(intent, tools)
    if course is not None:
        return course
    if intent.verb is Verb.STOP:
        tools.inventory.expect_stop(intent.instance_id)
    answer = await tools.client.set_state(intent.instance_id, WANTED[intent.verb])
    if not answer.ok:
        return _not_ok(answer)
    return await check_state(intent, tools)


async def check_state(intent: Intent, tools: Tools) -> Course:
    """Tell whether the wanted state is what the API intends, then whether it is so."""
    wanted = WANTED[intent.verb]
    loop = asyncio.get_running_loop()
    end = loop.time() + tools.verify_deadline_seconds
    intended = False
    while True:
        presence = await tools.client.single(intent.instance_id)
        if presence.kind is PresenceKind.PRESENT and presence.instance is not None:
            intended = _is(presence.instance, wanted, actual=False)
            if _is(presence.instance, wanted, actual=True):
                tools.walks.ask()
                return done(f"it is {wanted}")
        if loop.time() > end:
            break
        await asyncio.sleep(LOOK_SECONDS)
    if intended:
        return done(f"the API intends it to be {wanted}; it is not yet")
    return unsure(f"the API does not show it {wanted}")


async def label(intent: Intent, tools: Tools) -> Course:
    """Give the target a new label."""
    course = await guard(intent, tools)
    if course is not None:
        return course
    answer = await tools.client.label(intent.instance_id, str(intent.argument or ""))
    if not answer.ok:
        return _not_ok(answer)
    tools.walks.ask()
    return done(f"its label is {intent.argument or 'empty'}")


async def check_label(intent: Intent, tools: Tools) -> Course:
    """Tell whether the label is the new one."""
    presence = await tools.client.single(intent.instance_id)
    if presence.instance is not None and (presence.instance.label or "") == (intent.argument or ""):
        return done("its label is the new one")
    return unsure("the collector ended while this was under way; its label is not the new one")


async def reboot(intent: Intent, tools: Tools) -> Course:
    """Restart the target's container, or (recycle) make it anew, which drops its data."""
    course = await guard(intent, tools)
    if course is not None:
        return course
    if intent.verb is Verb.RECYCLE:
        answer = await tools.client.recycle(intent.instance_id)
        if answer.ok:
            # The new container has a new host key, by the operator's own wish.
            tools.host_keys.forget(intent.instance_id)
    else:
        answer = await tools.client.reboot(intent.instance_id)
    if not answer.ok:
        return _not_ok(answer)
    tools.walks.ask()
    return done(f"the API took it: {answer.text or 'ok'}")


async def check_nothing(intent: Intent, tools: Tools) -> Course:
    """Say that nothing can be found out afterwards."""
    del tools
    return unsure(
        f"the collector ended while {intent.verb} was under way; whether it came about cannot be"
        " seen. It was not tried again: ask again if it is still wanted"
    )


async def accept_host_key(intent: Intent, tools: Tools) -> Course:
    """Drop the bound host key, so that the next login binds what the host shows then."""
    watcher = tools.fleet.get(intent.instance_id)
    if watcher is None:
        return refused("nothing was done: there is no such instance")
    tools.host_keys.forget(intent.instance_id)
    watcher.reconnect()
    return done("the old key is dropped; the next login binds the one shown then")


def _is(instance: Instance, wanted: str, *, actual: bool) -> bool:
    status = str((instance.actual_status if actual else instance.intended_status) or "").lower()
    names = {"stopped": ("stopped", "exited"), "running": ("running",)}[wanted]
    return status in names


def _not_ok(answer: ActionResult) -> Course:
    text = answer.text or "no reason given"
    # Without a code no answer came: the call may or may not have been taken.
    return failed(f"the API refused: {text}") if answer.code else unsure(f"no answer: {text}")
