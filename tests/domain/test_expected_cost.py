"""What a proof is expected to cost, from our own history alone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.expected_cost import (
    LEAST_WORKED,
    PROVING_HOURS,
    UNKNOWN_DOWNLOAD_HOURS,
    UNKNOWN_WORK_HOURS,
    Basis,
    History,
    Order,
    RankedOffer,
    in_order,
)
from fleetui.domain.machine_record import MachineRecord
from fleetui.domain.offer import Offer
from fleetui.domain.standing import Mark
from fleetui.domain.text import sanitise

GPU = sanitise("RTX 4090")
PAID = 1 + (UNKNOWN_DOWNLOAD_HOURS + PROVING_HOURS) / UNKNOWN_WORK_HOURS
MARK = Mark(sanitise("ada"), 1.0, sanitise("bad"))


def offer(machine_id: int | None = 70, **fields: Any) -> Offer:  # noqa: ANN401 - any field
    known = {"gpu_name": GPU, "num_gpus": 1, "cpu_ram_mb": 503_000.0, "price": 0.4}
    return Offer(**{"offer_id": 1, "machine_id": machine_id, **known, **fields})


def record(machine_id: int, *rates: float, **fields: Any) -> MachineRecord:  # noqa: ANN401 - any field
    known = {"gpu_name": GPU, "num_gpus": 1, "cpu_ram_gb": 515.0, "rentals": len(rates)}
    return MachineRecord(machine_id=machine_id, rates=rates, **{**known, **fields})


def test_the_machine_itself_counts_first() -> None:
    history = History([record(70, 40.0, 44.0, 42.0), record(71, 10.0)])
    found = history.rank(offer())
    assert found.rate is not None
    assert (found.rate.basis, found.rate.proofs_per_hour, found.rate.count) == (
        Basis.MACHINE, 42.0, 3,
    )  # fmt: skip
    assert (found.rate.low, found.rate.high, found.rate.odds) == (41.0, 43.0, 1.0)
    assert found.dollars_per_proof == pytest.approx(0.4 * PAID / 42.0)
    assert found.cheapest == pytest.approx(0.4 * PAID / 43.0)
    assert found.dearest == pytest.approx(0.4 * PAID / 41.0)


def test_else_others_of_its_kind_each_machine_once() -> None:
    history = History([record(71, 10.0, 10.0, 10.0, 10.0), record(72, 30.0), record(73, 50.0)])
    rate = history.rank(offer()).rate
    assert rate is not None
    assert (rate.basis, rate.proofs_per_hour, rate.count) == (Basis.CLASS, 30.0, 3)
    for other in (
        offer(cpu_ram_mb=251_000.0), offer(gpu_name=sanitise("L40S")),
        offer(cpu_ram_mb=None), offer(gpu_name=None), offer(None, num_gpus=None),
    ):  # fmt: skip
        found = history.rank(other)
        assert (found.rate, found.dollars_per_proof, found.dearest) == (None, None, None)
    pair = history.rank(offer(num_gpus=2)).rate
    assert pair is not None
    assert (pair.basis, pair.proofs_per_hour) == (Basis.CLASS, 60.0)


def test_what_was_paid_for_nothing_weighs() -> None:
    history = History(
        [
            record(70, rentals=1, failures=1),
            record(71, 40.0),
            record(72, 40.0, rentals=3, failures=2),
        ]
    )
    untried, failed, shaky = (history.rank(offer(number)) for number in (99, 70, 72))
    assert untried.rate is not None
    assert untried.rate.odds == 3 / 4
    assert failed.rate is not None
    assert (failed.rate.basis, failed.rate.odds) == (Basis.CLASS, 3 / 8)
    assert shaky.rate is not None
    assert (shaky.rate.basis, shaky.rate.odds) == (Basis.MACHINE, 2 / 4)
    start = (UNKNOWN_DOWNLOAD_HOURS + PROVING_HOURS) / UNKNOWN_WORK_HOURS
    assert shaky.dollars_per_proof == pytest.approx(0.4 / 40.0 * (1 + start / 0.5))
    # Where rentals last, a start in vain weighs less; where a download takes long, more.
    lasting = record(72, 40.0, rentals=3, failures=2, worked_hours=(100.0,) * LEAST_WORKED)
    cost = History([lasting]).rank(offer(72)).dollars_per_proof
    assert cost == pytest.approx(0.4 / 40.0 * (1 + 1.25 / 50.0))
    slow = record(72, 40.0, rentals=3, failures=2, downloads=(133 * 2**30 / 36_000,))
    cost = History([slow]).rank(offer(72, inet_down_mbps=900.0)).dollars_per_proof
    assert cost == pytest.approx(0.4 / 40.0 * (1 + 10.75 / 24.0 / 0.5))


def test_downloads_as_stated_and_as_remembered() -> None:
    history = History([record(70, downloads=(50e6, 100e6, 60e6), blacklist=MARK)])
    found = history.rank(offer(inet_down_mbps=800.0))
    assert found.stated_download == pytest.approx(133 * 2**30 / 100e6)
    assert found.remembered_download == pytest.approx(133 * 2**30 / 60e6)
    assert found.blacklist == MARK
    unknown = History([]).rank(offer(inet_down_mbps=0.0))
    assert (unknown.stated_download, unknown.remembered_download) == (None, None)
    assert History([]).rank(offer(None)).blacklist is None


_PRICES = st.none() | st.floats(0.01, 5.0)
_RECORDS = st.lists(
    st.builds(
        lambda number, rates, failures: record(
            number, *rates, rentals=len(rates) + failures, failures=failures
        ),
        st.integers(1, 5),
        st.lists(st.floats(0.1, 100.0), max_size=4),
        st.integers(0, 3),
    ),
    max_size=8,
)
_OFFERS = st.lists(
    st.builds(lambda number, price: offer(number, price=price), st.integers(1, 8), _PRICES),
    max_size=12,
)


@given(_RECORDS, _OFFERS, st.sampled_from(Order))
def test_unknown_is_never_a_figure_and_comes_last(
    records: list[MachineRecord], offers: list[Offer], order: Order
) -> None:
    history = History(records)
    ranked = in_order([history.rank(item) for item in offers], order)
    assert len(ranked) == len(offers)
    for item in ranked:
        known = item.offer.price is not None and item.rate is not None
        assert (item.dollars_per_proof is not None) == known
        assert item.dollars_per_proof is None or item.dollars_per_proof > 0
        if item.cheapest is not None and item.dearest is not None:
            assert item.cheapest <= item.dearest * (1 + 1e-9)
    if order is Order.PROOF:
        costs = [item.dollars_per_proof for item in ranked]
        known_costs = [cost for cost in costs if cost is not None]
        assert costs == [*sorted(known_costs), *[None] * (len(costs) - len(known_costs))]


def test_other_orders() -> None:
    history = History([record(70, 40.0), record(71, 20.0, downloads=(1e9,))])
    ranked = [
        history.rank(offer(70, offer_id=1, price=0.9, inet_down_mbps=100.0)),
        history.rank(offer(71, offer_id=2, price=0.3, inet_down_mbps=50.0)),
        history.rank(offer(None, offer_id=3, price=0.1, gpu_name=None)),
    ]

    def ids(order: Order) -> list[int]:
        found: list[RankedOffer] = in_order(ranked, order)
        return [item.offer.offer_id for item in found]

    assert ids(Order.PROOF) == [2, 1, 3]
    assert ids(Order.PRICE) == [3, 2, 1]
    assert ids(Order.RATE) == [1, 2, 3]
    assert ids(Order.DOWNLOAD) == [2, 1, 3]
