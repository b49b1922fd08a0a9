"""Proofs that fail verification or never come, by the daemon's log and its own account."""

import re
from collections.abc import Iterator

from fleetui.domain.finding import Finding, Severity
from fleetui.reading.findings.clues import Clues, make, remark

_INVALID_OF = re.compile(r"PER-PARTITION VERIFICATION: (\d+)/(\d+) valid", re.IGNORECASE)


def look(clues: Clues) -> Iterator[Finding]:
    """Find bad proofs and lost jobs."""
    yield from _proofs(clues)
    yield from _status(clues)


def _proofs(clues: Clues) -> Iterator[Finding]:
    facts = clues.facts("proof_invalid")
    if not facts:
        return
    summary = None
    for fact in facts:
        match = _INVALID_OF.search(fact.text)
        if match is not None:
            valid, total = int(match[1]), int(match[2])
            blame = "a software fault such as colliding job ids" if not valid else "the card"
            summary = f"A proof fails verification: {valid} of {total} partitions are valid, "
            summary += f"which points to {blame}"
    yield make(
        "proof_invalid",
        facts=facts,
        count=clues.count("proof_invalid"),
        severity=clues.severity_after_recovery("proof_invalid", facts),
        summary=summary,
    )


def _status(clues: Clues) -> Iterator[Finding]:
    """Read the daemon's own account (facts: cuzk.md section 3.1)."""
    status = clues.case.status
    if status is None:
        return
    bad = status.counters.total_failed
    if bad:
        done = status.counters.total_completed
        yield make(
            "proof_invalid",
            evidence=[remark("status", f"total_failed {bad}, total_completed {done}", status.at)],
            confidence=0.8,
            severity=Severity.WARNING if done else None,
            count=bad,
            summary=f"{bad} proof(s) failed the daemon's self-check since its start, {done} passed",
        )
    for job in status.pipelines:
        failed = [part.index for part in job.partitions if part.state == "failed"]
        if failed:
            yield make(
                "job_lost",
                evidence=[
                    remark("status", f"job {job.job_id}: partitions {failed} failed", status.at)
                ],
                confidence=0.7,
                summary=f"{len(failed)} of {job.total_partitions} partitions of a job failed; the "
                "daemon will never finish that job",
            )
