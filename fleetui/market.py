"""The market for whoever asks from outside the collector: verbs and screen."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fleetui import config
from fleetui.domain.market import Found, MarketError
from fleetui.domain.rental import Template

if TYPE_CHECKING:
    from fleetui.vast.limiter import Limiter

SEARCH_SECONDS = 60.0


class VastMarket:
    """Searches with the operator's keys; one for all searches, so that it keeps the API's pace."""

    def __init__(self, settings: config.Settings, environment: Mapping[str, str]) -> None:
        self._settings = settings
        self._environment = environment
        self._limiter: Limiter | None = None
        self.templates: Mapping[str, Template] = settings.deploy.templates

    async def search(self, conditions: Mapping[str, object], disk_gb: float) -> Found:
        """Return the offers that fit, the cheapest by the hour first.

        Raises:
            MarketError: there is no key, or the market does not answer.
        """
        import httpx

        from fleetui.domain.clock import parse_clock
        from fleetui.vast.client import ApiSettings, VastClient
        from fleetui.vast.keys import find_keys
        from fleetui.vast.limiter import Limiter

        keys = find_keys(self._environment, Path.home())
        if keys.read_key is None and keys.write_key is None:
            raise MarketError(keys.explain())
        api = ApiSettings(
            base_url=self._settings.api_url, read_key=keys.read_key, write_key=keys.write_key
        )
        self._limiter = self._limiter or Limiter()
        clock = parse_clock(self._settings.clock)
        try:
            async with asyncio.timeout(SEARCH_SECONDS), httpx.AsyncClient() as http:
                client = VastClient(api, self._limiter, http, clock=clock)
                found = await client.search_offers(
                    conditions, order=(("dph_total", "asc"),), disk_gb=disk_gb
                )
        except TimeoutError:
            raise MarketError(f"the market did not answer within {SEARCH_SECONDS:.0f} s") from None
        if found.error is not None:
            raise MarketError(f"the market does not answer: {found.error}")
        return Found(found.offers, found.unreadable, cut=found.cut)

    def body(self, template: Template, price: float, intent_id: str) -> dict[str, object]:
        """Return the request that would be sent, its secrets masked."""
        from fleetui.domain.secret import Secret
        from fleetui.vast.ordering import order_of

        # They are the collector's to find.
        stand_ins = {name: Secret("***") for name in template.secrets}
        return order_of(template, price, intent_id, stand_ins).shown()
