"""Which host key each instance has: trusted on first use, never changed silently.

An address may belong to another renter's container by the time it is used (facts: vast_api.md
section 4.2), so the key is bound to the instance, not to the address.
"""

from collections.abc import Mapping

import asyncssh


class HostKeyBook:
    """Host keys by instance id, as OpenSSH public key text without comment.

    An empty text in `known` is a key that was forgotten.
    """

    def __init__(self, known: Mapping[int, str] | None = None) -> None:
        self._known = {
            instance_id: plain_key(key) for instance_id, key in (known or {}).items() if key
        }
        self._refused: dict[int, str] = {}

    def get(self, instance_id: int) -> str | None:
        """Return the key an instance showed first; `None` before the first login."""
        return self._known.get(instance_id)

    def trust(self, instance_id: int, key: str) -> None:
        """Bind a key to an instance.

        Raises:
            ValueError: another key is bound to it; `forget` must come first.
        """
        plain = plain_key(key)
        if self._known.setdefault(instance_id, plain) != plain:
            raise ValueError(f"instance {instance_id} has another host key")

    def forget(self, instance_id: int) -> None:
        """Drop a key, after a recycle made a new one legitimate: the next login binds anew."""
        self._known.pop(instance_id, None)
        self._refused.pop(instance_id, None)

    def refuse(self, instance_id: int, key: str) -> None:
        """Note the key that an instance showed in place of the bound one."""
        self._refused[instance_id] = plain_key(key)

    def confirm(self, instance_id: int) -> None:
        """Note that an instance showed the bound key: what else was shown is of no account."""
        self._refused.pop(instance_id, None)

    def refused(self, instance_id: int) -> str | None:
        """Return the key last shown in place of the bound one, `None` when there was none."""
        return self._refused.get(instance_id)

    def accept(self, instance_id: int, key: str) -> None:
        """Bind a key in place of the bound one, because the operator said so."""
        self._known[instance_id] = plain_key(key)
        self._refused.pop(instance_id, None)


def plain_key(key: str) -> str:
    """Return the algorithm and the data of a public key text, without comment."""
    return " ".join(key.split()[:2])


def key_text(key: asyncssh.SSHKey) -> str:
    """Return the text that is kept of a public key."""
    return plain_key(key.export_public_key("openssh").decode("ascii", "replace"))


class HostKeyCheck(asyncssh.SSHClient):
    """Decides about the host key of one login.

    After the handshake `seen` is the key the server showed, and `changed` tells that it is not
    the one bound to the instance (the login has then been refused before any key was offered).
    `wants_keys` tells that the server took no key but would have taken another. `lost_because`
    says later why the connection ended.
    """

    def __init__(self, expected: str | None) -> None:
        self.expected = expected
        self.seen: str | None = None
        self.changed = False
        self.wants_keys = False
        self.lost_because: str | None = None

    def public_key_auth_requested(self) -> None:
        """Note that the server asks for one more key; there is none."""
        self.wants_keys = True

    def connection_lost(self, exc: Exception | None) -> None:
        """Keep why the connection ended."""
        if exc is not None:
            self.lost_because = str(exc) or type(exc).__name__

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        """Accept the bound key; with none bound, any (first use)."""
        del host, addr, port
        self.seen = key_text(key)
        self.changed = self.expected is not None and self.seen != self.expected
        return not self.changed


def host_key_algorithms(expected: str | None, offered: tuple[str, ...]) -> tuple[str, ...]:
    """Ask first for the kind of key that is bound, so that a server with several shows that one.

    The other kinds stay on offer: a server that only has those must be told apart from one that
    refuses connections, and OpenSSH hangs up without a word when no kind fits.
    """
    if expected is None:
        return offered
    kind = expected.split()[0]
    names = ("rsa-sha2-256", "rsa-sha2-512") if kind == "ssh-rsa" else (kind,)
    return tuple(dict.fromkeys((*names, *offered)))
