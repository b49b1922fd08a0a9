"""The market's offers on the screen: searched, ranked, rented."""

from collections.abc import Mapping

import pytest

from console_pilot import NOW, Console, console
from fleetui.console.modals.typed_dialog import TypedDialog
from fleetui.console.screens.offers import OffersScreen
from fleetui.domain.intent import Intent, Verb
from fleetui.domain.machine_record import MachineRecord
from fleetui.domain.market import MarketError
from fleetui.domain.offer import Offer
from fleetui.domain.offer_query import parse_offer_query
from fleetui.domain.rental import Template
from fleetui.domain.standing import Mark
from fleetui.domain.text import sanitise
from memory_store import MemoryStore
from sample_fleet import build

CARD = sanitise("RTX 4090")


def offer(offer_id: int, machine_id: int, price: float) -> Offer:
    return Offer(
        offer_id=offer_id, machine_id=machine_id, gpu_name=CARD, num_gpus=1, cpu_ram_mb=256_000.0,
        price=price, inet_down_mbps=1000.0, geolocation=sanitise("Oslo, [/] NO"),
    )  # fmt: skip


class Shelf:
    """A market with these offers."""

    def __init__(self, *offers: Offer, trouble: str = "") -> None:
        self.offers = offers
        self.trouble = trouble
        self.asked: list[Mapping[str, object]] = []
        self.templates: Mapping[str, Template] = {"usual": Template(image="example/image")}

    async def search(
        self, conditions: Mapping[str, object], disk_gb: float
    ) -> tuple[tuple[Offer, ...], int]:
        assert disk_gb == 250.0
        self.asked.append(conditions)
        if self.trouble:
            raise MarketError(self.trouble)
        return self.offers, 0

    def body(self, template: Template, price: float, intent_id: str) -> dict[str, object]:
        assert price > 0
        assert intent_id
        return {"image": template.image, "env": {"TOKEN": "***"}}


def recorded() -> MemoryStore:
    store = build(4, now=NOW)
    mark = Mark(by=sanitise("ana@ops"), at=NOW, reason=sanitise("burnt"))
    store.records = tuple(
        MachineRecord(
            machine_id=machine_id, gpu_name=CARD, num_gpus=1, cpu_ram_gb=256.0, rates=rates,
            rentals=len(rates), blacklist=mark if machine_id == 3 else None,
        )
        for machine_id, rates in ((1, (20.0, 22.0, 21.0)), (2, (80.0,)), (3, (90.0,)))
    )  # fmt: skip
    return store


SHELF = (
    offer(10_000_001, 1, 0.30),
    offer(10_000_002, 2, 0.40),
    offer(10_000_003, 3, 0.10),
    offer(10_000_009, 9, 0.50),
)


def rentals(store: MemoryStore) -> list[Intent]:
    return [intent for intent in store.intent_list if intent.verb is Verb.DEPLOY]


async def at_offers(run: Console) -> OffersScreen:
    await run.press("5", "n")
    await run.until(lambda: isinstance(run.app.screen, OffersScreen), "the offers")
    screen = run.app.screen
    assert isinstance(screen, OffersScreen)
    return screen


async def test_what_is_expected_to_be_cheapest_comes_first_and_the_blacklisted_is_hidden() -> None:
    shelf = Shelf(*SHELF)
    async with console(recorded(), market=shelf, size=(160, 40)) as run:
        await at_offers(run)
        await run.shows("3 by what a proof is expected to cost, 1 of blacklisted machines hidden")
        order = [line.split()[0] for line in run.text.split("\n") if "1000000" in line]
        assert order == ["10000002", "10000009", "10000001"]
        assert "10000003" not in run.text
        await run.press("b")
        await run.shows("BLACKLISTED by ana@ops: burnt")
        await run.press("o", "p")
        await run.shows("by price an hour")
        await run.press("slash", "ctrl+u", *"gpu_ram>20", "enter")
        await run.until(lambda: len(shelf.asked) == 2, "another search")
        assert shelf.asked[1]["gpu_ram"] == parse_offer_query("gpu_ram>20").conditions["gpu_ram"]


async def test_renting_needs_the_digits_and_asks_the_collector() -> None:
    store = recorded()
    async with console(store, market=Shelf(*SHELF), size=(160, 40)) as run:
        await at_offers(run)
        await run.shows("10000002")
        await run.press("n")
        await run.until(lambda: isinstance(run.app.screen, TypedDialog), "the dialog")
        await run.shows("PUT /api/v0/asks/10000002/")
        await run.shows("***")
        for keys in (["enter"], ["0", "0", "0", "1", "enter", "escape"], ["y", "escape"]):
            if not isinstance(run.app.screen, TypedDialog):
                await run.press("n")
                await run.until(lambda: isinstance(run.app.screen, TypedDialog), "the dialog")
            await run.press(*keys)
            await run.until(lambda: isinstance(run.app.screen, OffersScreen), "the offers")
        assert not rentals(store)
        await run.press("n")
        await run.until(lambda: isinstance(run.app.screen, TypedDialog), "the dialog")
        await run.press("0", "0", "0", "2", "enter")
        await run.until(lambda: rentals(store), "the intent")
        (intent,) = rentals(store)
        assert intent.rental is not None
        assert (intent.rental.offer_id, intent.machine_id, intent.rental.price) == (
            10_000_002, 2, 0.40,
        )  # fmt: skip
        assert intent.rental.template == "usual"


async def test_marked_offers_are_rented_together_and_a_blacklisted_one_stops_all() -> None:
    store = recorded()
    async with console(store, market=Shelf(*SHELF), size=(160, 40)) as run:
        await at_offers(run)
        await run.shows("10000002")
        await run.press("space", "space")
        await run.shows("2 marked")
        await run.press("n")
        await run.until(lambda: isinstance(run.app.screen, TypedDialog), "the dialog")
        await run.press("2", "enter")
        await run.until(lambda: len(rentals(store)) == 2, "two intents")
        await run.press("b", "A", "g")
        await run.press("o", "p", "n")
        await run.shows("machine 3 is blacklisted by ana@ops")
        assert len(rentals(store)) == 2


@pytest.mark.parametrize("read_only", [False, True])
async def test_trouble_is_said_and_read_only_rents_nothing(*, read_only: bool) -> None:
    shelf = Shelf(*SHELF, trouble="" if read_only else "the market does not answer: [/] 502")
    async with console(recorded(), market=shelf, read_only=read_only) as run:
        screen = await at_offers(run)
        if read_only:
            await run.shows("10000002")
            await run.press("n")
            screen.action_rent()
            await run.shows("read-only: nothing is rented from here")
        else:
            await run.shows("the market does not answer: [/] 502")
            await run.press("n")
            await run.shows("there is no offer to rent")
        assert not rentals(run.store)


async def test_without_a_template_it_says_where_one_goes() -> None:
    shelf = Shelf(*SHELF)
    shelf.templates = {}
    async with console(recorded(), market=shelf) as run:
        await at_offers(run)
        await run.shows("10000002")
        await run.press("n")
        await run.shows("[deploy.templates]")
        assert not rentals(run.store)
