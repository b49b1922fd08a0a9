"""Bytes of a file from before the place where following it began."""

import asyncio
import shlex

import asyncssh

from fleetui.ssh.channel import running

OLDER_LIMIT = 4 * 1024 * 1024
_MARK = b"\n@older "
_NOISE_LIMIT = 64 * 1024
_SCRIPT = """
exec 4<"$1" || exit
identity=$(stat -L -c '%d:%i:%W' /proc/self/fd/4 2>/dev/null)
if [ -z "$identity" ]; then
  set -- "$1" "$2" "$3" $(LC_ALL=C ls -Ldi /proc/self/fd/4)
  identity=$4
fi
printf '\\n@older %s\\n' "$identity"
dd if=/proc/self/fd/4 bs="$3" count=1 skip="$2" iflag=skip_bytes 2>/dev/null ||
  tail -c "+$(($2 + 1))" /proc/self/fd/4 | head -c "$3"
"""
"""Not every tail goes to a place in a huge file at once."""


class OlderBytesError(Exception):
    """The bytes cannot be had; the text says why."""


async def read_older(  # noqa: PLR0917 - a range of a file takes so many words
    connection: asyncssh.SSHClientConnection,
    path: str,
    identity: str,
    offset: int,
    size: int,
    seconds: float,
) -> bytes:
    """Read `size` bytes from `offset` of the file that is `identity`; fewer at its end.

    Raises:
        ValueError: the range is not one, or longer than `OLDER_LIMIT`.
        OlderBytesError: another file has the name by now, or the host did not give the bytes.
        TimeoutError: it took longer than `seconds`.
    """
    if offset < 0 or not 0 < size <= OLDER_LIMIT:
        raise ValueError(f"not a range of at most {OLDER_LIMIT} bytes: {size} from {offset}")
    command = f"exec sh -c {shlex.join((_SCRIPT, 'fleetui-older', path, str(offset), str(size)))}"
    # Where no stat takes -c, the file is known by its inode, which ends in a birth of 0.
    _, inode, birth = identity.split(":") if identity.count(":") == 2 else ("", "", "")
    inode_alone = inode if birth == "0" else identity
    answer = bytearray()
    try:
        async with asyncio.timeout(seconds), running(connection, command) as stream:
            while data := await stream.read():
                answer += data
                if len(answer) > size + _NOISE_LIMIT:
                    break
    except asyncssh.Error as error:
        raise OlderBytesError(f"the host did not run it: {error}") from error
    _, mark, rest = answer.partition(_MARK)
    found, line_end, body = rest.partition(b"\n")
    if not mark or not line_end:
        raise OlderBytesError(f"{path} cannot be read")
    if found.decode("ascii", "replace") not in {identity, inode_alone}:
        raise OlderBytesError(f"{path} is another file by now")
    return bytes(body[:size])
