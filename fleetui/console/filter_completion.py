"""Completion of the filter language: its fields, and the values that the fleet has now. Pure."""

import re
from collections import Counter
from collections.abc import Iterable

from fleetui.domain.query import FIELDS, TEXT_FIELDS
from fleetui.domain.reading import FleetRow

_LAST_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)*\Z')
_BEGUN = re.compile(r"(!?[A-Za-z_$/%]+)(!=|!~|<=|>=|=|~|<|>)(.*)", re.DOTALL)
MOST = 12
FIRST = ("stage", "label", "gpu", "rate", "finding")
"""Fields that are meant most often."""


def completions(text: str, rows: Iterable[FleetRow]) -> list[str]:
    """Return whole texts that continue what was typed, the likeliest first."""
    match = _LAST_WORD.search(text)
    word = match.group(0) if match else ""
    before = text[: len(text) - len(word)]
    begun = _BEGUN.fullmatch(word)
    if begun is None:
        return [before + end for end in _fields(word)]
    field, operator, value = begun.groups()
    name = field.removeprefix("!").casefold()
    head = before + field + operator
    return [head + _quoted(found) for found in _values(name, value.strip('"'), rows)]


def _fields(word: str) -> list[str]:
    sign, name = ("!", word[1:]) if word.startswith("!") else ("", word)
    if not name:
        return []
    return [
        f"{sign}{field}{'=' if field in TEXT_FIELDS else '<'}"
        for field in dict.fromkeys((*FIRST, *FIELDS))
        if field.startswith(name.casefold())
    ][:MOST]


def _values(name: str, begun: str, rows: Iterable[FleetRow]) -> list[str]:
    if name not in FIELDS:
        return []
    if name not in TEXT_FIELDS:
        numbers = [other for other in ("min", "?") if other.startswith(begun) and other != name]
        return [n for n in numbers if name == "rate" or n == "?"]
    counts: Counter[str] = Counter()
    for row in rows:
        value = FIELDS[name](row, 0.0)
        if isinstance(value, str) and value.casefold().startswith(begun.casefold()):
            counts[value] += 1
    return [value for value, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))][
        :MOST
    ]


def _quoted(value: str) -> str:
    return f'"{value}"' if " " in value else value
