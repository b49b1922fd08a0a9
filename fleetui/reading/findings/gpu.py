"""The card: kernel messages, CUDA errors, driver and access, heat."""

import re
from collections.abc import Iterator

from fleetui.domain.finding import Finding, Severity
from fleetui.domain.stream import Fact
from fleetui.reading.findings import drivers
from fleetui.reading.findings.clues import DAEMON, Clues, is_after, make, proof_of, remark

_NO_DEVICE = "gpu_container_access_lost.no_device"
_NEWEST_CARDS = re.compile(
    r"RTX (?:PRO )?\d{4}.*Blackwell|RTX 50[5-9]0|\bG?B[12]00\b|Blackwell", re.IGNORECASE
)
# sppark hides every reason for which no device can be counted, first of all an old driver.
_PROVER_LIBRARY = re.compile(r"sppark|all_gpus|supraseal|No CUDA devices available", re.IGNORECASE)
# HW slowdown, SW thermal, HW thermal, HW power brake (bits of clocks_event_reasons).
# The SW power cap (0x4) is how every card works at full load.
_SLOWDOWN_BITS = {
    0x8: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}
_HOT = 87.0
_TOOL_MISSING = re.compile(
    r"nvidia-smi\"?: (?:command )?(?:not found|no such file)|nvidia-smi.*executable file not found",
    re.IGNORECASE,
)
_HANGS = frozenset({"8", "46", "109"})
"""Xids of a channel that does not go on, or was stopped."""


def look(clues: Clues) -> Iterator[Finding]:
    """Find what is wrong with the card or with the way to it."""
    yield from _bus_and_firmware(clues)
    yield from _memory_errors(clues)
    yield from _access(clues)
    yield from _old_driver(clues)
    yield from _lock(clues)
    yield from _slow(clues)
    yield from _probe(clues)


def _bus_and_firmware(clues: Clues) -> Iterator[Finding]:
    lost = clues.facts("gpu_fallen_off_bus")
    reset = clues.facts("gpu_fault_needs_reset")
    illegal = clues.facts("gpu_illegal_access")
    soft = (".recovery", ".init") if lost else ".recovery"
    hard_reset = [fact for fact in reset if not fact.rule.endswith(soft)]
    if lost and not hard_reset:
        # That the driver cannot bring a card up which is gone is no news.
        reset = []
    if illegal:
        # A channel that hangs after a bad access hangs because of it.
        hard_reset = [fact for fact in hard_reset if not _is_hang_after(fact, illegal)]
    if illegal and not hard_reset:
        # "recovery action changed" follows any serious Xid; the first one is the cause.
        reset = []
    if lost and hard_reset and is_after(lost[0], hard_reset[0]):
        # The firmware hung first, the card left the bus because of it.
        reset, lost = [*reset, *lost], []
    if lost:
        numbers = _numbers(lost)
        yield make(
            "gpu_fallen_off_bus",
            facts=lost,
            summary=f"A GPU has fallen off the PCIe bus{numbers}; nothing inside the container "
            "can bring it back",
            confidence=0.95,
        )
    if reset:
        yield make("gpu_fault_needs_reset", facts=reset, confidence=0.9 if hard_reset else 0.6)
    if illegal:
        yield make(
            "gpu_illegal_access",
            facts=sorted(illegal, key=lambda fact: fact.rule.endswith(".xid")),
            count=clues.count("gpu_illegal_access"),
            severity=clues.severity_after_recovery("gpu_illegal_access", illegal),
        )


def _is_hang_after(fact: Fact, illegal: list[Fact]) -> bool:
    return fact.fields.get("xid") in _HANGS and any(is_after(fact, one) for one in illegal)


def _numbers(facts: list[Fact]) -> str:
    found = sorted({fact.fields["xid"] for fact in facts if "xid" in fact.fields})
    return f" (Xid {', '.join(found)})" if found else ""


def _access(clues: Clues) -> Iterator[Finding]:
    facts = clues.facts("gpu_container_access_lost")
    if not facts:
        return
    programs = [fact for fact in facts if fact.rule == _NO_DEVICE]
    tools = [fact for fact in facts if fact.rule != _NO_DEVICE]
    if programs and not tools:
        finding = _hidden_by_the_driver(clues, programs)
        if finding is not None:
            yield finding
            return
    if not programs and all(_TOOL_MISSING.search(fact.text) for fact in tools) and _proves(clues):
        yield make(
            "gpu_container_access_lost",
            facts=tools,
            severity=Severity.INFO,
            confidence=0.5,
            over=True,
            summary="nvidia-smi is not installed here, so the card cannot be looked at; the "
            "daemon proves on it",
        )
        return
    yield make("gpu_container_access_lost", facts=[*tools, *programs], confidence=0.8)


def _proves(clues: Clues) -> bool:
    """Whether a daemon runs and has made a proof, which nothing but a card can."""
    status = clues.case.status
    proved = bool(clues.rule("mark.proof_passed")) or (
        status is not None and status.counters.total_completed > 0
    )
    return proved and clues.process(DAEMON) is not False


