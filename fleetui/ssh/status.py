"""The daemon's `GET /status`, read over a channel of the connection."""

import asyncio
import contextlib

import asyncssh
import h11

from fleetui.domain.text import SafeText, sanitise

BODY_LIMIT = 4 * 1024 * 1024
_OPEN_CONNECT_FAILED = 2
_HEADERS = [("Host", "127.0.0.1"), ("Accept", "application/json")]
_REQUEST = b"GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\r\n"


class StatusError(Exception):
    """The daemon could not be asked or gave no usable answer; `text` says why."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text: SafeText = sanitise(text, 300)


class StatusDoor:
    """Asks the daemon on the host's loopback `port` through one channel that is kept open.

    A poll on an open channel costs a third of one that opens its own (facts: perf.md section 4).
    A daemon that closes after each answer, or was restarted meanwhile, gets a new channel.
    """

    def __init__(self, connection: asyncssh.SSHClientConnection, port: int) -> None:
        self._connection = connection
        self._port = port
        self._reader: asyncssh.SSHReader[bytes] | None = None
        self._writer: asyncssh.SSHWriter[bytes] | None = None

    async def ask(self, *, seconds: float = 10.0) -> bytes | None:
        """Ask for the status; `None` when nothing listens there.

        A port that refuses is no error: the daemon is not up, or is of an age without a status.

        Raises:
            StatusError: time-out, forbidden forwarding, an answer other than 200, or one too long.
            asyncssh.ConnectionLost: the connection is lost.
        """
        try:
            async with asyncio.timeout(seconds):
                if self._writer is not None:
                    with contextlib.suppress(h11.RemoteProtocolError, OSError, _Unanswered):
                        return await self._exchange()
                    # The kept channel was closed in between: that says nothing of the daemon.
                    self.close()
                self._reader, self._writer = await self._connection.open_connection(
                    "127.0.0.1", self._port
                )
                return await self._exchange()
        except TimeoutError as error:
            self.close()
            raise StatusError(f"/status did not answer within {seconds:g} s") from error
        except asyncssh.ChannelOpenError as error:
            if error.code == _OPEN_CONNECT_FAILED:
                return None
            raise StatusError(f"/status cannot be reached: {error.reason}") from error
        except (h11.RemoteProtocolError, OSError) as error:
            self.close()
            raise StatusError(f"/status gave no HTTP answer: {error}") from error
        except _Unanswered as error:
            self.close()
            raise StatusError("/status ended without an answer") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the channel, if one is open."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def _exchange(self) -> bytes:
        reader, writer = self._reader, self._writer
        assert reader is not None and writer is not None  # noqa: S101, PT018 - set together
        writer.write(_REQUEST)
        data = await reader.read(65536)
        body = _plain_answer(data)
        return body if body is not None else await self._read_answer(reader, data)

    async def _read_answer(self, reader: asyncssh.SSHReader[bytes], data: bytes) -> bytes:
        """Read an answer of any form, of which `data` has come."""
        http = h11.Connection(h11.CLIENT)
        http.send(h11.Request(method="GET", target="/status", headers=_HEADERS))
        http.send(h11.EndOfMessage())
        http.receive_data(data)
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
                break
            elif isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
                raise _Unanswered
        if http.their_state is not h11.DONE or http.trailing_data[0]:
            self.close()
        return bytes(body)


def _plain_answer(data: bytes) -> bytes | None:
    """Return the body when `data` is one whole answer of the common form, which costs least."""
    head, _, body = data.partition(b"\r\n\r\n")
    head = head.lower() + b"\r\n"
    _, named, rest = head.partition(b"\r\ncontent-length: ")
    plain = (
        head.startswith(b"http/1.1 200 ")
        and bool(named)
        and b"\r\nconnection:" not in head
        and b"\r\ntransfer-encoding:" not in head
        and rest.partition(b"\r\n")[0] == b"%d" % len(body)
    )
    return body if plain else None


class _Unanswered(Exception):  # noqa: N818 - the daemon's doing
    """The channel ended where an answer was due."""
