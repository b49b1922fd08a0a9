"""Masks what must not leave a host: keys, tokens, passwords in any text (DESIGN law 5)."""

import re
from collections.abc import Iterable, Iterator
from functools import cache

MASK = "***"

_WORDS = (
    "token", "secret", "passwd", "password", "passphrase", r"api[_-]?key", r"access[_-]?key",
    r"private[_-]?key", r"auth[_-]?key", "credential", r"(?:fullnode|miner|markets)_api_info",
)  # fmt: skip
_WORD_HINTS = ("token", "secret", "passw", "passp", "key", "credential", "api_info")
_NAME = rf"[A-Za-z0-9_.-]{{0,64}}?(?:{'|'.join(_WORDS)})[A-Za-z0-9_.-]{{0,48}}"
# Words too common in logs for any spelling: only a variable's.
_VARIABLE = r"(?:(?:[A-Z0-9]{1,32}_){0,8}(?:PASS|AUTH|KEY|PAVAIL)|(?:[A-Z0-9]{1,32}_){1,8}PWD)"
# Within a string of JSON within JSON a quote has backslashes in front, and ends with as many.
_VALUE = (
    r"""(?:(?P<quote>\\{1,7}["'])(?:(?!(?<!\\)(?P=quote)).)*(?:(?P=quote))?"""
    r"""|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s,;&"'}]+)"""
)
_IS = r"""(?:\\{0,7}["'])?\s*[:=]\s*"""
_ISSUERS = r"gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abprs]-|AKIA|ASIA"
_SCHEME = r"(?:bearer|basic|digest|token)"
_AFTER_USER = r"(?!\d{1,5}(?:[/\s\"'?#]|$))[^\s\"'<>]{1,512}"


def _rule(pattern: str) -> re.Pattern[str]:
    # A lookbehind in front and bounds keep a hostile line from costing its square.
    return re.compile(pattern, re.IGNORECASE)


_RULES: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    # A header's whole value, up to the quote that it is in: `Authorization: Bearer x`.
    (
        ("authorization", "cookie"),
        _rule(rf"\b((?:authorization|(?:set-)?cookie){_IS}[\"']?(?:{_SCHEME}\s+)?+)(?!\*)[^\s\"'][^\"']*"),
        rf"\1{MASK}",
    ),
    (
        ("bearer", "basic"),
        _rule(r"\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}"),
        rf"\1{MASK}",
    ),
    # `NAME=value`, `name: "value"`, `"name":"value"`, `--name value`.
    (_WORD_HINTS, _rule(rf"((?<![\w.-]){_NAME}{_IS}){_VALUE}"), rf"\1{MASK}"),
    (_WORD_HINTS, _rule(rf"((?<![\w.-])--{_NAME}\s+)(?![-]){_VALUE}"), rf"\1{MASK}"),
    (
        ("pass", "auth", "key", "pavail", "_pwd"),
        re.compile(rf"((?<![\w.-]){_VARIABLE}(?:=|\\{{0,7}}[\"']\s*:\s*)){_VALUE}"),
        rf"\1{MASK}",
    ),
    # Credentials in an address, and on a command line.
    (
        ("://",),
        re.compile(rf"://[^\s/:\"'<>]{{0,128}}:{_AFTER_USER}@"),
        f"://{MASK}@",
    ),
    (
        ("curl", "wget"),
        re.compile(
            r"(\b(?:curl|wget)\b[^\n]{0,400}?\s(?:-[a-zA-Z]{0,8}[uU]\s*|--(?:proxy-)?user[\s=]+)"
            r")(?:\"[^\":]*:[^\"]*\"?|'[^':]*:[^']*'?|[^\s:\"'*]{0,128}:[^\s\"']+)"
        ),
        rf"\1{MASK}",
    ),
    # A token that stands for itself: JWT, and the prefixes of well-known issuers.
    (("eyj",), re.compile(r"\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?"), MASK),
    (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "hf_", "sk-", "xox",
         "akia", "asia"),
        re.compile(rf"\b(?:{_ISSUERS})[A-Za-z0-9_-]{{12,}}"),
        MASK,
    ),
)  # fmt: skip
"""Words of which a line has one in lower case when a rule can apply, the rule, what stands then.

Nearly every line of a log is done after the search for the words, which is cheap.
"""
_HINTS = tuple(dict.fromkeys(hint for hints, _, _ in _RULES for hint in hints))
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----")
_KEY_END = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY-----")
_KEY_REST = re.compile(r"\S*\s?-----END [A-Z0-9 ]*PRIVATE KEY-----")
_KEY_BODY = re.compile(r"\s*[A-Za-z0-9+/]*={0,2}\s*\Z")
_LONGEST_KEY_LINES = 400


class Redactor:
    """Masks secrets line by line; a private key's block is left out whole."""

    def __init__(self, known: tuple[str, ...] = (), *, names: Iterable[str] = ()) -> None:
        """`known` are secrets to be masked wherever they occur, `names` variables that hold one."""
        self._known = tuple(sorted((text for text in known if len(text) >= 6), key=len)[::-1])
        self._named = _named(frozenset(names))
        self._key_lines = 0

    def line(self, text: str) -> str:
        """Return one line (without its end) with its secrets masked."""
        for secret in self._known:
            text = text.replace(secret, MASK)
        if self._key_lines:
            end = _KEY_END.search(text)
            self._key_lines = 0 if end is not None else (self._key_lines + 1) % _LONGEST_KEY_LINES
            return MASK if end is None else MASK + self.line(text[end.end() :])
        if "PRIVATE KEY-----" not in text:
            return self._redact(text)
        begin = _KEY_BEGIN.search(text)
        if begin is not None:
            end = _KEY_END.search(text, begin.end())
            if end is not None:
                return self._redact(text[: begin.start()]) + MASK + self.line(text[end.end() :])
            self._key_lines = 1
            return self._redact(text[: begin.start()]) + MASK
        return self._redact(_KEY_REST.sub(MASK, text))

    def lines(self, lines: Iterable[str]) -> Iterator[str]:
        """Mask lines in their order; also a key whose beginning was cut off, as by a tail."""
        held: list[str] = []
        for text in lines:
            if not self._key_lines and _KEY_BODY.match(text) and len(held) < _LONGEST_KEY_LINES:
                held.append(text)
                continue
            is_key = bool(held) and not self._key_lines and _KEY_END.search(text) is not None
            is_key = is_key and _KEY_BEGIN.search(text) is None
            for earlier in held:
                yield MASK if is_key and earlier.strip() else self.line(earlier)
            held.clear()
            yield self.line(text)
        for earlier in held:
            yield self.line(earlier)

    def text(self, text: str) -> str:
        """Return text of many lines with its secrets masked."""
        return "\n".join(self.lines(text.split("\n")))

    def _redact(self, text: str) -> str:
        if self._named is not None:
            text = self._named.sub(rf"\1{MASK}", text)
        return redact(text)


def redact(text: str) -> str:
    """Return one line with its secrets masked. Private keys need a `Redactor`."""
    lowered = text.lower()
    for hint in _HINTS:
        if hint in lowered:
            break
    else:
        return text
    for hints, pattern, replacement in _RULES:
        if any(hint in lowered for hint in hints):
            text = pattern.sub(replacement, text)
    return text


@cache
def _named(names: frozenset[str]) -> re.Pattern[str] | None:
    if not names:
        return None
    each = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"((?<![\w.-])(?:{each}){_IS}){_VALUE}")
