"""Which arrangement a terminal of a given size gets. Pure."""

from enum import StrEnum


class SizeMode(StrEnum):
    """From one line of totals to a table with the inspector at its side."""

    TOTALS = "totals"
    SHORT = "short"
    DRILL = "drill"
    BELOW = "below"
    SIDE = "side"


def size_mode(width: int, height: int) -> SizeMode:
    """Choose the arrangement (facts: tui.md A6, responsive rule)."""
    if width < 40 or height < 10:
        return SizeMode.TOTALS
    if width < 80 or height < 24:
        return SizeMode.SHORT
    if width < 100 or height < 30:
        return SizeMode.DRILL
    return SizeMode.BELOW if width < 140 else SizeMode.SIDE
