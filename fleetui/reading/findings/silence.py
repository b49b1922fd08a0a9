"""Nothing moves: the tree an operator would walk through by hand.

Processes, wait channel, files, GPU, ends of the logs (the incident of a host that said "Starting
benchmark" and then nothing). When the finished logs show a cause, these steps are its evidence.
"""

from collections.abc import Iterator

from fleetui.domain.finding import Evidence, Finding
from fleetui.domain.finding_words import age_words
from fleetui.domain.host import Probe, Process, SshState
from fleetui.domain.stage import Stage
from fleetui.domain.stream import Fact
from fleetui.reading.findings.clues import (
    DAEMON,
    Clues,
    is_after,
    make,
    proof_of,
    remark,
    tail_proof,
)
from fleetui.reading.stages import standing

_WORKERS = (
    "cuzk-daemon", "cuzk-bench", "benchmark.sh", "curio", "aria2c", "curl ", "fetch-params", "wget",
)  # fmt: skip
_SHELLS = ("entrypoint", "onstart", "benchmark.sh")
_IDLE_PERCENT = 5.0
_MOST_GPUS = 8
_MOST_FILES = 5
_SETTLE_SECONDS = 10.0
"""How long after its last sign a process must be missing."""
_IDLE_PAID_SECONDS = 900.0


def look(clues: Clues) -> Iterator[Finding]:
    """Find an instance on which nothing happens any more."""
    said = clues.facts("stage_stalled")
    if said:
        yield make("stage_stalled", facts=said, confidence=0.7)
    yield from _abandoned(clues)
    yield from _silent(clues)
    yield from _outlasted(clues)
    yield from _idle(clues)


def _gpus_idle(clues: Clues) -> bool | None:
    probe = clues.case.probe
    loads = [gpu.utilization for gpu in (probe.gpus if probe else None) or ()]
    known = [load for load in loads if load is not None]
    return max(known) <= _IDLE_PERCENT if known else None


def _abandoned(clues: Clues) -> Iterator[Finding]:
    """A benchmark was begun and not ended, but no process of it is left."""
    probe = clues.case.probe
    begun = clues.last("mark.bench_start")
    if probe is None or not probe.processes or begun is None:
        return
    ended = [*clues.facts("bench_script_failed"), *clues.rule("mark.throughput")]
    if any(is_after(fact, begun) for fact in ended) or _looked_too_early(clues, begun):
        return
    if clues.process(*_WORKERS) is not False or _gpus_idle(clues) is False:
        return
    shells = [process for process in probe.processes if _is_shell(process)]
    if not shells:
        return
    waits = next((f" and waits in {shell.wait_channel}" for shell in shells if _waits(shell)), "")
    tail = clues.tail("bench")
    yield make(
        "stage_stalled",
        facts=[begun],
        evidence=[*_steps(clues, shells), *_ends(clues)],
        confidence=0.85,
        summary="The benchmark was started and never reported an end: no benchmark or daemon "
        f"process is left, the GPU is idle, and the entrypoint is alone{waits}"
        + (f"; last line of {tail.source}: {tail.last_text}" if tail is not None else ""),
    )


def _looked_too_early(clues: Clues, begun: Fact) -> bool:
    """Live only: whether the processes were listed before the newest sign of the benchmark."""
    case = clues.case
    if not case.live or case.probe is None or case.probe.at is None:
        return False
    signs = [tail.grown_at for tail in case.tails if tail.kind in ("bench", "daemon")]
    newest = max((at for at in (begun.at, *signs) if at is not None), default=0.0)
    return case.probe.at < newest + _SETTLE_SECONDS


def _silent(clues: Clues) -> Iterator[Finding]:
    """Live only: no new byte for longer than the stage allows, and no GPU work."""
    case = clues.case
    limit = case.silence_limits.get(case.stage)
    connected = case.ssh is None or case.ssh.state is SshState.CONNECTED
    grown = [tail.grown_at for tail in case.tails if tail.grown_at is not None]
    if not case.live or limit is None or not connected or not grown:
        return
    if case.spans and standing(case.spans) is not case.spans[-1]:
        # A restart of the daemon is over, and what it found had failed: nothing is to move.
        return
    quiet = case.now - max(grown)
    probe = case.probe
    fresh = probe is not None and probe.at is not None and case.now - probe.at < limit
    if quiet <= limit or not fresh:
        return
    if case.stage is Stage.PARAM_FETCH:
        yield make(
            "params_fetch_stall",
            evidence=_ends(clues),
            confidence=0.7,
            summary=f"The parameter fetch has written nothing for {quiet / 60:.0f} minutes",
        )
        return
    if _gpus_idle(clues) is not True:
        return
    shells = [
        process for process in (probe.processes if probe else None) or () if _is_shell(process)
    ]
    yield make(
        "stage_stalled",
        evidence=[*_steps(clues, shells), *_ends(clues)],
        confidence=0.8,
        summary=f"Nothing has moved in {case.stage} for {quiet / 60:.0f} minutes: no new log line, "
        "no GPU work",
    )


