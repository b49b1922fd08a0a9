"""Expressions of rules, searched by RE2 in time that grows only with the line's length.

Lines hold what anybody may have written, expressions what an operator may have: an engine that
backtracks could be kept busy for hours by either.
"""

from dataclasses import dataclass, field
from typing import Any

import re2

_MEMORY = 1 << 20
"""What one compiled expression may take, in bytes; a larger one is refused."""


DEAR = 1_500
"""Steps of a program, times one more than its groups: from here on the longest line may take
hundreds of milliseconds, as RE2 falls back to following all ways at once."""
_DEAREST = 20_000


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression; equal texts are equal. Case never matters."""

    text: str
    _compiled: Any = field(compare=False, repr=False)
    _groups: tuple[tuple[str, int], ...] = field(compare=False, repr=False)
    cost: int = field(default=0, compare=False, repr=False)
    """How much work a byte of a line may be at worst: see `DEAR`."""

    def search(self, line: str) -> dict[str, str] | None:
        """Return the named groups that took part in the first match; `None` without a match."""
        raw = line.encode("utf-8", "replace")
        hit = self._compiled.search(raw)
        if hit is None:
            return None
        fields: dict[str, str] = {}
        spans = hit._spans  # noqa: SLF001 - span() asks RE2 for its number of groups each time
        for name, number in self._groups:
            start, end = spans[number]
            if start < end:
                fields[name] = raw[start:end].decode("utf-8", "replace")
        return fields


def compile_pattern(text: str) -> Expression:
    """Compile a rule's expression, in the syntax of RE2.

    Raises:
        ValueError: it is not an expression that RE2 can search for (nothing that looks around
            or refers back), is too large, or matches the empty text.
    """
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        compiled = re2.compile(text.encode(), options)
    except re2.error as error:
        said = error.args[0].decode("utf-8", "replace") if error.args else str(error)
        message = f"not a regular expression of RE2: {said}"
        raise ValueError(message) from error
    except UnicodeEncodeError as error:
        message = f"not a text: {error.reason}"
        raise ValueError(message) from error
    cost = compiled.programsize * (1 + compiled.groups)
    if cost > _DEAREST:
        message = f"the pattern is too dear: {compiled.programsize} steps, {compiled.groups} groups"
        raise ValueError(message)
    if compiled.search(b"") is not None:
        raise ValueError("the pattern matches the empty text, so it would match every line")
    names = sorted(compiled.groupindex.items(), key=lambda entry: entry[1])
    return Expression(
        text, compiled, tuple((name.decode(), number) for name, number in names), cost
    )
