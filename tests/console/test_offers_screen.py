"""The market's offers on the screen: searched, ranked, rented."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from console_pilot import NOW, Console, console
from fleetui.console.modals.typed_dialog import TypedDialog
from fleetui.console.offer_lines import heading, offer_line
from fleetui.console.screens.offers import OffersScreen
from fleetui.domain.expected_cost import History
from fleetui.domain.intent import Intent, Verb
from fleetui.domain.machine_record import MachineRecord
from fleetui.domain.market import Found, MarketError
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
        self.disks: list[float] = []
        self.cut = False
        self.templates: Mapping[str, Template] = {"usual": Template(image="example/image")}

    async def search(self, conditions: Mapping[str, object], disk_gb: float) -> Found:
        self.disks.append(disk_gb)
        self.asked.append(conditions)
        if self.trouble:
            raise MarketError(self.trouble)
        return Found(self.offers, cut=self.cut)

    def body(self, template: Template, price: float, intent_id: str) -> dict[str, object]:
        assert price > 0
        assert intent_id
        return {
            "image": template.image,
            "env": {"TOKEN": "***", "MIN_RATE": f"{price * 100:.1f}"},
            "disk": template.disk_gb,
        }


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


async def test_a_small_screen_shows_the_download_and_who_is_blacklisted() -> None:
    async with console(recorded(), market=Shelf(*SHELF), size=(80, 24)) as run:
        await at_offers(run)
        await run.shows("10000002")
        await run.press("b")
        await run.shows("BLACKLISTED")
        (line,) = [line for line in run.text.split("\n") if "10000003" in line]
        assert "~19m  BLACKLISTED" in line
        (title,) = [line for line in run.text.split("\n") if "133 GiB" in line]
        assert title.index("133 GiB") + len("133 GiB") == line.index("~19m") + len("~19m")


FIGURE = st.floats(0.0, 1e15)


@given(
    st.tuples(FIGURE, FIGURE, st.floats(1.0, 1e15)), st.integers(1, 2**62),
    st.sampled_from([78, 110, 150]), st.text(max_size=300),
)  # fmt: skip
def test_no_figure_widens_a_line(
    figures: tuple[float, float, float], number: int, width: int, name: str
) -> None:
    price, memory, rate = figures
    wild = Offer(
        offer_id=number, machine_id=number, gpu_name=sanitise(name), num_gpus=number,
        cpu_ram_mb=memory, cpu_cores=memory, price=price, inet_down_mbps=price or None,
    )  # fmt: skip
    record = MachineRecord(
        machine_id=number, gpu_name=sanitise(name), num_gpus=number, rates=(rate, rate),
        downloads=(price or 1.0,),
    )  # fmt: skip
    item = History([record]).rank(wild)
    assert price or item.dollars_per_proof is None
    line = offer_line(item, width, ())
    before_where = sum(cell_len(text) for text, _ in line[:-1])
    assert before_where == len(heading(width).removesuffix("  where"))


async def test_marks_on_hidden_offers_never_stand_for_another_row() -> None:
    store = recorded()
    async with console(store, market=Shelf(*SHELF), size=(160, 40)) as run:
        screen = await at_offers(run)
        await run.shows("10000002")
        await run.press("b")
        await run.shows("BLACKLISTED")
        screen._marked.add(10_000_003)
        await run.press("b", "n")
        await run.shows("1 of the marked offers are not shown")
        assert isinstance(run.app.screen, OffersScreen)
        assert not rentals(store)


async def test_each_request_of_several_can_be_read() -> None:
    shelf = Shelf(*(offer(20_000_000 + n, 20 + n, 0.25 + n / 100) for n in range(12)))
    async with console(recorded(), market=shelf, size=(100, 24)) as run:
        await at_offers(run)
        await run.shows("20000002")
        await run.press(*["space"] * 12)
        await run.shows("12 marked")
        await run.press("n")
        await run.until(lambda: isinstance(run.app.screen, TypedDialog), "the dialog")
        await run.shows("and 8 more, all below")
        await run.press(*["down"] * 40)
        await run.shows("PUT /api/v0/asks/20000011/")
        await run.shows('env.MIN_RATE "36.0"')
        await run.shows("type the number of machines")


async def test_prices_include_the_disk_of_the_template_that_rents() -> None:
    shelf = Shelf(*SHELF)
    shelf.templates = {
        "large": Template(image="example/image", disk_gb=700.0),
        "usual": Template(image="example/image"),
    }
    shelf.cut = True
    async with console(recorded(), market=shelf, size=(160, 40)) as run:
        await at_offers(run)
        await run.shows("prices include the 700 GB of the template large")
        await run.shows("there may be dearer ones")
        await run.press("n")
        await run.shows("rent by which template")
        await run.press("u")
        await run.shows("prices include the 250 GB of the template usual")
        await run.shows("searched again with the disk of usual")
        assert shelf.disks == [700.0, 250.0]
        await run.press("n")
        await run.shows("rent by which template")
        await run.press("u")
        await run.until(lambda: isinstance(run.app.screen, TypedDialog), "the dialog")
        await run.shows('"disk": 250.0')
        await run.press("escape")
