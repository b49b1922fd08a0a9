"""The card: kernel messages, CUDA errors, driver and access, heat."""

import re
from collections.abc import Iterator

from fleetui.domain.finding import Finding
from fleetui.domain.stream import Fact
from fleetui.reading.findings.clues import Clues, is_after, make, remark

_NO_DEVICE = "gpu_container_access_lost.no_device"
_NEWEST_CARDS = re.compile(
    r"RTX (?:PRO )?\d{4}.*Blackwell|RTX 50[5-9]0|\bG?B[12]00\b|Blackwell", re.IGNORECASE
)
_OLDEST_DRIVER_FOR_THEM = 580
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


def look(clues: Clues) -> Iterator[Finding]:
    """Find what is wrong with the card or with the way to it."""
    yield from _bus_and_firmware(clues)
    yield from _access(clues)
    yield from _lock(clues)
    yield from _probe(clues)


def _bus_and_firmware(clues: Clues) -> Iterator[Finding]:
    lost = clues.facts("gpu_fallen_off_bus")
    reset = clues.facts("gpu_fault_needs_reset")
    illegal = clues.facts("gpu_illegal_access")
    hard_reset = [fact for fact in reset if not fact.rule.endswith(".recovery")]
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
        driver = _driver(clues)
        model = _newest_card(clues)
        if model and (driver is None or driver < _OLDEST_DRIVER_FOR_THEM):
            known = f"driver {driver}" if driver else "an older driver"
            yield make(
                "gpu_driver_too_old",
                facts=programs,
                confidence=0.7 if driver else 0.6,
                summary=f"CUDA sees no device: {model} needs driver "
                f"{_OLDEST_DRIVER_FOR_THEM} or later and this host has {known}",
            )
            return
        probe = clues.case.probe
        if probe is not None and probe.gpus:
            yield make(
                "gpu_driver_too_old",
                facts=programs,
                confidence=0.6,
                evidence=[remark("probe:nvidia-smi", f"{len(probe.gpus)} GPU(s) listed", probe.at)],
                summary=f"CUDA sees no device although nvidia-smi lists {len(probe.gpus)}: "
                "most likely the driver is older than the image's CUDA",
            )
            return
        if all(_PROVER_LIBRARY.search(fact.text) for fact in programs) and probe is None:
            yield make(
                "gpu_driver_too_old",
                facts=programs,
                confidence=0.5,
                summary="The prover finds no CUDA device; nothing says that the GPU is gone, so "
                "the host's driver is most likely older than the image's CUDA",
            )
            return
    yield make("gpu_container_access_lost", facts=[*tools, *programs], confidence=0.8)


def _driver(clues: Clues) -> int | None:
    versions = [fact.fields.get("version", "") for fact in clues.rule("mark.driver_version")]
    case = clues.case
    if case.probe is not None:
        versions += [gpu.driver_version or "" for gpu in case.probe.gpus or ()]
    if case.instance is not None:
        versions.append(case.instance.driver_version or "")
    majors = [int(match[0]) for text in versions if (match := re.match(r"\d{3}", text))]
    return majors[0] if majors else None


def _newest_card(clues: Clues) -> str | None:
    names = [fact.fields.get("model", "") for fact in clues.rule("mark.gpu_model")]
    if clues.case.probe is not None:
        names += [gpu.name or "" for gpu in clues.case.probe.gpus or ()]
    if clues.case.instance is not None:
        names.append(clues.case.instance.gpu_name or "")
    return next((name for name in names if _NEWEST_CARDS.search(name)), None)


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
