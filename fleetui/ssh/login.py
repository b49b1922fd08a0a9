"""One login at one address, with the host key checked."""

import asyncio
from dataclasses import dataclass

import asyncssh

from fleetui.domain.host import SshState
from fleetui.domain.instance import SshAddress
from fleetui.domain.text import sanitise
from fleetui.ssh import algorithms
from fleetui.ssh.host_keys import HostKeyCheck, host_key_algorithms
from fleetui.ssh.keys import KeyRing, load_keys
from fleetui.ssh.outcome import detail_of, state_of
from fleetui.ssh.settings import SshSettings

_KEYS_AGAIN_SECONDS = 30.0


class LoginError(Exception):
    """A login failed; `state` says how, `detail` in the client's own words."""

    def __init__(self, state: SshState, detail: str) -> None:
        super().__init__(detail)
        self.state = state
        self.detail = sanitise(detail, 300)


@dataclass(frozen=True)
class LoggedIn:
    """A live connection and the host key that was checked for it."""

    connection: asyncssh.SSHClientConnection
    host_key: HostKeyCheck


class Login:
    """Logs in to hosts with one set of keys and options; one object serves the whole fleet."""

    def __init__(self, settings: SshSettings) -> None:
        self._settings = settings
        self._lock = asyncio.Lock()
        self._ring: KeyRing | None = None
        self._loaded_at = 0.0
        self._options: asyncssh.SSHClientConnectionOptions | None = None

    async def connect(self, address: SshAddress, expected_key: str | None) -> LoggedIn:
        """Connect and log in.

        `expected_key` is the instance's bound host key; without one any key is accepted and
        shown as `host_key.seen`.

        Raises:
            LoginError: whatever went wrong; a host key that is not the expected one ends the
                login before any client key is offered.
        """
        options, ring = await self._prepare()
        check = HostKeyCheck(expected_key)
        try:
            connection = await asyncssh.connect(
                address.host,
                address.port,
                options=options,
                config=None,
                client_factory=lambda: check,
                server_host_key_algs=host_key_algorithms(expected_key, algorithms.HOST_KEYS),
            )
        except (OSError, asyncssh.Error, ValueError) as error:
            state = state_of(error, key_changed=check.changed)
            raise LoginError(state, _explain(state, error, check, ring)) from error
        return LoggedIn(connection, check)

    def close(self) -> None:
        """End the connection to the agent."""
        if self._ring is not None:
            self._ring.close()

    async def _prepare(self) -> tuple[asyncssh.SSHClientConnectionOptions, KeyRing]:
        async with self._lock:
            now = asyncio.get_running_loop().time()
            stale = self._ring is not None and bool(self._ring.problems)
            if self._ring is None or (stale and now - self._loaded_at > _KEYS_AGAIN_SECONDS):
                self.close()
                self._ring = await load_keys(self._settings)
                self._loaded_at = now
                self._options = await _make_options(self._settings, self._ring)
            if self._options is None:
                self._options = await _make_options(self._settings, self._ring)
            return self._options, self._ring


async def _make_options(
    settings: SshSettings, ring: KeyRing
) -> asyncssh.SSHClientConnectionOptions:
    options: asyncssh.SSHClientConnectionOptions
    options = await asyncssh.SSHClientConnectionOptions.construct(
        config=None,
        username=settings.user,
        client_keys=list(ring.pairs),
        agent_path=None,
        # Never the user's own file: the key is bound to the instance, HostKeyCheck decides.
        known_hosts=lambda _host, _addr, _port: ([], [], []),
        kex_algs=algorithms.KEY_EXCHANGES,
        encryption_algs=algorithms.CIPHERS,
        mac_algs=algorithms.MACS,
        compression_algs=None,
        preferred_auth=["publickey"],
        password_auth=False,
        kbdint_auth=False,
        host_based_auth=False,
        gss_host=None,
        # A server that asks for no key has not been told apart from an impostor's.
        disable_trivial_auth=True,
        x509_trusted_certs=None,
        keepalive_interval=settings.keepalive_seconds,
        keepalive_count_max=settings.keepalive_count,
        connect_timeout=settings.connect_timeout,
        login_timeout=settings.connect_timeout,
    )
    return options


def _explain(state: SshState, error: BaseException, check: HostKeyCheck, ring: KeyRing) -> str:
    if state is SshState.HOST_KEY_CHANGED:
        seen = f" ({check.seen})" if check.seen else ""
        return f"the host key is not the one this instance showed first{seen}"
    text = detail_of(error)
    if state is SshState.AUTH_FAILED:
        offered = len(ring.pairs)
        text = f"{text}; {offered} key{'' if offered == 1 else 's'} offered"
        if ring.problems:
            text = f"{text}; {'; '.join(ring.problems)}"
    return text
