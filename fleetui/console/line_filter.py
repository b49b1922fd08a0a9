"""What is looked for in log lines: a text, or an expression searched in linear time (RE2)."""

import re
from typing import Any

import msgspec

from fleetui.console.log_ring import is_trouble, plain_bytes

_PLAIN = re.compile(r"[^\\^$.|?*+()\[\]{}]*")
_MEMORY = 1 << 20


class LineFilter(msgspec.Struct, frozen=True):
    """A compiled search. `!` in front turns it round; a capital letter makes case matter."""

    text: str
    negated: bool
    is_text: bool
    """Whether it is no expression: it was none to begin with, or one that RE2 refuses."""
    compiled: Any

    def matches(self, raw: bytes) -> bool:
        """Tell whether a raw line passes; its colours do not count."""
        return (self.compiled.search(plain_bytes(raw)) is not None) != self.negated

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the search is found in a drawn text, in characters."""
        if self.negated:
            return []
        raw = text.encode("utf-8", "replace")
        found = []
        for match in self.compiled.finditer(raw):
            start, end = match.span()
            if end > start:
                found.append((len(raw[:start].decode("utf-8", "replace")),
                              len(raw[:end].decode("utf-8", "replace"))))  # fmt: skip
        return found


def line_filter(text: str) -> LineFilter | None:
    """Compile a search; `None` for an empty one. What RE2 does not take is looked for as it is."""
    negated = text.startswith("!") and len(text) > 1
    wanted = text[1:] if negated else text
    if not wanted:
        return None
    import re2  # noqa: PLC0415 - takes a while to load, so only when something is looked for

    options = re2.Options()
    options.case_sensitive = wanted != wanted.lower()
    options.log_errors = False
    options.max_mem = _MEMORY
    if not _PLAIN.fullmatch(wanted):
        try:
            compiled = re2.compile(wanted.encode("utf-8", "replace"), options)
        except re2.error:
            pass
        else:
            return LineFilter(text, negated, is_text=False, compiled=compiled)
    options.literal = True
    compiled = re2.compile(wanted.encode("utf-8", "replace"), options)
    return LineFilter(text, negated, is_text=True, compiled=compiled)


class _Trouble:
    def search(self, raw: bytes) -> bool | None:
        return is_trouble(raw) or None

    def finditer(self, raw: bytes) -> tuple[()]:
        del raw
        return ()


TROUBLE = LineFilter("errors", negated=False, is_text=False, compiled=_Trouble())
"""Lines that speak of an error."""
