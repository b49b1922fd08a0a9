"""Who waits for a change hears of it, also of one that came before the waiting."""

import asyncio

from fleetui.ssh.watch import Changes, Watch


async def test_a_change_wakes_all_who_wait() -> None:
    changes = Changes()
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        waits = [
            group.create_task(changes.after(0, seconds), name=f"wait-{seconds}")
            for seconds in (None, 3600.0)
        ]
        await asyncio.sleep(0)
        changes.tell()
    assert [wait.result() for wait in waits] == [True, True]


async def test_a_change_before_the_waiting_is_not_missed() -> None:
    changes = Changes()
    seen = changes.count
    changes.tell()
    async with asyncio.timeout(30):
        assert await changes.after(seen)


async def test_a_wait_ends_without_a_change() -> None:
    assert not await Changes().after(0, 0.001)


async def test_a_wait_that_was_cancelled_leaves_nothing_to_wake() -> None:
    changes = Changes()
    wait = asyncio.create_task(changes.after(0), name="wait")
    await asyncio.sleep(0)
    wait.cancel()
    await asyncio.wait([wait])
    changes.tell()
    assert wait.cancelled()


def test_only_another_value_of_a_flag_is_a_change() -> None:
    watch = Watch()
    for watched in (False, True, True, False):
        watch.set(watched=watched)
    assert watch.count == 2
