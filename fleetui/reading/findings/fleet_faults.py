"""One fault behind many: what fails on many hosts at once is no fault of the hosts.

The single findings stay; the fleet's finding leads them. Pure, over all that stand now.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from fleetui.domain.finding import Evidence, Finding, Severity
from fleetui.domain.finding_record import FleetFinding
from fleetui.domain.instance import Walk
from fleetui.reading.findings.clues import EVIDENCE_LIMIT, make, quote, remark
from fleetui.reading.findings.siblings import Census
from fleetui.reading.findings.vocabulary import CATEGORIES, SHARED_CAUSES

AT_ONCE_SECONDS = 900.0
"""How far apart the beginnings on the hosts may lie to count as one."""
LEAST_HOSTS = 3
LARGE_FLEET_SHARE = 0.05
SMALL_FLEET_SHARE = 0.2
ENOUGH_HOSTS = 10
API_TROUBLE_SECONDS = 30.0
"""How long the list must not be readable; one failed walk is no trouble yet."""


class Sighting(msgspec.Struct, frozen=True):
    """One finding of one instance and since when it stands there."""

    instance_id: int
    finding: Finding
    since: float


def fleet_findings(
    sightings: Iterable[Sighting],
    census: Census,
    *,
    now: float,
    walk: Walk | None = None,
    api_failing_since: float | None = None,
) -> tuple[FleetFinding, ...]:
    """Return the faults of the fleet as a whole.

    A category leads when it began on many hosts at once, or when exactly those that differ from
    the others have it. `walk` is the newest one; `api_failing_since` the begin of the first
    failed one after the last complete one.
    """
    by_category: dict[str, list[Sighting]] = defaultdict(list)
    for sighting in sightings:
        if sighting.finding.severity is not Severity.INFO and not sighting.finding.over:
            by_category[sighting.finding.category].append(sighting)
    found = [
        fleet_finding
        for category, members in by_category.items()
        if (fleet_finding := _of_category(category, members, census)) is not None
    ]
    trouble = _api_trouble(walk, api_failing_since, now, len(census))
    if trouble is not None:
        found = [one for one in found if one.finding.category != trouble.finding.category]
        found.insert(0, trouble)
    return tuple(found)


def many(count: int, fleet: int) -> bool:
    """Tell whether so many hosts of a fleet are too many for a coincidence."""
    enough = min(SMALL_FLEET_SHARE * fleet, max(ENOUGH_HOSTS, LARGE_FLEET_SHARE * fleet))
    return count >= max(LEAST_HOSTS, enough)


def _of_category(category: str, members: Sequence[Sighting], census: Census) -> FleetFinding | None:
    at_once = _largest_cluster(members)
    odd = census.only_odd_ones(member.instance_id for member in members)
    is_many = many(len(at_once), len(census))
    if not is_many and odd is None:
        return None
    chosen = at_once if is_many else list(members)
    ids = tuple(sorted({member.instance_id for member in chosen}))
    worst = min((member.finding for member in chosen), key=lambda finding: finding.severity.rank)
    if is_many:
        cause = SHARED_CAUSES.get(category, SHARED_CAUSES["any"])
        summary = f"{len(ids)} of {len(census)} hosts at once: {CATEGORIES[category].meaning}. "
        summary += f"{cause}{f'; {odd}' if odd else ''}"
    else:
        summary = f"{str(odd)[:1].upper()}{str(odd)[1:]}: {CATEGORIES[category].meaning}"
    plain = make(
        category,
        severity=worst.severity,
        confidence=0.8 if is_many else 0.7,
        summary=f"{summary}. E.g. {quote(worst.summary)}",
        advice=None if is_many else f"Compare what they differ in first. {worst.advice}",
        evidence=_one_each(chosen),
        count=len(ids),
    )
    return FleetFinding(
        msgspec.structs.replace(
            plain,
            first_seen=min(member.since for member in chosen),
            last_seen=max((member.finding.last_seen or member.since) for member in chosen),
            signature=f"fleet|{worst.signature}",
            action=None,
        ),
        ids,
    )


def _largest_cluster(members: Sequence[Sighting]) -> list[Sighting]:
    """Return the most sightings that began within the time that counts as one."""
    ordered = sorted(members, key=lambda member: member.since)
    best: list[Sighting] = []
    begin = 0
    for end, member in enumerate(ordered):
        while member.since - ordered[begin].since > AT_ONCE_SECONDS:
            begin += 1
        if end - begin + 1 > len(best):
            best = ordered[begin : end + 1]
    return best


def _one_each(members: Iterable[Sighting]) -> list[Evidence]:
    proofs = [
        msgspec.structs.replace(
            member.finding.evidence[0],
            source=f"instance {member.instance_id} {member.finding.evidence[0].source}",
        )
        for member in members
        if member.finding.evidence
    ]
    return proofs[:EVIDENCE_LIMIT]


def _api_trouble(
    walk: Walk | None, failing_since: float | None, now: float, instances: int
) -> FleetFinding | None:
    if walk is None or failing_since is None or now - failing_since < API_TROUBLE_SECONDS:
        return None
    category = walk.error_category if walk.error_category in CATEGORIES else "vast_api_error"
    finding = make(
        category or "vast_api_error",
        confidence=0.95,
        evidence=[remark("vast", str(walk.error or "the walk failed"), walk.ended_at)],
        summary=f"The Vast API gives no list since {(now - failing_since) / 60:.0f} min: what is "
        f"shown of {instances} instances is old, not gone. It says: {walk.error or 'nothing'}",
    )
    signature = f"fleet|{finding.signature}"
    return FleetFinding(
        msgspec.structs.replace(finding, first_seen=failing_since, signature=signature)
    )


def begin_of(
    known: Mapping[tuple[int, str], float], instance_id: int, finding: Finding, now: float
) -> float:
    """Return since when a finding stands: as known, by its own evidence, or from now on."""
    since = known.get((instance_id, finding.category))
    if since is not None:
        return since
    return min(finding.first_seen, now) if finding.first_seen is not None else now
