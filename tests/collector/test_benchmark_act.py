"""Running a benchmark anew on simulated hosts: what is at work is not lost unasked."""

from functools import partial
from pathlib import Path

from collecting import Collecting, collecting, simulated
from fleetui.domain.instance import Instance
from fleetui.domain.intent import ANYWAY, IntentState, Verb
from fleetui.domain.stage import Outcome, Stage
from fleetui.domain.text import sanitise

PLAN = [
    ("bench", 460.0),
    ("c1_missing", 60.0),
    ("running_budget", 420.0),
    ("incident_hang", 900.0),
    ("bench_done", 900.0),
]


async def in_stage(run: Collecting, instance: Instance, *stages: Stage) -> bool:
    reading = await run.store.reading(instance.instance_id)
    return reading is not None and reading.stage in stages


async def failed(run: Collecting, instance: Instance) -> bool:
    reading = await run.store.reading(instance.instance_id)
    return reading is not None and any(span.outcome is Outcome.FAILED for span in reading.spans)


async def with_work(run: Collecting, instance: Instance) -> bool:
    reading = await run.store.reading(instance.instance_id)
    return bool(reading and reading.status and reading.status.pipelines)


async def test_a_benchmark_is_run_anew_and_what_is_at_work_is_kept(tmp_path: Path) -> None:
    async with (
        simulated(tmp_path, plan=PLAN) as fleet,
        collecting(fleet.settings(tmp_path)) as run,
    ):

        async def all_connected() -> list[Instance]:
            found = await run.running()
            return found if len(found) == len(PLAN) else []

        found = await run.until(all_connected, "all are connected")
        at_work, missing, proving, hung, over = sorted(found, key=lambda one: one.instance_id)
        verb, anyway = Verb.RESTART_BENCHMARK, {"argument": sanitise(ANYWAY)}

        await run.until(partial(in_stage, run, at_work, Stage.BENCH), "a benchmark runs")
        kept = await run.settled(await run.intend(verb, at_work))
        assert kept.state is IntentState.REFUSED, kept.result
        assert "ask with the argument anyway to lose" in str(kept.result)
        old = await fleet.shell(at_work, "pgrep -f benchmark.sh")

        await run.until(partial(with_work, run, proving), "a proof is in flight")
        unharmed = await run.settled(await run.intend(verb, proving))
        assert unharmed.state is IntentState.REFUSED, unharmed.result
        assert "in flight" in str(unharmed.result)
        assert await fleet.shell(proving, "pgrep -x cuzk-daemon")

        # An entrypoint that waits for ever does not hinder it; its benchmark fails anew.
        await run.until(partial(failed, run, missing), "its download failed")
        await run.until(partial(failed, run, hung), "its daemon was lost")
        await run.until(partial(in_stage, run, over, Stage.BENCH_DONE), "it has a rate")
        asked = [await run.intend(verb, one) for one in (missing, hung, over)]
        asked.append(await run.intend(verb, at_work, **anyway))
        again, anew_hung, anew, lost = [await run.settled(one) for one in asked]
        assert again.state is IntentState.FAILED, again.result
        assert "its log ends: curl: (22)" in str(again.result)
        assert anew_hung.state is IntentState.FAILED, anew_hung.result
        assert "within seconds" in str(anew_hung.result)
        assert anew.state is IntentState.DONE, anew.result
        assert "process none -> " in str(anew.result)
        assert "it runs: " in str(anew.result)
        assert lost.state is IntentState.DONE, lost.result
        new = await fleet.shell(at_work, "pgrep -f benchmark.sh")
        assert new
        assert new != old
        await run.until(partial(in_stage, run, at_work, Stage.WARMUP, Stage.BENCH), "it proves")
