"""From candidates to one root cause with its consequences beneath it."""

from collections.abc import Iterable

import msgspec

from fleetui.domain.finding import Evidence, Finding, Severity
from fleetui.domain.stage import Stage
from fleetui.domain.text import sanitise
from fleetui.reading.findings.clues import EVIDENCE_LIMIT, distinct
from fleetui.reading.findings.vocabulary import CATEGORIES, explains

_SURE_ENOUGH = 0.5
_CHILD = "do_wai"
"""Begin of the wait channel of a shell that waits for a child (facts: cuzk.md section 5)."""
_BENCHMARK_STAGES = frozenset(
    {
        Stage.C1_DOWNLOAD,
        Stage.DAEMON_START,
        Stage.WARMUP,
        Stage.DAEMON_RESTART,
        Stage.BENCH,
        Stage.BENCH_DONE,
    }
)
_BEYOND_THE_BENCHMARK = frozenset({"chain", "market"})


def arrange(candidates: Iterable[Finding], stage: Stage) -> tuple[Finding, ...]:
    """Put the root cause first and fold its consequences into it as evidence.

    One finding a category remains. A candidate that another one explains is no finding of its
    own any more; a lower severity never swallows a higher one unless it is the surer cause.
    """
    best = _one_each(_in_scope(candidate, stage) for candidate in candidates)
    roots = [
        finding
        for finding in best
        if not any(_is_cause(other, finding) for other in best if other is not finding)
    ]
    roots.sort(key=_order)
    return tuple(_with_echoes(root, best, roots) for root in roots)


def _in_scope(finding: Finding, stage: Stage) -> Finding:
    """Never blame the chain for a benchmark: it uses neither curio nor Lotus."""
    field = CATEGORIES[finding.category].field
    if stage not in _BENCHMARK_STAGES or field not in _BEYOND_THE_BENCHMARK:
        return finding
    return msgspec.structs.replace(
        finding,
        severity=max(finding.severity, Severity.WARNING, key=lambda severity: severity.rank),
    )


def _one_each(candidates: Iterable[Finding]) -> list[Finding]:
    best: dict[str, Finding] = {}
    for candidate in candidates:
        known = best.get(candidate.category)
        if known is None:
            best[candidate.category] = candidate
            continue
        first, second = sorted((known, candidate), key=_strength)
        best[candidate.category] = msgspec.structs.replace(
            first,
            evidence=_joined(first.evidence, second.evidence),
            count=first.count + second.count,
        )
    return list(best.values())


def _strength(finding: Finding) -> tuple[int, float]:
    return (finding.severity.rank, -finding.confidence)


def _is_cause(cause: Finding, consequence: Finding) -> bool:
    if cause.confidence < _SURE_ENOUGH or not explains(cause.category, consequence.category):
        return False
    # What has healed explains nothing that is still wrong.
    healed = cause.over or cause.severity is Severity.INFO
    return not healed or consequence.over or consequence.severity is Severity.INFO


def _order(finding: Finding) -> tuple[int, bool, int, float]:
    return (
        finding.severity.rank,
        finding.confidence < _SURE_ENOUGH,
        CATEGORIES[finding.category].rank,
        -finding.confidence,
    )


def _with_echoes(root: Finding, best: list[Finding], roots: list[Finding]) -> Finding:
    echoes = [
        finding
        for finding in sorted(best, key=lambda finding: CATEGORIES[finding.category].rank)
        if finding not in roots and _is_cause(root, finding)
    ]
    if not echoes:
        return root
    # A lesser cause that took the benchmark or stage down with it has cost as much as they have.
    ended = [echo for echo in echoes if CATEGORIES[echo.category].field == "bench"]
    severity = root.severity
    if CATEGORIES[root.category].field != "account":
        severity = min((root, *ended), key=lambda finding: finding.severity.rank).severity
    return msgspec.structs.replace(
        root,
        severity=severity,
        summary=sanitise(root.summary + "".join(_since(echo) for echo in echoes), 600),
        evidence=_joined(root.evidence, *(echo.evidence[: _shown(echo)] for echo in echoes)),
    )


def _since(echo: Finding) -> str:
    """Say what a stall adds to its cause: that nobody will go on."""
    if echo.category != "stage_stalled":
        return ""
    waits = any(proof.source == "probe:ps" and _CHILD in proof.text for proof in echo.evidence)
    return (
        "; the entrypoint waits for a child that never ends" if waits else "; nothing moves since"
    )


def _shown(echo: Finding) -> int:
    """How much of a consequence is told: a stall is a walk through the host, not one line."""
    return 8 if echo.category == "stage_stalled" else 2


def _joined(*groups: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    return distinct(one for group in groups for one in group)[: EVIDENCE_LIMIT * 2]
