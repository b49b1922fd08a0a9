"""The course of a finding: when it began, what was decided about it, how it ended.

A record has facts, written by the collector alone. What operators decide stands beside it; the
state is what both say together at a moment.
"""

from enum import StrEnum

import msgspec

from fleetui.domain.finding import Finding, Severity
from fleetui.domain.host import SshState
from fleetui.domain.reading import Reading
from fleetui.domain.text import SafeText

HOLD_SECONDS = 30.0
"""How long a finding must be missing before it counts as resolved, in fleet time."""
REFRESH_SECONDS = 10.0
"""How often the wording of an open finding is written anew."""

FLEET = 0
"""The instance id of findings of the fleet as a whole."""

CAUSE_GONE = SafeText("its cause is gone")
INSTANCE_GONE = SafeText("the instance is gone")

_BLIND = frozenset({SshState.NONE, SshState.CONNECTING})


class FindingState(StrEnum):
    """Where a finding stands with the operators."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    SNOOZED = "snoozed"
    RESOLVED = "resolved"


class DecisionKind(StrEnum):
    """What an operator can decide about a finding."""

    ACKNOWLEDGE = "acknowledge"
    SNOOZE = "snooze"
    REOPEN = "reopen"


class FindingDecision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One decision on one finding, or (a snooze) on all of one signature until a time."""

    kind: DecisionKind
    actor: SafeText
    at: float
    finding_id: int | None = None
    signature: str | None = None
    until: float | None = None
    note: SafeText = SafeText()


class FindingRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One finding of one instance over its occurrences; `instance_id` 0 is the fleet as a whole.

    Times are epoch seconds of the fleet. `first_seen` is of the first occurrence, `opened_at`
    of the present one; decisions older than `stands_since` no longer count (it came back, or it
    became graver). `finding_id` is given by the store and not part of the document.
    """

    instance_id: int
    finding: Finding
    first_seen: float
    opened_at: float
    last_seen: float
    stands_since: float
    occurrences: int = 1
    machine_id: int | None = None
    label: SafeText | None = None
    missing_since: float | None = None
    resolved_at: float | None = None
    resolution: SafeText | None = None
    instance_ids: tuple[int, ...] = ()
    """Of a fleet finding: whom it concerns."""
    finding_id: int = 0
    decision: FindingDecision | None = None
    """The newest decision that still counts; joined by the store when read."""

    def state(self, now: float) -> FindingState:
        """Return what facts and decisions say together at `now`."""
        if self.resolved_at is not None:
            return FindingState.RESOLVED
        decision = self.decision
        if decision is None or decision.kind is DecisionKind.REOPEN:
            return FindingState.OPEN
        if decision.kind is DecisionKind.ACKNOWLEDGE:
            return FindingState.ACKNOWLEDGED
        if decision.until is not None and decision.until <= now:
            return FindingState.OPEN
        return FindingState.SNOOZED


class FleetFinding(msgspec.Struct, frozen=True):
    """One fault of the fleet as a whole and whom it concerns."""

    finding: Finding
    instance_ids: tuple[int, ...] = ()


class MachineMark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is remembered of one kind of fault on one physical machine, past its instances."""

    machine_id: int
    category: str
    signature: str
    severity: Severity
    summary: SafeText
    first_seen: float
    last_seen: float
    occurrences: int = 1
    first_instance: int | None = None
    last_instance: int | None = None

    def is_of_another(self, instance_id: int) -> bool:
        """Tell whether another instance than this one had the fault, too."""
        return {self.first_instance or self.last_instance, self.last_instance} != {instance_id}


class Mend(msgspec.Struct, frozen=True):
    """How often a fault went away after an act (`None`: by itself), and when last."""

    action: str | None
    times: int
    last_at: float


class SignatureHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What the fleet's past says of one signature."""

    signature: str
    first_seen: float
    last_seen: float
    occurrences: int
    machines: tuple[int, ...] = ()
    mends: tuple[Mend, ...] = ()


def begun(
    finding: Finding, at: float, *, instance_id: int, instance_ids: tuple[int, ...] = ()
) -> FindingRecord:
    """Return the record of a finding that is seen for the first time."""
    seen = min(finding.first_seen or at, at)
    return FindingRecord(
        instance_id=instance_id,
        finding=finding,
        first_seen=seen,
        opened_at=at,
        last_seen=at,
        stands_since=at,
        instance_ids=instance_ids,
    )


def seen_again(
    record: FindingRecord, finding: Finding, at: float, *, instance_ids: tuple[int, ...] = ()
) -> FindingRecord:
    """Return the record after another sight of the finding; the same object when nothing is new.

    A resolved one opens again. One that became graver asks for a new decision.
    """
    returned = record.resolved_at is not None
    graver = finding.severity.rank < record.finding.severity.rank
    told = (finding.severity, finding.signature, finding.count, instance_ids)
    known = (
        record.finding.severity,
        record.finding.signature,
        record.finding.count,
        record.instance_ids,
    )
    is_stale = at - record.last_seen >= REFRESH_SECONDS
    if not returned and record.missing_since is None and told == known and not is_stale:
        return record
    return msgspec.structs.replace(
        record,
        finding=finding,
        opened_at=at if returned else record.opened_at,
        stands_since=at if returned or graver else record.stands_since,
        occurrences=record.occurrences + returned,
        last_seen=at,
        missing_since=None,
        resolved_at=None,
        resolution=None,
        instance_ids=instance_ids,
    )


def missed(record: FindingRecord, at: float) -> FindingRecord:
    """Return the record after a reading that saw enough and does not have the finding."""
    if record.missing_since is None:
        return msgspec.structs.replace(record, missing_since=at)
    if at - record.missing_since < HOLD_SECONDS:
        return record
    return ended(record, at, CAUSE_GONE)


def ended(record: FindingRecord, at: float, resolution: SafeText) -> FindingRecord:
    """Return the record as resolved."""
    return msgspec.structs.replace(
        record, missing_since=None, resolved_at=at, resolution=resolution
    )


def sees(reading: Reading, finding: Finding) -> bool:
    """Tell whether a reading looks where the finding's evidence came from.

    Without the look a missing finding proves nothing: a collector that has just started has the
    logs, but no probe, status or connection yet.
    """
    sources = {proof.source.split(":", 1)[0] for proof in finding.evidence}
    if sources & {"probe", "kernel"} and reading.probe is None:
        return False
    if "status" in sources and reading.status is None and reading.status_error is None:
        return False
    return not ("ssh" in sources and (reading.ssh is None or reading.ssh.state in _BLIND))
