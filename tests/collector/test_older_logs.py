"""`fleetui act read-older`: the beginning of a log of a pretend host, asked for by a viewer."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from collecting import collecting, simulated, some_running
from command_line import command_line
from fleetui.domain.stream import StreamPosition

FIRST_SIGHT = 2000


async def test_a_viewer_may_ask_for_what_was_left_out(tmp_path: Path) -> None:
    async with simulated(tmp_path, hosts=3, speed=1.0, plan=[("running", 420.0)]) as fleet:
        settings = fleet.settings(tmp_path)
        ssh = replace(settings.ssh, first_sight_bytes=FIRST_SIGHT)
        async with collecting(settings, ssh=ssh) as run:
            (instance, *_) = await some_running(run)

            async def left_out() -> StreamPosition | None:
                found = await run.store.streams(instance.instance_id)
                return next((item for item in found if item.skipped), None)

            position = await run.until(left_out, "a log with its beginning left out")
            assert position is not None
            act = partial(command_line(run, fleet), "act", "read-older", instance.instance_id)
            status, text = await act("--argument", position.stream.path, FLEETUI_READ_ONLY="1")
            assert status == 0, text
            assert "were stored" in text
