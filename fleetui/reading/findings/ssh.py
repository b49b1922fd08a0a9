"""The way into the host."""

from collections.abc import Iterator

import msgspec

from fleetui.domain.finding import Finding, Severity
from fleetui.domain.host import SshOutcome, SshState
from fleetui.domain.stream import Fact
from fleetui.domain.text import SafeText
from fleetui.reading.findings.clues import Clues, make, proof_of, remark

_TRIES = 3
_FLAPS = 4
_FLAPPING_SECONDS = 900.0
"""So many losses within this time are no accident; one restart or outage makes one or two."""
_STEADY_SECONDS = 300.0
"""A connection that stands for so long is well again."""
_SHOWN_REASONS = 3
_GRACE_SECONDS = 120.0
_UNREACHABLE = {
    SshState.REFUSED: (
        "refuses",
        (
            "Nothing serves SSH at this port: ask the Vast API for state and address, which change "
            "on every start, and see that the image starts sshd."
        ),
    ),
    SshState.TIMED_OUT: (
        "does not answer",
        (
            "The machine, its network or its firewall is down, or the address is another's by now: "
            "ask the Vast API for state and address, and try the proxy's address by hand."
        ),
    ),
}
"""State to what SSH does there and what to do about it."""
_FLAPPING = (
    "The connection works and breaks again and again: look at the host's load and memory, at the "
    "network between here and there, and whether another program restarts sshd; logs are complete, "
    "only late."
)
_NO_ADDRESS = (
    "Look whether the Vast API shows `ports` or `ssh_host` for it and whether names are resolved "
    "here; an instance made without SSH must be made anew with runtype `ssh_direct`."
)


def look(clues: Clues) -> Iterator[Finding]:
    """Find why SSH does not work, from the client's words and from our own connection."""
    yield from _lines(clues)
    outcome = clues.case.ssh
    if outcome is not None:
        found = tuple(_outcome(clues, outcome))
        yield from found or _flapping(clues, outcome)


def _lines(clues: Clues) -> Iterator[Finding]:
    refused = clues.facts("ssh_auth_failed")
    if refused:
        # One refusal alone may be a key that has not arrived yet; a reason makes it certain.
        reasons = clues.rule("mark.ssh_key_refused_by_api", "mark.ssh_worked")
        healed = _went_on(clues, refused)
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
            severity=Severity.INFO if healed else Severity.WARNING if alone else None,
            over=healed,
        )
    unreachable = clues.facts("ssh_unreachable")
    if unreachable:
        healed = _went_on(clues, unreachable)
        yield make(
            "ssh_unreachable",
            facts=unreachable,
            count=clues.count("ssh_unreachable"),
            severity=Severity.INFO if healed else None,
            over=healed,
        )


def _went_on(clues: Clues, failures: list[Fact]) -> bool:
    """Whether a later login worked."""
    return clues.followed(failures[-1], "mark.ssh_worked") is not None


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
            summary=f"SSH at {outcome.address or 'the instance'} answers, but "
            f"{outcome.detail or 'refuses the key'} ({outcome.attempts} tries)",
        )
    elif outcome.state in _UNREACHABLE and outcome.attempts >= _TRIES and _should_answer(clues):
        word, advice = _UNREACHABLE[outcome.state]
        where = outcome.address or "the instance"
        yield make(
            "ssh_unreachable",
            evidence=[said],
            summary=f"SSH at {where} {word} ({outcome.attempts} tries) while Vast says it runs",
            advice=advice,
        )
    elif outcome.state is SshState.NO_ADDRESS and _should_answer(clues):
        yield make(
            "ssh_unreachable",
            evidence=[said],
            summary="There is no SSH address to try while Vast says the instance runs",
            advice=_NO_ADDRESS,
        )


def _flapping(clues: Clues, outcome: SshOutcome) -> Iterator[Finding]:
    """Live only: a connection that is made and lost again and again."""
    case = clues.case
    losses = case.ssh_losses
    recent = [loss for loss in losses if case.now - loss.at <= _FLAPPING_SECONDS]
    if not case.live or len(recent) < _FLAPS or not _should_answer(clues):
        return
    last = losses[-1]
    if outcome.state is SshState.CONNECTED and case.now - last.at > _STEADY_SECONDS:
        return
    since = recent[0]
    reasons: dict[str, SshOutcome] = {}
    for loss in reversed(recent):
        reasons.setdefault(loss.detail or SafeText("no reason given"), loss)
    minutes = max(round((last.at - since.at) / 60), 1)
    where = outcome.address or last.address or "the instance"
    finding = make(
        "ssh_unreachable",
        evidence=[
            remark("ssh", f"{where}: lost {len(recent)} times", since.at),
            *(
                remark("ssh", f"{loss.address or where}: {reason}", loss.at)
                for reason, loss in list(reasons.items())[:_SHOWN_REASONS]
            ),
        ],
        count=len(recent),
        summary=f"SSH at {where} keeps breaking: lost {len(recent)} times within {minutes} min, "
        f"the last time because: {last.detail or 'no reason given'}",
        advice=_FLAPPING,
    )
    yield msgspec.structs.replace(finding, first_seen=since.at, last_seen=last.at)


def _should_answer(clues: Clues) -> bool:
    """Tell whether the host has had the time to come up."""
    instance = clues.case.instance
    running = instance is None or instance.actual_status == "running"
    uptime = instance.uptime_seconds if instance is not None else None
    fresh = uptime is not None and uptime < _GRACE_SECONDS
    return running and not fresh
