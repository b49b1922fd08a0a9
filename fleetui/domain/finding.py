"""A diagnosed problem and the bytes that prove it."""

from enum import StrEnum

import msgspec

from fleetui.domain.text import SafeText


class Severity(StrEnum):
    """How much a finding matters: `critical` costs money now."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for the worst, for sorting."""
        return list(Severity).index(self)


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line, probe value or API answer that supports a statement.

    `source` is the file's path on the host for a log line, else `probe:NAME`, `kernel`,
    `status`, `vast` or `ssh`. `line` counts from 1 inside the generation; `offset` is the byte
    offset of the line's first byte there.
    """

    source: str
    text: SafeText
    line: int | None = None
    generation: int | None = None
    offset: int | None = None
    at: float | None = None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One root cause. What merely follows from it is listed as its evidence.

    `category` is a word of the finding vocabulary (facts: categories.md). `confidence` lies in
    0..1. `signature` masks numbers, ids and paths, so that the same fault on many hosts groups.
    `action` is the verb that usually mends it.
    """

    category: str
    severity: Severity
    confidence: float
    summary: SafeText
    advice: SafeText
    evidence: tuple[Evidence, ...] = ()
    first_seen: float | None = None
    last_seen: float | None = None
    count: int = 1
    signature: str = ""
    action: str | None = None
    over: bool = False
    """Whether it is past: worth knowing, but no cause of what is still wrong."""
