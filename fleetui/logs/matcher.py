"""Which rules a line obeys: literals first, expressions only for lines that hold one.

Literals are searched all at once with Aho-Corasick (facts: perf.md section 5). The same rules
give raw *tokens*: pieces of the literals that colour codes do not cut, with which raw chunks are
searched before anything is decoded.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import ahocorasick_rs

from fleetui.profiles.model import Rule

Match = tuple[Rule, dict[str, str]]

_CUT = re.compile(r"([=:{}\[\]()|#\"<>]|[^\x20-\x7e])")
_LEVEL = re.compile(r"\s*(?:trace|debug|info|warn|error)\s+")


class Matcher:
    """Rules compiled once; safe to share, holds no state of any stream."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self._by_kind: dict[str, KindMatcher] = {}

    def __deepcopy__(self, memo: dict[int, object]) -> "Matcher":
        return self

    def for_kind(self, kind: str) -> "KindMatcher":
        """Return the compiled rules that look at streams of `kind`."""
        matcher = self._by_kind.get(kind)
        if matcher is None:
            matcher = KindMatcher([rule for rule in self.rules if rule.reads(kind)])
            self._by_kind[kind] = matcher
        return matcher

    def match(self, kind: str, text: str) -> list[Match]:
        """Return the rules that a stripped line obeys, in profile order, with their fields."""
        return self.for_kind(kind).match(text)


@lru_cache(maxsize=8)
def compiled(rules: tuple[Rule, ...]) -> Matcher:
    """Return the matcher of these rules; equal rules share one."""
    return Matcher(rules)


@dataclass(frozen=True, slots=True)
class _Compiled:
    rule: Rule
    unless: tuple[str, ...]


class KindMatcher:
    """The rules of one stream kind."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = [
            _Compiled(rule, tuple(word.lower() for word in rule.unless)) for rule in rules
        ]
        literals: dict[str, list[int]] = {}
        for number, rule in enumerate(rules):
            for literal in rule.any:
                literals.setdefault(literal.lower(), []).append(number)
        self._owners = list(literals.values())
        self._words = ahocorasick_rs.AhoCorasick(list(literals)) if literals else None
        tokens = sorted({raw_token(literal) for literal in literals})
        self._tokens = (
            ahocorasick_rs.BytesAhoCorasick(
                [token.encode() for token in tokens],
                implementation=ahocorasick_rs.Implementation.DFA,
            )
            if tokens
            else None
        )

    def __deepcopy__(self, memo: dict[int, object]) -> "KindMatcher":
        return self

    def match(self, text: str) -> list[Match]:
        """Return the rules that a stripped line obeys, in profile order, with their fields."""
        if self._words is None:
            return []
        lowered = text.lower()
        found: set[int] = set()
        for word, _, _ in self._words.find_matches_as_indexes(lowered, overlapping=True):
            found.update(self._owners[word])
        matches: list[Match] = []
        for number in sorted(found):
            compiled = self._rules[number]
            rule = compiled.rule
            if compiled.unless and any(word in lowered for word in compiled.unless):
                continue
            if rule.pattern is None:
                matches.append((rule, {}))
                continue
            hit = rule.pattern.search(text)
            if hit is not None:
                fields = {name: value for name, value in hit.groupdict().items() if value}
                matches.append((rule, fields))
        return matches

    def token_starts(self, raw: bytes) -> list[int]:
        """Return where raw bytes hold a token, ascending; every matching line has one."""
        if self._tokens is None:
            return []
        found = self._tokens.find_matches_as_indexes(raw.lower())
        return [start for _, start, _ in found]


def raw_token(literal: str) -> str:
    """Return the longest piece of a literal that known programs never cut with colour codes.

    Tracing colours keys, levels, targets and punctuation, aria2 its brackets and figures, so
    pieces end there, a key before `=` is left out, and a level at the head stands alone.
    """
    pieces = _CUT.split(literal.lower())
    best = ""
    for position in range(0, len(pieces), 2):
        piece = pieces[position]
        if position + 1 < len(pieces) and pieces[position + 1] == "=" and " " in piece:
            piece = piece[: piece.rindex(" ")]
        level = _LEVEL.match(piece)
        if level is not None and level.end() < len(piece):
            piece = max(level.group().strip(), piece[level.end() :], key=len)
        best = max(best, piece.strip(), key=len)
    return best
