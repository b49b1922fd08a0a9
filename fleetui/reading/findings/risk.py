"""What is not broken yet: memory, disk, deadline, cards, and siblings that differ."""

import re
from collections.abc import Iterator

from fleetui.domain.finding import Finding, Severity
from fleetui.domain.stage import Stage
from fleetui.domain.stream import Fact
from fleetui.reading.case import Case
from fleetui.reading.figures import figure
from fleetui.reading.findings.clues import Clues, make, proof_of, remark, tail_proof
from fleetui.reading.findings.siblings import shown
from fleetui.reading.stages import stay_began

GIB = 1 << 30
_KIB_IN_GIB = 1 << 20
# Peak of the daemon without a budget: 69 GiB and 20 GiB a partition worker (cuzk.md section 1.2).
_BASE_GIB = 69.0
_WORKER_GIB = 20.0
_PARAMS_GIB = 133.0
_PCE_GIB = 25.7
_FIRST_FRACTION = 0.1
_PLANNED = re.compile(r"\bpartition_workers=(\d{1,4})\b|\b(\d{1,4}) partition workers")
# Cards of 16 GB show some hundred MiB less (facts: cuzk.md section 8, mode 6).
_LEAST_CARD_MIB = 15_500.0
_BEFORE_PARAMS = frozenset({Stage.BOOT, Stage.PARAM_FETCH})
_BEFORE_PCE = frozenset({Stage.PARAMS_DONE, Stage.C1_DOWNLOAD, Stage.DAEMON_START, Stage.WARMUP})
_BENCH = frozenset({Stage.C1_DOWNLOAD, Stage.DAEMON_START, Stage.WARMUP, Stage.DAEMON_RESTART,
                    Stage.BENCH})  # fmt: skip


def look(clues: Clues) -> Iterator[Finding]:
    """Warn of what is going to fail."""
    yield from _memory(clues)
    yield from _disk(clues)
    yield from _deadline(clues)
    yield from _card(clues)
    yield from _mixed(clues)
    yield from _drift(clues)


def _memory(clues: Clues) -> Iterator[Finding]:
    said = clues.facts("memory_overcommit_risk")
    probe = clues.case.probe
    limit = probe.memory_max_bytes if probe is not None else None
    if probe is None or limit is None:
        if said:
            yield make("memory_overcommit_risk", facts=said, confidence=0.6)
        return
    budget = clues.last("mark.budget")
    workers = clues.last("mark.workers", "mark.restart_daemon")
    need: float | None = None
    what = ""
    when = _when_memory_runs_out(clues.case)
    if budget is not None and budget.fields.get("gib"):
        need = figure(budget.fields["gib"], 0.0)
        what = f"its budget of {need:.0f} GiB"
    elif clues.case.status is not None and clues.case.status.memory.total_bytes:
        need = clues.case.status.memory.total_bytes / GIB
        what = f"its budget of {need:.0f} GiB"
    elif workers is not None and clues.case.era != "N" and workers.fields.get("workers"):
        count = figure(workers.fields["workers"], 0.0)
        planned = _planned_workers(clues)
        if planned is not None and planned[0] > count:
            # A first warmup runs with fewer workers on purpose (facts: cuzk.md section 5).
            count, workers = planned
            when = "in the benchmark, once the daemon is restarted with all of them"
        need = _BASE_GIB + _WORKER_GIB * count
        what = f"{count:.0f} partition workers, about {need:.0f} GiB at the peak"
    if need is None or need * GIB <= limit:
        return
    line = budget or workers
    yield make(
        "memory_overcommit_risk",
        facts=[*([line] if line is not None else []), *said[:1]],
        evidence=[remark("probe:cgroup.memory.max", f"{limit / GIB:.0f} GiB", probe.at)],
        confidence=0.7,
        summary=f"The daemon may use {what}, but the container may have {limit / GIB:.0f} GiB: the "
        f"kernel kills it {when}",
    )


def _planned_workers(clues: Clues) -> tuple[float, Fact] | None:
    """Return how many partition workers the benchmark under way will come to have."""
    start = clues.last("setup.bench_start")
    match = _PLANNED.search(start.text) if start is not None else None
    if start is None or match is None or clues.case.stage not in _BENCH:
        return None
    return float(match[1] or match[2]), start


def _disk(clues: Clues) -> Iterator[Finding]:
    case = clues.case
    probe = case.probe
    if probe is None or probe.disk_available_kib is None:
        return
    free = probe.disk_available_kib / _KIB_IN_GIB
    need, what = 0.0, ""
    if case.stage in _BEFORE_PARAMS:
        need = _PARAMS_GIB + _PCE_GIB - _fetched_gib(case)
        what = "parameters and constraint cache"
    elif case.stage in _BEFORE_PCE and not _pce_there(clues):
        need, what = _PCE_GIB, "the constraint cache"
    if free >= need:
        return
    yield make(
        "disk_shortfall_risk",
        evidence=[remark("probe:df", f"{free:.1f} GiB available", probe.at)],
        confidence=0.7,
        summary=f"{free:.0f} GiB of disk are left, but {what} still need about {need:.0f} GiB: it "
        f"is full {_when_disk_is_full(case, free)}",
    )


def _when_memory_runs_out(case: Case) -> str:
    if case.stage is Stage.RUNNING:
        return "as soon as proofs use all workers at once"
    if case.stage in (Stage.WARMUP, Stage.DAEMON_RESTART, Stage.BENCH):
        return "in this stage, when the proofs use all workers at once"
    return "in the warmup or benchmark to come"


