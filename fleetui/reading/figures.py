"""Numbers that programs print."""

from math import isfinite


def figure(text: str | None, other: float) -> float:
    """Read a plain decimal figure; `other` stands for what is none."""
    try:
        number = float(text or "")
    except ValueError:
        return other
    return number if isfinite(number) else other


def whole(fields: dict[str, str], name: str, other: int | None = None) -> int | None:
    """Read a count from a line's fields; `other` stands for what is none."""
    text = fields.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 16 else other
