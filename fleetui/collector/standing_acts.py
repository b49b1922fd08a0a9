"""Laying down and taking back: protect an instance, blacklist its machine."""

from fleetui.collector.acts import Course, Tools, done, refused
from fleetui.domain.intent import Intent, Verb
from fleetui.domain.standing import Mark


def stopped_by_protection(intent: Intent, tools: Tools) -> Course | None:
    """Refuse what would touch a protected instance."""
    mark = tools.standing.protection(intent.instance_id)
    if mark is None or intent.verb.spares_instance:
        return None
    why = mark.reason or "no reason given"
    return refused(f"nothing was done: it is protected by {mark.by} ({why}); unprotect it first")


async def protect(intent: Intent, tools: Tools) -> Course:
    """Protect the target, or take that back."""
    on = intent.verb is Verb.PROTECT
    mark = Mark(intent.actor, tools.clock.now(), intent.reason) if on else None
    await tools.standing.protect(intent.instance_id, mark)
    watcher = tools.fleet.get(intent.instance_id)
    if watcher is not None:
        watcher.set_protected(on=on)
    return done("protected: nothing is done to it until it is unprotected" if on else "unprotected")


async def blacklist(intent: Intent, tools: Tools) -> Course:
    """Put the target's machine on the blacklist, or take it off."""
    machine_id = intent.machine_id
    if machine_id is None:
        return refused("nothing was done: its machine is not known")
    if intent.verb is Verb.UNBLACKLIST:
        await tools.standing.blacklist(machine_id, None)
        return done(f"machine {machine_id} is off the blacklist")
    mark = Mark(intent.actor, tools.clock.now(), intent.argument or intent.reason)
    await tools.standing.blacklist(machine_id, mark)
    return done(f"machine {machine_id} is blacklisted: it will not be rented again")
