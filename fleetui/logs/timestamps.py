"""The time a line carries itself, in epoch seconds.

Known shapes (facts: cuzk.md sections 1.1, 4, 7): tracing and go-log
`2026-03-12T07:04:18.383000Z` (or `+0800`), the entrypoint's `[entrypoint] 2026-03-12 07:00:04`,
`date`'s own `Thu Mar 12 07:00:04 UTC 2026` and, with -R, `Thu, 12 Mar 2026 07:00:04 +0000`,
aria2's `03/12 07:00:08 [`, the kernel's `[Thu Mar 12 07:03:14 2026]`. Times without a zone are
UTC; of zones with names only that one is known. Kernel seconds since boot cannot be placed
without the boot time and count as none.
"""

import calendar
import re
from functools import lru_cache

_COLOURS = rb"(?:\x1b\[[0-9;]*m)*"
_FULL = re.compile(
    _COLOURS
    + rb"(?:\[[\w.-]+\] )?\[?(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    + rb"(Z|[+-]\d\d:?\d\d)?"
)
_ARIA = re.compile(_COLOURS + rb"(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d) \[")
_DAY_NAME = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH_NAME = rb"(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLOCK = rb"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
_ASCTIME = re.compile(
    rb"(?: \*\*\* Download Progress Summary as of |(?:\[[\w.-]+\] )?\[?)"
    + _DAY_NAME + rb" " + _MONTH_NAME + rb" (?P<day>[ \d]\d) " + _CLOCK
    + rb"(?: (?P<half>[AP])M)?(?: UTC| GMT)? (?P<year>\d{4})"
)  # fmt: skip
_MAIL = re.compile(
    rb"(?:\[[\w.-]+\] )?\[?"
    + _DAY_NAME + rb", (?P<day>\d\d?) " + _MONTH_NAME + rb" (?P<year>\d{4}) " + _CLOCK
    + rb" (?:(?P<zone>[+-]\d{4})|UTC|GMT)"
)  # fmt: skip
_DAYS = frozenset(b"Mon Tue Wed Thu Fri Sat Sun".split())
_MONTHS = b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_DAY = 86400.0
_HALF_YEAR = 183 * _DAY
_HEADS = frozenset(b"0123456789[\x1b ")


def stamp_of(raw: bytes, reference: float | None) -> float | None:
    """Return the time at the head of a raw line, or `None` when it carries none.

    `reference` (epoch seconds) places times without a year within half a year of it; with
    `None` they count as none.
    """
    if not raw or raw.startswith(b"[#"):
        return None
    if raw[0] not in _HEADS and raw[:3] not in _DAYS:
        return None
    match = _FULL.match(raw)
    if match is not None:
        minute = _minute(match.group(1))
        if minute is None:
            return None
        fraction = match.group(3)
        seconds = int(match.group(2)) + (int(fraction) / 10 ** len(fraction) if fraction else 0.0)
        return minute + seconds - _zone(match.group(4))
    match = None if reference is None else _ARIA.match(raw)
    if match is not None and reference is not None:
        month, day, hour, minute_of_hour, second = (int(part) for part in match.groups())
        return _without_year(month, day, hour * 3600 + minute_of_hour * 60 + second, reference)
    match = _ASCTIME.match(raw) or _MAIL.match(raw)
    return None if match is None else _named(match.groupdict())


def _named(parts: dict[str, bytes]) -> float | None:
    """Place a time whose month has a name."""
    hours = int(parts["hour"])
    half = parts.get("half")
    if half is not None:
        hours = hours % 12 + (12 if half == b"P" else 0)
    seconds = hours * 3600 + int(parts["minute"]) * 60 + int(parts["second"])
    month = _MONTHS.index(parts["month"]) + 1
    moment = _epoch(int(parts["year"]), month, int(parts["day"]), seconds)
    return None if moment is None else moment - _zone(parts.get("zone"))


@lru_cache(maxsize=4096)
def _minute(text: bytes) -> float | None:
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
    return _epoch(year, month, day, int(text[11:13]) * 3600 + int(text[14:16]) * 60)


def _zone(text: bytes | None) -> float:
    if text is None or text == b"Z":
        return 0.0
    digits = text[1:].replace(b":", b"")
    seconds = int(digits[:2]) * 3600.0 + int(digits[2:]) * 60.0
    return -seconds if text[:1] == b"-" else seconds


def _epoch(year: int, month: int, day: int, seconds: float) -> float | None:
    if not (1970 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= 31 and seconds < _DAY + 1):
        return None
    return calendar.timegm((year, month, day, 0, 0, 0)) + seconds


@lru_cache(maxsize=64)
def _year_of(day_number: int) -> int:
    return 1970 + int(day_number / 365.2425)


def _without_year(month: int, day: int, seconds: float, reference: float) -> float | None:
    guess = _year_of(int(reference // _DAY)) if reference >= 0 else 1970
    for year in (guess, guess - 1, guess + 1):
        moment = _epoch(year, month, day, seconds)
        if moment is not None and abs(moment - reference) <= _HALF_YEAR:
            return moment
    return None
