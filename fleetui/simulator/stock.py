"""The machines of the pretend market: what is said of them, what they truly are, what they cost.

A search shows what a host says. What a machine truly does is known to the pretence alone. The
same seed gives the same machines, flaws and prices at every time.
"""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any

from fleetui.simulator.rows import base_row, price, settle

FIRST_OFFER = 9_100_000
RETURN_SECONDS = 300.0
"""Fleet time until a machine whose instance ended is on offer again."""
TAKEN_SECONDS = 12 * 3600.0
"""How long others rent a machine, where there are others."""
BASE_RATE = 37.0
"""Proofs an hour of one card of speed 1 with enough processors and memory."""
CORES_A_CARD = 24.0
SPEEDS = {
    "RTX 3080 Ti": 0.42, "RTX 3090": 0.8, "RTX PRO 4000": 1.0, "RTX 5070 Ti": 1.05, "L40S": 1.15,
    "A100 SXM4": 1.2, "RTX 4090": 1.25, "RTX 5090": 1.6, "H100 SXM": 1.7,
}  # fmt: skip
_MOVES = ((3600.0, 0.015), (6 * 3600.0, 0.04), (48 * 3600.0, 0.12))
"""Prices wander: seconds between two turns, and how far a turn goes as a share of the price."""


class Flaw(StrEnum):
    """What is wrong with a machine, and not to be seen in its offer."""

    NONE = "none"
    SLOW_DOWNLOAD = "slow_download"
    FAILING_GPU = "failing_gpu"
    LOW_RATE = "low_rate"


FLAW_SHARES = {Flaw.SLOW_DOWNLOAD: 0.1, Flaw.FAILING_GPU: 0.12, Flaw.LOW_RATE: 0.1}


@dataclass(frozen=True)
class StockMachine:
    """One machine: its row's lasting fields, and what only renting it shows.

    `speed` is relative to others of its model, `download` true bytes a second.
    """

    machine_id: int
    fields: Mapping[str, Any]
    flaw: Flaw
    speed: float
    download: float
    price_share: float

    @property
    def card_speed(self) -> float:
        """The speed of one of its cards beside the slowest good one."""
        return SPEEDS[self.fields["gpu_name"]] * self.speed

    @property
    def proofs_per_hour(self) -> float:
        """What it truly proves when its GPU does not fail."""
        cards = self.fields["num_gpus"]
        fed = min(1.0, self.fields["cpu_cores_effective"] / (cards * CORES_A_CARD)) ** 0.7
        return float(BASE_RATE * self.card_speed * cards**0.95 * fed)


@dataclass
class Offer:
    """A machine that can be rented at the time `now`, priced when it is looked at."""

    offer_id: int
    machine: StockMachine
    stock: "Stock"
    now: float

    @cached_property
    def fields(self) -> dict[str, Any]:
        """Its row, at the price of its time."""
        row = dict(self.machine.fields)
        row |= {"id": self.offer_id, "end_date": self.now + 30 * 86_400.0}
        price(row, self.stock.price_share(self.machine, self.now))
        settle(row, self.now)
        return row


class Stock:
    """The whole market. `others` is the share of machines that other renters have at a time."""

    def __init__(self, machines: int, seed: int, now: float, *, others: float = 0.0) -> None:
        self._seed = seed
        self._others = others
        self._next_offer = FIRST_OFFER
        self._on_offer: dict[int, StockMachine] = {}
        self._back_at: dict[int, float] = {}
        """Machines that come back, by their id."""
        flaws = [
            flaw for flaw, share in FLAW_SHARES.items() for _ in range(round(share * machines))
        ]
        flaws += [Flaw.NONE] * (machines - len(flaws))
        _random(seed, "flaws").shuffle(flaws)
        self.machines: dict[int, StockMachine] = {}
        for number, flaw in enumerate(flaws):
            machine = _machine(number, flaw, seed, now)
            self.machines[machine.machine_id] = machine
            self._put(machine)

    def offers(self, now: float) -> dict[int, Offer]:
        """Return what can be rented, by the offer's id, at the prices of now."""
        for machine_id, at in list(self._back_at.items()):
            if at <= now:
                del self._back_at[machine_id]
                self._put(self.machines[machine_id])
        return {
            offer_id: Offer(offer_id, machine, self, now)
            for offer_id, machine in self._on_offer.items()
            if not self._is_taken(machine, now)
        }

    def take(self, offer_id: int, now: float) -> Offer | None:
        """Rent; `None` when it is not there."""
        offer = self.offers(now).get(offer_id)
        if offer is not None:
            del self._on_offer[offer_id]
        return offer

    def give_back(self, machine_id: int, now: float) -> None:
        """End a renting: the machine comes back as a new offer; others are not of this market."""
        if machine_id in self.machines:
            self._back_at[machine_id] = now + RETURN_SECONDS

    def price_share(self, machine: StockMachine, now: float) -> float:
        """Return what it costs now as a share of its model's usual price."""
        wander = sum(
            depth * _wave(self._seed, machine.machine_id, period, now) for period, depth in _MOVES
        )
        return machine.price_share * math.exp(wander)

    def _put(self, machine: StockMachine) -> None:
        self._on_offer[self._next_offer] = machine
        self._next_offer += 1

    def _is_taken(self, machine: StockMachine, now: float) -> bool:
        span = int(now // TAKEN_SECONDS)
        return _chance(self._seed, machine.machine_id, span) < self._others


def _machine(number: int, flaw: Flaw, seed: int, now: float) -> StockMachine:
    source = _random(seed, "machine", number)
    fields = base_row(FIRST_OFFER + number, source, now)
    # No two machines of the market may be one.
    fields["machine_id"] = 60_000 + 37 * number + seed % 37
    honest = source.uniform(0.6, 1.0)
    slow = source.uniform(0.02, 0.05)
    speed = math.exp(source.gauss(0.0, 0.1))
    weak = source.uniform(0.3, 0.5)
    share = math.exp(source.gauss(0.0, 0.2))
    stated = fields["inet_down"] * 1e6 / 8
    return StockMachine(
        machine_id=fields["machine_id"],
        fields=fields,
        flaw=flaw,
        speed=speed * (weak if flaw is Flaw.LOW_RATE else 1.0),
        download=stated * (slow if flaw is Flaw.SLOW_DOWNLOAD else honest),
        price_share=share,
    )


def _wave(seed: int, machine_id: int, period: float, now: float) -> float:
    """A smooth wandering around 0 that depends on nothing but its arguments."""
    turn, part = divmod(now, period)
    before = _turn(seed, machine_id, period, int(turn))
    after = _turn(seed, machine_id, period, int(turn) + 1)
    share = part / period
    return before * (1.0 - share) + after * share


@lru_cache(maxsize=100_000)
def _chance(seed: int, machine_id: int, span: int) -> float:
    return _random(seed, "taken", machine_id, span).random()


@lru_cache(maxsize=200_000)
def _turn(seed: int, machine_id: int, period: float, turn: int) -> float:
    return _random(seed, "price", machine_id, period, turn).gauss(0.0, 1.0)


def _random(*parts: object) -> random.Random:
    return random.Random("/".join(map(str, parts)))  # noqa: S311 - a reproducible pretence
