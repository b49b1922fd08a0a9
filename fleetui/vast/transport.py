"""One call of the API with its turn, deadlines, redirects and safe retries. Never raises."""

import asyncio
import json
import random
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from fleetui import __version__
from fleetui.domain.secret import Secret
from fleetui.domain.text import sanitise
from fleetui.vast.answers import ApiSettings
from fleetui.vast.errors import Problem, Trouble, classify
from fleetui.vast.limiter import Endpoint, Limiter, LimiterFullError
from fleetui.vast.rows import decode_json

CALL_DEADLINE_SECONDS = 30.0
CONNECT_SECONDS = 10.0
BODY_LIMIT = 32 * 1024 * 1024
ATTEMPTS = 3
BACKOFF_SECONDS = 0.5
MOST_REDIRECTS = 3


@dataclass(frozen=True)
class Call:
    """One request. `repeatable` says that doing it twice is the same as once (rule R4)."""

    endpoint: Endpoint
    method: str
    path: str
    query: Mapping[str, object] | None = None
    body: Mapping[str, object] | None = field(default=None, repr=False)
    repeatable: bool = True
    urgent: bool = False


@dataclass(frozen=True)
class Reply:
    """The decoded body of a good answer, or the problem; `data` may come with a problem too."""

    data: Mapping[str, Any]
    problem: Problem | None = None
    status: int | None = None


