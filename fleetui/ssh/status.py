"""The daemon's `GET /status`, read over a channel of the connection."""

import asyncio
import contextlib

import asyncssh
import h11

from fleetui.domain.text import SafeText, sanitise

BODY_LIMIT = 4 * 1024 * 1024
_OPEN_CONNECT_FAILED = 2
_HEADERS = [("Host", "127.0.0.1"), ("Accept", "application/json")]


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
        self._http: h11.Connection | None = None
        self._reader: asyncssh.SSHReader[bytes] | None = None
        self._writer: asyncssh.SSHWriter[bytes] | None = None

    async def ask(self, *, seconds: float = 10.0) -> bytes | None:
        """Ask for the status; `None` when nothing listens there.

        A port that refuses is no error: the daemon is not up, or is of an age without a status.

        Raises:
            StatusError: time-out, forbidden forwarding, an answer other than 200, or one too long.
            asyncssh.ConnectionLost: the connection is lost.
        """
        kept = False
        try:
            async with asyncio.timeout(seconds):
                kept = self._http is not None
                if kept:
                    with contextlib.suppress(h11.RemoteProtocolError, OSError, _Unanswered):
                        return await self._exchange()
                    # The kept channel was closed in between: that says nothing of the daemon.
                    self.close()
                self._reader, self._writer = await self._connection.open_connection(
                    "127.0.0.1", self._port
                )
                self._http = h11.Connection(h11.CLIENT)
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
        self._http = self._reader = self._writer = None

    async def _exchange(self) -> bytes:
        http, reader, writer = self._http, self._reader, self._writer
        assert http is not None and reader is not None and writer is not None  # noqa: S101, PT018 - set together
        request = http.send(h11.Request(method="GET", target="/status", headers=_HEADERS)) or b""
        writer.write(request + (http.send(h11.EndOfMessage()) or b""))
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
        if http.our_state is h11.DONE and http.their_state is h11.DONE:
            http.start_next_cycle()
        else:
            self.close()
        return bytes(body)


class _Unanswered(Exception):  # noqa: N818 - the daemon's doing
    """The channel ended where an answer was due."""
