"""What a market of machines is to those who search it."""

from collections.abc import Mapping
from typing import Protocol

from fleetui.domain.offer import Offer
from fleetui.domain.rental import Template


class MarketError(Exception):
    """The market cannot be searched; the text says why, and holds no secret."""


class Market(Protocol):
    """Offers, and the owner's templates to rent them by."""

    templates: Mapping[str, Template]

    async def search(
        self, conditions: Mapping[str, object], disk_gb: float
    ) -> tuple[tuple[Offer, ...], int]:
        """Return the offers that fit, and how many rows could not be read.

        `conditions` are those of `domain.offer_query`; prices include `disk_gb` of disk.

        Raises:
            MarketError: the market does not answer.
        """

    def body(self, template: Template, price: float, intent_id: str) -> dict[str, object]:
        """Return the request that would be sent at a price, its secrets masked."""
