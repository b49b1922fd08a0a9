"""The connection to one host: log in, follow, look, ask, and start again when it is lost."""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NoReturn, Protocol

import asyncssh

from fleetui.domain.clock import Clock
from fleetui.domain.host import SshOutcome, SshState
from fleetui.domain.host_key import fingerprint
from fleetui.domain.instance import SshAddress
from fleetui.domain.stream import StreamPosition
from fleetui.domain.text import SafeText, sanitise
from fleetui.ssh.backoff import Backoff
from fleetui.ssh.complaints import Complaints
from fleetui.ssh.follow import Positions
from fleetui.ssh.gate import HandshakeGate
from fleetui.ssh.host_keys import HostKeyBook
from fleetui.ssh.login import LoggedIn, Login, LoginError
from fleetui.ssh.older import OlderBytesError, read_older
from fleetui.ssh.outcome import TELLING, wants_patience
from fleetui.ssh.script_run import OUTPUT_LIMIT, ScriptResult, run_script
from fleetui.ssh.settings import FollowPlan, SshSettings
from fleetui.ssh.tasks import Following, LogSink, Probing, Service, StatusPolling
from fleetui.ssh.watch import Changes, Watch

__all__ = ["HostLink", "LinkSink", "ScriptResult"]

log = logging.getLogger(__name__)

_STEADY_SECONDS = 30.0
_CLOSE_SECONDS = 5.0
_OLDER_SECONDS = 30.0


class LinkSink(LogSink, Protocol):
    """Takes what a link brings. All times are epoch seconds of the fleet's clock."""

    def probe(self, sections: Mapping[str, str], at: float) -> None:
        """Take one look at the host: section name to the tool's output."""

    def status(self, body: bytes | None, error: SafeText | None, at: float) -> None:
        """Take the daemon's answer; no body and no error means that nothing listens there."""

    def outcome(self, outcome: SshOutcome) -> None:
        """Take the last word on the connection."""

    def host_key(self, instance_id: int, key: str) -> None:
        """Take the host key of the first login, to be stored."""


class _ConnectionEndedError(Exception):
    """The connection is lost; the text says how."""


