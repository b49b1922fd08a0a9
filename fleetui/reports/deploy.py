"""Renting without a screen: the plan with the exact requests, the intents, and how they ended."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fleetui.domain.clock import Clock
from fleetui.domain.codec import to_builtins
from fleetui.domain.expected_cost import RankedOffer
from fleetui.domain.intent import Intent, IntentState, Verb
from fleetui.domain.rental import Rental, RentalPlan, Template
from fleetui.domain.role import Role
from fleetui.domain.text import SafeText, sanitise
from fleetui.reports.figures import number
from fleetui.store.interface import ViewerStore

MakeBody = Callable[[float, str], dict[str, object]]
"""From a price and an intent's id to the request's body, its secrets masked."""


class DeployError(Exception):
    """Nothing can be asked for; the text says why."""


def choose_template(templates: Mapping[str, Template], name: str | None) -> tuple[str, Template]:
    """Return the named template, or the only one.

    Raises:
        DeployError: there is none of this name, or no only one.
    """
    known = ", ".join(sorted(templates)) or "none; see docs/configuration.md"
    if name is None:
        if len(templates) != 1:
            raise DeployError(f"say which template is meant with --template (known: {known})")
        (name,) = templates
    if name not in templates:
        raise DeployError(f"no such template: {name!r} (known: {known})")
    return name, templates[name]


def plan(
    offer_ids: Sequence[int],
    ranked: Mapping[int, RankedOffer],
    intent_ids: Mapping[int, str],
    make_body: MakeBody,
) -> tuple[RentalPlan, ...]:
    """Lay out one request for each offer, with what refuses it already now."""
    return tuple(
        _plan_of(offer_id, ranked.get(offer_id), intent_ids[offer_id], make_body)
        for offer_id in offer_ids
    )


def _plan_of(
    offer_id: int, item: RankedOffer | None, intent_id: str, make_body: MakeBody
) -> RentalPlan:
    if item is None:
        return RentalPlan(
            offer_id=offer_id,
            machine_id=None,
            gpu=SafeText("?"),
            price=None,
            expected_dollars_per_proof=None,
            body={},
            refusal=SafeText("there is no such offer"),
        )
    offer = item.offer
    refusal = None
    if offer.price is None or offer.machine_id is None:
        refusal = SafeText("its price or machine is not known")
    elif item.blacklist is not None:
        why = item.blacklist.reason or "no reason given"
        refusal = sanitise(
            f"machine {offer.machine_id} is blacklisted by {item.blacklist.by} ({why})"
        )
    return RentalPlan(
        offer_id=offer_id,
        machine_id=offer.machine_id,
        gpu=sanitise(f"{offer.num_gpus or '?'}x {offer.gpu_name or '?'}"),
        price=offer.price,
        expected_dollars_per_proof=item.dollars_per_proof,
        body={} if offer.price is None else make_body(offer.price, intent_id),
        refusal=refusal,
    )


def plan_text(plans: Sequence[RentalPlan]) -> str:
    """Say for each offer what it is and which request would be sent, secrets masked."""
    lines = []
    for item in plans:
        price, expected = number(item.price, 4), item.expected_dollars_per_proof
        proof = "not known" if expected is None else f"{number(expected, 5)} $"
        lines.append(
            f"deploy offer {item.offer_id} (machine {item.machine_id or '?'}, {item.gpu}, {price}"
            f" $/h, a proof {proof})"
        )
        if item.refusal is not None:
            lines.append(f"  refused: {item.refusal}")
        else:
            lines.append(f"  {_request(item)}")
    return "\n".join(lines)


def requests_text(plans: Sequence[RentalPlan]) -> str:
    """Return the requests that would be sent: the first whole, of the others what differs."""
    first = plans[0]
    lines = [_request(first)]
    for item in plans[1:]:
        before, body = _flat(first.body), _flat(item.body)
        names = [
            *(name for name in body if body[name] != before.get(name)),
            *(name for name in before if name not in body),
        ]
        said = ", ".join(f"{name} {json.dumps(body.get(name))}" for name in names)
        price = number(item.price, 4)
        lines.append(
            f"PUT /api/v0/asks/{item.offer_id}/ ({item.gpu}, {price} $/h) the same, but"
            f" {sanitise(said or 'nothing', 8192)}"
        )
    return "\n".join(lines)


def _request(item: RentalPlan) -> str:
    body = sanitise(json.dumps(item.body, ensure_ascii=False), 8192)
    return f"PUT /api/v0/asks/{item.offer_id}/ {body}"


def _flat(body: Mapping[str, object]) -> dict[str, object]:
    """Return a body with its environment's variables beside its other fields."""
    env = body.get("env")
    inner = env if isinstance(env, dict) else {}
    rest = {name: value for name, value in body.items() if name != "env"}
    return rest | {f"env.{name}": value for name, value in inner.items()}


def plan_report(plans: Sequence[RentalPlan]) -> list[dict[str, Any]]:
    """Return the plans as JSON objects."""
    return [to_builtins(item) for item in plans]


def word_to_type(plans: Sequence[RentalPlan]) -> str:
    """Return what confirms: the last digits of the one offer, or how many there are."""
    return str(plans[0].offer_id)[-4:] if len(plans) == 1 else str(len(plans))


async def ask(
    store: ViewerStore,
    ranked: Sequence[RankedOffer],
    intent_ids: Mapping[int, str],
    template: tuple[str, Template],
    *,
    clock: Clock,
    actor: str,
    role: Role,
    reason: str,
) -> tuple[Intent, ...]:
    """Write one intent for each offer, bound to what was seen of it."""
    name, settings = template
    asked = []
    for item in ranked:
        offer = item.offer
        intent = Intent(
            intent_id=intent_ids[offer.offer_id],
            verb=Verb.DEPLOY,
            instance_id=0,
            actor=sanitise(actor),
            reason=sanitise(
                f"{reason}: offer {offer.offer_id}, machine {offer.machine_id}, template {name},"
                f" {offer.price or 0.0:.4f} $/h"
            ),
            created_at=clock.now(),
            machine_id=offer.machine_id,
            host_id=offer.host_id,
            role=role,
            rental=Rental(
                offer_id=offer.offer_id,
                template=name,
                fingerprint=settings.fingerprint,
                price=offer.price or 0.0,
            ),
        )
        await store.intend(intent)
        asked.append(intent)
    return tuple(asked)


def outcome_text(intents: Sequence[Intent]) -> str:
    """Say how each ended, one line each."""
    return "\n".join(
        f"deploy offer {intent.rental.offer_id if intent.rental else '?'}: {intent.state}"
        + (f": {intent.result}" if intent.result else _pending_words(intent))
        for intent in intents
    )


def _pending_words(intent: Intent) -> str:
    if intent.state is IntentState.REQUESTED:
        return ": no collector has taken it yet"
    if intent.state is IntentState.RUNNING:
        return ": still under way; `fleetui audit` tells how it ends"
    return ""
