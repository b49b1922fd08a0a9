"""The audit as plain lines."""

from collections.abc import Iterable
from datetime import UTC, datetime

from fleetui.domain.intent import UNREADABLE, AuditEntry

_NAMED = 10


def audit_text(entries: Iterable[AuditEntry]) -> str:
    """Draw audit entries as lines: time (UTC), who, what, target, detail.

    How many cannot be read, and which, is said at the end.
    """
    known = list(entries)
    lost = [str(entry.sequence) for entry in known if entry.event == UNREADABLE]
    lines = [_line(entry) for entry in known if entry.event != UNREADABLE]
    if lost:
        word = "entry" if len(lost) == 1 else "entries"
        more = ", ..." if len(lost) > _NAMED else ""
        lines.append(f"{len(lost)} {word} cannot be read: {', '.join(lost[:_NAMED])}{more}")
    return "\n".join(lines) or "the audit is empty"


def _line(entry: AuditEntry) -> str:
    at = datetime.fromtimestamp(entry.at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    target = "" if entry.instance_id is None else f" {entry.instance_id}"
    verb = f" {entry.verb}" if entry.verb else ""
    return f"{at}  {entry.actor}  {entry.event}{verb}{target}  {entry.detail}".rstrip()
