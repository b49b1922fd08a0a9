"""What hosts answered to a command, and how the answers compare."""

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from fleetui.domain.text import SafeText

MOST_DIFFERENCES = 200
"""Lines of a difference that are told."""
_LONGEST_COMPARED = 2000
"""Lines: a difference of longer answers would take seconds."""

_OWN = (
    (
        re.compile(r"\b(?:GPU-|MIG-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE),
        "<id>",
    ),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
    (re.compile(r"\b(?:[A-Z][a-z]{2} ){1,2}\s?\d{1,2} [\d:]{5,8}(?: \d{4})?"), "<time>"),
    (re.compile(r"\b\d{1,2}:\d\d:\d\d(?:\.\d+)?\b"), "<time>"),
    (re.compile(r"\A\[\s*\d+\.\d+\]"), "<time>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<address>"),
    (re.compile(r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b", re.IGNORECASE), "<address>"),
    (re.compile(r"\b(?:0x)?[0-9a-f]{12,}\b", re.IGNORECASE), "<id>"),
)
"""What is each host's own, so that it tells no difference: ids, times, addresses."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_BLANKS = re.compile(r"\s+")


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What one host answered, secrets masked. `lines` and `errors` are stdout and stderr.

    `exit_status` is `None` when the command did not end by itself; `cut` says that it wrote more
    than is kept, or longer than it may.
    """

    intent_id: str
    instance_id: int
    at: float
    command: SafeText
    exit_status: int | None
    lines: tuple[SafeText, ...] = ()
    errors: tuple[SafeText, ...] = ()
    cut: bool = False


class AnswerGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts whose answers are the same but for what is each host's own.

    `answer` is the first one; `difference` has the lines of `diff` against the largest group's,
    empty for that group itself.
    """

    answers: tuple[Answer, ...]
    difference: tuple[SafeText, ...] = ()

    @property
    def answer(self) -> Answer:
        """The answer that stands for all."""
        return self.answers[0]

    @property
    def instance_ids(self) -> tuple[int, ...]:
        """Who answered so."""
        return tuple(answer.instance_id for answer in self.answers)


def compare(answers: Iterable[Answer], *, numbers: bool = True) -> tuple[AnswerGroup, ...]:
    """Group equal answers, the largest group first.

    With `numbers` false, numbers tell no difference, for answers that measure.

    Of groups of one size, the one that came first is first.
    """
    groups: defaultdict[tuple[object, ...], list[Answer]] = defaultdict(list)
    for answer in answers:
        key = (answer.exit_status, answer.cut, _masked(answer, numbers=numbers))
        groups[key].append(answer)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    return tuple(
        AnswerGroup(
            answers=tuple(members),
            difference=_difference(ordered[0][1][0], members[0], numbers=numbers) if place else (),
        )
        for place, (_, members) in enumerate(ordered)
    )


def _difference(usual: Answer, odd: Answer, *, numbers: bool) -> tuple[SafeText, ...]:
    """Tell the lines of `odd` that `usual` has not (`+`), and the other way round (`-`)."""
    told = []
    if usual.exit_status != odd.exit_status:
        told.append(SafeText(f"exit status {_status(odd)}, not {_status(usual)}"))
    before, after = _text(usual), _text(odd)
    if max(len(before), len(after)) > _LONGEST_COMPARED:
        return (*told, SafeText("the answers are too long to tell the difference"))
    masks = [[_mask(line, numbers=numbers) for line in lines] for lines in (before, after)]
    matcher = difflib.SequenceMatcher(None, masks[0], masks[1], autojunk=False)
    for kind, low, high, new_low, new_high in matcher.get_opcodes():
        if kind != "equal":
            told += [SafeText(f"- {line}") for line in before[low:high]]
            told += [SafeText(f"+ {line}") for line in after[new_low:new_high]]
    if len(told) > MOST_DIFFERENCES:
        rest = len(told) - MOST_DIFFERENCES
        return (*told[:MOST_DIFFERENCES], SafeText(f"and {rest} more lines"))
    return tuple(told)


def _status(answer: Answer) -> str:
    return "unknown" if answer.exit_status is None else str(answer.exit_status)


def _text(answer: Answer) -> Sequence[SafeText]:
    return (*answer.lines, *answer.errors)


def _masked(answer: Answer, *, numbers: bool) -> tuple[str, ...]:
    return tuple(_mask(line, numbers=numbers) for line in _text(answer))


def _mask(line: str, *, numbers: bool) -> str:
    for pattern, mask in _OWN:
        line = pattern.sub(mask, line)
    if not numbers:
        line = _NUMBER.sub("<n>", line)
    return _BLANKS.sub(" ", line).strip()
