"""Connections between prover and client."""

import re
from collections.abc import Iterator

from fleetui.domain.finding import Finding
from fleetui.reading.findings.clues import Clues, make, quote

_SIZES = re.compile(
    r"(?:found (?P<found>\d+) bytes, the limit is:? (?P<limit>\d+))"
    r"|\((?P<got>\d+) vs\.? (?P<most>\d+)\)"
)
_MIB = 1 << 20


def look(clues: Clues) -> Iterator[Finding]:
    """Find refused calls and messages that are too large."""
    yield from _refused(clues)
    yield from _too_large(clues)


def _refused(clues: Clues) -> Iterator[Finding]:
    facts = clues.facts("grpc_connection_refused")
    if not facts:
        return
    last = facts[-1]
    # Clients poll while the daemon starts: refusals before the first answer mean nothing.
    answered = clues.followed(last, "mark.request", "mark.proof_passed", "mark.throughput")
    if answered is not None:
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
