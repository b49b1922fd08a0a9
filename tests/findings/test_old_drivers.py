"""Drivers that are older than the card or the image's CUDA needs."""

from pathlib import Path
from typing import Any

import pytest

from fleetui.domain.finding import Severity
from fleetui.domain.host import Gpu, Probe
from fleetui.domain.stage import Stage
from fleetui.domain.stream import Fact
from fleetui.domain.text import sanitise
from fleetui.profiles.loader import load
from fleetui.profiles.model import ProfileError
from fleetui.reading.case import Case
from fleetui.reading.findings import diagnose
from fleetui.reports.diagnose import diagnose_file

NO_DEVICE = 'cudaGetDeviceCount(&n) failed: "no CUDA-capable device is detected"'


def top(tmp_path: Path, *lines: str) -> dict[str, Any] | None:
    file = tmp_path / "daemon.log"
    file.write_text("\n".join(lines) + "\n")
    findings = diagnose_file(file, "daemon")["findings"]
    return findings[0] if findings else None


@pytest.mark.parametrize(
    ("lines", "category"),
    [
        (["Driver Version: 550.90.07", "NVIDIA GeForce RTX 4090"], "gpu_driver_too_old"),
        (["Driver Version: 535.183.01", "NVIDIA A100-SXM4-80GB"], "gpu_driver_too_old"),
        (["Driver Version: 470.256.02", "CUDA Version 12.4.1"], "gpu_driver_too_old"),
        (["Driver Version: 550.90.07", "CUDA Version 12.4.1"], "gpu_container_access_lost"),
        (["Driver Version: 580.95.05", "NVIDIA GeForce RTX 5090"], "gpu_container_access_lost"),
        (["NVIDIA GeForce RTX 5090"], "gpu_driver_too_old"),
        (["NVIDIA GeForce RTX 3090"], "gpu_container_access_lost"),
    ],
)
def test_no_device_is_the_drivers_fault_when_it_is_older_than_what_runs(
    lines: list[str], category: str, tmp_path: Path
) -> None:
    finding = top(tmp_path, *lines, NO_DEVICE)
    assert finding is not None
    assert (finding["category"], finding["severity"]) == (category, "critical")


def test_an_image_that_wants_more_is_warned_of_before_it_fails(tmp_path: Path) -> None:
    early = top(tmp_path, "CUDA Version 13.0.1", "Driver Version: 550.90.07")
    assert early is not None
    assert (early["category"], early["severity"]) == ("gpu_driver_too_old", "warning")
    assert "needs driver 580" in early["summary"]
    assert top(tmp_path, "CUDA Version 13.0.1", "Driver Version: 580.95.05") is None
    # What nvidia-smi calls the CUDA version is what the driver offers.
    assert top(tmp_path, "Driver Version: 550.90.07      CUDA Version: 12.4") is None


def test_proofs_disprove_it() -> None:
    card = Gpu(index=0, name=sanitise("RTX 5090"), driver_version=sanitise("560.35.03"))
    old = Case(now=0.0, live=True, stage=Stage.BENCH, probe=Probe(at=0.0, gpus=(card,)))
    assert [(one.category, one.severity) for one in diagnose(old)] == [
        ("gpu_driver_too_old", Severity.WARNING)
    ]
    passed = Fact(
        rule="mark.proof_passed", kind="daemon", source="/tmp/cuzk.log", generation=1, offset=0,
        line=1, text=sanitise("PASSED"), at=0.0, fields={},
    )  # fmt: skip
    proved = Case(
        now=0.0, live=True, stage=Stage.BENCH, probe=Probe(at=0.0, gpus=(card,)), facts=(passed,)
    )
    assert diagnose(proved) == ()


@pytest.mark.parametrize("value", ["-1", "100", '"13"', "true", "inf"])
def test_a_profiles_cuda_is_a_release(value: str, tmp_path: Path) -> None:
    profile = tmp_path / "own.toml"
    profile.write_text(f"image_cuda = {value}\n")
    with pytest.raises(ProfileError, match=r":1: image_cuda must be a number"):
        load(profile)
    profile.write_text("image_cuda = 12.8\n")
    assert load(profile).image_cuda == 12.8
