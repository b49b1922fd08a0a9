"""What the owner allows to be done by itself, as settings, and what comes of it.

Limits and their defaults are those of the manager that this replaces (facts: cuzk.md section 6).
"""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from fleetui.domain.intent import Verb
from fleetui.domain.rental import plain_label
from fleetui.domain.text import SafeText

DEAREST_PROOF_DOLLARS = 0.008


class Mode(StrEnum):
    """How far a rule goes: `observe` says it, `ask` proposes the act, `auto` asks for it."""

    OFF = "off"
    OBSERVE = "observe"
    ASK = "ask"
    AUTO = "auto"


class Watching(StrEnum):
    """The modes of a rule about the whole fleet, which no single act answers."""

    OFF = "off"
    OBSERVE = "observe"


class _Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    mode: Mode = Mode.OBSERVE


class _Registration(_Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    minutes: float = 15.0

    def __post_init__(self) -> None:
        if self.minutes <= 0:
            raise ValueError("minutes must be more than 0")


class _Parameters(_Registration, frozen=True, kw_only=True, forbid_unknown_fields=True):
    minutes: float = 90.0


class _Benchmark(_Registration, frozen=True, kw_only=True, forbid_unknown_fields=True):
    minutes: float = 45.0


class _Idle(_Registration, frozen=True, kw_only=True, forbid_unknown_fields=True):
    minutes: float = 30.0
    percent: float = 5.0


class _Crash(_Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    times: int = 3
    hours: float = 6.0


class _Price(_Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    dollars_per_hour: float | None = None


class _Cap(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    mode: Watching = Watching.OBSERVE
    dollars: float | None = None


class _Balance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    mode: Watching = Watching.OBSERVE
    hours: float = 24.0


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All rules. A limit that is `None` never strikes.

    `max_dollars_per_proof` gives the minimum rate of an instance; `labels` has other values for
    instances by their label, `instances` by their id.
    """

    max_dollars_per_proof: float = DEAREST_PROOF_DOLLARS
    labels: dict[str, float] = {}
    instances: dict[int, float] = {}
    rate_below_minimum: _Rule = _Rule()
    benchmark_zero: _Rule = _Rule()
    registration: _Registration = _Registration()
    parameters: _Parameters = _Parameters()
    benchmark: _Benchmark = _Benchmark()
    bad_machine: _Rule = _Rule()
    gpu_idle: _Idle = _Idle()
    repeated_crash: _Crash = _Crash()
    price_above: _Price = _Price()
    outbid: _Rule = _Rule()
    spend_hour: _Cap = _Cap()
    spend_day: _Cap = _Cap()
    balance_low: _Balance = _Balance()

    def __post_init__(self) -> None:
        prices = [
            self.max_dollars_per_proof,
            *self.labels.values(),
            *self.instances.values(),
        ]
        if not all(price > 0 for price in prices):
            raise ValueError("a maximum cost per proof must be more than 0")

    def dearest(self, instance_id: int, label: str | None) -> float:
        """Return the maximum cost of a proof on an instance, in dollars."""
        of_template = self.labels.get(plain_label(label), self.max_dollars_per_proof)
        by_label = self.labels.get(label or "", of_template)
        return self.instances.get(instance_id, by_label)


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule would do, and why. `instance_id` is `None` for the fleet as a whole.

    `cause` is the category of the finding that explains it, where one does.
    """

    rule: str
    mode: str
    text: SafeText
    instance_id: int | None = None
    verb: Verb | None = None
    cause: str | None = None
    since: float | None = None

    @property
    def why(self) -> str:
        """The rule, what it saw and the cause, as the reason of an act."""
        cause = f" (cause: {self.cause})" if self.cause else ""
        return f"{self.rule}: {self.text}{cause}"


def open_proposals(proposals: Iterable[Proposal]) -> tuple[Proposal, ...]:
    """Return those that ask an operator for an act (`ask`), which one key accepts."""
    return tuple(
        proposal
        for proposal in proposals
        if proposal.mode == Mode.ASK and proposal.verb is not None and proposal.instance_id
    )
