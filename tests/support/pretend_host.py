"""A pretend host under a clock that the test moves."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from fleetui.simulator.hosts.host import Host
from fleetui.simulator.hosts.session import make_shell
from fleetui.simulator.hosts.shell.streams import Buffer, BytesReader

BORN = 1_800_000_000.0


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: float = BORN) -> None:
        self.value = now

    def now(self) -> float:
        """Return the time it was set to."""
        return self.value


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    status: int
    stdout: bytes
    stderr: bytes


def make_host(scenario: str, age: float = 0.0, *, seed: int = 7) -> tuple[Host, HandClock]:
    """Return a host born at BORN that is `age` seconds old, and its clock."""
    clock = HandClock()
    host = Host(41_000_001, scenario, seed, clock, BORN)
    clock.value = BORN + age
    return host, clock


async def run(host: Host, text: str, stdin: bytes = b"", args: Sequence[str] = ()) -> Ran:
    """Run a program in the host's shell."""
    shell = make_shell(host)
    out, error = Buffer(), Buffer()
    shell.readers[0] = BytesReader(stdin)
    shell.writers[1], shell.writers[2] = out, error
    shell.positional = list(args)
    source = text.encode("utf-8", "surrogateescape").decode("latin-1")
    status = await asyncio.wait_for(shell.run_text(source), 20)
    return Ran(status, bytes(out.data), bytes(error.data))
