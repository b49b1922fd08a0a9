"""The owner's rules: what they are, what they propose, what they would have done."""

from collections.abc import Sequence
from typing import Any

import msgspec

from fleetui.domain.codec import to_builtins
from fleetui.domain.finding_words import age_words
from fleetui.domain.instance import Instance
from fleetui.domain.policy import Policy, Proposal
from fleetui.domain.standing import Mark
from fleetui.domain.stream import LogChunk, StreamPosition
from fleetui.profiles.model import Profile
from fleetui.reading.policy import Subject, judge
from fleetui.reading.reader import Reader
from fleetui.store.interface import ViewerStore

STEP_SECONDS = 60.0
"""How often the past is judged, in the time that the bytes came."""


class Strike(msgspec.Struct, kw_only=True):
    """A rule that struck in the past, from its first moment to its last."""

    proposal: Proposal
    first_at: float
    last_at: float
    ended: bool = False
    """Whether it did not strike any more at the end of what is stored."""


async def policy_report(store: ViewerStore, policy: Policy) -> dict[str, Any]:
    """Gather `rules` (name to its settings) and `proposals` (what stands now)."""
    return {
        "rules": to_builtins(policy),
        "proposals": [to_builtins(proposal) for proposal in await store.proposals()],
    }


def policy_text(report: dict[str, Any]) -> str:
    """Draw a policy report as plain lines."""
    rules = report["rules"]
    lines = [f"a proof may cost at most ${rules['max_dollars_per_proof']}"]
    for name, rule in rules.items():
        if isinstance(rule, dict) and "mode" in rule:
            limits = ", ".join(
                f"{key} {'not set' if value is None else value}"
                for key, value in rule.items()
                if key != "mode"
            )
            lines.append(f"{name:<20} {rule['mode']:<8} {limits}".rstrip())
    lines += ["", "proposals now:" if report["proposals"] else "no proposal now"]
    lines += [
        f"{item['instance_id'] or 'fleet':>9} {item['rule']} ({item['mode']}): {item['text']}"
        for item in report["proposals"]
    ]
    return "\n".join(lines)


async def replay(store: ViewerStore, profile: Profile, policy: Policy) -> tuple[Strike, ...]:
    """Judge the stored past of every instance, the gone ones included.

    It is read again from the stored log bytes as they came. Of the API's rows only the newest is
    stored, so that price and state are the last known ones throughout.
    """
    blacklist = (await store.standing()).blacklist
    streams: dict[int, list[StreamPosition]] = {}
    for position in await store.positions():
        streams.setdefault(position.stream.instance_id, []).append(position)
    strikes: list[Strike] = []
    for instance_id, positions in sorted(streams.items()):
        instance = await store.instance(instance_id)
        if instance is None:
            continue
        mark = None if instance.machine_id is None else blacklist.get(instance.machine_id)
        chunks = await _chunks(store, positions)
        kinds = {position.stream.path: position.kind for position in positions}
        strikes += _strikes(instance, mark, chunks, kinds, profile=profile, policy=policy)
    return tuple(strikes)


def replay_text(strikes: Sequence[Strike], now: float) -> str:
    """Say what each rule would have done and when, one line each."""
    if not strikes:
        return "no rule would have struck in what is stored"
    return "\n".join(
        f"{strike.proposal.instance_id:>9} {strike.proposal.rule} ({strike.proposal.mode})"
        f" {age_words(now - strike.first_at)} ago"
        f"{', later no more' if strike.ended else ''}: {strike.proposal.text}"
        for strike in strikes
    )


async def _chunks(store: ViewerStore, positions: Sequence[StreamPosition]) -> list[LogChunk]:
    chunks: list[LogChunk] = []
    for position in positions:
        for generation in range(1, position.generation + 1):
            chunks += await store.log_bytes(position.stream, generation)
    chunks.sort(key=lambda chunk: chunk.at)
    return chunks


def _strikes(
    instance: Instance,
    mark: Mark | None,
    chunks: Sequence[LogChunk],
    kinds: dict[str, str],
    *,
    profile: Profile,
    policy: Policy,
) -> list[Strike]:
    reader = Reader(profile, instance.instance_id)
    strikes: dict[str, Strike] = {}
    judged_at = float("-inf")
    for number, chunk in enumerate(chunks):
        reader.feed(chunk, kinds[chunk.stream.path])
        is_last = number == len(chunks) - 1
        if chunk.at - judged_at < STEP_SECONDS and not is_last:
            continue
        judged_at = chunk.at
        reading = reader.reading(chunk.at)
        known = mark if mark is not None and mark.at <= chunk.at else None
        subject = Subject(instance=instance, reading=reading, blacklisted=known)
        found = judge(subject, policy, chunk.at)
        for strike in strikes.values():
            strike.ended = True
        for proposal in found:
            earlier = strikes.get(proposal.rule)
            first_at = earlier.first_at if earlier else chunk.at
            strikes[proposal.rule] = Strike(proposal=proposal, first_at=first_at, last_at=chunk.at)
    return list(strikes.values())
