"""What an answer of the API means when it is not a good one (facts: sections 1.4 and 6.1)."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from enum import StrEnum

from fleetui.domain.text import SafeText, sanitise

LONGEST_WAIT_SECONDS = 60.0
"""A call is not kept waiting for longer; it fails instead."""
LONGEST_PAUSE_SECONDS = 600.0
_TEXT_LIMIT = 300
_THRESHOLD = re.compile(r"threshold\W{0,3}(\d{1,3}(?:\.\d{1,6})?)")


class Trouble(StrEnum):
    """Kinds of unusable answers."""

    AUTH = "auth"
    SCOPE = "scope"
    RATE_LIMITED = "rate_limited"
    NO_SUCH_INSTANCE = "no_such_instance"
    REFUSED = "refused"
    SERVER = "server"
    UNREADABLE = "unreadable"
    REDIRECTED = "redirected"
    NETWORK = "network"
    TIMEOUT = "timeout"
    NO_KEY = "no_key"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Why a call did not bring what was asked. `status` is `None` when no answer came."""

    trouble: Trouble
    text: SafeText
    status: int | None = None
    retry_after: float | None = None
    """Seconds the server asked for, finite and at most 600; beyond 60 comes with `give_up`."""
    give_up: bool = False
    spacing: float | None = None
    """The spacing in seconds a rate-limit answer names for this endpoint."""

    @property
    def transient(self) -> bool:
        """Whether asking again soon may help (rule R4: 429, 502, 503, 504 and time-outs)."""
        if self.give_up:
            return False
        if self.trouble in (Trouble.NETWORK, Trouble.TIMEOUT, Trouble.RATE_LIMITED):
            return True
        return self.status in (502, 503, 504)


class VastError(Exception):
    """The API did not answer usably; the text is safe to show."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem.text))
        self.problem = problem


def unreadable(text: str) -> VastError:
    """Return the error of a good answer that does not hold what was asked for."""
    return VastError(Problem(trouble=Trouble.UNREADABLE, text=sanitise(text, _TEXT_LIMIT)))


def classify(status: int, headers: Mapping[str, str], data: object, raw: bytes) -> Problem | None:
    """Judge an answer; `None` is a good one: status 2xx, a JSON object, `success` not false.

    `data` is the decoded body, or `None` when it is not JSON. A bad key is told by its error
    token or by 401 and 403, never by 404 alone, and 404 means "gone" only with the token that
    says so.
    """
    fields: Mapping[object, object] = data if isinstance(data, Mapping) else {}
    error = fields.get("error")
    said = _said(fields, raw)
    if status == 403 and error not in (None, "auth_error"):
        return _problem(Trouble.SCOPE, status, f"the key may not do this (403): {said}")
    if status in (401, 403) or error == "auth_error" or _session_ended(status, said):
        return _problem(Trouble.AUTH, status, f"the API refuses the key ({status}): {said}")
    if status == 429:
        return _rate_limited(headers, error, said)
    if 200 <= status < 300:
        if not isinstance(data, Mapping):
            return _problem(Trouble.UNREADABLE, status, f"not a JSON object ({status}): {said}")
        if fields.get("success") is not True and (_denied(fields) or error):
            return _problem(Trouble.REFUSED, status, said)
        return None
    if status == 404 and error in ("no_such_instance", "not_found"):
        return _problem(Trouble.NO_SUCH_INSTANCE, status, said)
    if 300 <= status < 400:
        return _problem(Trouble.REDIRECTED, status, f"redirected ({status})")
    if status >= 500:
        problem = _problem(Trouble.SERVER, status, f"the API fails ({status}): {said}")
        seconds, too_long = retry_after(headers)
        return replace(problem, retry_after=seconds, give_up=too_long)
    return _problem(Trouble.REFUSED, status, f"refused ({status}): {said}")


def retry_after(headers: Mapping[str, str]) -> tuple[float | None, bool]:
    """Read `Retry-After`: seconds, at most 600; the flag says that it is longer than 60.

    A date is counted from the answer's own `Date`, so that no clock of ours matters.
    """
    text = headers.get("retry-after", "")
    try:
        seconds = float(text)
    except ValueError:
        seconds = _until(text, headers.get("date", ""))
    if not math.isfinite(seconds) or seconds < 0:
        return None, False
    return min(seconds, LONGEST_PAUSE_SECONDS), seconds > LONGEST_WAIT_SECONDS


def _until(then: str, now: str) -> float:
    try:
        return (parsedate_to_datetime(then) - parsedate_to_datetime(now)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return math.nan


def _rate_limited(headers: Mapping[str, str], error: object, said: str) -> Problem:
    seconds, too_long = retry_after(headers)
    match = _THRESHOLD.search(said)
    return Problem(
        trouble=Trouble.RATE_LIMITED,
        text=sanitise(f"too many requests (429): {said}", _TEXT_LIMIT),
        status=429,
        retry_after=seconds,
        # A daily quota does not come back while anybody waits.
        give_up=too_long or error == "search_quota_exceeded",
        spacing=min(float(match[1]), LONGEST_WAIT_SECONDS) if match else None,
    )


def _denied(fields: Mapping[object, object]) -> bool:
    success = fields.get("success")
    return "success" in fields and str(success).lower() in ("false", "0", "none", "")


def _session_ended(status: int, said: str) -> bool:
    return status == 404 and ("Session expired" in said or "Invalid user key" in said)


def _said(fields: Mapping[object, object], raw: bytes) -> str:
    for name in ("msg", "message", "detail", "error"):
        value = fields.get(name)
        if isinstance(value, str) and value.strip():
            return sanitise(value.strip(), _TEXT_LIMIT)
    if fields:
        return "no reason given"
    if not raw.strip():
        return "empty answer"
    if raw.lstrip()[:1] == b"<":
        return "an HTML page instead of an answer"
    return sanitise(raw[:2000].strip(), 120)


def _problem(trouble: Trouble, status: int, text: str) -> Problem:
    return Problem(trouble=trouble, status=status, text=sanitise(text, _TEXT_LIMIT))
