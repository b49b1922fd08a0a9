"""Which rules a line obeys: literals first, expressions only for lines that hold one.

Literals are searched all at once with Aho-Corasick (facts: perf.md section 5). The same rules
give raw tokens, with which raw chunks are searched before anything is decoded.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import ahocorasick_rs

from fleetui.profiles.model import Rule
from fleetui.profiles.tokens import fold, raw_tokens

Match = tuple[Rule, dict[str, str]]

_REDRAW = re.compile(rb"[^\r\n]+")


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
        self._owners = [sorted(set(numbers)) for numbers in literals.values()]
        self._words = (
            ahocorasick_rs.AhoCorasick(
                list(literals), implementation=ahocorasick_rs.Implementation.DFA
            )
            if literals
            else None
        )
        self._always = {number for number, rule in enumerate(rules) if not rule.any}
        tokens = {literal: raw_tokens(literal) for literal in literals}
        self._reads_all = bool(self._always) or not all(tokens.values())
        searched = sorted({token for several in tokens.values() for token in several})
        self._tokens = (
            ahocorasick_rs.BytesAhoCorasick(
                searched, implementation=ahocorasick_rs.Implementation.DFA
            )
            if searched
            else None
        )

    def __deepcopy__(self, memo: dict[int, object]) -> "KindMatcher":
        return self

    def match(self, text: str) -> list[Match]:
        """Return the rules that a stripped line obeys, in profile order, with their fields."""
        lowered = text.lower()
        words = (
            self._words.find_matches_as_indexes(lowered, overlapping=True)
            if self._words is not None
            else ()
        )
        if len(words) == 1 and not self._always:
            # Most lines of a storm hold one literal.
            numbers = self._owners[words[0][0]]
        else:
            found = set(self._always)
            for word, _, _ in words:
                found.update(self._owners[word])
            numbers = sorted(found)
        matches: list[Match] = []
        for number in numbers:
            compiled = self._rules[number]
            rule = compiled.rule
            if compiled.unless and any(word in lowered for word in compiled.unless):
                continue
            fields = {} if rule.pattern is None else rule.pattern.search(text)
            if fields is not None:
                matches.append((rule, fields))
        return matches

    def candidates(self, raw: bytes) -> list[int]:
        """Return places in raw bytes, ascending; every redraw that matches holds one."""
        if self._reads_all:
            return [redraw.start() for redraw in _REDRAW.finditer(raw)]
        if self._tokens is None:
            return []
        return [start for _, start, _ in self._tokens.find_matches_as_indexes(fold(raw))]
