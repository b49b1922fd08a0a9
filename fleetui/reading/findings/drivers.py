"""Which driver a card and an image's CUDA need, and which one a host has."""

import re

from fleetui.domain.stream import Fact
from fleetui.reading.findings.clues import Clues

_MAJOR = re.compile(r"\d{3}")
_OF_CUDA = {11: 450, 12: 525, 13: 580}
"""CUDA's major release to the oldest driver branch for it (NVIDIA: minor version compatibility)."""
_OF_CARDS = (
    (re.compile(r"RTX 50[5-9]0|RTX PRO \d{4}|\bG?B[123]00\b|Blackwell", re.IGNORECASE), 570),
    (re.compile(r"RTX 40[5-9]0|\bL4\b|\bL40S?\b|RTX \d{4} Ada|\bG?H[12]00\b", re.IGNORECASE), 520),
    (re.compile(r"RTX 30[5-9]0|\bA(?:10|16|30|40|100)\b|RTX A\d{4}", re.IGNORECASE), 450),
)
"""Card families to the first driver branch that knows them."""


def installed(clues: Clues) -> int | None:
    """Return the host's driver branch, such as 580, as far as anything tells it."""
    texts = [fact.fields.get("version", "") for fact in clues.rule("mark.driver_version")]
    case = clues.case
    if case.probe is not None:
        texts += [gpu.driver_version or "" for gpu in case.probe.gpus or ()]
    if case.instance is not None:
        texts.append(case.instance.driver_version or "")
    majors = [int(match[0]) for text in texts if (match := _MAJOR.match(text))]
    return majors[0] if majors else None


def cards(clues: Clues) -> list[str]:
    """Return the names of the host's cards, as far as anything tells them."""
    names = [fact.fields.get("model", "") for fact in clues.rule("mark.gpu_model")]
    if clues.case.probe is not None:
        names += [gpu.name or "" for gpu in clues.case.probe.gpus or ()]
    if clues.case.instance is not None:
        names.append(clues.case.instance.gpu_name or "")
    return [name for name in names if name]


def oldest(clues: Clues, *, usual: bool) -> tuple[int, str, Fact | None] | None:
    """Return the oldest driver branch that will do, what needs it, and the line that says so.

    `usual`: take the profile's CUDA where no line tells the image's. Other images may run there,
    so that proves nothing by itself.
    """
    needs: list[tuple[int, str, Fact | None]] = [
        (branch, name, None)
        for name in cards(clues)
        for family, branch in _OF_CARDS
        if family.search(name)
    ]
    wanted = clues.case.image_cuda if usual else None
    told = clues.last("mark.cuda_wanted")
    if told is not None:
        wanted = float(told.fields["version"])
    branch = _OF_CUDA.get(int(wanted)) if wanted is not None else None
    if branch is not None:
        needs.append((branch, f"the image's CUDA {wanted:g}", told))
    return max(needs, key=lambda need: need[0], default=None)
