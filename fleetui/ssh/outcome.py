"""What a failed login means."""

import asyncio
import socket

import asyncssh

from fleetui.domain.host import SshState

_PERMANENT = (SshState.HOST_KEY_CHANGED, SshState.AUTH_FAILED)
TELLING = (
    SshState.HOST_KEY_CHANGED,
    SshState.AUTH_FAILED,
    SshState.LOST,
    SshState.REFUSED,
    SshState.TIMED_OUT,
    SshState.NO_ADDRESS,
)
"""States by how much they tell, when several addresses failed differently."""


def state_of(error: BaseException, *, key_changed: bool = False) -> SshState:
    """Name the state that an exception of a connect or of a live connection stands for.

    A server that ends the connection during the handshake counts as refusing: that is what an
    sshd without free slots and a proxy without its instance do.
    """
    if key_changed or isinstance(error, asyncssh.HostKeyNotVerifiable):
        return SshState.HOST_KEY_CHANGED
    if isinstance(error, asyncssh.PermissionDenied):
        return SshState.AUTH_FAILED
    if isinstance(error, asyncio.TimeoutError | TimeoutError):
        return SshState.TIMED_OUT
    if isinstance(error, asyncssh.ConnectionLost):
        return SshState.LOST
    if isinstance(error, asyncssh.DisconnectError):
        return SshState.REFUSED
    if isinstance(error, socket.gaierror):
        return SshState.NO_ADDRESS
    if isinstance(error, OSError):
        return SshState.REFUSED
    return SshState.LOST


def detail_of(error: BaseException) -> str:
    """Return the client's own words, never empty."""
    if isinstance(error, TimeoutError) and not str(error):
        return "no answer in time"
    return str(error) or type(error).__name__


def wants_patience(state: SshState) -> bool:
    """Tell whether trying again soon would only get this client blocked."""
    return state in _PERMANENT
