"""Chain node and database as curio sees them."""

import re
from collections.abc import Iterator

from fleetui.domain.finding import Finding, Severity
from fleetui.reading.findings.clues import Clues, make, quote

_ADDRESS = re.compile(r"(?:wss?|https?)://[^\s/]+|dial tcp \S+?(?=: |\s|$)")
_REASONS = ("connection refused", "i/o timeout", "no such host", "connection reset", "EOF")
_HEALED_SECONDS = 600.0
_FIRST_CONTACT = ("Not able to establish connection", "Failed to get network name")
"""How curio skips one of several nodes when it starts; without any it does not go on."""


def look(clues: Clues) -> Iterator[Finding]:
    """Find what keeps curio from its chain node and its database."""
    chain = clues.facts("chain_api_unreachable")
    skipped = all(any(words in fact.text for words in _FIRST_CONTACT) for fact in chain)
    signs = ("mark.chain_head", "mark.curio_works") if skipped else ("mark.chain_head",)
    yield from _from(clues, "chain_api_unreachable", "Curio cannot reach the Lotus API", signs)
    yield from _from(
        clues, "db_unreachable", "Curio cannot reach its database", ("mark.curio_works",)
    )


def _from(clues: Clues, category: str, sentence: str, signs: tuple[str, ...]) -> Iterator[Finding]:
    """Find one of curio's peers out of reach; a later line of `signs` shows it in reach again."""
    facts = clues.facts(category)
    if not facts:
        return
    # The last, general line ("... with all chain nodes") is the verdict, the others its reasons.
    verdict = [fact for fact in facts if "all chain nodes" in fact.text]
    ordered = [*verdict[:1], *(fact for fact in facts if fact not in verdict), *verdict[1:]]
    details = [fact.text for fact in facts]
    address = next((match[0] for text in details if (match := _ADDRESS.search(text))), "")
    reason = next((word for word in _REASONS for text in details if word in text), "")
    last = facts[-1]
    tail = clues.tail("curio")
    healed = clues.followed(last, *signs) is not None or (
        clues.case.live
        and last.at is not None
        and tail is not None
        and tail.grown_at is not None
        and tail.grown_at - last.at > _HEALED_SECONDS
    )
    text = sentence + (f" at {address.removeprefix('dial tcp ')}" if address else "")
    text += f": {reason}" if reason else f": {quote(facts[0].text)}"
    count = clues.count(category)
    if count > 1:
        text += f" ({count} lines)"
    yield make(
        category,
        facts=ordered,
        count=count,
        severity=Severity.INFO if healed else None,
        confidence=0.5 if healed else 0.9,
        summary=text + ("; it has gone on since" if healed else ""),
    )
