"""Restarting a daemon over the live connection, and seeing that it did restart."""

import asyncio
from collections.abc import Iterable

from fleetui.collector.acts import Course, Tools, done, failed, reach, unsure
from fleetui.collector.script_words import words_of
from fleetui.collector.watcher import Watcher
from fleetui.domain.intent import Intent, IntentState
from fleetui.domain.text import sanitise
from fleetui.ssh.link import ScriptResult
from fleetui.store.interface import CollectorStore

LOOK_SECONDS = 0.25
RECALLED_INTENTS = 1000
SLACK_SECONDS = 2.0
"""How far two views of a daemon's start may differ (clock skew aside, it is one subtraction)."""


async def restart_daemon(intent: Intent, tools: Tools) -> Course:
    """Run the profile's script on the target and watch the daemon come back."""
    target = await reach(intent, tools, "restart_daemon")
    if isinstance(target, Course):
        return target
    watcher = target.watcher
    before = daemon_started_at(watcher)
    watcher.reader.observe_restart(tools.clock.now())
    try:
        result = await target.link.run_script(target.script, timeout=tools.script_timeout_seconds)
    except OSError as error:
        seen = await _seen_restarted(watcher, before, tools.verify_deadline_seconds)
        if seen:
            return done(f"{seen}; the script's own answer was lost")
        return unsure(f"the connection ended while the script ran: {type(error).__name__}")
    return await _judge(result, watcher, before, tools)


async def recall_restarts(store: CollectorStore, fleet: Iterable[Watcher]) -> None:
    """Tell the readers what earlier runs had begin anew."""
    watchers = {watcher.instance_id: watcher for watcher in fleet}
    for intent in reversed(await store.intents(limit=RECALLED_INTENTS)):
        watcher = watchers.get(intent.instance_id)
        begun = intent.verb.begins_anew and intent.state is not IntentState.REFUSED
        if begun and intent.started_at and watcher is not None:
            watcher.reader.observe_restart(intent.started_at)


async def check_restart(intent: Intent, tools: Tools) -> Course:
    """Find out whether an earlier run's restart came about; never runs the script again."""
    loop = asyncio.get_running_loop()
    end = loop.time() + tools.verify_deadline_seconds
    since = intent.started_at or intent.created_at
    while loop.time() < end:
        watcher = tools.fleet.get(intent.instance_id)
        started = daemon_started_at(watcher) if watcher is not None else None
        if started is not None and started >= since - SLACK_SECONDS:
            return done("the daemon has started again since; confirmed after the collector's own")
        await asyncio.sleep(LOOK_SECONDS)
    return unsure(
        "the collector ended while this was under way, and no newer start of the daemon is seen."
        " It was not tried again: ask again if it is still wanted"
    )


def daemon_started_at(watcher: Watcher) -> float | None:
    """Return when the daemon started by its own word, in epoch seconds of the fleet."""
    status = watcher.daemon_status
    if status is None or status.at is None:
        return None
    return status.at - status.uptime_secs


async def _judge(
    result: ScriptResult, watcher: Watcher, before: float | None, tools: Tools
) -> Course:
    words = words_of(result.stdout)
    if result.exit_status is None:
        seen = await _seen_restarted(watcher, before, tools.verify_deadline_seconds)
        if seen:
            return done(f"{seen}; the script's own answer was lost")
        return unsure("the connection ended before the script did")
    if result.exit_status != 0 or words.get("result") != "ok":
        reason = words.get("reason") or sanitise(result.stderr)[-200:] or "no reason given"
        last = words.get("last_line")
        said = f"; its log ends: {last}" if last else ""
        return failed(f"the script failed (exit {result.exit_status}): {reason}{said}")
    pids = f"process {words.get('old_pid', '?')} -> {words.get('new_pid', '?')}"
    if before is None:
        # Era O has no status page (facts: cuzk.md, head): the process is all there is to see.
        return done(f"{pids}; it stays; no status page answered before to compare with")
    seen = await _seen_restarted(watcher, before, tools.verify_deadline_seconds)
    if seen:
        return done(f"{pids}; {seen}")
    seconds = f"{tools.verify_deadline_seconds:.0f} s"
    return unsure(f"{pids}; but its status does not show a newer start within {seconds}")


async def _seen_restarted(watcher: Watcher, before: float | None, seconds: float) -> str | None:
    """Wait until the daemon's uptime shows a newer start."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    asked_at = watcher.daemon_status.at if watcher.daemon_status is not None else None
    while loop.time() < end:
        started = daemon_started_at(watcher)
        status = watcher.daemon_status
        fresh = status is not None and status.at != asked_at
        if started is not None and fresh and (before is None or started > before + SLACK_SECONDS):
            return "its uptime began anew"
        await asyncio.sleep(LOOK_SECONDS)
    return None
