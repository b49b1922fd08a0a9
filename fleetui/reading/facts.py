"""Matched lines, thinned but truly counted."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from fleetui.domain.stream import Fact
from fleetui.domain.text import SafeText
from fleetui.profiles.model import Rule

FIRST = 4
LAST = 16
"""How many facts of a rule and generation are kept from its beginning and its end."""

_MOST_BUCKETS = 2048


@dataclass(slots=True)
class _Bucket:
    first: list[tuple[int, Fact]] = field(default_factory=list)
    last: deque[tuple[int, Fact]] = field(default_factory=lambda: deque(maxlen=LAST))


class Facts:
    """The facts of one instance, in the order read."""

    def __init__(self) -> None:
        self._buckets: dict[tuple[str, str, int], _Bucket] = {}
        self._counts: dict[str, int] = {}
        self._looks: dict[str, tuple[Fact, ...]] = {}
        self._order = 0
        self._all: tuple[Fact, ...] | None = None
        self.version = 0
        self.faults = 0
        """How many rules that name a category have matched."""

    def add(self, rule: Rule, fact: Fact) -> None:
        """Take one more line of a stream."""
        self._counts[rule.id] = self._counts.get(rule.id, 0) + 1
        self.faults += rule.category is not None and self._counts[rule.id] == 1
        key = (rule.id, fact.source, fact.generation)
        bucket = self._buckets.get(key)
        if bucket is None:
            if len(self._buckets) >= _MOST_BUCKETS:
                del self._buckets[next(iter(self._buckets))]
            bucket = self._buckets[key] = _Bucket()
        self._order += 1
        if len(bucket.first) < FIRST:
            bucket.first.append((self._order, fact))
        else:
            bucket.last.append((self._order, fact))
        self._all = None
        self.version += 1

    def move(self, moved: Callable[[float], float]) -> None:
        """Date all facts of streams anew."""
        for bucket in self._buckets.values():
            for kept in (bucket.first, bucket.last):
                for place, (order, fact) in enumerate(kept):
                    if fact.at is not None:
                        kept[place] = (order, replace(fact, at=moved(fact.at)))
        self._all = None
        self.version += 1

    def look(self, source: str, facts: tuple[Fact, ...]) -> None:
        """Set what the newest look at a source that is no stream showed."""
        if self._looks.get(source, ()) != facts:
            self._looks[source] = facts
            self._all = None
            self.version += 1

    @property
    def all(self) -> tuple[Fact, ...]:
        """The kept facts: of streams in the order read, then those of the newest looks."""
        if self._all is None:
            kept = [
                entry
                for bucket in self._buckets.values()
                for entry in (*bucket.first, *bucket.last)
            ]
            kept.sort(key=lambda entry: entry[0])
            looks = [fact for facts in self._looks.values() for fact in facts]
            self._all = (*(fact for _, fact in kept), *looks)
        return self._all

    @property
    def counts(self) -> dict[str, int]:
        """The true number of lines a rule."""
        counts = dict(self._counts)
        for facts in self._looks.values():
            for fact in facts:
                counts[fact.rule] = counts.get(fact.rule, 0) + 1
        return counts


def fact_of_look(
    rule: Rule,
    kind: str,
    source: str,
    *,
    line: int,
    text: SafeText,
    at: float | None,
    fields: dict[str, str],
) -> Fact:
    """Make the fact of a line that came from no stream (kernel, API, SSH client)."""
    return Fact(
        rule=rule.id,
        kind=kind,
        source=source,
        generation=1,
        offset=0,
        line=line,
        text=text,
        at=at,
        fields=fields,
        category=rule.category,
    )
