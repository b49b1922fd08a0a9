"""What a failed login means."""

import asyncio
import errno
import socket

import asyncssh

from fleetui.domain.host import SshState

_PERMANENT = (SshState.HOST_KEY_CHANGED, SshState.AUTH_FAILED)
_NO_WAY = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN)
"""What a router or our own machine says in place of a host that does not answer."""
_TOO_MANY_TRIES = "too many authentication failures"
"""What OpenSSH says at `MaxAuthTries`, as a protocol error."""
TELLING = (
    SshState.HOST_KEY_CHANGED,
    SshState.AUTH_FAILED,
    SshState.REFUSED,
    SshState.TIMED_OUT,
    SshState.NO_ADDRESS,
)
"""States by how much they tell, when several addresses failed differently."""


def state_of(error: BaseException, *, key_changed: bool = False) -> SshState:
    """Name the state that an exception of a login stands for.

    A server that ends the connection during the handshake counts as refusing: that is what an
    sshd without free slots and a proxy without its instance do.
    """
    if key_changed or isinstance(error, asyncssh.HostKeyNotVerifiable):
        return SshState.HOST_KEY_CHANGED
    if isinstance(error, asyncssh.PermissionDenied):
        return SshState.AUTH_FAILED
    if isinstance(error, asyncssh.DisconnectError) and _TOO_MANY_TRIES in error.reason.lower():
        return SshState.AUTH_FAILED
    if isinstance(error, asyncio.TimeoutError | TimeoutError):
        return SshState.TIMED_OUT
    if isinstance(error, socket.gaierror | UnicodeError):
        return SshState.NO_ADDRESS
    if isinstance(error, OSError) and error.errno in _NO_WAY:
        return SshState.TIMED_OUT
    return SshState.REFUSED


def detail_of(error: BaseException) -> str:
    """Say what happened, in plain words where the client's own are not."""
    if isinstance(error, TimeoutError) and not error.args:
        return "no answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens at this port"
    if isinstance(error, ConnectionResetError | asyncssh.ConnectionLost):
        return "the host hung up before the login (no free slot, or no SSH behind this port)"
    if isinstance(error, socket.gaierror):
        return f"the host's name cannot be resolved: {error.strerror}"
    if isinstance(error, UnicodeError):
        return "the host's name cannot be resolved: it is not a name"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def wants_patience(state: SshState) -> bool:
    """Tell whether trying again soon would only get this client blocked."""
    return state in _PERMANENT
