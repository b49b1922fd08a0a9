"""Numbers, money, times and ages as short words of known width."""

import time

UNKNOWN = "–"


def age(seconds: float | None) -> str:
    """Say how old something is in at most 4 cells, coarsely, so that idle screens stay still."""
    if seconds is None:
        return UNKNOWN
    if seconds < 10:
        return "now"
    if seconds < 60:
        return f"{int(seconds // 10) * 10}s"
    return duration(seconds)


def duration(seconds: float | None) -> str:
    """Say a length of time in at most 5 cells: `42s`, `7m`, `1h05`, `3d04`."""
    if seconds is None:
        return UNKNOWN
    seconds = max(seconds, 0.0)
    if seconds < 60:
        return f"{seconds:.0f}s"
    if seconds < 3600:
        return f"{seconds // 60:.0f}m"
    if seconds < 86_400:
        return f"{seconds // 3600:.0f}h{seconds % 3600 // 60:02.0f}"
    if seconds < 100 * 86_400:
        return f"{seconds // 86_400:.0f}d{seconds % 86_400 // 3600:02.0f}"
    return f"{min(seconds // 86_400, 9999):.0f}d"


def exact_age(seconds: float | None) -> str:
    """Say an age to the second below two minutes, then like `duration`."""
    if seconds is None:
        return "never"
    return f"{max(seconds, 0):.0f}s" if seconds < 120 else duration(seconds)


def rate(value: float | None) -> str:
    """Say a proofs-per-hour figure in at most 5 cells."""
    if value is None:
        return UNKNOWN
    return f"{value:.1f}" if abs(value) < 1000 else _whole(value, 1e5)


def count(value: float | None) -> str:
    """Say a count that was measured in parts: a fraction of one is `<1`, not 0."""
    return "<1" if value is not None and 0 < value < 1 else rate(value)


def money(value: float | None, digits: int = 2) -> str:
    """Say dollars without the sign (the column's title has it); without digits in 6 cells."""
    if value is None:
        return UNKNOWN
    return f"{value:.{digits}f}" if abs(value) < 1000 else _whole(value, 1e6)


def whole(value: float | None) -> str:
    """Say a whole number in at most 5 cells."""
    return UNKNOWN if value is None else _whole(value, 1e5)


def _whole(value: float, most: float) -> str:
    """Say it without a fraction; beyond what any can be only how large it is."""
    return f"{value:.0f}" if abs(value) < most else f"{value:.0e}"


def percent(fraction: float | None) -> str:
    """Say a fraction as whole percent; 100 % only when it is whole."""
    if fraction is None:
        return UNKNOWN
    return f"{min(int(fraction * 100 + 1e-9), 100)}%"


def size(count: float | None) -> str:
    """Say a byte count in binary units."""
    if count is None:
        return UNKNOWN
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def amount(value: float | None, unit: str) -> str:
    """Say an amount in the unit of a progress (`B`, `partitions`, `proofs`)."""
    if unit == "B":
        return size(value)
    return UNKNOWN if value is None else f"{value:g}"


def clock_time(at: float | None, *, utc: bool = False) -> str:
    """Say an epoch time as `HH:MM:SS`, local or UTC."""
    return _moment(at, "%H:%M:%S", utc=utc)


def date_time(at: float | None, *, utc: bool = False) -> str:
    """Say an epoch time as `YYYY-MM-DD HH:MM:SS`, local or UTC."""
    return _moment(at, "%Y-%m-%d %H:%M:%S", utc=utc)


def _moment(at: float | None, form: str, *, utc: bool) -> str:
    if at is None:
        return UNKNOWN
    try:
        return time.strftime(form, (time.gmtime if utc else time.localtime)(at))
    except (OverflowError, ValueError, OSError):
        return UNKNOWN
