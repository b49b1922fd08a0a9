"""Numbers that programs print."""

from math import isfinite


def figure(text: str | None, other: float) -> float:
    """Read a plain decimal figure; `other` stands for what is none."""
    try:
        number = float(text or "")
    except ValueError:
        return other
    return number if isfinite(number) else other
