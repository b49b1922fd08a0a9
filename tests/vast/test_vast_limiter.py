import asyncio
import itertools

import pytest

from fleetui.vast.limiter import QUEUE_LIMIT, Endpoint, Lane, Limiter, LimiterFullError


async def test_calls_keep_their_distance() -> None:
    limiter = Limiter(pace=0.05)
    loop = asyncio.get_running_loop()
    times: list[float] = []

    async def call() -> None:
        async with limiter.turn(Endpoint.LIST):
            times.append(loop.time())

    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(call())
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert min(gaps) >= 0.05


async def test_actions_go_first() -> None:
    lane = Lane(0.0)
    order: list[str] = []

    async def call(name: str, *, urgent: bool) -> None:
        await lane.enter(urgent=urgent)
        order.append(name)
        lane.leave()

    await lane.enter(urgent=False)
    async with asyncio.TaskGroup() as group:
        group.create_task(call("look", urgent=False))
        group.create_task(call("act", urgent=True))
        await asyncio.sleep(0)
        assert order == []
        lane.leave()
    assert order == ["act", "look"]


async def test_a_cancelled_waiter_does_not_block_others() -> None:
    lane = Lane(0.0)
    await lane.enter(urgent=False)
    waiting = asyncio.create_task(lane.enter(urgent=True))
    await asyncio.sleep(0)
    second = asyncio.create_task(lane.enter(urgent=False))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    lane.leave()
    await asyncio.wait_for(second, 10)


async def test_it_widens_under_pressure_and_calms_down() -> None:
    lane = Lane(1.0)
    lane.crowded(None, None)
    assert lane.spacing == 1.5
    for _ in range(100):
        lane.crowded(None, None)
    assert lane.spacing == 4.0
    for _ in range(35):
        lane.calmed()
    assert lane.spacing == 1.0


async def test_a_spacing_that_the_server_names_is_kept() -> None:
    lane = Lane(1.0)
    lane.crowded(None, 3.0)
    for _ in range(100):
        lane.calmed()
    assert lane.spacing == 3.0
    lane.crowded(None, 9999.0)
    assert lane.spacing == 60.0


async def test_a_pause_is_kept_however_long() -> None:
    lane = Lane(1.0)
    lane.crowded(90.0, None)
    assert lane.next_at - asyncio.get_running_loop().time() > 85.0


async def test_the_queue_is_bounded() -> None:
    lane = Lane(0.0)
    await lane.enter(urgent=False)
    waiting = [asyncio.create_task(lane.enter(urgent=False)) for _ in range(QUEUE_LIMIT)]
    await asyncio.sleep(0)
    with pytest.raises(LimiterFullError):
        await lane.enter(urgent=True)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
