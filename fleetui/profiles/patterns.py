"""Expressions of rules: compiled with the house flags, and checked when they are an operator's.

An operator's expression runs on every line that holds its literal, on bytes that anybody may
have written. What could take exponential time there is refused.
"""

import re
import warnings
from re import _constants as codes  # type: ignore[attr-defined]  # sre has no public parse tree
from re import _parser as parser  # type: ignore[attr-defined]  # the same
from typing import Any

LONGEST = 512
"""Longest expression an operator may write, in characters."""

_MANY = 16
_LOOKS = frozenset({codes.ASSERT, codes.ASSERT_NOT})
_REPEATS = frozenset({codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT})


def compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a rule's expression: case never matters.

    Raises:
        ValueError: it is not an expression, or it matches the empty text.
    """
    try:
        with warnings.catch_warnings():
            # Python warns of brackets whose meaning will change: ask for clear ones instead.
            warnings.simplefilter("error")
            pattern = re.compile(text, re.IGNORECASE)
    except (re.error, Warning, OverflowError, RecursionError) as error:
        message = f"not a regular expression: {error}"
        raise ValueError(message) from error
    if pattern.search("") is not None:
        raise ValueError("the pattern matches the empty text, so it would match every line")
    return pattern


def check_untrusted(text: str) -> None:
    """Refuse an expression that could take very long on some line.

    It must have passed `compile_pattern`.

    Raises:
        ValueError: it is too long, repeats a repeat, refers back, or looks around.
    """
    if len(text) > LONGEST:
        message = f"the pattern is longer than {LONGEST} characters"
        raise ValueError(message)
    wide = _walk(parser.parse(text, re.IGNORECASE), inside_repeat=False)
    if wide > 3:
        raise ValueError("the pattern has more than three open repeats; that can be very slow")


def _walk(tree: Any, *, inside_repeat: bool) -> int:  # noqa: ANN401 - sre nodes have no type
    """Return how many open repeats there are; raise for what is refused."""
    wide = 0
    for code, argument in tree:
        if code is codes.GROUPREF or code is codes.GROUPREF_EXISTS:
            raise ValueError("the pattern refers back to a group; that can be very slow")
        if code in _LOOKS:
            raise ValueError("the pattern looks ahead or behind; that is not allowed here")
        if code in _REPEATS:
            low, high, body = argument
            is_wide = high is codes.MAXREPEAT or high - low > _MANY
            if is_wide and inside_repeat:
                raise ValueError("the pattern repeats a repeat; that can be very slow")
            wide += int(is_wide) + _walk(body, inside_repeat=inside_repeat or is_wide)
        elif code is codes.SUBPATTERN:
            wide += _walk(argument[-1], inside_repeat=inside_repeat)
        elif code is codes.BRANCH:
            if inside_repeat:
                raise ValueError("the pattern repeats a choice; write it as a character class")
            wide += max(_walk(branch, inside_repeat=inside_repeat) for branch in argument[1])
        elif code is codes.ATOMIC_GROUP:
            wide += _walk(argument, inside_repeat=inside_repeat)
    return wide
