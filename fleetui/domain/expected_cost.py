"""What a proof is expected to cost on an offered machine, from our own history alone. Pure.

Known is what the machine itself did; else what others of its GPU type and RAM class did for each
card; else nothing: then there is no figure, never a zero. What is paid until the first proof weighs
too, and the more of it the more of a machine's rentals never get that far.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from fleetui.domain.machine_record import MachineRecord, ram_class
from fleetui.domain.offer import Offer
from fleetui.domain.standing import Mark

PARAMETER_BYTES = 133 * 2**30
"""What a new instance downloads before its first proof (facts: cuzk.md section 4)."""

PROVING_HOURS = 0.75
"""From the parameters to the end of the benchmark: warm-up, restart, twelve proofs."""
UNKNOWN_DOWNLOAD_HOURS = 0.5
UNKNOWN_WORK_HOURS = 24.0
"""How long a rental works where we have seen fewer than `LEAST_WORKED` to their end."""
LEAST_WORKED = 5

_Kind = tuple[str | None, int | None]


class Basis(StrEnum):
    """Whose rates an expectation rests on."""

    MACHINE = "machine"
    CLASS = "class"


class ExpectedRate(msgspec.Struct, frozen=True, kw_only=True):
    """Proofs an hour to expect: the middle of `count` measured rates, with their quartiles.

    For a class each machine counts once, with its own middle for each card. Of a single rate
    there is no spread. `odds` is the share of rentals expected to get to work at all.
    """

    basis: Basis
    proofs_per_hour: float
    low: float | None
    high: float | None
    count: int
    odds: float


class RankedOffer(msgspec.Struct, frozen=True, kw_only=True):
    """An offer and what our history says of it. `None` is "not known".

    Money is US dollars a proof, `cheapest` and `dearest` at the quartiles of the rate; times are
    seconds for 133 GiB at the speed the host states and at the one remembered of it.
    """

    offer: Offer
    rate: ExpectedRate | None = None
    dollars_per_proof: float | None = None
    cheapest: float | None = None
    dearest: float | None = None
    stated_download: float | None = None
    remembered_download: float | None = None
    blacklist: Mark | None = None


class History:
    """The records of all machines, ready to be asked about offers."""

    def __init__(self, records: Iterable[MachineRecord]) -> None:
        self._records: dict[tuple[int, str | None, int | None], MachineRecord] = {}
        self._speeds: dict[int, list[float]] = defaultdict(list)
        self._blacklist: dict[int, Mark] = {}
        self._classes: dict[_Kind, list[float]] = defaultdict(list)
        worked: list[float] = []
        tried = brought = 0
        for record in records:
            self._records[record.machine_id, record.gpu_name, record.num_gpus] = record
            self._speeds[record.machine_id] += record.downloads
            if record.blacklist is not None:
                self._blacklist[record.machine_id] = record.blacklist
            if record.median_rate is not None and record.num_gpus:
                kind = record.gpu_name, ram_class(record.cpu_ram_gb)
                self._classes[kind].append(record.median_rate / record.num_gpus)
            worked += record.worked_hours
            tried += record.rentals > 0
            brought += bool(record.rates)
        self._first_odds = (brought + 1) / (tried + 1)
        """How often a machine never rented before gets to work."""
        self.work_hours = (
            statistics.fmean(worked) if len(worked) >= LEAST_WORKED else UNKNOWN_WORK_HOURS
        )

    def rank(self, offer: Offer) -> RankedOffer:
        """Say what an offer is worth."""
        rate = self._expected(offer)
        speeds = self._speeds.get(offer.machine_id or 0)
        stated = (
            PARAMETER_BYTES * 8 / (offer.inet_down_mbps * 1e6) if offer.inet_down_mbps else None
        )
        remembered = PARAMETER_BYTES / statistics.median(speeds) if speeds else None
        hours = self._paid_hours(rate, remembered or stated)
        return RankedOffer(
            offer=offer,
            rate=rate,
            dollars_per_proof=_cost(offer.price, hours, rate.proofs_per_hour if rate else None),
            cheapest=_cost(offer.price, hours, rate.high if rate else None),
            dearest=_cost(offer.price, hours, rate.low if rate else None),
            stated_download=stated,
            remembered_download=remembered,
            blacklist=self._blacklist.get(offer.machine_id or 0),
        )

    def _expected(self, offer: Offer) -> ExpectedRate | None:
        record = None
        if offer.machine_id is not None:
            record = self._records.get((offer.machine_id, offer.gpu_name, offer.num_gpus))
        if record is not None and record.rates:
            odds = (record.rentals - record.failures + 1) / (record.rentals + 1)
            return _rate(Basis.MACHINE, record.rates, odds)
        memory = None if offer.cpu_ram_mb is None else offer.cpu_ram_mb / 1000.0
        rates = self._classes.get((offer.gpu_name, ram_class(memory)))
        if not rates or offer.gpu_name is None or not offer.num_gpus:
            return None
        failures = record.failures if record is not None else 0
        odds = self._first_odds / (failures + 1)
        return _rate(Basis.CLASS, [rate * offer.num_gpus for rate in rates], odds)

    def _paid_hours(self, rate: ExpectedRate | None, download: float | None) -> float:
        """Hours paid for one hour of work, over all rentals that it takes."""
        odds = 1.0 if rate is None else rate.odds
        hours = UNKNOWN_DOWNLOAD_HOURS if download is None else download / 3600.0
        return 1.0 + (hours + PROVING_HOURS) / (odds * self.work_hours)


class Order(StrEnum):
    """What offers are sorted by, the best first and what is not known last."""

    PROOF = "proof"
    PRICE = "price"
    RATE = "rate"
    DOWNLOAD = "download"


def in_order(offers: Iterable[RankedOffer], order: Order) -> list[RankedOffer]:
    """Sort; among equals and unknown ones the cheaper by the hour comes first."""

    def key(item: RankedOffer) -> tuple[bool, float, bool, float, int]:
        value = _figure(item, order)
        price = item.offer.price
        return value is None, value or 0.0, price is None, price or 0.0, item.offer.offer_id

    return sorted(offers, key=key)


def _figure(item: RankedOffer, order: Order) -> float | None:
    if order is Order.PROOF:
        return item.dollars_per_proof
    if order is Order.PRICE:
        return item.offer.price
    if order is Order.RATE:
        return None if item.rate is None else -item.rate.proofs_per_hour
    remembered = item.remembered_download
    return item.stated_download if remembered is None else remembered


def _rate(basis: Basis, rates: Sequence[float], odds: float) -> ExpectedRate:
    low = high = None
    if len(rates) > 1:
        low, _, high = statistics.quantiles(rates, n=4, method="inclusive")
    return ExpectedRate(
        basis=basis,
        proofs_per_hour=statistics.median(rates),
        low=low,
        high=high,
        count=len(rates),
        odds=odds,
    )


def _cost(price: float | None, paid_hours: float, proofs: float | None) -> float | None:
    return price * paid_hours / proofs if price and proofs else None
