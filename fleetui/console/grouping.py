"""Failures of a fleet grouped by their signature. Pure."""

from collections.abc import Iterable

import msgspec

from fleetui.domain.finding import Evidence, Finding, Severity
from fleetui.domain.reading import Reading
from fleetui.domain.text import SafeText


class FailureGroup(msgspec.Struct, frozen=True, kw_only=True):
    """One fault and the instances that have it; words are those of its newest sighting."""

    category: str
    signature: str
    severity: Severity
    summary: SafeText
    advice: SafeText
    instance_ids: tuple[int, ...]
    last_seen: float | None
    newest_id: int
    newest: Finding

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What proves the newest sighting."""
        return self.newest.evidence


def group_failures(readings: Iterable[Reading]) -> list[FailureGroup]:
    """Group the findings that matter: the worst first, then the most frequent."""
    groups: dict[tuple[str, str], list[tuple[int, Finding]]] = {}
    for reading in readings:
        for finding in reading.findings:
            if finding.severity is not Severity.INFO:
                key = (finding.category, finding.signature)
                groups.setdefault(key, []).append((reading.instance_id, finding))
    result = []
    for (category, signature), members in groups.items():
        newest_id, newest = max(members, key=lambda member: member[1].last_seen or 0.0)
        worst = min((finding.severity for _, finding in members), key=lambda s: s.rank)
        ids = tuple(sorted({instance_id for instance_id, _ in members}))
        result.append(
            FailureGroup(
                category=category, signature=signature, severity=worst, summary=newest.summary,
                advice=newest.advice, instance_ids=ids, last_seen=newest.last_seen,
                newest_id=newest_id, newest=newest,
            )
        )  # fmt: skip
    return sorted(result, key=lambda g: (g.severity.rank, -len(g.instance_ids), g.category))
