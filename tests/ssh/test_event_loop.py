"""The loop that asks the kernel seldom: it misses nothing and owes nobody time."""

import asyncio
import selectors
import socket
import threading

import pytest

from fleetui.ssh.event_loop import PAUSE_SECONDS, PacedSelector, paced_loop


def run(work: object) -> object:
    with asyncio.Runner(loop_factory=paced_loop) as runner:
        return runner.run(work)  # type: ignore[arg-type]  # a coroutine


async def _echo(count: int) -> bytes:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    other_reader, other_writer = await asyncio.open_connection(sock=theirs)
    for number in range(count):
        writer.write(bytes([number]))
        other_writer.write(await other_reader.readexactly(1))
    found = await reader.readexactly(count)
    for one in (writer, other_writer):
        one.close()
        await one.wait_closed()
    return found


def test_every_byte_comes_in_its_order() -> None:
    assert run(_echo(50)) == bytes(range(50))


def test_what_another_thread_asks_for_wakes_it() -> None:
    async def woken() -> str:
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        thread = threading.Thread(
            target=lambda: loop.call_soon_threadsafe(answer.set_result, "done")
        )
        thread.start()
        found: str = await answer
        thread.join()
        return found

    assert run(woken()) == "done"


class Counting(PacedSelector):
    looks = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.looks += 1
        return super().select(timeout)


@pytest.mark.parametrize("writes", [200])
def test_a_stream_of_small_things_is_looked_at_seldom(writes: int) -> None:
    selector = Counting()
    ours, theirs = socket.socketpair()
    own, waker = socket.socketpair()
    with ours, theirs, own, waker:
        selector.register(own, selectors.EVENT_READ)
        selector.register(ours, selectors.EVENT_READ)
        done = threading.Event()

        def write() -> None:
            for _ in range(writes):
                theirs.send(b"x")
                done.wait(PAUSE_SECONDS / 10)
            theirs.send(b".")

        thread = threading.Thread(target=write)
        thread.start()
        seen = b""
        while not seen.endswith(b"."):
            assert selector.select(60.0)
            seen += ours.recv(4096)
        thread.join()
        selector.close()
    assert len(seen) == writes + 1
    assert selector.looks < writes


def test_it_does_not_wait_when_there_is_something_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    def paused(_own: object, _writes: object, _errors: object, seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("fleetui.ssh.event_loop.select.select", paused)
    selector = PacedSelector()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        selector.register(ours, selectors.EVENT_READ)
        assert selector.select(0) == []
        assert selector.select(0) == []
        # Due before the pause would be over.
        assert selector.select(PAUSE_SECONDS / 1000) == []
        assert not pauses
        theirs.send(b"x")
        assert selector.select(None)
        assert selector.select(None)
        selector.close()
    assert pauses
    assert all(0 < pause <= PAUSE_SECONDS for pause in pauses)


def test_another_thread_ends_the_pause() -> None:
    selector = PacedSelector()
    own, waker = socket.socketpair()
    with own, waker:
        selector.register(own, selectors.EVENT_READ)
        assert selector.select(0) == []
        selector._looked_at += 3600.0
        waker.send(b"x")
        assert selector.select(None)
        selector.close()
