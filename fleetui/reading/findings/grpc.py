"""Connections between prover and client."""

import re
from collections.abc import Iterator

from fleetui.domain.finding import Finding, Severity
from fleetui.domain.stage import Stage
from fleetui.domain.stream import Fact
from fleetui.reading.findings.clues import Clues, make, quote

_SIZES = re.compile(
    r"(?:found (?P<found>\d+) bytes, the limit is:? (?P<limit>\d+))"
    r"|\((?P<got>\d+) vs\.? (?P<most>\d+)\)"
)
_MIB = 1 << 20
_GRACE_SECONDS = 60.0
"""How long curio may be up before its daemon says that it starts."""


def look(clues: Clues) -> Iterator[Finding]:
    """Find refused calls, messages that are too large and calls that take too long."""
    yield from _refused(clues)
    yield from _too_large(clues)
    yield from _too_long(clues)


def _refused(clues: Clues) -> Iterator[Finding]:
    facts = clues.facts("grpc_connection_refused")
    if not facts:
        return
    last = facts[-1]
    # Clients poll while the daemon starts: refusals before the first answer mean nothing.
    answered = clues.followed(
        last, "mark.request", "mark.proof_passed", "mark.throughput", "mark.curio_proved"
    )
    if answered is not None or _is_starting(clues, last):
        return
    running = clues.process("cuzk-daemon")
    state = "" if running is None else "although a daemon runs" if running else "and no daemon runs"
    yield make(
        "grpc_connection_refused",
        facts=facts,
        count=clues.count("grpc_connection_refused"),
        severity=clues.severity_after_recovery("grpc_connection_refused", facts),
        summary=f"Nothing accepts connections at the daemon's address {state}".rstrip()
        + f": {quote(last.text)}",
    )


def _is_starting(clues: Clues, refused: Fact) -> bool:
    """Live only: whether curio asks a daemon that is just about to serve."""
    case = clues.case
    if not case.live or refused.kind != "curio" or refused.at is None:
        return False
    ready = clues.last("mark.daemon_ready")
    if ready is not None and ready.at is not None and ready.at >= refused.at:
        return True
    started = clues.last("mark.daemon_starting")
    begun = started.at if started is not None else None
    if begun is not None and (ready is None or (ready.at or 0.0) < begun):
        return case.now - begun <= case.stage_limits.get(Stage.DAEMON_START, _GRACE_SECONDS)
    first = clues.facts("grpc_connection_refused")[0].at
    return first is not None and case.now - first <= _GRACE_SECONDS


def _too_large(clues: Clues) -> Iterator[Finding]:
    facts = clues.facts("grpc_message_too_large")
    if not facts:
        return
    summary = None
    for fact in facts:
        match = _SIZES.search(fact.text)
        if match is not None:
            found = int(match["found"] or match["got"]) / _MIB
            limit = int(match["limit"] or match["most"]) / _MIB
            summary = (
                f"A gRPC message of {found:.1f} MiB is over the receiver's limit of {limit:.1f} MiB"
            )
            facts = [fact, *(other for other in facts if other is not fact)]
            break
    yield make(
        "grpc_message_too_large",
        facts=facts,
        count=clues.count("grpc_message_too_large"),
        summary=summary,
    )


def _too_long(clues: Clues) -> Iterator[Finding]:
    facts = clues.facts("grpc_deadline_exceeded")
    if not facts:
        return
    healed = clues.severity_after_recovery("grpc_deadline_exceeded", facts) is not None
    yield make(
        "grpc_deadline_exceeded",
        facts=facts,
        count=clues.count("grpc_deadline_exceeded"),
        severity=Severity.INFO if healed else None,
        over=healed,
    )
