"""Masks what must not leave a host: keys, tokens, passwords in any text (DESIGN law 5)."""

import re

MASK = "***"

_WORDS = (
    "token", "secret", "passwd", "password", r"api[_-]?key", r"access[_-]?key",
    r"private[_-]?key", r"auth[_-]?key", "credential", r"(?:fullnode|miner|markets)_api_info",
)  # fmt: skip
_NAME = rf"[A-Za-z0-9_.-]{{0,64}}?(?:{'|'.join(_WORDS)})[A-Za-z0-9_.-]{{0,48}}"
_VALUE = r"""(?:"[^"]*"?|'[^']*'?|[^\s,;&"'}]+)"""
_ISSUERS = r"gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abprs]-|AKIA|ASIA"


def _rule(pattern: str) -> re.Pattern[str]:
    # A lookbehind in front and bounds keep a hostile line from costing its square.
    return re.compile(pattern, re.IGNORECASE)


_RULES = (
    # Header: `Authorization: Bearer x`.
    (_rule(r"\b(authorization\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+)[^\s\"',;]+"), rf"\1{MASK}"),
    (_rule(r"\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}"), rf"\1{MASK}"),
    # `NAME=value`, `name: "value"`, `"name":"value"`, `--name value`.
    (_rule(rf"((?<![\w.-]){_NAME}[\"']?\s*[:=]\s*){_VALUE}"), rf"\1{MASK}"),
    (_rule(rf"((?<![\w.-])--{_NAME}\s+)(?![-]){_VALUE}"), rf"\1{MASK}"),
    # Credentials in an address.
    (_rule(r"((?<![\w+.-])[a-z][a-z0-9+.-]*://)[^\s/@:]*:[^\s/@]+@"), rf"\1{MASK}@"),
    # A token that stands for itself: JWT, and the prefixes of well-known issuers.
    (re.compile(r"\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?"), MASK),
    (re.compile(rf"\b(?:{_ISSUERS})[A-Za-z0-9_-]{{12,}}"), MASK),
)
_HINTS = re.compile(
    r"(?i)token|secret|passw|key|credential|auth|bearer|basic|api_info|://|eyJ|gh[pousr]_|github_pat"
    r"|glpat|hf_|sk-|xox|AKIA|ASIA"
)
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----")
_KEY_END = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY-----")
_LONGEST_KEY_LINES = 400


class Redactor:
    """Masks secrets line by line; a private key's block is left out whole."""

    def __init__(self, known: tuple[str, ...] = ()) -> None:
        """`known` are secrets to be masked wherever they occur."""
        self._known = tuple(sorted((text for text in known if len(text) >= 6), key=len)[::-1])
        self._key_lines = 0

    def line(self, text: str) -> str:
        """Return one line (without its end) with its secrets masked."""
        for secret in self._known:
            text = text.replace(secret, MASK)
        if self._key_lines:
            end = _KEY_END.search(text)
            self._key_lines = 0 if end is not None else (self._key_lines + 1) % _LONGEST_KEY_LINES
            return MASK if end is None else MASK + self.line(text[end.end() :])
        begin = _KEY_BEGIN.search(text)
        if begin is not None:
            end = _KEY_END.search(text, begin.end())
            if end is not None:
                return redact(text[: begin.start()]) + MASK + self.line(text[end.end() :])
            self._key_lines = 1
            return redact(text[: begin.start()]) + MASK
        return redact(text)

    def text(self, text: str) -> str:
        """Return text of many lines with its secrets masked."""
        return "\n".join(self.line(line) for line in text.split("\n"))


def redact(text: str) -> str:
    """Return one line with its secrets masked. Private keys need a `Redactor`."""
    if _HINTS.search(text) is None:
        return text
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
