"""A new kind of faulty line: it is read, looked into and stored before its turn."""

from dataclasses import replace
from pathlib import Path

from collecting import collecting, simulated, some_running
from fleetui.domain.finding_record import FindingRecord

LINE = "thread 'tokio-runtime-worker' panicked at src/engine.rs:1:1: index out of bounds"


async def test_the_host_is_looked_at_when_a_new_kind_of_fault_shows(tmp_path: Path) -> None:
    async with simulated(tmp_path, speed=1.0, plan=[("running", 420.0)]) as fleet:
        settings = fleet.settings(tmp_path)
        # No second look and no review in a round come within the test's patience.
        ssh = replace(settings.ssh, probe_interval_seconds=1e6, status_interval_seconds=1e6)
        async with collecting(settings, ssh=ssh) as run:
            (instance,) = await some_running(run)

            async def looked_at() -> float:
                reading = await run.store.reading(instance.instance_id)
                return reading.probe.at or 0.0 if reading and reading.probe else 0.0

            before = await run.until(looked_at, "a first look")
            await fleet.shell(instance, f'echo "{LINE}" >> /tmp/cuzk.log')

            async def found() -> FindingRecord | None:
                records = await run.store.findings(instance_id=instance.instance_id)
                wanted = [one for one in records if one.finding.category == "prover_panic"]
                return wanted[0] if wanted else None

            assert await run.until(found, "the finding")

            async def looked_again() -> bool:
                return await looked_at() > before

            await run.until(looked_again, "another look")
