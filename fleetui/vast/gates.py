"""The one gate for numbers and the one for text that every API value passes (facts: rule R6)."""

from fleetui.domain.text import SafeText, sanitise

LARGEST = 1e15
"""Beyond this a number is a mistake, and its digits would fill a screen."""
MOST_DOLLARS = 1e5
TEXT_LIMIT = 1024
MESSAGE_LIMIT = 4096


def number(value: object) -> float | None:
    """Read a finite number; null, blanks, words, NaN, infinities and booleans are not known."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        result = float(value)
    except (ValueError, OverflowError):
        return None
    # NaN and the infinities do not pass this either.
    return result if abs(result) <= LARGEST else None


def amount(value: object) -> float | None:
    """Read a number that cannot be negative; the API's sentinel -1 is not known."""
    result = number(value)
    return None if result is None or result < 0 else result


def money(value: object) -> float | None:
    """Read a price in dollars an hour; what no machine in the world costs is not known."""
    result = amount(value)
    return None if result is None or result > MOST_DOLLARS else result


def whole(value: object) -> int | None:
    """Read a positive whole number such as an id or a port."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 < value < 2**63 else None
    result = number(value)
    if result is None or result != int(result) or not 0 < result < 2**53:
        return None
    return int(result)


def flag(value: object) -> bool | None:
    """Read a boolean, also as 0 or 1."""
    if isinstance(value, bool):
        return value
    return {0.0: False, 1.0: True}.get(value) if isinstance(value, int | float) else None


def text(value: object, limit: int = TEXT_LIMIT) -> SafeText | None:
    """Read text without the blanks and line ends the API leaves around it; blank is not known."""
    if not isinstance(value, str):
        return None
    # Cut first: stripping and sanitising must not be made to work through megabytes.
    safe = sanitise(value[: limit * 8].strip(), limit)
    safe = sanitise(safe.strip(), limit)
    return safe or None
