"""The closed vocabulary of findings and what may explain what (facts: categories.md).

The words, their severities, their order of precedence and the causal table are data:
`vocabulary.toml` beside this module.
"""

import tomllib
from importlib.resources import files

import msgspec

from fleetui.domain.finding import Severity


class Category(msgspec.Struct, frozen=True, kw_only=True):
    """One word of the vocabulary. `rank` is its place in the order of precedence, 0 the deepest."""

    name: str
    rank: int
    field: str
    severity: Severity
    meaning: str
    summary: str
    advice: str
    action: str | None = None


class _Pairs(msgspec.Struct, frozen=True, kw_only=True):
    explains: frozenset[tuple[str, str]]
    denies: frozenset[tuple[str, str]]


class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    field: str
    severity: Severity
    meaning: str
    summary: str
    advice: str
    action: str | None = None


class _Recovery(msgspec.Struct, frozen=True, kw_only=True):
    proofs_heal: frozenset[str]


class _Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    explains: dict[str, list[str]]
    pairs: _Pairs
    recovery: _Recovery
    shared: dict[str, str]
    category: dict[str, _Entry]


def _read() -> _Document:
    text = files(__package__).joinpath("vocabulary.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _Document)


_DOCUMENT = _read()

CATEGORIES: dict[str, Category] = {
    name: Category(
        name=name,
        rank=rank,
        field=entry.field,
        severity=entry.severity,
        meaning=entry.meaning,
        summary=entry.summary,
        advice=entry.advice,
        action=entry.action,
    )
    for rank, (name, entry) in enumerate(_DOCUMENT.category.items())
}
"""Every category by name, the deepest cause first."""

HEALED_BY_PROOFS: frozenset[str] = _DOCUMENT.recovery.proofs_heal
"""Categories that a later good proof shows to be over."""


SHARED_CAUSES: dict[str, str] = _DOCUMENT.shared
"""What usually is behind a category that many hosts have at once; `any` for all others."""


def explains(cause: str, consequence: str) -> bool:
    """Whether a finding of `cause` may have one of `consequence` as its echo."""
    pair = (cause, consequence)
    if cause == consequence or pair in _DOCUMENT.pairs.denies:
        return False
    if pair in _DOCUMENT.pairs.explains:
        return True
    deep, shallow = CATEGORIES[cause], CATEGORIES[consequence]
    return deep.rank < shallow.rank and shallow.field in _DOCUMENT.explains.get(deep.field, [])
