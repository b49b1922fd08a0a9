"""One answer of the doctor."""

from collections.abc import Awaitable, Callable
from enum import StrEnum

import msgspec

from fleetui.domain.text import SafeText


class Health(StrEnum):
    """How a part is."""

    GOOD = "good"
    POOR = "poor"
    BAD = "bad"


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, how it is, and what mends it (empty: nothing to mend)."""

    part: str
    health: Health
    found: SafeText
    mend: SafeText = SafeText()


Examine = Callable[[], Awaitable[tuple[Check, ...]]]
"""Looks at what the console cannot see itself: keys, SSH, store."""
