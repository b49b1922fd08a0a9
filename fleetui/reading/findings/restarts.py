"""Starts of the daemon: asked for, in a loop, or shown only by its uptime."""

from collections.abc import Iterator

from fleetui.domain.finding import Finding, Severity
from fleetui.domain.stage import Stage
from fleetui.domain.stream import Fact
from fleetui.reading.findings.clues import Clues, make, remark

_LOOP_STARTS = 3
_LOOP_SECONDS = 600.0
_ECHO_SECONDS = 300.0
"""How long after the request a restart's script may still end the old daemon."""


def was_asked_for(clues: Clues, at: float | None) -> bool:
    """Whether that moment falls into a restart that somebody asked for here."""
    return at is not None and any(
        asked - 5.0 <= at <= asked + _ECHO_SECONDS for asked in clues.case.restarts
    )


def asked_after(clues: Clues, lost: float | None, started: float | None) -> float | None:
    """Return when a restart was asked for that began this start after the loss."""
    if lost is None or started is None:
        return None
    asked = [
        at for at in clues.case.restarts if lost < at and at - 5.0 <= started <= at + _ECHO_SECONDS
    ]
    return asked[-1] if asked else None


def look(clues: Clues) -> Iterator[Finding]:
    """Find a daemon that starts over and over, or once without having been asked to."""
    said = clues.facts("daemon_crash_loop")
    if said:
        yield make("daemon_crash_loop", facts=said, count=clues.count("daemon_crash_loop"))
    told = False
    by_source: dict[str, list[Fact]] = {}
    for fact in clues.rule("mark.daemon_starting"):
        if fact.at is not None and not was_asked_for(clues, fact.at):
            by_source.setdefault(fact.source, []).append(fact)
    for starts in by_source.values():
        for first, last in zip(starts, starts[_LOOP_STARTS - 1 :], strict=False):
            span = (last.at or 0.0) - (first.at or 0.0)
            if span <= _LOOP_SECONDS:
                count = clues.case.counts.get("mark.daemon_starting", len(starts))
                yield make(
                    "daemon_crash_loop",
                    facts=starts,
                    count=max(count, len(starts)),
                    summary=f"The daemon started {max(count, len(starts))} times, "
                    f"{_LOOP_STARTS} of them within {span:.0f} s",
                )
                told = True
                break
    yield from _fallen_uptime(clues, told=told or bool(said))


def _fallen_uptime(clues: Clues, *, told: bool) -> Iterator[Finding]:
    """Read restarts that only the falling uptime shows; `told` says that a log tells of a loop."""
    since = _begin_of_work(clues)
    starts = [
        one
        for one in clues.case.daemon_starts
        if since is not None and one.at >= since and not was_asked_for(clues, one.at)
    ]
    shown = [
        remark("status", f"uptime shows a start, {one.jobs} proof(s) under way before", one.at)
        for one in starts[-_LOOP_STARTS:]
    ]
    for first, last in zip(starts, starts[_LOOP_STARTS - 1 :], strict=False):
        if not told and last.at - first.at <= _LOOP_SECONDS:
            yield make(
                "daemon_crash_loop",
                evidence=shown,
                count=len(starts),
                confidence=0.85,
                summary=f"The daemon's uptime keeps falling: {len(starts)} starts, {_LOOP_STARTS} "
                f"of them within {last.at - first.at:.0f} s",
            )
            return
    restarted = bool(starts) and not starts[-1].is_first
    if told or not restarted or not starts[-1].jobs or clues.case.stage is not Stage.RUNNING:
        return
    newest = starts[-1]
    healed = any((fact.at or 0.0) > newest.at for fact in clues.rule("mark.proof_passed"))
    yield make(
        "prover_lost",
        evidence=shown,
        confidence=0.7,
        severity=Severity.INFO if healed else Severity.WARNING,
        summary=f"The daemon was started anew while {newest.jobs} proof(s) were under way, and "
        "nobody asked for it here; it runs again",
    )


def _begin_of_work(clues: Clues) -> float | None:
    """Return since when the daemon should stay: the benchmark starts several, one after another."""
    begin = None
    for span in reversed(clues.case.spans):
        if span.stage is Stage.RUNNING:
            begin = span.started_at
        elif span.stage is not Stage.DAEMON_RESTART:
            return begin
    return begin if clues.case.spans else float("-inf")
