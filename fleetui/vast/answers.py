"""What the client's calls bring back."""

from dataclasses import dataclass
from enum import StrEnum

from fleetui.domain.instance import Instance, Walk
from fleetui.domain.secret import Secret
from fleetui.domain.text import SafeText

_NO_REASON = SafeText()


@dataclass(frozen=True, kw_only=True)
class ApiSettings:
    """Where the API is and the keys for it; without a key of its kind a call uses the other."""

    base_url: str
    read_key: Secret | None = None
    write_key: Secret | None = None


@dataclass(frozen=True)
class WalkResult:
    """One pass and its rows; a failed pass has none.

    `unreadable` counts rows without a usable id. While there are any, absence proves nothing:
    one of them may be the instance that is missed.
    """

    walk: Walk
    instances: tuple[Instance, ...] = ()
    unreadable: int = 0


class PresenceKind(StrEnum):
    """What the API says of one id."""

    PRESENT = "present"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Presence:
    """Answer to a look at one id; `reason` says why it is unknown."""

    kind: PresenceKind
    instance: Instance | None = None
    reason: SafeText = _NO_REASON


@dataclass(frozen=True)
class ActionResult:
    """Answer to an action.

    `code` is the HTTP status, 401 for whatever way the API refuses the key, and `None` when no
    answer came that tells: then the call may or may not have been taken. `queued` is a start
    that the API keeps, to do (and bill) it when the machine's GPUs are free (facts: section 5.2).
    """

    ok: bool
    text: SafeText
    code: int | None = None
    queued: bool = False
    contract: int | None = None
    """The instance that a renting made, also one that failed to start."""


@dataclass(frozen=True)
class Account:
    """Money of the account in US dollars (facts: vast_api.md section 5.5)."""

    balance: float | None
    credit: float | None

    @property
    def spendable(self) -> float | None:
        """What can be spent: credit and balance, as far as either is known."""
        known = [value for value in (self.credit, self.balance) if value is not None]
        return sum(known) if known else None
