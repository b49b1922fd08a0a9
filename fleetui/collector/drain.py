"""Destroying after the proofs in flight."""

import asyncio

from fleetui.collector.acts import Course, Tools, failed, guard, judged, unsure
from fleetui.collector.destroy import check_destroy, destroy, too_old
from fleetui.collector.standing_acts import stopped_by_protection
from fleetui.collector.watcher import Watcher
from fleetui.domain.intent import Intent
from fleetui.reading.findings.clues import DAEMON
from fleetui.reading.status import is_running
from fleetui.vast.client import PresenceKind

LOOK_SECONDS = 1.0
FRESH_SECONDS = 60.0
"""An answer of the daemon older than this tells nothing of what is in flight."""


async def drain_destroy(intent: Intent, tools: Tools) -> Course:
    """Wait until the proofs that are in flight now have ended, then destroy.

    Proofs that begin meanwhile are not waited for: the daemon takes the next one at once, so
    that there would be no end.
    """
    course = await guard(intent, tools)
    if course is not None:
        return course
    awaited = in_flight(tools.fleet.get(intent.instance_id), tools)
    if awaited is None:
        return failed("nothing was done: its daemon does not tell what is in flight")
    return await _drain(intent, tools, awaited)


async def check_drain(intent: Intent, tools: Tools) -> Course:
    """Go on with an earlier run's drain: wait anew for what is in flight now, then destroy.

    Whether it had come to the destroy is not known, so a target that is gone is no refusal.
    """
    presence = await tools.client.look(intent.instance_id)
    if presence.kind is PresenceKind.GONE:
        return await check_destroy(intent, tools)
    course = judged(intent, presence) or too_old(intent, tools)
    if course is not None:
        return course
    loop = asyncio.get_running_loop()
    end = loop.time() + tools.verify_deadline_seconds
    while (awaited := in_flight(tools.fleet.get(intent.instance_id), tools)) is None:
        if loop.time() > end:
            return unsure(
                "the collector ended while it drained, and its daemon does not tell what is in"
                " flight: ask again if it is still wanted"
            )
        await asyncio.sleep(LOOK_SECONDS)
    return await _drain(intent, tools, awaited)


async def _drain(intent: Intent, tools: Tools, awaited: frozenset[str]) -> Course:
    loop = asyncio.get_running_loop()
    end = loop.time() + tools.drain_deadline_seconds
    while awaited:
        if loop.time() > end:
            return failed(
                f"nothing was done: after {tools.drain_deadline_seconds / 60:.0f} min a proof is"
                f" still in flight ({', '.join(sorted(awaited))})"
            )
        await asyncio.sleep(LOOK_SECONDS)
        course = stopped_by_protection(intent, tools)
        if course is not None:
            return course
        now = in_flight(tools.fleet.get(intent.instance_id), tools)
        if now is not None:
            awaited &= now
    return await destroy(intent, tools)


def in_flight(watcher: Watcher | None, tools: Tools) -> frozenset[str] | None:
    """Return the jobs at work by the daemon's newest answer, else by its log.

    Era O answers nothing (facts: cuzk.md, head). `None`: neither tells, or nobody follows it.
    """
    if watcher is None:
        return None
    status = watcher.daemon_status
    if status is None or status.at is None or tools.clock.now() - status.at > FRESH_SECONDS:
        return _by_log(watcher)
    return frozenset(job.job_id for job in status.pipelines if is_running(job, status))


def _by_log(watcher: Watcher) -> frozenset[str] | None:
    """Return the jobs at work by the daemon's log, none when the daemon is seen not to run.

    A daemon that died says nothing of its jobs' ends.
    """
    reading = watcher.newest_reading
    if not watcher.connected or reading is None:
        return None
    probe, newest = reading.probe, reading.newest_byte_at
    if probe is not None and probe.at is not None and probe.processes is not None:
        listed_since = newest is None or probe.at >= newest
        if listed_since and not any(DAEMON in process.args for process in probe.processes):
            return frozenset()
    return watcher.reader.in_flight
