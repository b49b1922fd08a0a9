"""A month of a fleet of 60 on a pretend market: ranked by price, and by expected cost of a proof.

Simulated time, no network: every hour the ended rentals are given back and the free places filled
with the best offers that the default query lets through. All rankings live under the same rules:
a machine whose parameters take more than 90 minutes, whose GPU fails, or whose benchmark is below
the minimum rate of its price is ended at once, paid for nothing; the second time (the first for a
GPU) its machine is blacklisted. "price, forgetful" has no blacklist. A ranking knows what offers
say and what its own rentals showed; a machine's true rate and flaw are the market's alone.

    python benchmarks/offer_ranking.py [--seeds 5] [--fleet 60] [--market 600] [--days 30]
"""

import argparse
import math
import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from fleetui.domain.expected_cost import PARAMETER_BYTES, History, Order, in_order
from fleetui.domain.machine_record import MachineRecord
from fleetui.domain.offer import Offer
from fleetui.domain.offer_query import DEFAULT_QUERY, parse_offer_query
from fleetui.domain.standing import Mark
from fleetui.domain.text import sanitise
from fleetui.simulator import listing
from fleetui.simulator.market import offer_row
from fleetui.simulator.stock import Flaw, Stock, StockMachine
from fleetui.vast.offers import read_offer

BORN = 1_790_000_000.0
HOUR = 3600.0
OTHERS = 0.3
MEAN_LIFE_HOURS = 60.0
LOADING_HOURS = 0.1
WARMUP_HOURS = 0.15
BENCH_HOURS = 0.5
LONGEST_DOWNLOAD_HOURS = 1.5
SLOW, BROKEN, WEAK = "slow download", "GPU failed", "below minimum"
NOISE = 0.03
"""How far a measured rate is from the true one, as a share."""


@dataclass
class Memory:
    """What a fleet's own rentals of one machine showed."""

    offer: Offer
    rates: list[float] = field(default_factory=list)
    downloads: list[float] = field(default_factory=list)
    worked_hours: list[float] = field(default_factory=list)
    rentals: int = 0
    failures: int = 0


@dataclass(frozen=True)
class Rental:
    """One rental, its whole course known to the pretence from its begin.

    At `known_at` it has shown what it has to show: its benchmark's rate, or its fault.
    """

    offer: Offer
    known_at: float
    ends_at: float
    dollars: float
    proofs: float
    rate: float | None
    download: float | None
    fault: str


@dataclass
class Month:
    """What one fleet did."""

    proofs: float = 0.0
    dollars: float = 0.0
    rentals: int = 0
    bad: Counter[str] = field(default_factory=Counter)
    blacklisted_rented: int = 0

    @property
    def per_proof(self) -> float:
        """Dollars a proof."""
        return self.dollars / self.proofs if self.proofs else math.inf


Ranking = Callable[[list[Offer], list[MachineRecord]], list[Offer]]


def by_price(offers: list[Offer], _records: list[MachineRecord]) -> list[Offer]:
    """The cheapest hour first."""
    return sorted(offers, key=lambda offer: (offer.price or math.inf, offer.offer_id))


def by_expected_cost(offers: list[Offer], records: list[MachineRecord]) -> list[Offer]:
    """The cheapest expected proof first."""
    history = History(records)
    ranked = in_order([history.rank(offer) for offer in offers], Order.PROOF)
    return [item.offer for item in ranked]