class HostLink:
    """Keeps one instance connected while `run` runs.

    The host key is bound to `instance_id` at the first login; a host that shows another one is
    never logged in to (`SshState.HOST_KEY_CHANGED`), whatever its address.
    """

    def __init__(  # noqa: PLR0917 - callers name them; the order is that of the parts' contract
        self,
        instance_id: int,
        settings: SshSettings,
        profile: FollowPlan,
        host_keys: HostKeyBook,
        sink: LinkSink,
        resume: Mapping[str, StreamPosition],
        gate: HandshakeGate,
        clock: Clock,
        *,
        login: Login | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Make a link that is not connected yet.

        `resume` holds the stored positions by path. `login` holds keys and options; give one to
        all links of a fleet, so that keys are read once.
        """
        self._instance_id = instance_id
        self._settings = settings
        self._plan = profile
        self._host_keys = host_keys
        self._sink = sink
        self._gate = gate
        self._clock = clock
        self._own_login = login is None
        self._login = login or Login(settings)
        self._jitter = jitter
        self._positions = Positions(instance_id, profile, resume, max_files=settings.max_files)
        self._addresses: tuple[SshAddress, ...] = ()
        self._last_good: SshAddress | None = None
        self._news = Changes()
        self._watch = Watch()
        self._connection: asyncssh.SSHClientConnection | None = None
        self._attempts = 0

    def set_addresses(self, addresses: tuple[SshAddress, ...]) -> None:
        """Name the addresses to try in this order; a live connection is kept."""
        if addresses != self._addresses:
            self._addresses = addresses
            self._news.tell()

    def set_watched(self, watched: bool) -> None:  # noqa: FBT001 - one obvious argument
        """Look and ask more often while somebody looks at this instance."""
        self._watch.set(watched=watched)

    def look(self) -> None:
        """Have the next probe and status asked for now; nothing happens without a connection."""
        self._watch.tell()

    async def run_script(
        self,
        script: str,
        timeout: float,  # noqa: ASYNC109 - the caller's limit is part of the order
        *,
        limit: int = OUTPUT_LIMIT,
        stop_at: int | None = None,
    ) -> ScriptResult:
        """Run a shell script on the live connection; see `script_run.run_script`.

        Raises:
            ConnectionError: there is no connection, or it was lost meanwhile.
            ScriptTimeoutError: the script did not end within `timeout` seconds; it was asked to.
        """
        if self._connection is None:
            raise ConnectionError("no SSH connection")
        return await run_script(self._connection, script, timeout, limit=limit, stop_at=stop_at)

    async def read_older(self, path: str, *, end: int, size: int) -> bytes:
        """Read up to `size` bytes before `end` of a followed file's present generation.

        For what was left out at first sight (`StreamPosition.skipped`). The file is known by its
        identity; the bytes are the caller's, for the store only ever appends.

        Raises:
            ConnectionError: there is no connection.
            OlderBytesError: the file is not followed, was replaced, or cannot be read.
            ValueError: the range is too long or empty.
            TimeoutError: the host took too long.
        """
        if self._connection is None:
            raise ConnectionError("no SSH connection")
        position = self._positions.positions.get(path)
        if position is None or not position.file_identity:
            raise OlderBytesError(f"{path} is not followed")
        start = max(0, end - size)
        return await read_older(
            self._connection, path, position.file_identity, start, end - start, _OLDER_SECONDS
        )

    async def run(self) -> None:
        """Connect, serve and reconnect until cancelled. Only a failing sink makes it raise."""
        try:
            await self._run()
        finally:
            if self._own_login:
                self._login.close()

    async def _run(self) -> NoReturn:
        backoff = Backoff(
            self._settings.retry_seconds, self._settings.retry_limit_seconds, jitter=self._jitter
        )
        while True:
            seen = self._news.count
            addresses = self._addresses
            if not addresses:
                self._report(SshState.NO_ADDRESS, None, "the API shows no SSH address")
                await self._news.after(seen)
                continue
            try:
                address, logged_in = await self._log_in(addresses)
            except LoginError as failure:
                patience = wants_patience(failure.state)
                at_least = self._settings.refused_key_seconds if patience else 0.0
            else:
                lasted = await self._serve(address, logged_in)
                at_least = 0.0
                if lasted > _STEADY_SECONDS:
                    backoff.reset()
            if await self._news.after(seen, backoff.next(at_least)):  # other addresses came
                backoff.reset()

    async def _log_in(self, addresses: tuple[SshAddress, ...]) -> tuple[SshAddress, LoggedIn]:
        """Try all addresses, the one that worked last first.

        Raises:
            LoginError: none worked; the most telling failure.
        """
        failures: list[tuple[LoginError, SshAddress]] = []
        for address in sorted(addresses, key=lambda other: other != self._last_good):
            if not self._attempts:
                # While a failure lasts it stays the last word: a finding must not come and go.
                self._report(SshState.CONNECTING, address, None)
            expected = self._host_keys.get(self._instance_id)
            try:
                async with self._gate.slot(address.host, suspect=self._attempts > 0):
                    logged_in = await self._login.connect(address, expected)
            except LoginError as failure:
                if failure.other_key is not None:
                    self._host_keys.refuse(self._instance_id, failure.other_key)
                failures.append((failure, address))
                continue
            self._last_good = address
            return address, logged_in
        self._attempts += 1
        worst, where = min(failures, key=lambda item: TELLING.index(item[0].state))
        other = fingerprint(worst.other_key) if worst.other_key is not None else None
        self._report(worst.state, where, worst.detail, other_key=other)
        raise worst

    async def _serve(self, address: SshAddress, logged_in: LoggedIn) -> float:
        """Use a connection until it is lost; returns how many seconds it lasted."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        connection = logged_in.connection
        try:
            self._remember_key(logged_in)
            self._attempts = 0
            self._connection = connection
            self._report(SshState.CONNECTED, address, None)
            # A task of its own: before Python 3.11.5 a failed TaskGroup leaves its task's cancel
            # count raised, and a later time-out there reads as a cancellation.
            name = f"ssh-use-{self._instance_id}"
            await asyncio.create_task(self._use(logged_in, address), name=name)
        except _ConnectionEndedError as end:
            self._report(SshState.LOST, address, str(end))
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                # The loss came first and took the cancellation's place.
                raise asyncio.CancelledError from end
        finally:
            self._connection = None
            await _close(connection)
        return loop.time() - started

    async def _use(self, logged_in: LoggedIn, address: SshAddress) -> None:
        service = Service(
            connection=logged_in.connection,
            settings=self._settings,
            plan=self._plan,
            watch=self._watch,
            clock=self._clock,
            jitter=self._jitter,
        )

        def complain(text: str | None) -> None:
            self._report(SshState.CONNECTED, address, text)

        complaints = Complaints(complain)
        following = Following(service, self._positions, self._sink, complaints)
        jobs: dict[str, Coroutine[Any, Any, NoReturn]] = {
            "follow": following.run(),
            "probe": Probing(service, self._sink.probe, complaints).run(),
            "end": self._end(logged_in),
        }
        if self._plan.status_port is not None:
            polling = StatusPolling(service, self._plan.status_port, self._sink.status)
            jobs["status"] = polling.run()
        try:
            async with asyncio.TaskGroup() as group:
                for name, job in jobs.items():
                    group.create_task(job, name=f"ssh-{name}-{self._instance_id}")
        except BaseExceptionGroup as failures:
            # The loss of the connection makes the other jobs fail as well: it is the reason.
            ended, others = failures.split(_ConnectionEndedError)
            if others is not None:
                raise others.exceptions[0] from failures
            if ended is not None:
                raise ended.exceptions[0] from failures

    async def _end(self, logged_in: LoggedIn) -> NoReturn:
        await logged_in.connection.wait_closed()
        raise _ConnectionEndedError(logged_in.host_key.lost_because or "the host closed it")

    def _remember_key(self, logged_in: LoggedIn) -> None:
        key = logged_in.host_key.seen
        if key is not None and self._host_keys.get(self._instance_id) is None:
            self._host_keys.trust(self._instance_id, key)
            self._sink.host_key(self._instance_id, key)
        self._host_keys.confirm(self._instance_id)

    def _report(
        self,
        state: SshState,
        address: SshAddress | None,
        detail: str | None,
        *,
        other_key: str | None = None,
    ) -> None:
        self._sink.outcome(
            SshOutcome(
                state=state,
                at=self._clock.now(),
                address=f"{address.host}:{address.port}" if address else None,
                detail=sanitise(detail, 300) if detail else None,
                attempts=self._attempts,
                other_key=sanitise(other_key) if other_key else None,
            )
        )


async def _close(connection: asyncssh.SSHClientConnection) -> None:
    """Close a connection within a deadline, also while being cancelled."""
    connection.close()
    try:
        async with asyncio.timeout(_CLOSE_SECONDS):
            await connection.wait_closed()
    except TimeoutError:
        connection.abort()
    except asyncio.CancelledError:
        connection.abort()
        raise