def _when_disk_is_full(case: Case, free_gib: float) -> str:
    progress = case.progress
    if case.stage is Stage.PARAM_FETCH and progress is not None and progress.unit == "B":
        if progress.per_second:
            minutes = free_gib * GIB / progress.per_second / 60.0
            return f"in about {max(minutes, 1.0):.0f} min at this pace"
        return "in the fetch under way"
    return "at the end of the warmup" if case.stage in _BEFORE_PCE else "in the fetch to come"


def _fetched_gib(case: Case) -> float:
    files = case.probe.files if case.probe is not None else None
    on_disk = sum(state.size for state in files or () if state.path.endswith(".params")) / GIB
    progress = case.progress
    told = progress.done / GIB if progress is not None and progress.unit == "B" else 0.0
    return max(on_disk, told)


def _pce_there(clues: Clues) -> bool:
    files = clues.case.probe.files if clues.case.probe is not None else None
    saved = any("pce-porep" in state.path for state in files or ())
    return saved or bool(clues.rule("mark.pce_done"))


def _deadline(clues: Clues) -> Iterator[Finding]:
    case = clues.case
    progress = case.progress
    if not case.live or progress is None or not progress.eta_seconds:
        return
    in_fetch = case.stage is Stage.PARAM_FETCH
    if not in_fetch and case.stage not in _BENCH:
        return
    limit = case.stage_limits.get(Stage.PARAM_FETCH if in_fetch else Stage.BENCH)
    stages = _BEFORE_PARAMS if in_fetch else _BENCH
    since = stay_began(case.spans, stages, anew_at=max(case.restarts, default=None))
    if since is None or limit is None:
        return
    # A first proof or megabyte is no pace yet, unless it took long.
    spent = case.now - since
    if (progress.fraction or 0.0) < _FIRST_FRACTION and spent < _FIRST_FRACTION * limit:
        return
    # The friendlier end of the estimate: warn only when even that is too late.
    eta = progress.eta_low_seconds or progress.eta_seconds
    whole = spent + eta
    if whole <= limit:
        return
    yield make(
        "stage_deadline_risk",
        evidence=[
            remark("progress", f"{progress.what}: {_amount(progress.done, progress.unit)} done"),
            *([tail_proof(tail)] if (tail := clues.tail("setup" if in_fetch else "bench")) else []),
        ],
        confidence=0.6,
        summary=f"At this pace {case.stage} needs {whole / 60:.0f} minutes; its limit is "
        f"{limit / 60:.0f}, {_reached_in(since + limit - case.now)}",
    )


def _amount(done: float, unit: str) -> str:
    return f"{done / GIB:.1f} GiB" if unit == "B" else f"{done:.0f} {unit}"


def _reached_in(seconds: float) -> str:
    return f"reached in {seconds / 60:.0f} min" if seconds > 0 else "passed already"


def _card(clues: Clues) -> Iterator[Finding]:
    """Warn of cards too small for a proof, until a proof has shown otherwise."""
    probe = clues.case.probe
    small = [
        gpu
        for gpu in (probe.gpus if probe is not None else None) or ()
        if gpu.memory_total_mib is not None and gpu.memory_total_mib < _LEAST_CARD_MIB
    ]
    if not small or clues.rule("mark.proof_passed", "mark.throughput"):
        return
    gpu = small[0]
    yield make(
        "gpu_vram_oom",
        severity=Severity.WARNING,
        # A guess from the size alone must not be taken for the cause of anything.
        confidence=0.4,
        evidence=[remark("probe:nvidia-smi", f"{gpu.name}, {gpu.memory_total_mib:.0f} MiB")],
        summary=f"{gpu.name or 'The card'} has {(gpu.memory_total_mib or 0.0) / 1024:.0f} GiB; a "
        "proof needs about 16 GiB: it runs out of memory in the first GPU phase of the warmup",
    )


def _mixed(clues: Clues) -> Iterator[Finding]:
    probe = clues.case.probe
    gpus = (probe.gpus if probe is not None else None) or ()
    names = sorted({gpu.name for gpu in gpus if gpu.name})
    if len(names) > 1:
        yield make(
            "config_drift",
            evidence=[remark("probe:nvidia-smi", ", ".join(names))],
            confidence=0.6,
            summary=f"This host mixes cards: {', '.join(names)}",
        )
    old, new = clues.last("mark.era_old"), clues.last("mark.budget")
    if old is not None and new is not None:
        yield make(
            "config_drift",
            facts=[old],
            evidence=[proof_of(new)],
            confidence=0.6,
            summary="Two generations of the daemon have run on this instance",
        )


def _drift(clues: Clues) -> Iterator[Finding]:
    """Name what sets the instance apart from its siblings."""
    differences = clues.case.differences
    if not differences:
        return
    told = [
        f"its {one.trait} is {shown(one.own)}, while {one.alike} of {one.siblings} siblings have "
        f"{shown(one.usual)}"
        for one in differences
    ]
    yield make(
        "config_drift",
        evidence=[
            remark("fleet", f"{one.trait}: {one.own}; siblings: {one.usual}") for one in differences
        ],
        confidence=0.8,
        summary=f"It differs from its siblings: {'; '.join(told)}",
    )
