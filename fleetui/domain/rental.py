"""Renting an offer: the owner's templates and limits, and what one request to rent is bound to."""

import hashlib
import math
import re

import msgspec

from fleetui.domain.redaction import Redactor
from fleetui.domain.text import SafeText

LABEL_LIMIT = 240
"""Longest label of a template; the API takes 256 characters with the mark."""
ONSTART_LIMIT = 4048
LEAST_PER_PROOF, MOST_PER_PROOF = 1e-5, 10.0
"""Dollars a proof beyond which a maximum is a mistake."""
DISK_LIMIT_GB = 20_000.0
PRICE_DRIFT = 1.05
"""A price may rise by so much between the look and the renting; more is refused."""
_MARK_DIGITS = 10
_MARK = re.compile(rf"#[0-9a-f]{{{_MARK_DIGITS}}}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class Template(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an instance is made from. Holds no secret: `secrets` says where each is to be found.

    `env` are variables as they are, and docker's flags such as `"-p 8000:8000" = "1"`; `secrets`
    has `env:NAME` (the collector's environment) or `file:PATH` for a variable. With
    `max_dollars_per_proof` the variable `min_rate_env` gets ceil(price / maximum), the proofs an
    hour below which the host's benchmark fails (facts: cuzk.md section 6).
    """

    image: str
    disk_gb: float = 250.0
    env: dict[str, str] = {}
    secrets: dict[str, str] = {}
    onstart: str = ""
    label: str = ""
    max_dollars_per_proof: float | None = None
    min_rate_env: str = "MIN_RATE"

    def __post_init__(self) -> None:
        if not self.image.strip():
            raise ValueError("image must not be empty")
        if not 1.0 <= self.disk_gb <= DISK_LIMIT_GB:
            raise ValueError(f"disk_gb must lie between 1 and {DISK_LIMIT_GB:.0f}")
        if len(self.onstart) > ONSTART_LIMIT:
            raise ValueError(f"onstart must be of at most {ONSTART_LIMIT} characters")
        if len(self.label) > LABEL_LIMIT or not self.label.isprintable():
            raise ValueError(f"label must be one line of at most {LABEL_LIMIT} characters")
        most = self.max_dollars_per_proof
        if most is not None and not LEAST_PER_PROOF <= most <= MOST_PER_PROOF:
            raise ValueError(
                f"max_dollars_per_proof must lie between {LEAST_PER_PROOF:g} and {MOST_PER_PROOF:g}"
            )
        self._check_names()
        self._refuse_secrets()

    def _check_names(self) -> None:
        # Told by their place: a name that is none may hold a secret, and an error is logged.
        if not _VARIABLE.match(self.min_rate_env):
            raise ValueError("min_rate_env is no name of a variable")
        for place, name in enumerate(self.secrets, 1):
            if not _VARIABLE.match(name):
                raise ValueError(f"name {place} of secrets is no name of a variable")
            if not re.match(r"(env:[A-Za-z_]\w*|file:.+)\Z", self.secrets[name]):
                raise ValueError(f"secrets.{name} must be env:NAME or file:PATH")
            if name in self.env:
                raise ValueError(f"{name} stands in env and in secrets")
        for place, name in enumerate(self.env, 1):
            if not _VARIABLE.match(name) and not name.startswith("-"):
                raise ValueError(
                    f"name {place} of env is neither a variable nor a flag of docker's"
                )
        if self.max_dollars_per_proof is not None and self.min_rate_env in {
            *self.env, *self.secrets,
        }:  # fmt: skip
            raise ValueError(
                f"{self.min_rate_env} stands in env or secrets and is set by max_dollars_per_proof"
            )

    def _refuse_secrets(self) -> None:
        # Said without the text: an error is shown and logged.
        mask = Redactor().line
        for place, (name, value) in enumerate(self.env.items(), 1):
            if mask(f"{name}={value}") != f"{name}={value}":
                said = f"env.{name}" if _VARIABLE.match(name) else f"entry {place} of env"
                raise ValueError(f"{said} looks like a secret: name its place under secrets")
        if any(mask(line) != line for line in (*self.onstart.splitlines(), self.image)):
            raise ValueError("onstart or image holds a secret: hand it over by a variable")
        if mask(self.label) != self.label:
            raise ValueError("label holds a secret: anyone who sees the instance sees its label")

    def min_rate(self, price: float) -> int | None:
        """Return the least proofs an hour at a price in dollars an hour."""
        if self.max_dollars_per_proof is None:
            return None
        return math.ceil(price / self.max_dollars_per_proof - 1e-9)

    @property
    def fingerprint(self) -> str:
        """Tell this template from another of its name, as after an edit of the settings."""
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()[:16]


class Deploy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The owner's limits of renting, and the templates by their names.

    Nothing is rented that would bring the fleet over `max_instances`, or its burn (every instance
    counted as running) over `max_dollars_per_hour`.
    """

    max_instances: int = 50
    max_dollars_per_hour: float = 20.0
    templates: dict[str, Template] = {}

    @property
    def secret_names(self) -> frozenset[str]:
        """Names of the variables that the templates say hold a secret."""
        return frozenset(name for one in self.templates.values() for name in one.secrets)

    def __post_init__(self) -> None:
        if self.max_instances < 0 or not self.max_dollars_per_hour >= 0:
            raise ValueError("max_instances and max_dollars_per_hour must not be negative")


class Rental(msgspec.Struct, frozen=True, kw_only=True):
    """What an intent to rent is bound to: the offer and price seen, and the template meant."""

    offer_id: int
    template: str
    fingerprint: str
    price: float

    @property
    def dearest(self) -> float:
        """The most that may be paid, in dollars an hour."""
        return self.price * PRICE_DRIFT


def marked_label(label: str, intent_id: str) -> str:
    """Return the label of the instance of one intent, by which it is found again."""
    digits = hashlib.sha256(intent_id.encode()).hexdigest()[:_MARK_DIGITS]
    return f"{label}#{digits}"


def plain_label(label: str | None) -> str:
    """Return a label without an intent's mark."""
    return _MARK.sub("", label or "")


class RentalPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One request to rent as it is shown before it is asked for; secrets are masked in `body`."""

    offer_id: int
    machine_id: int | None
    gpu: SafeText
    price: float | None
    expected_dollars_per_proof: float | None
    body: dict[str, object]
    refusal: SafeText | None = None