def _hidden_by_the_driver(clues: Clues, programs: list[Fact]) -> Finding | None:
    """Tell whether CUDA shows no device because the driver is too old for it."""
    driver, need = drivers.installed(clues), drivers.oldest(clues, usual=True)
    probe = clues.case.probe
    if driver is not None and need is not None and driver < need[0]:
        return make(
            "gpu_driver_too_old",
            facts=programs,
            evidence=[proof_of(need[2])] if need[2] is not None else [],
            confidence=0.8,
            summary=f"CUDA sees no device: {need[1]} needs driver {need[0]} or later and this "
            f"host has driver {driver}",
        )
    if driver is not None:
        return None
    new = next((name for name in drivers.cards(clues) if _NEWEST_CARDS.search(name)), None)
    if new is not None and need is not None:
        return make(
            "gpu_driver_too_old",
            facts=programs,
            confidence=0.6,
            summary=f"CUDA sees no device: {new} needs driver {need[0]} or later and this host "
            "most likely has an older one",
        )
    if probe is not None and probe.gpus:
        return make(
            "gpu_driver_too_old",
            facts=programs,
            confidence=0.6,
            evidence=[remark("probe:nvidia-smi", f"{len(probe.gpus)} GPU(s) listed", probe.at)],
            summary=f"CUDA sees no device although nvidia-smi lists {len(probe.gpus)}: "
            "most likely the driver is older than the image's CUDA",
        )
    if probe is None and all(_PROVER_LIBRARY.search(fact.text) for fact in programs):
        return make(
            "gpu_driver_too_old",
            facts=programs,
            confidence=0.5,
            summary="The prover finds no CUDA device; nothing says that the GPU is gone, so "
            "the host's driver is most likely older than the image's CUDA",
        )
    return None


def _old_driver(clues: Clues) -> Iterator[Finding]:
    """Warn of a driver that is too old before a program meets it; good proofs disprove it."""
    driver, need = drivers.installed(clues), drivers.oldest(clues, usual=False)
    if driver is None or need is None or driver >= need[0]:
        return
    if clues.rule("mark.proof_passed", "mark.throughput"):
        return
    yield make(
        "gpu_driver_too_old",
        severity=Severity.WARNING,
        # What has not failed yet must not be taken for the cause of anything.
        confidence=0.4,
        evidence=[
            remark("driver", f"driver {driver}, needed by {need[1]}: {need[0]}"),
            *([proof_of(need[2])] if need[2] is not None else []),
        ],
        summary=f"{need[1][0].upper()}{need[1][1:]} needs driver {need[0]} or later; this host has "
        f"{driver}: it fails in its first use of the GPU",
    )


def _memory_errors(clues: Clues) -> Iterator[Finding]:
    facts = clues.facts("gpu_ecc_uncorrectable")
    if not facts:
        return
    # Counters of nvidia-smi may be years old: a row that was remapped then does no harm now.
    only_counted = all(fact.rule.endswith(".counted") for fact in facts)
    yield make(
        "gpu_ecc_uncorrectable",
        facts=sorted(facts, key=lambda fact: fact.rule.endswith(".counted")),
        count=clues.count("gpu_ecc_uncorrectable"),
        confidence=0.6 if only_counted else 0.9,
        severity=Severity.WARNING if only_counted else None,
    )


def _slow(clues: Clues) -> Iterator[Finding]:
    facts = clues.facts("gpu_thermal_or_power_limit")
    if not facts:
        return
    only_capped = all(fact.rule.endswith(".power_cap") for fact in facts)
    yield make(
        "gpu_thermal_or_power_limit",
        facts=sorted(facts, key=lambda fact: fact.rule.endswith(".power_cap")),
        count=clues.count("gpu_thermal_or_power_limit"),
        confidence=0.5 if only_capped else 0.9,
        severity=Severity.INFO if only_capped else None,
        summary="The GPU runs at its power limit, as cards do at full load"
        if only_capped
        else None,
    )


def _lock(clues: Clues) -> Iterator[Finding]:
    facts = clues.facts("gpu_lock_contention")
    waits = clues.rule("mark.gpu_lock_wait")
    if not facts and waits and clues.followed(waits[-1], "mark.gpu_lock_got") is None:
        facts = waits[-1:]
        yield make(
            "gpu_lock_contention",
            facts=facts,
            confidence=0.6,
            summary="The prover waits for the GPU lock and does not get it",
        )
    elif facts:
        yield make("gpu_lock_contention", facts=facts, count=clues.count("gpu_lock_contention"))


def _probe(clues: Clues) -> Iterator[Finding]:
    probe = clues.case.probe
    if probe is None:
        return
    for gpu in probe.gpus or ():
        if gpu.ecc_uncorrected:
            yield make(
                "gpu_ecc_uncorrectable",
                confidence=0.8,
                evidence=[
                    remark(
                        "probe:nvidia-smi",
                        f"GPU {gpu.index}: {gpu.ecc_uncorrected:.0f} uncorrected ECC errors",
                        probe.at,
                    )
                ],
                summary=f"GPU {gpu.index} counts {gpu.ecc_uncorrected:.0f} uncorrectable memory "
                "errors since the driver was loaded",
            )
        reasons = [
            name
            for bit, name in _SLOWDOWN_BITS.items()
            if gpu.throttle_reasons is not None and gpu.throttle_reasons & bit
        ]
        hot = gpu.temperature is not None and gpu.temperature >= _HOT
        if reasons or hot:
            why = ", ".join(reasons) or "heat"
            degrees = "" if gpu.temperature is None else f" at {gpu.temperature:.0f} °C"
            clock = "" if gpu.clock_mhz is None else f", {gpu.clock_mhz:.0f} MHz"
            yield make(
                "gpu_thermal_or_power_limit",
                confidence=0.9 if reasons else 0.6,
                evidence=[
                    remark("probe:nvidia-smi", f"GPU {gpu.index}: {why}{degrees}{clock}", probe.at)
                ],
                summary=f"GPU {gpu.index} is held down by {why}{degrees}{clock}",
            )