class Transport:
    """Sends calls for one identity. The key goes into one header and nowhere else."""

    def __init__(
        self,
        settings: ApiSettings,
        limiter: Limiter,
        http: httpx.AsyncClient,
        *,
        randomness: random.Random | None = None,
        deadline_seconds: float = CALL_DEADLINE_SECONDS,
        backoff_seconds: float = BACKOFF_SECONDS,
    ) -> None:
        self._base = settings.base_url.rstrip("/")
        self._read_key = settings.read_key or settings.write_key
        self._write_key = settings.write_key or settings.read_key
        self._limiter = limiter
        self._http = http
        self._random = randomness or random.Random()  # noqa: S311 - jitter, not a secret
        self._deadline = deadline_seconds
        self._backoff = backoff_seconds

    async def send(self, call: Call) -> Reply:
        """Send until answered, or until a retry would not be safe or of use."""
        # A search is a POST that changes nothing.
        reads = call.method == "GET" or call.endpoint is Endpoint.SEARCH
        key = self._read_key if reads else self._write_key
        if not key:
            return Reply({}, _problem(Trouble.NO_KEY, "there is no API key"))
        if not _sendable(key):
            return Reply({}, _problem(Trouble.NO_KEY, "the API key has characters no key has"))
        attempt = 1
        while True:
            reply = await self._once(call, key)
            problem = reply.problem
            if problem is None or attempt >= ATTEMPTS or not _may_repeat(call, problem):
                return reply
            if problem.trouble is not Trouble.RATE_LIMITED:
                wait = problem.retry_after or self._backoff * 2.0 ** (attempt - 1)
                await asyncio.sleep(wait * self._random.uniform(1.0, 1.5))
            attempt += 1

    async def _once(self, call: Call, key: Secret) -> Reply:
        try:
            async with self._limiter.turn(call.endpoint, urgent=call.urgent) as lane:
                reply = await self._exchange(call, key)
                problem = reply.problem
                if problem is not None and problem.trouble is Trouble.RATE_LIMITED:
                    lane.crowded(problem.retry_after, problem.spacing)
                elif problem is None:
                    lane.calmed()
                return reply
        except LimiterFullError as error:
            return Reply({}, _problem(Trouble.TIMEOUT, f"not sent: {error}", give_up=True))

    async def _exchange(self, call: Call, key: Secret) -> Reply:
        try:
            async with asyncio.timeout(self._deadline):
                status, headers, raw = await self._follow(call, key)
        except (TimeoutError, httpx.TimeoutException):
            text = f"no answer within {self._deadline:.0f} s"
            return Reply({}, _problem(Trouble.TIMEOUT, text))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, OverflowError) as error:
            # Addresses and tokens come from the server too, and no library promises what it
            # raises for the worst of them.
            text = f"{type(error).__name__}: {error}".replace(key.reveal(), "***")
            return Reply({}, _problem(Trouble.NETWORK, text))
        # Whoever echoes a key must not bring it into a log or the store.
        for secret in (self._read_key, self._write_key):
            if secret:
                raw = raw.replace(secret.reveal().encode(), b"***")
        try:
            data = decode_json(raw)
        except ValueError:
            data = None
        problem = classify(status, headers, data, raw)
        if problem is not None and problem.trouble is Trouble.SCOPE:
            text = f"{problem.text}; it needs the permission {call.endpoint.scope}"
            problem = replace(problem, text=sanitise(text, 400))
        return Reply(data if isinstance(data, dict) else {}, problem, status)

    async def _follow(self, call: Call, key: Secret) -> tuple[int, httpx.Headers, bytes]:
        """Send, and follow redirects that stay at the same origin and keep the method."""
        url = self._base + call.path
        parameters = _encoded(call.query)
        redirects = 0
        while True:
            status, headers, raw = await self._request(call, key, url, parameters)
            target = headers.get("location")
            if not 300 <= status < 400 or not target or redirects >= MOST_REDIRECTS:
                return status, headers, raw
            following = urljoin(url, target)
            keeps_method = call.method == "GET" or status in (307, 308)
            if _origin(following) != _origin(url) or not keeps_method:
                return status, headers, raw
            redirects += 1
            url = following
            parameters = parameters if "?" not in following else None

    async def _request(
        self, call: Call, key: Secret, url: str, parameters: Mapping[str, str] | None
    ) -> tuple[int, httpx.Headers, bytes]:
        content = None if call.method == "GET" else json.dumps(call.body or {})
        headers = {
            "Authorization": f"Bearer {key.reveal()}",
            "User-Agent": f"fleetui/{__version__}",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        if content is not None:
            headers["Content-Type"] = "application/json"
        # No answer may change what the next call sends.
        self._http.cookies.clear()
        async with self._http.stream(
            call.method,
            url,
            params=parameters,
            content=content,
            headers=headers,
            follow_redirects=False,
            timeout=httpx.Timeout(self._deadline, connect=CONNECT_SECONDS),
        ) as response:
            body = bytearray()
            async for piece in response.aiter_raw():
                body += piece
                _check_length(body)
            encoding = response.headers.get("content-encoding", "").strip().lower()
            return response.status_code, response.headers, _inflated(bytes(body), encoding)


def _inflated(body: bytes, encoding: str) -> bytes:
    """Undo a compression that was not asked for, up to the limit.

    Raises:
        ValueError: it is too long, broken, or packed in another way.
    """
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "deflate"):
        raise ValueError(f"an answer packed as {encoding[:40]!r}")
    try:
        plain = zlib.decompressobj(wbits=47).decompress(body, BODY_LIMIT + 1)
    except zlib.error as error:
        raise ValueError(f"an answer that cannot be unpacked: {error}") from error
    _check_length(plain)
    return plain


def _check_length(body: bytes | bytearray) -> None:
    if len(body) > BODY_LIMIT:
        raise ValueError(f"an answer of more than {BODY_LIMIT} bytes")


def _may_repeat(call: Call, problem: Problem) -> bool:
    # A 429 says that nothing was done, so that even a reboot may be sent again.
    return problem.transient and (call.repeatable or problem.trouble is Trouble.RATE_LIMITED)


def _encoded(query: Mapping[str, object] | None) -> dict[str, str] | None:
    if not query:
        return None
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in query.items()
    }


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    default = {"https": 443, "http": 80}.get(parts.scheme)
    try:
        port = parts.port or default
    except ValueError:
        port = -1
    return parts.scheme, (parts.hostname or "").lower(), port


def _sendable(key: Secret) -> bool:
    value = key.reveal()
    return value.isascii() and value.isprintable() and " " not in value


def _problem(trouble: Trouble, text: str, *, give_up: bool = False) -> Problem:
    return Problem(trouble=trouble, text=sanitise(text, 300), give_up=give_up)
