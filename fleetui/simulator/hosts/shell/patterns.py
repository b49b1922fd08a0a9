"""Shell patterns (`*`, `?`, `[...]`) as regular expressions."""

import functools
import re

_SPECIAL = re.compile(r"[\\*?\[\]]")
_ACTIVE = re.compile(r"(?<!\\)(?:\\\\)*[*?\[]")


def pattern_text(pieces: list[tuple[str, bool]]) -> str:
    """Join (text, quoted) pieces to a pattern in which quoted characters stand for themselves."""
    return "".join(_SPECIAL.sub(r"\\\g<0>", text) if quoted else text for text, quoted in pieces)


@functools.lru_cache(maxsize=2048)
def compile_pattern(pattern: str, *, path: bool = False) -> re.Pattern[str]:
    """Compile a pattern; for a `path` component `*` and `?` do not match a leading dot."""
    out = []
    at = 0
    if path and pattern[:1] in {"*", "?", "["}:
        out.append(r"(?!\.)")
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "*":
            if out[-1:] != [".*"]:
                out.append(".*")
        elif char == "?":
            out.append(".")
        elif char == "\\" and at < len(pattern):
            out.append(re.escape(pattern[at]))
            at += 1
        elif char == "[" and (end := _bracket_end(pattern, at)) > 0:
            out.append(_bracket(pattern[at:end]))
            at = end + 1
        else:
            out.append(re.escape(char))
    return re.compile("".join(out), re.DOTALL)


def _bracket_end(pattern: str, start: int) -> int:
    at = start
    if pattern[at : at + 1] in {"!", "^"}:
        at += 1
    if pattern[at : at + 1] == "]":
        at += 1
    while at < len(pattern):
        if pattern.startswith("[:", at) and (close := pattern.find(":]", at + 2)) > 0:
            at = close + 2
            continue
        if pattern[at] == "]":
            return at
        at += 2 if pattern[at] == "\\" else 1
    return -1


_CLASSES = {
    "[:digit:]": "0-9",
    "[:alpha:]": "A-Za-z",
    "[:alnum:]": "A-Za-z0-9",
    "[:upper:]": "A-Z",
    "[:lower:]": "a-z",
    "[:space:]": r" \t\n\r\f\v",
    "[:blank:]": r" \t",
    "[:punct:]": r"!-/:-@\[-`{-~",
    "[:xdigit:]": "0-9A-Fa-f",
}


def _bracket(body: str) -> str:
    negated = body[:1] in {"!", "^"}
    if negated:
        body = body[1:]
    members = re.findall(r"\[:[a-z]+:\]|\\.|.", body, re.DOTALL)
    inside = []
    for index, member in enumerate(members):
        if member in _CLASSES:
            inside.append(_CLASSES[member])
        elif member == "-" and 0 < index < len(members) - 1:
            inside.append("-")
        else:
            inside.append(re.escape(member[-1]))
    text = "".join(inside)
    try:
        re.compile(f"[{text}]")
    except re.error:
        return "(?!)"
    return f"[{'^' if negated else ''}{text}]"


def is_pattern(text: str) -> bool:
    """Say whether a pattern text has an active special character."""
    return _ACTIVE.search(text) is not None


def unescape(text: str) -> str:
    """Return the characters a pattern without special ones stands for."""
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL) if "\\" in text else text


def strip_prefix(value: str, pattern: str, *, longest: bool) -> str:
    """`${value#pattern}` and `${value##pattern}`."""
    compiled = compile_pattern(pattern)
    ends = range(len(value), -1, -1) if longest else range(len(value) + 1)
    if not is_pattern(pattern):
        plain = unescape(pattern)
        return value.removeprefix(plain)
    if not longest and pattern.startswith("*") and not is_pattern(pattern[1:]):
        found = value.find(unescape(pattern[1:]))
        return value if found < 0 else value[found + len(unescape(pattern[1:])) :]
    return next((value[end:] for end in ends if compiled.fullmatch(value, 0, end)), value)


def strip_suffix(value: str, pattern: str, *, longest: bool) -> str:
    """`${value%pattern}` and `${value%%pattern}`."""
    if not is_pattern(pattern):
        plain = unescape(pattern)
        return value[: len(value) - len(plain)] if value.endswith(plain) else value
    if pattern.endswith("*") and not pattern.endswith("\\*") and not is_pattern(pattern[:-1]):
        plain = unescape(pattern[:-1])
        found = value.find(plain) if longest else value.rfind(plain)
        return value if found < 0 else value[:found]
    compiled = compile_pattern(pattern)
    starts = range(len(value) + 1) if longest else range(len(value), -1, -1)
    return next((value[:start] for start in starts if compiled.fullmatch(value, start)), value)
