"""The black box on the screen."""

import msgspec

from console_pilot import NOW, console
from fleetui.domain.instance import Instance
from fleetui.domain.snapshot import Snapshot, SnapshotSection
from fleetui.domain.stage import Stage
from fleetui.domain.text import sanitise
from sample_fleet import build

ID = 20110148


async def test_the_last_looks_of_an_instance_open_from_its_page() -> None:
    store = build(24, now=NOW)
    for at, reason, whole in (
        (NOW - 9000, "gpu_vram_oom", True),
        (NOW - 60, "before destroy by bo", False),
    ):
        sections = (
            SnapshotSection("ps", (sanitise("PID ARGS"), sanitise("7 entrypoint.sh [/] do_wait"))),
            SnapshotSection("tail /tmp/cuzk.log", (sanitise(f"the last line of {reason}"),)),
        )
        store.snapshot_list.insert(
            0,
            Snapshot(
                instance_id=ID, at=at, reason=sanitise(reason), sections=sections, whole=whole
            ),
        )
    async with console(store, size=(120, 40)) as run:
        await run.press("enter")
        await run.shows("root cause")
        await run.press("b")
        await run.shows("the last line of gpu_vram_oom")
        shown = run.text
        assert shown.index("before destroy by bo") < shown.index("tail /tmp/cuzk.log")
        assert "7 entrypoint.sh [/] do_wait" in shown
        assert shown.count("cut short") == 1
        await run.press("q")
        await run.shows("root cause")


async def test_where_no_look_was_kept_it_says_when_one_is() -> None:
    async with console(size=(120, 40)) as run:
        await run.press("enter")
        await run.shows("root cause")
        await run.press("b")
        await run.shows("none is kept")


async def test_an_instance_that_is_gone_opens_by_its_id_as_before() -> None:
    store = build(24, now=NOW)
    gone = msgspec.structs.replace(store.readings_by_id[ID], stage=Stage.GONE)
    store.readings_by_id[ID] = gone
    store.instances[ID] = Instance(instance_id=ID, machine_id=70, gpu_name=sanitise("L40S"))
    store.remove(ID)
    async with console(store, size=(120, 40)) as run:
        await run.press("colon", *f"go {ID}", "enter")
        await run.shows("machine 70")
        assert "root cause" in run.text
        await run.press("b")
        await run.shows("none is kept")
        await run.press("q")
        await run.shows("machine 70")
        await run.press("l")
        await run.shows("following")


async def test_an_id_of_which_nothing_is_kept_says_so() -> None:
    async with console(size=(120, 40)) as run:
        await run.press("colon", *"go 99", "enter")
        await run.shows("nothing is known of 99")
