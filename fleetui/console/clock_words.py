"""Times that an operator types: `14:05`, `07:04:18`, `2026-03-12 07:04`, `-15m`. Pure."""

import re
import time
from calendar import timegm

_AGO = re.compile(r"-?(\d+(?:\.\d+)?)\s*(s|m|h|d)(?:\s+ago)?")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_FORMS = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d")
_CLOCKS = ("%H:%M:%S", "%H:%M")
_DAY = 86_400.0


def typed_time(text: str, now: float, *, utc: bool) -> float | None:
    """Return the epoch seconds that a text means, `None` when it means none.

    A clock time is the last one before `now`; a length of time is so long before `now`.
    """
    text = text.strip()
    match = _AGO.fullmatch(text)
    if match:
        return now - float(match[1]) * _UNITS[match[2]]
    whole = timegm if utc else time.mktime
    split = time.gmtime if utc else time.localtime
    for form in _FORMS:
        try:
            return float(whole(time.strptime(text, form)))
        except (ValueError, OverflowError):
            continue
    for form in _CLOCKS:
        try:
            clock = time.strptime(text, form)
        except ValueError:
            continue
        today = split(now)
        at = float(whole((*today[:3], *clock[3:6], 0, 0, -1)))
        return at if at <= now else at - _DAY
    return None
