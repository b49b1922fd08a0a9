"""Diagnosis: from the evidence on an instance to named root causes. Pure; no I/O at run time."""

from collections.abc import Callable, Iterable

from fleetui.domain.finding import Finding
from fleetui.reading.case import Case
from fleetui.reading.findings import (
    bench,
    chain,
    daemon,
    gpu,
    grpc,
    lines,
    memory,
    params,
    proofs,
    prover_end,
    restarts,
    risk,
    silence,
    ssh,
    vast,
)
from fleetui.reading.findings.clues import Clues
from fleetui.reading.findings.root_cause import arrange

_LOOKS: tuple[Callable[[Clues], Iterable[Finding]], ...] = (
    lines.look,
    gpu.look,
    memory.look,
    params.look,
    daemon.look,
    restarts.look,
    proofs.look,
    prover_end.look,
    grpc.look,
    bench.look,
    vast.look,
    ssh.look,
    chain.look,
    silence.look,
    risk.look,
)


def diagnose(case: Case) -> tuple[Finding, ...]:
    """Return the findings on an instance, the root cause first (facts: categories.md).

    Consequences of a root cause are evidence of it and no findings of their own.
    """
    clues = Clues(case)
    return arrange((finding for look in _LOOKS for finding in look(clues)), case.stage)
