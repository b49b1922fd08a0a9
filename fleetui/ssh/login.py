"""One login at one address, with the host key checked."""

import asyncio
from dataclasses import dataclass

import asyncssh

from fleetui.domain.host import SshState
from fleetui.domain.host_key import fingerprint
from fleetui.domain.instance import SshAddress
from fleetui.domain.text import sanitise
from fleetui.ssh import algorithms
from fleetui.ssh.connection import LeanConnection, connect
from fleetui.ssh.host_keys import HostKeyCheck, host_key_algorithms
from fleetui.ssh.keys import KeyRing, load_keys
from fleetui.ssh.outcome import detail_of, state_of
from fleetui.ssh.settings import SshSettings

_KEYS_AGAIN_SECONDS = 30.0


class LoginError(Exception):
    """A login failed; `state` says how, `detail` in words.

    `other_key` is the host key that was shown in place of the bound one.
    """

    def __init__(self, state: SshState, detail: str, *, other_key: str | None = None) -> None:
        super().__init__(detail)
        self.state = state
        self.detail = sanitise(detail, 300)
        self.other_key = other_key


@dataclass(frozen=True)
class LoggedIn:
    """A live connection and the host key that was checked for it."""

    connection: LeanConnection
    host_key: HostKeyCheck


class Login:
    """Logs in to hosts with one set of keys and options; one object serves the whole fleet.

    Keys are read once, and again after one of them could not be used or a host refused them all:
    the operator may have added one, and the agent may be another by now.
    """

    def __init__(
        self, settings: SshSettings, *, keys_again_seconds: float = _KEYS_AGAIN_SECONDS
    ) -> None:
        self._settings = settings
        self._keys_again_seconds = keys_again_seconds
        self._lock = asyncio.Lock()
        self._ring: KeyRing | None = None
        self._loaded_at = 0.0
        self._refused = False
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
            kinds = host_key_algorithms(expected_key, algorithms.HOST_KEYS)
            connection = await connect(options, address.host, address.port, check, kinds)
        except (OSError, asyncssh.Error, ValueError) as error:
            state = state_of(error, key_changed=check.changed)
            if state is SshState.AUTH_FAILED:
                self._refused = True
            raise LoginError(
                state,
                _explain(state, error, check, ring),
                other_key=check.seen if check.changed else None,
            ) from error
        return LoggedIn(connection, check)

    def close(self) -> None:
        """End the connection to the agent."""
        if self._ring is not None:
            self._ring.close()

    async def _prepare(self) -> tuple[asyncssh.SSHClientConnectionOptions, KeyRing]:
        async with self._lock:
            now = asyncio.get_running_loop().time()
            ring, options = self._ring, self._options
            doubtful = ring is not None and (self._refused or bool(ring.problems))
            if (
                ring is None
                or options is None
                or (doubtful and now - self._loaded_at > self._keys_again_seconds)
            ):
                # A login under way with a key of the old agent connection may fail; it is tried
                # again like any other.
                self.close()
                self._refused = False
                self._loaded_at = now
                ring = self._ring = await load_keys(self._settings)
                options = self._options = await _make_options(self._settings, ring)
            return options, ring


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
    if state is SshState.HOST_KEY_CHANGED and check.seen and check.expected:
        return (
            f"the host shows key {fingerprint(check.seen)}, but this instance showed "
            f"{fingerprint(check.expected)} first; nothing was sent"
        )
    if state is not SshState.AUTH_FAILED:
        return detail_of(error)
    offered = len(ring.pairs)
    count = f"{offered} key{'' if offered == 1 else 's'} offered"
    if isinstance(error, asyncssh.PermissionDenied) and not check.wants_keys:
        text = f"the host does not let a key in, it asks for something else ({count})"
    else:
        text = f"the host takes none of our keys ({count})"
    return "; ".join((text, *ring.problems))
