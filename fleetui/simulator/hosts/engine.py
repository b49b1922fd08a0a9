"""Discrete events: what happens on a host when, advanced to any fleet time on demand."""

import heapq
from collections.abc import Callable, Generator
from typing import Any


class Signal:
    """Something a task can wait for; it fires once, with a value."""

    __slots__ = ("_waiters", "fired", "value")

    def __init__(self) -> None:
        self.fired = False
        self.value: Any = None
        self._waiters: list[Callable[[], None]] = []

    def fire(self, value: Any = None) -> None:  # noqa: ANN401 - whatever the two ends agree on
        """Wake all that wait; later firings are ignored."""
        if self.fired:
            return
        self.fired = True
        self.value = value
        waiters, self._waiters = self._waiters, []
        for wake in waiters:
            wake()

    def on_fire(self, wake: Callable[[], None]) -> None:
        """Call `wake` when it fires; at once when it has."""
        if self.fired:
            wake()
        else:
            self._waiters.append(wake)


# A script yields seconds to sleep, a Signal to wait for, or (Signal, seconds) with a time limit.
Step = float | Signal | tuple[Signal, float]
Script = Generator[Step, Any, None]


class Task:
    """A script being run."""

    __slots__ = ("_engine", "_running", "_script", "_turn", "done")

    def __init__(self, engine: "Engine", script: Script) -> None:
        self._engine = engine
        self._script = script
        self._turn = 0
        self._running = False
        self.done = False

    def cancel(self) -> None:
        """End the script where it stands."""
        if not self.done:
            self.done = True
            self._turn += 1
            # A script may cancel itself; its generator then ends at its next yield.
            if not self._running:
                self._script.close()

    def resume(self, turn: int, value: Any) -> None:  # noqa: ANN401 - a signal's value
        """Go on after the step number `turn`; outdated calls do nothing."""
        if self.done or turn != self._turn:
            return
        self._turn += 1
        self._running = True
        try:
            step = self._script.send(value)
        except StopIteration:
            self.done = True
            return
        finally:
            self._running = False
        if self.done:
            self._script.close()
            return
        turn = self._turn
        if isinstance(step, Signal):
            step.on_fire(lambda: self._engine.schedule(0.0, lambda: self.resume(turn, step.value)))
        elif isinstance(step, tuple):
            signal, limit = step
            signal.on_fire(
                lambda: self._engine.schedule(0.0, lambda: self.resume(turn, signal.value))
            )
            self._engine.schedule(limit, lambda: self.resume(turn, None))
        else:
            self._engine.schedule(step, lambda: self.resume(turn, None))


class Engine:
    """The events of one host. `now` is epoch seconds of the event being run."""

    def __init__(self, now: float) -> None:
        self.now = now
        self._count = 0
        self._events: list[tuple[float, int, Callable[[], None]]] = []

    def schedule(self, delay: float, action: Callable[[], None]) -> None:
        """Run `action` after `delay` seconds of fleet time."""
        self._count += 1
        heapq.heappush(self._events, (self.now + max(0.0, delay), self._count, action))

    def start(self, script: Script) -> Task:
        """Run a script from now on."""
        task = Task(self, script)
        turn = 0
        self.schedule(0.0, lambda: task.resume(turn, None))
        return task

    def advance(self, until: float) -> None:
        """Run everything due up to `until` (epoch seconds)."""
        events = self._events
        while events and events[0][0] <= until:
            at, _, action = heapq.heappop(events)
            self.now = at
            action()
        self.now = max(self.now, until)

    def next_at(self) -> float | None:
        """Return when the next event is due."""
        return self._events[0][0] if self._events else None
