"""What operators have laid down for as long as they do not take it back."""

import msgspec

from fleetui.domain.text import SafeText


class Mark(msgspec.Struct, frozen=True):
    """Who laid something down, when (epoch seconds) and why."""

    by: SafeText
    at: float
    reason: SafeText


class Standing(msgspec.Struct, frozen=True):
    """Protected instances, which nothing may be done to, and machines not to rent again."""

    protected: dict[int, Mark] = {}
    blacklist: dict[int, Mark] = {}
