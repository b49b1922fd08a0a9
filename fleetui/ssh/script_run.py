"""One script run on a host, its output bounded."""

import asyncio
from dataclasses import dataclass

import asyncssh

from fleetui.ssh.channel import running

OUTPUT_LIMIT = 256 * 1024


@dataclass(frozen=True)
class ScriptResult:
    """How a script ended and the end of what it wrote.

    `exit_status` is `None` when it was ended by a signal or the host did not say. `cut`: it wrote
    more than it may and was ended.
    """

    exit_status: int | None
    stdout: str
    stderr: str
    cut: bool = False


class ScriptTimeoutError(TimeoutError):
    """A script did not end in time; `stdout` is the end of what it wrote until then."""

    def __init__(self, stdout: str) -> None:
        super().__init__("the script did not end in time")
        self.stdout = stdout


async def run_script(
    connection: asyncssh.SSHClientConnection,
    script: str,
    seconds: float,
    *,
    limit: int = OUTPUT_LIMIT,
    stop_at: int | None = None,
) -> ScriptResult:
    """Run `script` by the login shell; of its output the last `limit` bytes are kept.

    With `stop_at` it is ended once it wrote more than so many bytes; the first ones are kept.

    Raises:
        ConnectionError: the connection was lost or the host refused to run it.
        ScriptTimeoutError: it did not end in time; it was asked to end.
    """
    output = bytearray()
    cut = False
    try:
        async with asyncio.timeout(seconds), running(connection, script) as stream:
            while data := await stream.read():
                output += data
                if stop_at is not None and len(output) > stop_at:
                    del output[stop_at:]
                    cut = True
                    break
                del output[:-limit]
    except TimeoutError as error:
        raise ScriptTimeoutError(output.decode("utf-8", "replace")) from error
    except asyncssh.Error as error:
        raise ConnectionError(f"the host did not run it: {error}") from error
    return ScriptResult(
        stream.exit_status,
        output.decode("utf-8", "replace"),
        stream.errors.decode("utf-8", "replace"),
        cut,
    )
