"""What the words of a raw log line say: trouble, a warning. Pure."""

import re

TROUBLE_WORDS = (
    "error", "fatal", "panic", "panicked", "critical", "traceback", "failed", "failure",
    "broken pipe", "out of memory", "oom-kill", "killed", "segfault", "cannot", "refused",
)  # fmt: skip
WARNING_WORDS = (
    "warn", "warning", "deprecated", "retry", "retrying", "timeout", "time out", "timedout",
    "timed out",
)  # fmt: skip
COLOUR = r"\x1b\[[0-9;:]*m"


def _whole_words(words: tuple[str, ...]) -> re.Pattern[bytes]:
    return re.compile(rb"\b(?:%s)\b" % "|".join(words).encode(), re.IGNORECASE)


_TROUBLE = _whole_words(TROUBLE_WORDS)
_NO_TROUBLE = re.compile(rb"\b(?:0 (?:errors|failed)|failed[=:] ?0)\b", re.IGNORECASE)
_WARNING = _whole_words(WARNING_WORDS)
_COLOURS = re.compile(COLOUR.encode())


def plain_bytes(raw: bytes) -> bytes:
    """Return a line without its colours."""
    return _COLOURS.sub(b"", raw) if b"\x1b" in raw else raw


def is_trouble(line: bytes) -> bool:
    """Tell whether a line speaks of an error."""
    line = plain_bytes(line)
    return bool(_TROUBLE.search(line)) and not _NO_TROUBLE.search(line)


def is_warning(line: bytes) -> bool:
    """Tell whether a line warns, or worse."""
    return bool(_WARNING.search(plain_bytes(line))) or is_trouble(line)
