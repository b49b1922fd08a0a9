"""The way into the host."""

from collections.abc import Iterator

from fleetui.domain.finding import Finding, Severity
from fleetui.domain.host import SshOutcome, SshState
from fleetui.reading.findings.clues import Clues, make, proof_of, remark

_TRIES = 3
_GRACE_SECONDS = 120.0


def look(clues: Clues) -> Iterator[Finding]:
    """Find why SSH does not work, from the client's words and from our own connection."""
    yield from _lines(clues)
    outcome = clues.case.ssh
    if outcome is not None:
        yield from _outcome(clues, outcome)


def _lines(clues: Clues) -> Iterator[Finding]:
    refused = clues.facts("ssh_auth_failed")
    if refused:
        # One refusal alone may be a key that has not arrived yet; a reason makes it certain.
        reasons = clues.rule("mark.ssh_key_refused_by_api", "mark.ssh_worked")
        alone = (
            clues.count("ssh_auth_failed") == 1
            and not reasons
            and "permission denied (" in refused[0].text.lower()
        )
        yield make(
            "ssh_auth_failed",
            facts=refused,
            evidence=[proof_of(fact) for fact in reasons[:2]],
            count=clues.count("ssh_auth_failed"),
            severity=Severity.WARNING if alone else None,
        )
    unreachable = clues.facts("ssh_unreachable")
    if unreachable:
        yield make("ssh_unreachable", facts=unreachable, count=clues.count("ssh_unreachable"))


def _outcome(clues: Clues, outcome: SshOutcome) -> Iterator[Finding]:
    said = remark(
        "ssh", f"{outcome.address or 'no address'}: {outcome.detail or outcome.state}", outcome.at
    )
    if outcome.state is SshState.HOST_KEY_CHANGED:
        yield make(
            "ssh_host_key_changed",
            evidence=[said],
            summary=f"The host key of {outcome.address or 'the instance'} is not the one seen "
            "before; nothing was sent",
        )
    elif outcome.state is SshState.AUTH_FAILED:
        yield make(
            "ssh_auth_failed",
            evidence=[said],
            severity=Severity.WARNING if outcome.attempts < 2 else None,
            summary=f"SSH at {outcome.address or 'the instance'} answers but refuses the key "
            f"({outcome.attempts} tries)",
        )
    elif outcome.state in (SshState.REFUSED, SshState.TIMED_OUT, SshState.LOST):
        instance = clues.case.instance
        running = instance is None or instance.actual_status == "running"
        fresh = (
            instance is not None
            and instance.uptime_seconds is not None
            and instance.uptime_seconds < _GRACE_SECONDS
        )
        if running and not fresh and outcome.attempts >= _TRIES:
            word = {SshState.REFUSED: "refuses", SshState.TIMED_OUT: "does not answer"}
            yield make(
                "ssh_unreachable",
                evidence=[said],
                summary=f"SSH at {outcome.address or 'the instance'} "
                f"{word.get(outcome.state, 'keeps closing')} ({outcome.attempts} tries) while "
                "Vast says it runs",
            )
