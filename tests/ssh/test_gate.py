"""The bound on handshakes at once, and who may not keep whom waiting."""

import asyncio
from collections import Counter
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from fleetui.ssh.gate import HandshakeGate


class Crowd:
    """Handshakes through one gate, each inside until it is let go."""

    def __init__(self, gate: HandshakeGate) -> None:
        self.gate = gate
        self.inside: Counter[tuple[str, bool]] = Counter()
        self.over = asyncio.Event()

    async def handshake(self, host: str, *, suspect: bool = False, stay: bool = True) -> None:
        async with self.gate.slot(host, suspect=suspect):
            self.inside[host, suspect] += 1
            try:
                assert self.gate.active == self.inside.total()
                await (self.over.wait() if stay else asyncio.sleep(0))
            finally:
                self.inside[host, suspect] -= 1

    def hosts(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for (host, _), count in self.inside.items():
            found[host] += count
        return found

    def suspects(self) -> int:
        return sum(count for (_, suspect), count in self.inside.items() if suspect)


async def settle() -> None:
    """Let every task go as far as it can."""
    for _ in range(50):
        await asyncio.sleep(0)


COMERS = st.lists(st.tuples(st.sampled_from("abcde"), st.booleans()), max_size=60)


@given(COMERS, st.integers(1, 12), st.integers(1, 6))
def test_no_more_than_the_limits_are_inside_and_all_get_through(
    comers: Iterable[tuple[str, bool]], limit: int, host_limit: int
) -> None:
    async def story() -> None:
        gate = HandshakeGate(limit, host_limit=host_limit, spread_seconds=0.0)
        crowd = Crowd(gate)
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            for host, suspect in comers:
                group.create_task(crowd.handshake(host, suspect=suspect))
            await settle()
            assert gate.active <= limit
            assert max(crowd.hosts().values(), default=0) <= host_limit
            assert crowd.suspects() <= max(1, limit // 2)
            crowd.over.set()
        assert gate.active == 0

    asyncio.run(story())


async def test_those_that_never_answer_do_not_keep_others_waiting() -> None:
    crowd = Crowd(HandshakeGate(8, host_limit=4, spread_seconds=0.0))
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        for number in range(40):
            group.create_task(crowd.handshake(f"dead {number}", suspect=True))
            group.create_task(crowd.handshake("proxy", suspect=True))
        await settle()
        assert crowd.suspects() == 4
        for _ in range(20):
            await crowd.handshake("good", stay=False)
            await crowd.handshake("proxy", stay=False)
        crowd.over.set()


async def test_who_gives_up_waiting_leaves_no_slot_taken() -> None:
    crowd = Crowd(HandshakeGate(2, spread_seconds=0.0))
    tasks = [asyncio.create_task(crowd.handshake("a", suspect=True)) for _ in range(5)]
    await settle()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert crowd.gate.active == 0
    async with asyncio.timeout(10):
        await asyncio.gather(*(crowd.handshake("a", stay=False) for _ in range(5)))
