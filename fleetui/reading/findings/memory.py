"""Kills and refusals of memory, by kernel lines, counters and exit codes."""

import re
from collections.abc import Iterator

from fleetui.domain.finding import Evidence, Finding, Severity
from fleetui.domain.stream import Fact
from fleetui.reading.findings.clues import DAEMON, Clues, make, proof_of, remark

GIB = 1 << 30
_WEAK = frozenset({"cgroup_oom_kill.exit_137", "cgroup_oom_kill.signal"})
_VICTIM = re.compile(r"\btask=([^,]+)|Kill(?:ed)? process \d+ \(([^)]+)\)", re.IGNORECASE)
_PROVER = re.compile(r"cuzk|curio|lotus|bench|prov|snark|tokio|rayon|synth", re.IGNORECASE)
"""Threads of a prover, by the short names that the kernel gives."""


def look(clues: Clues) -> Iterator[Finding]:
    """Find kills for lack of memory, in the container or on the host."""
    group = _ours(clues, clues.facts("cgroup_oom_kill"))
    host = _ours(clues, clues.facts("host_oom_kill"))
    strong = [fact for fact in group if fact.rule not in _WEAK]
    global_kill = [fact for fact in host if fact.rule != "host_oom_kill.invoked"]
    kills = _kills(clues)
    evidence = _limits(clues)
    if kills and not group and not host and _lives_on(clues):
        yield make(
            "cgroup_oom_kill",
            evidence=evidence,
            severity=Severity.WARNING,
            confidence=0.6,
            count=kills,
            summary=f"The kernel killed a process at the container's memory limit"
            f"{_limit_text(clues)} (oom_kill {kills}), but the daemon lives and nothing is lost",
        )
        return
    if strong or (kills and not global_kill):
        yield make(
            "cgroup_oom_kill",
            facts=[*strong, *(fact for fact in group if fact.rule in _WEAK)],
            evidence=[*evidence, *(proof_of(fact) for fact in host[:2])],
            confidence=0.95 if strong else 0.85,
            summary=_summary(clues, kills),
            count=max(kills, 1),
        )
        return
    if global_kill or (host and not group):
        yield make(
            "host_oom_kill",
            facts=global_kill or host,
            evidence=evidence,
            confidence=0.9 if global_kill else 0.7,
        )
        return
    if group:
        # An exit by signal 9 alone: somebody killed it, most often the kernel at the limit.
        yield make(
            "cgroup_oom_kill",
            facts=group,
            evidence=[*evidence, *(proof_of(fact) for fact in host[:2])],
            confidence=0.7,
            summary="A process was killed with signal 9 (exit 137), most likely by the kernel at "
            f"the container's memory limit{_limit_text(clues)}",
        )


def _ours(clues: Clues, facts: list[Fact]) -> list[Fact]:
    """Leave out what the kernel's log tells of other containers on the machine.

    The container's own counter rises with every kill in it, whatever the reason (cgroup v2).
    """
    probe = clues.case.probe
    events = probe.memory_events if probe is not None else None
    if not events or events.get("oom_kill", 1) or clues.facts("prover_lost"):
        return facts
    told = [fact for fact in facts if fact.kind == "dmesg"]
    victims = [match[1] or match[2] for fact in told if (match := _VICTIM.search(fact.text))]
    if not victims or any(_PROVER.search(victim) for victim in victims):
        return facts
    return [fact for fact in facts if fact.kind != "dmesg"]


def _lives_on(clues: Clues) -> bool:
    """Whether the daemon runs and nothing broke that a kill could have broken."""
    broken = ("prover_lost", "grpc_connection_broken", "bench_script_failed")
    return clues.process(DAEMON) is True and not any(clues.facts(name) for name in broken)


def _kills(clues: Clues) -> int:
    """Return how many kills the counter shows since the first look at the host."""
    case = clues.case
    if case.probe is None or not case.probe.memory_events:
        return 0
    now = case.probe.memory_events.get("oom_kill", 0)
    first = case.first_probe
    if case.live and first is not None and first is not case.probe and first.memory_events:
        before = first.memory_events.get("oom_kill", 0)
        # A restarted container counts from zero again.
        risen = now - before if now >= before else now
        if risen == 0 and not clues.facts("prover_lost"):
            return 0
        return risen or now
    return now


def _limits(clues: Clues) -> list[Evidence]:
    probe = clues.case.probe
    if probe is None:
        return []
    found: list[Evidence] = []
    if probe.memory_events is not None:
        counted = " ".join(f"{name} {value}" for name, value in probe.memory_events.items())
        found.append(remark("probe:cgroup.memory.events", counted, probe.at))
    if probe.memory_max_bytes is not None:
        found.append(
            remark("probe:cgroup.memory.max", f"{probe.memory_max_bytes / GIB:.0f} GiB", probe.at)
        )
    return found


def _limit_text(clues: Clues) -> str:
    probe = clues.case.probe
    if probe is None or probe.memory_max_bytes is None:
        return ""
    return f" of {probe.memory_max_bytes / GIB:.0f} GiB"


def _summary(clues: Clues, kills: int) -> str:
    text = f"The kernel killed a process at the container's memory limit{_limit_text(clues)}"
    if kills:
        text += f" (oom_kill {kills})"
    start = clues.last("mark.pce_start")
    if start is not None and clues.followed(start, "mark.pce_done") is None:
        text += " while the constraint cache (PCE) was being extracted"
    probe = clues.case.probe
    events = probe.memory_events if probe is not None else None
    if kills and events is not None and events.get("oom") == 0 and events.get("max") == 0:
        text += "; the limit itself was never hit, so the host or a parent group was short of RAM"
    return text
