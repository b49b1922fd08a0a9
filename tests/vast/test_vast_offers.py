"""Offers: any row is read, a search never hides trouble, a renting is never sent twice."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fleetui.vast.offers import RentalOrder, read_offer
from pretend_vast import client_of, pretend_vast

ORDER = RentalOrder(image="a/b", disk_gb=250.0, environment={"A": "b"}, label="mine")
values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers())
)


@given(st.dictionaries(st.sampled_from(["id", "dph_total", "gpu_name", "num_gpus"]), values))
def test_any_row_is_read(raw: dict[str, Any]) -> None:
    offer = read_offer(raw)
    assert offer is None or offer.offer_id > 0
    assert offer is None or offer.price is None or 0 < offer.price <= 1e5


async def test_a_search_says_what_went_wrong() -> None:
    async with pretend_vast(1) as served, client_of(served.environment["VAST_URL"]) as client:
        everything = await client.search_offers({})
        assert len(everything.offers) == len(served.world.offers)
        assert everything.error is None
        assert not everything.cut
        some = await client.search_offers({}, limit=2)
        assert (len(some.offers), some.cut) == (2, True)
        cheap = await client.search_offers(
            {"dph_total": {"lte": 0.4}}, order=[("dph_total", "asc")]
        )
        prices = [offer.price or 0.0 for offer in cheap.offers]
        assert prices == sorted(prices)
        assert 0 < len(prices) < len(everything.offers)
        for fault in ("api_down", "html_200", "auth", "api_500"):
            served.faults.switch_on(fault)
            found = await client.search_offers({})
            assert (found.offers, bool(found.error)) == ((), True)
            served.faults.switch_off()


async def test_a_renting_is_sent_once_and_tells_its_contract() -> None:
    async with pretend_vast(1) as served, client_of(served.environment["VAST_URL"]) as client:
        first, second, *_ = served.world.offers
        rented = await client.rent(first, ORDER)
        assert rented.ok
        assert rented.contract in served.world.rentals
        served.api.recorded.clear()
        served.faults.switch_on("api_503")
        lost = await client.rent(second, ORDER)
        assert (lost.ok, lost.code, lost.contract) == (False, None, None)
        assert len(served.api.recorded) == 1
