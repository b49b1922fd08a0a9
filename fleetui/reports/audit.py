"""The audit as plain lines."""

from collections.abc import Iterable
from datetime import UTC, datetime

from fleetui.domain.intent import AuditEntry


def audit_text(entries: Iterable[AuditEntry]) -> str:
    """Draw audit entries as lines: time (UTC), who, what, target, detail."""
    return "\n".join(_line(entry) for entry in entries) or "the audit is empty"


def _line(entry: AuditEntry) -> str:
    at = datetime.fromtimestamp(entry.at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    target = "" if entry.instance_id is None else f" {entry.instance_id}"
    verb = f" {entry.verb}" if entry.verb else ""
    return f"{at}  {entry.actor}  {entry.event}{verb}{target}  {entry.detail}".rstrip()
