"""What is looked for in log lines: a text, or an expression searched in linear time (RE2)."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from fleetui.console.line_words import (
    COLOUR,
    TROUBLE_WORDS,
    WARNING_WORDS,
    is_trouble,
    is_warning,
    plain_bytes,
)

_PLAIN = re.compile(r"[^\\^$.|?*+()\[\]{}]*")
_OF_ONE_TEXT = re.compile(r"\\[AzZ]|\(\?")
"""What means something else in one line than in several."""
_MEMORY = 1 << 20


class LineFilter(msgspec.Struct, frozen=True):
    """A compiled search. `!` in front turns it round; a capital letter makes case matter."""

    text: str
    negated: bool
    is_text: bool
    """Whether it is no expression: it was none to begin with, or one that RE2 refuses."""
    compiled: Any
    in_many: Any = None
    """Finds something in lines joined by line feeds whenever one of them matches; or `None`."""
    takes_colours: bool = False
    """Whether `in_many` reads over colours by itself."""
    decides: Callable[[bytes], bool] | None = None
    """Decides on a line in the place of `compiled`."""

    def matches(self, raw: bytes) -> bool:
        """Tell whether a raw line passes; its colours do not count."""
        if self.decides is not None:
            return self.decides(raw)
        return (self.compiled.search(plain_bytes(raw)) is not None) != self.negated

    def may_match(self, lines: bytes) -> bool:
        """Tell whether any of many lines can pass; far cheaper than to ask for each."""
        if self.in_many is None or self.negated:
            return True
        lines = lines if self.takes_colours else plain_bytes(lines)
        return self.in_many.search(lines) is not None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the search is found in a drawn text, in characters."""
        if self.negated or self.compiled is None:
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

    options = _options(case_sensitive=wanted != wanted.lower())
    raw = wanted.encode("utf-8", "replace")
    if not _PLAIN.fullmatch(wanted):
        try:
            compiled = re2.compile(raw, options)
            in_many = None if _OF_ONE_TEXT.search(wanted) else re2.compile(b"(?m)" + raw, options)
        except re2.error:
            pass
        else:
            return LineFilter(text, negated, is_text=False, compiled=compiled, in_many=in_many)
    in_many = _in_many((wanted,), options)
    options.literal = True
    compiled = re2.compile(raw, options)
    return LineFilter(
        text, negated, is_text=True, compiled=compiled, in_many=in_many, takes_colours=True
    )


def trouble_lines() -> LineFilter:
    """Return the search for lines that speak of an error."""
    return _of_words("errors", TROUBLE_WORDS, is_trouble)


def warning_lines() -> LineFilter:
    """Return the search for lines that warn, or worse."""
    return _of_words("warnings", WARNING_WORDS + TROUBLE_WORDS, is_warning)


def _of_words(name: str, words: tuple[str, ...], decides: Callable[[bytes], bool]) -> LineFilter:
    in_many = _in_many(words, _options(case_sensitive=False))
    return LineFilter(
        name, negated=False, is_text=False, compiled=None, in_many=in_many, takes_colours=True,
        decides=decides,
    )  # fmt: skip


def _in_many(texts: tuple[str, ...], options: Any) -> Any:  # noqa: ANN401 - types of re2's, loaded late
    """Compile texts so that colours between their characters are read over.

    To take the colours out of a megabyte first costs eight times the search.
    """
    import re2  # noqa: PLC0415 - as above

    between = f"(?:{COLOUR})*"
    ways = [between.join(re.escape(character) for character in text) for text in texts]
    try:
        return re2.compile("|".join(ways).encode("utf-8", "replace"), options)
    except re2.error:
        # Too long a text for its memory.
        return None


def _options(*, case_sensitive: bool) -> Any:  # noqa: ANN401 - a type of re2's, loaded late
    import re2  # noqa: PLC0415 - as above

    options = re2.Options()
    options.case_sensitive = case_sensitive
    options.log_errors = False
    options.max_mem = _MEMORY
    return options
