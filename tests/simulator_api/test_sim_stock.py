"""The pretend market: prices that move, machines that come back, flaws that no offer shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.clock import ScaledClock
from fleetui.simulator.hosts.offered import PARAMETER_BYTES, hardware_of, offered_host
from fleetui.simulator.market import offer_row
from fleetui.simulator.stock import FLAW_SHARES, RETURN_SECONDS, Flaw, Stock
from fleetui.simulator.world import World
from pretend_vast import IdleHost

BORN = 1_790_000_000.0
DAY = 86_400.0


def test_a_seed_makes_one_market() -> None:
    one, same, other = Stock(60, 7, BORN), Stock(60, 7, BORN), Stock(60, 8, BORN)
    assert one.machines == same.machines
    assert len(one.machines) == 60
    assert one.machines.keys() != other.machines.keys()
    for later in (0.0, 1234.5, 40 * DAY):
        # Asked in another order, and more often, it says the same.
        other.offers(BORN + later)
        assert rows(one, BORN + later) == rows(same, BORN + later)


def rows(stock: Stock, now: float) -> dict[int, object]:
    return {number: offer.fields for number, offer in stock.offers(now).items()}


@given(st.integers(0, 1000), st.floats(0, 60 * DAY), st.floats(1.0, 60.0))
def test_prices_wander_without_jumps(seed: int, later: float, step: float) -> None:
    stock = Stock(3, seed, BORN)
    for machine in stock.machines.values():
        now, soon = (stock.price_share(machine, BORN + at) for at in (later, later + step))
        assert 0.2 < now / machine.price_share < 5.0
        assert abs(soon / now - 1) < 0.01


def test_prices_move_over_days() -> None:
    stock = Stock(40, 7, BORN)
    first = {offer.machine.machine_id: offer.fields["dph_total"] for offer in
             stock.offers(BORN).values()}  # fmt: skip
    moved = [
        abs(offer.fields["dph_total"] / first[offer.machine.machine_id] - 1)
        for offer in stock.offers(BORN + 4 * DAY).values()
    ]
    assert sum(change > 0.02 for change in moved) > 30


def test_a_machine_comes_back_as_a_new_offer() -> None:
    stock = Stock(5, 7, BORN)
    first = next(iter(stock.offers(BORN)))
    taken = stock.take(first, BORN)
    assert taken is not None
    machine_id = taken.machine.machine_id
    assert stock.take(first, BORN) is None
    assert machine_id not in machines(stock, BORN + DAY)
    stock.give_back(machine_id, BORN + DAY)
    stock.give_back(12, BORN + DAY)
    assert machine_id not in machines(stock, BORN + DAY + RETURN_SECONDS - 1)
    later = BORN + DAY + RETURN_SECONDS
    assert machine_id in machines(stock, later)
    assert first not in stock.offers(later)


def machines(stock: Stock, now: float) -> set[int]:
    return {offer.machine.machine_id for offer in stock.offers(now).values()}


def test_others_rent_too() -> None:
    stock = Stock(60, 7, BORN, others=0.4)
    seen = [machines(stock, BORN + number * DAY) for number in range(8)]
    assert all(10 < len(offered) < 55 for offered in seen)
    assert len(set.union(*seen)) == 60


def test_flaws_are_there_and_no_offer_shows_them() -> None:
    stock = Stock(60, 7, BORN)
    found = [machine.flaw for machine in stock.machines.values()]
    for flaw, share in FLAW_SHARES.items():
        assert found.count(flaw) == round(60 * share)
    for offer in stock.offers(BORN).values():
        row = offer_row(offer)
        assert not {"flaw", "speed", "download", "scenario"} & row.keys()
        stated = row["inet_down"] * 1e6 / 8
        slow = offer.machine.flaw is Flaw.SLOW_DOWNLOAD
        assert (offer.machine.download < stated * 0.1) == slow


def test_a_rented_machine_is_what_it_was_offered_as() -> None:
    clock = ScaledClock(BORN, BORN, 1.0, lambda: BORN)
    world = World([], 7, clock, IdleHost, make_offered=offered_host)
    offers = {offer.machine.flaw: offer for offer in world.offers.values()}
    for flaw, offer in offers.items():
        rental = world.create(offer.offer_id, {"image": "x", "env": {"MIN_RATE": "31"}, "disk": 99})
        assert rental is not None
        row = world.row(rental)
        for name in ("machine_id", "gpu_name", "num_gpus", "gpu_ram", "cpu_cores_effective",
                     "dph_base", "inet_down"):  # fmt: skip
            assert row[name] == offer.fields[name], name
        assert row["cpu_ram"] == pytest.approx(offer.fields["cpu_ram"], abs=1024)
        assert row["disk_space"] == 99
        host = offered_host(1, offer.machine, {"MIN_RATE": "31"}, clock, BORN)
        assert host.scenario.plan.min_rate == 31
        assert (host.scenario.plan.warmup == "vram") == (flaw is Flaw.FAILING_GPU)
        assert host.scenario.plan.params_seconds == PARAMETER_BYTES / offer.machine.download
        assert hardware_of(offer.machine).speed == offer.machine.card_speed
        assert world.destroy(rental.instance_id)
    assert (
        offered_host(1, offer.machine, {"MIN_RATE": "x"}, clock, BORN).scenario.plan.min_rate == 29
    )
