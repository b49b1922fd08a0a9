"""The private keys offered to hosts."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from fleetui.domain.text import SafeText, sanitise
from fleetui.ssh.settings import SshSettings

MOST_KEYS = 4
"""Servers cut a client off after six tries; four leave room (facts: vast_api.md section 4.3)."""
_AGENT_SECONDS = 5.0


@dataclass(frozen=True)
class KeyRing:
    """Keys to offer in their order, and why others are missing."""

    pairs: tuple[asyncssh.SSHKeyPair, ...]
    problems: tuple[SafeText, ...] = ()
    agent: asyncssh.SSHAgentClient | None = None

    def close(self) -> None:
        """End the connection to the agent."""
        if self.agent is not None:
            self.agent.close()


async def load_keys(settings: SshSettings) -> KeyRing:
    """Read the key files and ask the agent; what cannot be used is said in `problems`."""
    pairs: list[asyncssh.SSHKeyPair] = []
    problems: list[SafeText] = []
    for path in settings.key_files:
        try:
            pairs += asyncssh.load_keypairs([await asyncio.to_thread(_read_key, path)])
        except ValueError as error:
            problems.append(sanitise(str(error)))
    agent = None
    if settings.use_agent:
        try:
            agent = await _open_agent(settings.agent_path)
            if agent is not None:
                async with asyncio.timeout(_AGENT_SECONDS):
                    pairs += await agent.get_keys()
        except (OSError, ValueError, asyncssh.Error) as error:
            problems.append(sanitise(f"the SSH agent does not answer: {str(error) or 'time-out'}"))
    if len(pairs) > MOST_KEYS:
        problems.append(sanitise(f"{len(pairs)} keys; only the first {MOST_KEYS} are offered"))
    if not pairs and not problems:
        problems.append(sanitise("no SSH key: name a key file or start an SSH agent"))
    return KeyRing(tuple(pairs[:MOST_KEYS]), tuple(problems), agent)


def _read_key(path: Path) -> asyncssh.SSHKey:
    """Read one private key.

    Raises:
        ValueError: the text says which file cannot be used and why.
    """
    try:
        return asyncssh.read_private_key(path.expanduser())
    except OSError as error:
        raise ValueError(f"SSH key {path}: {error.strerror or error}") from error
    except asyncssh.KeyEncryptionError as error:
        message = f"SSH key {path} has a passphrase: add it to the SSH agent (ssh-add)"
        raise ValueError(message) from error
    except asyncssh.KeyImportError as error:
        text = str(error).lower()
        if "passphrase" in text or "encrypted" in text:
            message = f"SSH key {path} has a passphrase: add it to the SSH agent (ssh-add)"
        else:
            message = f"SSH key {path} is not a private key: {error}"
        raise ValueError(message) from error


async def _open_agent(path: str | None) -> asyncssh.SSHAgentClient | None:
    """Connect to the agent; `None` when this login has none."""
    where = path or os.environ.get("SSH_AUTH_SOCK", "")
    if not where:
        return None
    async with asyncio.timeout(_AGENT_SECONDS):
        return await asyncssh.connect_agent(where)
