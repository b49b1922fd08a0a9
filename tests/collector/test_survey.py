"""A fault of many hosts at once, from their logs to what the operator reads."""

import contextlib
import tarfile
from pathlib import Path
from typing import Any

from collecting import Collecting, collecting, simulated
from fleetui.reports.bundle import write_bundle
from fleetui.reports.findings import findings_report, findings_text

PLAN = [("c1_missing", 20.0)] * 5 + [("running", 420.0)] * 2


async def leading(run: Collecting, count: int) -> list[dict[str, Any]]:
    async def look() -> list[dict[str, Any]]:
        report = await findings_report(run.store, run.settings.clock.now())
        top = report[0] if report else None
        leads = top is not None and top["fleet"] and len(top["instance_ids"]) == count
        return report if leads else []

    return await run.until(look, "one finding leads")


async def test_an_input_server_that_is_down_is_one_finding(tmp_path: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        fleet = await stack.enter_async_context(simulated(tmp_path, speed=20.0, plan=PLAN))
        run = await stack.enter_async_context(collecting(fleet.settings(tmp_path)))
        first, *rest = await leading(run, 5)
        assert first["category"] == "input_download_failed"
        assert first["summary"].startswith("5 of 7 hosts at once")
        assert "not the hosts" in first["summary"]
        singles = [one for one in rest if one["category"] == "input_download_failed"]
        assert {one["led_by"] for one in singles} == {"input_download_failed"}
        assert sum(len(one["instance_ids"]) for one in singles) == 5
        text = findings_text([first, *rest], run.settings.clock.now())
        assert text.splitlines()[0].split() == [
            "CRITICAL", "input_download_failed", "fleet", "open",
        ]  # fmt: skip
        target = tmp_path / "bundle.tar.gz"
        await write_bundle(run.store, first["instance_ids"][0], target, 0.0)
        with tarfile.open(target) as archive:
            names = archive.getnames()
        assert any("/logs/tmp/benchmark-full.log.1" in name for name in names)