def _outlasted(clues: Clues) -> Iterator[Finding]:
    """An inquest only: processes far older than all that they have written, and no GPU work.

    Nobody knows when the processes were listed, but their ages tell how long ago they began.
    """
    case = clues.case
    limit = case.silence_limits.get(case.stage)
    probe = case.probe
    if case.live or limit is None or case.stage is Stage.RUNNING or probe is None:
        return
    if _gpus_idle(clues) is not True:
        return
    written = [tail.grown_at for tail in case.tails if tail.grown_at is not None]
    quiet = [
        process.elapsed_seconds - (case.now - begun.at)
        for words, begun in (
            ("cuzk-bench", clues.last("mark.c1_loaded")),
            (DAEMON, clues.last("mark.daemon_starting")),
        )
        for process in probe.processes or ()
        if words in process.args
        and process.elapsed_seconds is not None
        and begun is not None
        and begun.at is not None
    ]
    if not written or not quiet or min(quiet) <= limit:
        return
    shells = [process for process in probe.processes or () if _is_shell(process)]
    yield make(
        "stage_stalled",
        evidence=[*_steps(clues, shells), *_ends(clues)],
        confidence=0.75,
        summary=f"Nothing has moved in {case.stage} for {min(quiet) / 60:.0f} minutes: its "
        "processes are so much older than their last log line, and the GPU is idle",
    )


def _is_shell(process: Process) -> bool:
    return any(word in process.args for word in _SHELLS)


def _waits(process: Process) -> bool:
    return process.wait_channel in ("do_wait", "wait", "do_wai", "wait4", "hrtimer_nanosleep")


def _steps(clues: Clues, shells: list[Process]) -> list[Evidence]:
    probe = clues.case.probe
    if probe is None:
        return []
    steps = [
        remark(
            "probe:ps",
            f"pid {shell.pid} {shell.state or '?'} {shell.wait_channel or '-'}: {shell.args}",
            probe.at,
        )
        for shell in shells[:2]
    ]
    working = clues.process(*_WORKERS)
    if working is False:
        steps.append(remark("probe:ps", "no benchmark, daemon or download process", probe.at))
    loads = [
        f"GPU {gpu.index}: {gpu.utilization:.0f} %"
        for gpu in (probe.gpus or ())[:_MOST_GPUS]
        if gpu.utilization is not None
    ]
    if loads:
        steps.append(remark("probe:nvidia-smi", ", ".join(loads), probe.at))
    ages = _ages(clues, probe)
    if ages:
        steps.append(remark("probe:files", f"last written: {', '.join(ages)}", probe.at))
    return steps


def _ages(clues: Clues, probe: Probe) -> list[str]:
    """Return the logs with the time since they were written, the newest first."""
    if probe.at is None:
        return []
    logs = {tail.source for tail in clues.case.tails}
    known = [
        (max(probe.at - state.modified_at, 0.0), state.path)
        for state in probe.files or ()
        if state.modified_at is not None and (state.path in logs or state.path.endswith(".log"))
    ]
    return [f"{path} {age_words(age)} ago" for age, path in sorted(known)[:_MOST_FILES]]


def _ends(clues: Clues) -> list[Evidence]:
    tails = [clues.tail("bench"), clues.tail("daemon"), clues.tail("setup")]
    return [tail_proof(tail) for tail in tails if tail is not None]


def _idle(clues: Clues) -> Iterator[Finding]:
    """A running instance that costs money and has done no proof since long."""
    case = clues.case
    said = clues.facts("gpu_idle_paid")
    if said:
        return
    first, probe = case.first_probe, case.probe
    if not case.live or case.stage is not Stage.RUNNING or first is None or probe is None:
        return
    if first.at is None or probe.at is None or probe.at - first.at < _IDLE_PAID_SECONDS:
        return
    before = [gpu.utilization for gpu in first.gpus or () if gpu.utilization is not None]
    if _gpus_idle(clues) is not True or not before or max(before) > _IDLE_PERCENT:
        return
    work = [*clues.rule("mark.proof_passed"), *clues.rule("mark.request")]
    last = max((fact.at for fact in work if fact.at is not None), default=None)
    if last is not None and case.now - last < _IDLE_PAID_SECONDS:
        return
    cost = case.instance.cost_per_hour if case.instance is not None else None
    money = "" if cost is None else f" at ${cost:.2f}/h"
    since = "" if last is None else f"; last work {(case.now - last) / 60:.0f} minutes ago"
    yield make(
        "gpu_idle_paid",
        facts=[],
        evidence=[*_steps(clues, []), *(proof_of(fact) for fact in work[-1:])],
        confidence=0.7,
        summary=f"The GPU is paid for{money} and has been idle for at least "
        f"{(probe.at - first.at) / 60:.0f} minutes{since}",
    )
