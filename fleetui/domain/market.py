"""What a market of machines is to those who search it."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from fleetui.domain.offer import Offer
from fleetui.domain.rental import Template


class MarketError(Exception):
    """The market cannot be searched; the text says why, and holds no secret."""


class Found(msgspec.Struct, frozen=True):
    """What a search brought; `unreadable` rows could not be read.

    `cut`: the market gives no more at once, so that there may be dearer ones.
    """

    offers: tuple[Offer, ...] = ()
    unreadable: int = 0
    cut: bool = False


class Market(Protocol):
    """Offers, and the owner's templates to rent them by."""

    templates: Mapping[str, Template]

    async def search(self, conditions: Mapping[str, object], disk_gb: float) -> Found:
        """Return the offers that fit, the cheapest by the hour first.

        `conditions` are those of `domain.offer_query`; prices include `disk_gb` of disk.

        Raises:
            MarketError: the market does not answer.
        """

    def body(self, template: Template, price: float, intent_id: str) -> dict[str, object]:
        """Return the request that would be sent at a price, its secrets masked."""
