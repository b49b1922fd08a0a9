"""The daemon's `GET /status`, read over a channel of the connection."""

import asyncio
import contextlib

import asyncssh
import h11

from fleetui.domain.text import SafeText, sanitise

BODY_LIMIT = 4 * 1024 * 1024
_OPEN_CONNECT_FAILED = 2


class StatusError(Exception):
    """The daemon could not be asked or gave no usable answer; `text` says why."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text: SafeText = sanitise(text, 300)


async def fetch_status(
    connection: asyncssh.SSHClientConnection, port: int, *, seconds: float = 10.0
) -> bytes | None:
    """Ask the daemon on the host's loopback `port`; `None` when nothing listens there.

    A port that refuses is no error: the daemon is not up, or is of an age without a status.

    Raises:
        StatusError: time-out, forbidden forwarding, an answer other than 200, or one too long.
        asyncssh.ConnectionLost: the connection is lost.
    """
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await connection.open_connection("127.0.0.1", port)
            try:
                return await _ask(reader, writer)
            finally:
                writer.close()
    except TimeoutError as error:
        raise StatusError(f"/status did not answer within {seconds:g} s") from error
    except asyncssh.ChannelOpenError as error:
        if error.code == _OPEN_CONNECT_FAILED:
            return None
        raise StatusError(f"/status cannot be reached: {error.reason}") from error
    except (h11.RemoteProtocolError, ConnectionError) as error:
        raise StatusError(f"/status gave no HTTP answer: {error}") from error


async def _ask(reader: asyncssh.SSHReader[bytes], writer: asyncssh.SSHWriter[bytes]) -> bytes:
    http = h11.Connection(h11.CLIENT)
    headers = [("Host", "127.0.0.1"), ("Accept", "application/json"), ("Connection", "close")]
    for message in (
        h11.Request(method="GET", target="/status", headers=headers),
        h11.EndOfMessage(),
    ):
        writer.write(http.send(message) or b"")
    with contextlib.suppress(BrokenPipeError):
        await writer.drain()
    body = bytearray()
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            http.receive_data(await reader.read(65536))
        elif isinstance(event, h11.Response) and event.status_code != 200:
            raise StatusError(f"/status answered {event.status_code}")
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > BODY_LIMIT:
                raise StatusError(f"/status is longer than {BODY_LIMIT} bytes")
        elif isinstance(event, h11.EndOfMessage):
            return bytes(body)
        elif isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
            raise StatusError("/status ended without an answer")