class Fleet:
    """A fleet that fills its places by one ranking."""

    def __init__(
        self, ranking: Ranking, wanted: argparse.Namespace, seed: int, *, heeds: bool
    ) -> None:
        self._ranking = ranking
        self._size: int = wanted.fleet
        self._dearest: float = wanted.dearest
        self._seed = seed
        self._heeds_blacklist = heeds
        self._stock = Stock(wanted.market, seed, BORN, others=OTHERS)
        self._rentals: list[Rental] = []
        self._untold: list[Rental] = []
        self._hopeless: set[int] = set()
        """Machines that the query will never let through, whatever they cost."""
        self._memories: dict[int, Memory] = {}
        self._offences: defaultdict[int, int] = defaultdict(int)
        self._blacklist: dict[int, Mark] = {}
        self._wanted = parse_offer_query(DEFAULT_QUERY).conditions
        self.month = Month()

    def live(self, days: int) -> Month:
        """Live hour by hour."""
        end = BORN + days * 24 * HOUR
        now = BORN
        while now < end:
            for rental in self._untold:
                if rental.known_at <= now:
                    self._learn(rental, now)
            self._untold = [item for item in self._untold if item.known_at > now]
            for rental in self._rentals:
                if rental.ends_at <= now:
                    machine_id = rental.offer.machine_id or 0
                    self._stock.give_back(machine_id, now)
                    if not rental.fault:
                        hours = (rental.ends_at - rental.known_at) / HOUR
                        self._memories[machine_id].worked_hours.append(hours)
            self._rentals = [item for item in self._rentals if item.ends_at > now]
            free = self._size - len(self._rentals)
            if free:
                for offer in self._ranking(self._eligible(now), self._records())[:free]:
                    self._rent(offer, now, end)
            now += HOUR
        return self.month

    def _eligible(self, now: float) -> list[Offer]:
        found = []
        for offer in self._stock.offers(now).values():
            if offer.machine.machine_id in self._hopeless:
                continue
            row = offer_row(offer)
            wanted = {name: item for name, item in self._wanted.items() if name in row}
            price = {"dph_total": wanted.pop("dph_total")}
            if not listing.matches(row, wanted, frozenset()):
                self._hopeless.add(offer.machine.machine_id)
                continue
            read = read_offer(row) if listing.matches(row, price, frozenset()) else None
            if read is None or read.machine_id is None:
                continue
            if self._heeds_blacklist and read.machine_id in self._blacklist:
                continue
            found.append(read)
        return found

    def _records(self) -> list[MachineRecord]:
        return [
            MachineRecord(
                machine_id=machine_id,
                gpu_name=memory.offer.gpu_name,
                num_gpus=memory.offer.num_gpus,
                cpu_ram_gb=(memory.offer.cpu_ram_mb or 0.0) / 1000.0,
                rates=tuple(memory.rates),
                downloads=tuple(memory.downloads),
                worked_hours=tuple(memory.worked_hours),
                rentals=memory.rentals,
                failures=memory.failures,
                blacklist=self._blacklist.get(machine_id),
            )
            for machine_id, memory in self._memories.items()
        ]

    def _rent(self, offer: Offer, now: float, end: float) -> None:
        machine_id = offer.machine_id or 0
        self.month.blacklisted_rented += machine_id in self._blacklist
        taken = self._stock.take(offer.offer_id, now)
        if taken is None:
            raise RuntimeError("an offer of this very hour is gone")
        rental = self._course(taken.machine, offer, now, end)
        self._rentals.append(rental)
        self._untold.append(rental)
        self.month.rentals += 1
        self.month.dollars += rental.dollars
        self.month.proofs += rental.proofs
        if rental.fault:
            self.month.bad[rental.fault] += 1

    def _learn(self, rental: Rental, now: float) -> None:
        """Remember what a rental showed."""
        machine_id = rental.offer.machine_id or 0
        memory = self._memories.setdefault(machine_id, Memory(rental.offer))
        memory.rentals += 1
        if rental.rate is None:
            memory.failures += 1
        else:
            memory.rates.append(rental.rate)
        if rental.download is not None:
            memory.downloads.append(rental.download)
        if rental.fault:
            self._offences[machine_id] += 1
            if rental.fault == BROKEN or self._offences[machine_id] > 1:
                self._blacklist[machine_id] = Mark(
                    sanitise("operator"), now, sanitise(rental.fault)
                )

    def _course(self, machine: StockMachine, offer: Offer, now: float, end: float) -> Rental:
        """Let a rental happen; its chances depend on machine and hour, not on who rents."""
        chance = random.Random(f"{self._seed}/{machine.machine_id}/{now}")  # noqa: S311 - a reproducible pretence
        price = offer.price or 0.0
        measured = machine.proofs_per_hour * math.exp(chance.gauss(0.0, NOISE))
        life = chance.expovariate(1.0 / MEAN_LIFE_HOURS)
        download = PARAMETER_BYTES / machine.download / HOUR
        hours = LOADING_HOURS + min(download, LONGEST_DOWNLOAD_HOURS)
        fault, rate = "", None
        if download > LONGEST_DOWNLOAD_HOURS:
            fault = SLOW
        elif machine.flaw is Flaw.FAILING_GPU:
            fault, hours = BROKEN, hours + WARMUP_HOURS
        else:
            rate, hours = measured, hours + WARMUP_HOURS + BENCH_HOURS
            fault = WEAK if measured < math.ceil(price / self._dearest) else ""
        works = 0.0 if fault else min(life, max((end - now) / HOUR - hours, 0.0))
        return Rental(
            offer=offer,
            known_at=now + hours * HOUR,
            ends_at=now + (hours + works) * HOUR,
            dollars=price * (hours + works),
            proofs=works * machine.proofs_per_hour,
            rate=rate,
            download=machine.download,
            fault=fault,
        )


RANKINGS: tuple[tuple[str, Ranking, bool], ...] = (
    ("price, forgetful", by_price, False),
    ("price", by_price, True),
    ("expected $/proof", by_expected_cost, True),
)


def main() -> None:
    """Live the months and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--fleet", type=int, default=60)
    parser.add_argument("--market", type=int, default=600)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--dearest", type=float, default=0.012)
    wanted = parser.parse_args()
    print(
        f"{wanted.days} days, {wanted.fleet} places, {wanted.market} machines on the market,"
        f" seeds 1-{wanted.seeds}; a proof may cost {wanted.dearest} $",
        flush=True,
    )
    print(f"{'ranking':18} {'seed':>4} {'proofs':>9} {'$':>7} {'$/proof':>8} {'rented':>6} bad")
    costs: defaultdict[str, list[float]] = defaultdict(list)
    for seed in range(1, wanted.seeds + 1):
        for name, ranking, heeds in RANKINGS:
            fleet = Fleet(ranking, wanted, seed, heeds=heeds)
            month = fleet.live(wanted.days)
            costs[name].append(month.per_proof)
            bad = ", ".join(f"{count} {fault}" for fault, count in month.bad.most_common())
            print(
                f"{name:18} {seed:4} {month.proofs:9.0f} {month.dollars:7.0f}"
                f" {month.per_proof:8.5f} {month.rentals:6} {month.bad.total()} ({bad});"
                f" blacklisted rented: {month.blacklisted_rented}",
                flush=True,
            )
    for name, found in costs.items():
        ratios = [cost / best for cost, best in zip(found, costs["expected $/proof"], strict=True)]
        print(
            f"{name:18} median {statistics.median(found):.5f} $/proof,"
            f" {min(found):.5f}-{max(found):.5f}; {min(ratios):.2f}-{max(ratios):.2f} times"
            " the expected $/proof ranking's, seed by seed"
        )


if __name__ == "__main__":
    main()
