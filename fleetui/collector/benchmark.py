"""Running an instance's benchmark anew, and seeing that it runs."""

import asyncio

from fleetui.collector.acts import Course, Tools, done, failed, reach, refused, unsure
from fleetui.collector.drain import in_flight
from fleetui.collector.script_words import words_of
from fleetui.collector.watcher import Watcher
from fleetui.domain.intent import ANYWAY, Intent
from fleetui.domain.stage import Outcome, Stage
from fleetui.domain.text import sanitise
from fleetui.ssh.link import ScriptResult

LOOK_SECONDS = 0.25
SLACK_SECONDS = 2.0
AT_WORK_STATUS = 7
"""What the profile's script ends with when a benchmark is at work."""
_STAGES = frozenset(
    {Stage.C1_DOWNLOAD, Stage.DAEMON_START, Stage.WARMUP, Stage.DAEMON_RESTART, Stage.BENCH}
)


async def restart_benchmark(intent: Intent, tools: Tools) -> Course:
    """Run the profile's script on the target and watch the benchmark begin.

    A benchmark or a proof at work is lost by it, so that the intent must say `ANYWAY`.
    """
    target = await reach(intent, tools, "restart_benchmark")
    if isinstance(target, Course):
        return target
    watcher = target.watcher
    anyway = intent.argument == ANYWAY
    lost = _at_work(watcher, tools)
    if lost and not anyway:
        return refused(f"nothing was done: {lost}; ask with the argument {ANYWAY} to lose that")
    since = tools.clock.now()
    watcher.reader.observe_restart(since)
    script = f"ANYWAY={'yes' if anyway else 'no'}\n{target.script}"
    try:
        result = await target.link.run_script(script, timeout=tools.script_timeout_seconds)
    except OSError as error:
        seen = await _seen(watcher, since, tools.verify_deadline_seconds)
        if seen is not None:
            return seen
        return unsure(f"the connection ended while the script ran: {type(error).__name__}")
    return await _judge(result, watcher, since, tools)


async def check_benchmark(intent: Intent, tools: Tools) -> Course:
    """Find out whether an earlier run's benchmark came about; never runs the script again."""
    watcher = tools.fleet.get(intent.instance_id)
    since = intent.started_at or intent.created_at
    seen = None
    if watcher is not None:
        seen = await _seen(watcher, since, tools.verify_deadline_seconds)
    return seen or unsure(
        "the collector ended while this was under way, and no newer benchmark is seen. It was not"
        " tried again: ask again if it is still wanted"
    )


def _at_work(watcher: Watcher, tools: Tools) -> str | None:
    """Say what of the daemon's work would be lost; of the benchmark the script itself tells."""
    proofs = len(in_flight(watcher, tools) or ())
    if proofs:
        return f"{proofs} proof{'s are' if proofs > 1 else ' is'} in flight"
    if watcher.stage is Stage.RUNNING:
        return "it proves for the market"
    return None


async def _judge(result: ScriptResult, watcher: Watcher, since: float, tools: Tools) -> Course:
    words = words_of(result.stdout)
    reason = words.get("reason") or sanitise(result.stderr)[-200:] or "no reason given"
    if result.exit_status == AT_WORK_STATUS:
        return refused(
            f"nothing was done: {reason}; ask with the argument {ANYWAY} to lose what it did"
        )
    if result.exit_status != 0 or words.get("result") != "ok":
        last = words.get("last_line")
        said = f"; its log ends: {last}" if last else ""
        return failed(f"the script failed (exit {result.exit_status}): {reason}{said}")
    pids = f"process {words.get('old_pid', '?')} -> {words.get('new_pid', '?')}"
    seen = await _seen(watcher, since, tools.verify_deadline_seconds)
    if seen is not None:
        return Course(seen.state, f"{pids}; {seen.text}")
    seconds = f"{tools.verify_deadline_seconds:.0f} s"
    return unsure(f"{pids}; but no step of the benchmark is seen within {seconds}")


async def _seen(watcher: Watcher, since: float, seconds: float) -> Course | None:
    """Wait until the reading shows a step of the benchmark that began since, or its failure."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        for span in watcher.reading.spans if watcher.reading is not None else ():
            begun = span.started_at is not None and span.started_at >= since - SLACK_SECONDS
            if span.stage not in _STAGES or not begun:
                continue
            if span.outcome is Outcome.FAILED:
                return failed(f"it began and failed in {span.stage}")
            return done(f"it runs: {span.stage}")
        await asyncio.sleep(LOOK_SECONDS)
    return None
