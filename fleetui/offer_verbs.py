"""What the verbs about offers do: search, rank, rent. Imports lazily, like `verbs`."""

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fleetui import config
from fleetui.act_verbs import confirm, refuse_beyond_role
from fleetui.domain.market import MarketError
from fleetui.market import VastMarket
from fleetui.verbs import actor, existing_store, json_text, refuse, require_collector

if TYPE_CHECKING:
    from fleetui.domain.machine_record import MachineRecord
    from fleetui.domain.market import Found

DISK_GB = 250.0
"""The disk that prices include where no template says another."""


async def print_offers(
    settings: config.Settings,
    query: str | None,
    *,
    order: str,
    defaults: bool,
    blacklisted: bool,
    limit: int,
    template: str | None,
    as_json: bool,
) -> int:
    """Search the market and print the offers ranked; 1 when the market does not answer."""
    from fleetui.domain.expected_cost import Order
    from fleetui.domain.offer_query import DEFAULT_QUERY, OfferQueryError, parse_offer_query
    from fleetui.reports.offers import offers_report, offers_text

    text = DEFAULT_QUERY if query is None else query
    try:
        parsed = parse_offer_query(text, defaults=defaults)
    except OfferQueryError as error:
        refuse(f"the query: {error}")
    market = VastMarket(settings, os.environ)
    found = await _search(market, parsed.conditions, _disk(settings, template))
    records = await _records(settings)
    report = offers_report(text, parsed, found, records, Order(order), blacklisted=blacklisted)
    report["offers"] = report["offers"][:limit]
    print(json_text(report) if as_json else offers_text(report))
    return 0


async def deploy_offers(
    settings: config.Settings,
    offer_ids: Sequence[int],
    *,
    template: str | None,
    reason: str,
    dry_run: bool,
    ask_first: bool,
    wait: float,
    as_json: bool,
) -> int:
    """Rent offers by a template and tell how it ended; 1 when not all came to run."""
    import uuid

    from fleetui.domain.clock import parse_clock
    from fleetui.domain.expected_cost import History
    from fleetui.domain.intent import IntentState, Verb
    from fleetui.reports import act, deploy

    if not dry_run:
        refuse_beyond_role(settings, Verb.DEPLOY)
    try:
        name, terms = deploy.choose_template(settings.deploy.templates, template)
    except deploy.DeployError as error:
        refuse(str(error))
    offer_ids = tuple(dict.fromkeys(offer_ids))
    if not offer_ids:
        refuse("name the offers; `fleetui offers` lists them")
    # As text, like every number of the query language.
    wanted = {"id": {"in": [str(offer_id) for offer_id in offer_ids]}}
    market = VastMarket(settings, os.environ)
    found = await _search(market, wanted, terms.disk_gb)
    history = History(await _records(settings))
    ranked = {offer.offer_id: history.rank(offer) for offer in found.offers}
    intent_ids = {offer_id: uuid.uuid4().hex for offer_id in offer_ids}

    def body(price: float, intent_id: str) -> dict[str, object]:
        return market.body(terms, price, intent_id)

    plans = deploy.plan(offer_ids, ranked, intent_ids, body)
    refused = [item for item in plans if item.refusal is not None]
    if dry_run:
        print(json_text(deploy.plan_report(plans)) if as_json else deploy.plan_text(plans))
        return int(bool(refused))
    if refused:
        print(deploy.plan_text(refused), file=sys.stderr)
        refuse("nothing was done", status=1)
    store = await existing_store(settings)
    async with contextlib.aclosing(store):
        await require_collector(store)
        if ask_first:
            print(deploy.plan_text(plans), file=sys.stderr)
            confirm(deploy.word_to_type(plans))
        asked = await deploy.ask(
            store,
            [ranked[offer_id] for offer_id in offer_ids],
            intent_ids,
            (name, terms),
            clock=parse_clock(settings.clock),
            actor=actor(),
            role=settings.role_here,
            reason=reason,
        )
        intents = await act.outcomes(store, asked, patience_seconds=wait)
    print(json_text(act.outcome_report(intents)) if as_json else deploy.outcome_text(intents))
    return int(any(intent.state is not IntentState.DONE for intent in intents))


def _disk(settings: config.Settings, template: str | None) -> float:
    templates = settings.deploy.templates
    if template is None:
        return next(iter(templates.values())).disk_gb if len(templates) == 1 else DISK_GB
    if template not in templates:
        refuse(f"no such template: {template!r} (known: {', '.join(sorted(templates)) or 'none'})")
    return templates[template].disk_gb


async def _search(market: VastMarket, conditions: Mapping[str, object], disk_gb: float) -> "Found":
    """Ask the market; end with status 1 when it does not tell."""
    try:
        return await market.search(conditions, disk_gb)
    except MarketError as error:
        refuse(str(error), status=1)


async def _records(settings: config.Settings) -> tuple["MachineRecord", ...]:
    """Return our own history; before a collector ever ran there is none."""
    if not settings.store_path.exists():
        return ()
    store = await existing_store(settings)
    async with contextlib.aclosing(store):
        return await store.machine_records()
