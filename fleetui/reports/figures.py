"""Numbers of plain tables: never wider than their column, whatever a host or the API claims."""

UNKNOWN = "?"


def number(value: float | None, digits: int, cells: int = 9) -> str:
    """Say a number with so many digits after the point; one too long for its cells coarsely."""
    if value is None:
        return UNKNOWN
    for text in (f"{value:.{digits}f}", f"{value:.0f}"):
        if len(text) <= cells:
            return text
    return f"{value:.0e}"


def at_least(value: float | None, digits: int, *, open_end: bool, cells: int = 9) -> str:
    """Say a sum, with `≥` where it lacks what is not known."""
    sign = "≥" if open_end and value is not None else ""
    return sign + number(value, digits, cells - len(sign))


def count(value: float | None, cells: int = 9) -> str:
    """Say a count that was measured in parts: a fraction of one is `<1`, not 0."""
    return "<1" if value is not None and 0 < value < 1 else number(value, 0, cells)


def cut(text: str, cells: int) -> str:
    """Return text that is no longer than its column."""
    return text if len(text) <= cells else text[: cells - 1] + "…"


def days(number_of: int) -> str:
    """Say so many days."""
    return f"{number_of} day{'s' * (number_of != 1)}"
