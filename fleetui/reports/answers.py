"""What marked hosts answered to one command, compared."""

from collections.abc import Sequence
from typing import Any

import msgspec

from fleetui.domain.answer import Answer, AnswerGroup, compare
from fleetui.domain.intent import Intent

SHOWN_LINES = 40


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Answers in groups, the largest first, and the intents that have none."""

    command: str
    groups: tuple[AnswerGroup, ...]
    unanswered: tuple[Intent, ...]

    @property
    def alike(self) -> bool:
        """Whether all answered the same, in full and without an error."""
        whole = all(group.answer.exit_status == 0 and not group.answer.cut for group in self.groups)
        return len(self.groups) == 1 and whole and not self.unanswered


def comparison(
    command: str, intents: Sequence[Intent], answers: Sequence[Answer], *, numbers: bool
) -> Comparison:
    """Compare the answers to these intents; with `numbers` false, numbers tell no difference."""
    answered = {answer.intent_id for answer in answers}
    return Comparison(
        command=command,
        groups=compare(answers, numbers=numbers),
        unanswered=tuple(intent for intent in intents if intent.intent_id not in answered),
    )


def text(found: Comparison) -> str:
    """Draw a comparison as plain lines: the usual answer whole, the others by what differs."""
    lines: list[str] = []
    for place, group in enumerate(found.groups):
        answer = group.answer
        ids = " ".join(map(str, group.instance_ids))
        count = len(group.answers)
        end = "cut off" if answer.cut else f"exit status {answer.exit_status}"
        said = "answered" if place == 0 else "differs" if count == 1 else "differ"
        lines.append(f"{count} host{'s' if count > 1 else ''} {said} ({end}): {ids}")
        shown = group.difference if place else (*answer.lines, *answer.errors)
        lines += [f"  {line}" for line in shown[:SHOWN_LINES]]
        if len(shown) > SHOWN_LINES:
            lines.append(f"  and {len(shown) - SHOWN_LINES} more lines (--json has them all)")
    lines += [
        f"{intent.instance_id}: no answer: {intent.state}"
        + (f": {intent.result}" if intent.result else "")
        for intent in found.unanswered
    ]
    return "\n".join(lines)


def report(found: Comparison) -> dict[str, Any]:
    """Return a comparison as a JSON object."""
    return {
        "command": found.command,
        "alike": found.alike,
        "groups": [
            {
                "instance_ids": list(group.instance_ids),
                "exit_status": group.answer.exit_status,
                "cut": group.answer.cut,
                "lines": [str(line) for line in group.answer.lines],
                "errors": [str(line) for line in group.answer.errors],
                "difference": [str(line) for line in group.difference],
            }
            for group in found.groups
        ],
        "unanswered": [
            {
                "instance_id": intent.instance_id,
                "state": str(intent.state),
                "result": None if intent.result is None else str(intent.result),
            }
            for intent in found.unanswered
        ],
    }
