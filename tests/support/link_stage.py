"""A link under test with a sink that checks what it is given."""

import asyncio
import getpass
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from fleetui.domain.clock import SystemClock
from fleetui.domain.host import SshOutcome, SshState
from fleetui.domain.instance import SshAddress
from fleetui.domain.stream import LogChunk, StreamPosition
from fleetui.domain.text import SafeText
from fleetui.ssh.gate import HandshakeGate
from fleetui.ssh.host_keys import HostKeyBook
from fleetui.ssh.link import HostLink
from fleetui.ssh.login import Login
from fleetui.ssh.settings import FollowPlan, SshSettings
from openssh import Sshd

INSTANCE = 4711
PATIENCE = 45.0


class Recorder:
    """Keeps everything; asserts that the bytes of a generation come without gap or overlap."""

    def __init__(self) -> None:
        self.data: dict[tuple[str, int], bytearray] = defaultdict(bytearray)
        self.starts: dict[tuple[str, int], int] = {}
        self.positions: dict[str, StreamPosition] = {}
        self.kinds: dict[str, str] = {}
        self.losses: list[tuple[str, int]] = []
        self.probes: list[Mapping[str, str]] = []
        self.statuses: list[tuple[bytes | None, SafeText | None]] = []
        self.outcomes: list[SshOutcome] = []
        self.keys: list[tuple[int, str]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    def log_bytes(self, chunk: LogChunk, position: StreamPosition, kind: str) -> bool:
        if not self.gate.is_set():
            return False
        key = (chunk.stream.path, chunk.generation)
        start = self.starts.setdefault(key, chunk.offset)
        assert chunk.offset == start + len(self.data[key]), "a gap or bytes given twice"
        self.data[key] += chunk.data
        assert position.offset == chunk.offset + len(chunk.data)
        assert position.generation == chunk.generation
        self.positions[chunk.stream.path] = position
        self.kinds[chunk.stream.path] = kind
        return True

    async def room(self) -> None:
        await self.gate.wait()

    def lost(self, path: str, unread: int, at: float) -> None:
        del at
        self.losses.append((path, unread))

    def probe(self, sections: Mapping[str, str], at: float) -> None:
        del at
        self.probes.append(sections)

    def status(self, body: bytes | None, error: SafeText | None, at: float) -> None:
        del at
        self.statuses.append((body, error))

    def outcome(self, outcome: SshOutcome) -> None:
        self.outcomes.append(outcome)

    def host_key(self, instance_id: int, key: str) -> None:
        self.keys.append((instance_id, key))

    def text(self, path: Path, generation: int = 1) -> bytes:
        return bytes(self.data.get((str(path), generation), b""))

    @property
    def state(self) -> SshState:
        return self.outcomes[-1].state if self.outcomes else SshState.NONE

    def seen(self, state: SshState) -> bool:
        return any(outcome.state is state for outcome in self.outcomes)


async def until(condition: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """Wait for a condition; fail with its name when the deadline passes."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not condition():
        assert loop.time() < end, f"not within {seconds} s: {what}"
        await asyncio.sleep(0.02)


def quick(server: Sshd, **changes: object) -> SshSettings:
    """Return settings with short times for tests."""
    values: dict[str, object] = {
        "key_files": (server.client_key,),
        "user": getpass.getuser(),
        "use_agent": False,
        "follow_interval_seconds": 0.1,
        "watched_follow_seconds": 0.1,
        "beat_seconds": 0.5,
        "watched_beat_seconds": 0.5,
        "probe_interval_seconds": 0.5,
        "watched_probe_seconds": 0.2,
        "first_look_seconds": 0.2,
        "status_interval_seconds": 0.3,
        "watched_status_seconds": 0.1,
        "retry_seconds": 0.1,
        "retry_limit_seconds": 0.5,
        "refused_key_seconds": 0.1,
        "connect_timeout": 30.0,
    }
    return SshSettings(**(values | changes))  # type: ignore[arg-type]  # a plain mapping of fields


@asynccontextmanager
async def linked(
    server: Sshd,
    plan: FollowPlan,
    *,
    settings: SshSettings | None = None,
    resume: Mapping[str, StreamPosition] | None = None,
    book: HostKeyBook | None = None,
    recorder: Recorder | None = None,
    login: Login | None = None,
    address: SshAddress | None = None,
) -> AsyncIterator[tuple[HostLink, Recorder]]:
    """Run a link against a server while the context lasts."""
    sink = recorder or Recorder()
    link = HostLink(
        instance_id=INSTANCE,
        settings=settings or quick(server),
        profile=plan,
        host_keys=book or HostKeyBook(),
        sink=sink,
        resume=resume or {},
        gate=HandshakeGate(8),
        clock=SystemClock(),
        login=login,
    )
    link.set_addresses((address or server.address,))
    task = asyncio.create_task(link.run(), name="link under test")
    try:
        yield link, sink
        if task.done():
            await task
    finally:
        task.cancel()
        await asyncio.wait([task], timeout=20)
        assert task.done(), "the link did not end when cancelled"
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
