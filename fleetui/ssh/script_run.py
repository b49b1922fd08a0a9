"""One script run on a host, its output bounded."""

import asyncio
from dataclasses import dataclass

import asyncssh

from fleetui.ssh.channel import running

OUTPUT_LIMIT = 256 * 1024


@dataclass(frozen=True)
class ScriptResult:
    """How a script ended and the end of what it wrote.

    `exit_status` is `None` when it was ended by a signal or the host did not say.
    """

    exit_status: int | None
    stdout: str
    stderr: str


async def run_script(
    connection: asyncssh.SSHClientConnection, script: str, seconds: float
) -> ScriptResult:
    """Run `script` by the login shell.

    Raises:
        ConnectionError: the connection was lost or the host refused to run it.
        TimeoutError: it did not end in time; it was asked to end.
    """
    output = bytearray()
    try:
        async with asyncio.timeout(seconds), running(connection, script) as stream:
            while data := await stream.read():
                output += data
                del output[:-OUTPUT_LIMIT]
    except asyncssh.Error as error:
        raise ConnectionError(f"the host did not run it: {error}") from error
    return ScriptResult(
        stream.exit_status,
        output.decode("utf-8", "replace"),
        stream.errors.decode("utf-8", "replace"),
    )
