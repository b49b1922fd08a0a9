"""One short name for the same fault on many hosts."""

import re

_LIMIT = 120
_MASKS = (
    (
        re.compile(
            r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE
        ),
        "<id>",
    ),
    (re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|[+-]\d{4})?"), "<time>"),
    # The kernel's and the system log's own beginnings.
    (re.compile(r"\A\[\s*\d+\.\d+\]"), "<time>"),
    (re.compile(r"\A[A-Z][a-z]{2}\s+\d+ [\d:]{8} \S+"), "<time>"),
    (re.compile(r"\[[0-9a-f]*:[0-9a-f:]+\](?::\d+)?", re.IGNORECASE), "<address>"),
    (
        re.compile(
            r"(?<![\w.-])(?:\w{1,12}://)?(?:[\w-]{1,63}\.){1,8}"
            r"(?:com|net|org|io|ai|dev|app|cloud|co|eu)\b(?::\d+)?"
        ),
        "<address>",
    ),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<address>"),
    (re.compile(r"(?<![\w.])/(?:[\w.@+-]+/)*[\w.@+-]+"), "<path>"),
    (re.compile(r"\b(?:0x)?[0-9a-f]{12,}\b", re.IGNORECASE), "<hex>"),
    (re.compile(r"0x[0-9a-f]+", re.IGNORECASE), "<hex>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{2,11}\b", re.IGNORECASE), "<n>"),
    (re.compile(r"\d+(?:\.\d+)?"), "<n>"),
    (re.compile(r"\s+"), " "),
)


def signature(category: str, text: str) -> str:
    """Return `category` and the line with its numbers, ids, addresses and paths masked."""
    masked = text[: _LIMIT * 4]
    for pattern, mask in _MASKS:
        masked = pattern.sub(mask, masked)
    return f"{category}|{masked.strip()[:_LIMIT]}"
