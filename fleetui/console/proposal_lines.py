"""What the owner's rules propose, in lines. Pure."""

from collections.abc import Sequence

from fleetui.console import figures
from fleetui.console.act_words import said
from fleetui.console.fitting import fit, wrap
from fleetui.console.glyphs import Glyphs
from fleetui.console.inspection import Line
from fleetui.domain.policy import Proposal

MOST_OBSERVED = 6


def proposal_lines(
    proposal: Proposal, label: str, *, now: float, width: int, glyphs: Glyphs, key: str
) -> list[Line]:
    """Return the lines of one that asks for an act; `key` accepts it."""
    what = said(proposal.verb) if proposal.verb else "look"
    age = f"  for {figures.duration(now - proposal.since)}" if proposal.since else ""
    head = f"{glyphs['arrow']} {what} {proposal.instance_id}"
    lines: list[Line] = [
        [
            (fit(head, 30), "active bold"), (fit(label, 16), "strong"),
            (f"{proposal.rule}{age}", "dim"), (f"  {key} accepts", "key") if key else ("", "dim"),
        ]
    ]  # fmt: skip
    cause = f" (cause: {proposal.cause})" if proposal.cause else ""
    lines += [[("  " + text, "text")] for text in wrap(f"{proposal.text}{cause}", width - 2, 3)]
    return [*lines, []]


def observed_lines(proposals: Sequence[Proposal], width: int) -> list[Line]:
    """Return a line for each rule that strikes and does not ask."""
    if not proposals:
        return []
    lines: list[Line] = [[("rules that strike and do not ask", "title bold")]]
    for one in proposals[:MOST_OBSERVED]:
        who = "fleet" if one.instance_id is None else str(one.instance_id)
        words = f"{fit(who, 10)}{one.rule} ({one.mode}): {one.text}"
        lines.append([(fit(words, width).rstrip(), "dim")])
    rest = len(proposals) - MOST_OBSERVED
    if rest > 0:
        lines.append([(f"and {rest} more: `fleetui policy show`", "dim")])
    return [*lines, []]
