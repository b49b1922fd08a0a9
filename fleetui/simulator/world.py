"""The pretend fleet: instances with their rows and their hosts."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from fleetui.domain.clock import Clock
from fleetui.simulator.billing import Ledger
from fleetui.simulator.rows import PRICE_SHARES, base_row, price, settle
from fleetui.simulator.stock import Offer, Stock, StockMachine

FIRST_ID = 41_200_100
LINGER_SECONDS = 4.0
OFFERS = 40
_LABELS = ("cuzk-a", "cuzk-b", "prover", "bench-me", None)


class PretendHost(Protocol):
    """What the world needs of a host; `now` is fleet time in epoch seconds."""

    def api_view(self, now: float) -> Mapping[str, Any]:
        """Return the raw API fields that the host decides."""

    def stop(self, now: float) -> None:
        """Stop the container."""

    def start(self, now: float) -> None:
        """Start the container."""

    def reboot(self, now: float) -> None:
        """Stop and start the container."""

    def recycle(self, now: float) -> None:
        """Make the container anew."""


MakeHost = Callable[[int, str, int, Clock, float], PretendHost]
"""Instance id, scenario name, seed, clock, time of the start."""
MakeOffered = Callable[[int, StockMachine, Mapping[str, str], Clock, float], PretendHost]
"""Instance id, machine, environment, clock, time of the start."""


@dataclass
class Rental:
    """One contract: its host, its row's lasting fields, and where its SSH listens."""

    instance_id: int
    scenario: str
    host: PretendHost
    fields: dict[str, Any]
    ssh_port: int = 0
    chosen: tuple[str, ...] = ()
    """Fields besides the label that the renter set."""
    start_queued: bool = False
    """A start was asked for and waits for the machine's GPUs."""
    destroyed_at: float | None = None
    """Real time (monotonic) of the destroy; the row lingers a little longer."""


@dataclass
class World:
    """All instances of one account. The same seed makes the same fleet.

    `plan` has a scenario name and the age in seconds for each first instance. `make_offered`
    makes the hosts of rented offers; without it they live through `new_scenario`. `real` is the
    monotonic time that the lingering of destroyed rows follows.
    """

    plan: Sequence[tuple[str, float]]
    seed: int
    clock: Clock
    make_host: MakeHost
    new_scenario: str = ""
    make_offered: MakeOffered | None = None
    real: Callable[[], float] = time.monotonic
    linger_seconds: float = LINGER_SECONDS
    rentals: dict[int, Rental] = field(default_factory=dict)
    _next_id: int = FIRST_ID

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 - a reproducible pretence
        now = self.clock.now()
        for scenario, age in self.plan:
            self.add(scenario, now - age)
        self.stock = Stock(OFFERS, self.seed, now)
        self.ledger = Ledger()

    @property
    def offers(self) -> dict[int, Offer]:
        """What can be rented now, by the offer's id."""
        return self.stock.offers(self.clock.now())

    def add(self, scenario: str, started_at: float) -> Rental:
        """Rent a machine that lives through a scenario."""
        instance_id = self._next_id
        self._next_id += self._random.randint(1, 40)
        fields = base_row(instance_id, self._random, started_at)
        fields["label"] = self._random.choice(_LABELS)
        return self._rent(instance_id, scenario, fields, started_at)

    def create(self, offer_id: int, body: Mapping[str, Any]) -> Rental | None:
        """Rent an offer; `None` when it is not there."""
        now = self.clock.now()
        offer = self.stock.take(offer_id, now)
        if offer is None:
            return None
        instance_id = self._next_id
        self._next_id += self._random.randint(1, 40)
        env = body.get("env")
        env = env if isinstance(env, dict) else {}
        fields = offer.fields | {
            "id": instance_id,
            "label": body.get("label"),
            "start_date": now,
            "end_date": now + 30 * 86_400.0,
            "image_uuid": body.get("image") or offer.fields["image_uuid"],
            "onstart": body.get("onstart"),
            "extra_env": [[name, value] for name, value in env.items()],
            "disk_space": float(body.get("disk") or offer.fields["disk_space"]),
            "is_bid": body.get("price") is not None,
        }
        rental = self._rented(instance_id, offer.machine, fields, env, now)
        rental.chosen = ("image_uuid", "disk_space")
        if body.get("target_state") == "stopped":
            rental.host.stop(now)
        return rental

    def _rented(
        self,
        instance_id: int,
        machine: StockMachine,
        fields: dict[str, Any],
        environment: Mapping[str, str],
        now: float,
    ) -> Rental:
        """Make the contract of an offer, at the offer's price."""
        if self.make_offered is None:
            host = self.make_host(instance_id, self.new_scenario, self._seed(), self.clock, now)
        else:
            host = self.make_offered(instance_id, machine, environment, self.clock, now)
        rental = Rental(instance_id, machine.flaw.value, host, fields)
        self.rentals[instance_id] = rental
        return rental

    def _seed(self) -> int:
        return self.seed * 1_000_003 + len(self.rentals)

    def _rent(
        self, instance_id: int, scenario: str, fields: dict[str, Any], started_at: float
    ) -> Rental:
        host = self.make_host(instance_id, scenario, self._seed(), self.clock, started_at)
        priced = fields | dict(host.api_view(self.clock.now()))
        price(priced, self._random.uniform(*PRICE_SHARES))
        for name in ("dph_base", "min_bid", "dlperf", "total_flops"):
            fields[name] = priced[name]
        rental = Rental(instance_id, scenario, host, fields)
        self.rentals[instance_id] = rental
        return rental

    def listed(self) -> list[Rental]:
        """Return what the list shows: the living, and the destroyed for a little while."""
        now = self.real()
        for rental in list(self.rentals.values()):
            if rental.destroyed_at is not None and now - rental.destroyed_at >= self.linger_seconds:
                del self.rentals[rental.instance_id]
        return list(self.rentals.values())

    def living(self, instance_id: int) -> Rental | None:
        """Return an instance that was not destroyed."""
        rental = self.rentals.get(instance_id)
        return None if rental is None or rental.destroyed_at is not None else rental

    def row(self, rental: Rental) -> dict[str, Any]:
        """Make the row as the API shows it now."""
        now = self.clock.now()
        row = rental.fields | dict(rental.host.api_view(now)) | {"id": rental.instance_id}
        # What the renter chose wins over what the host says of itself.
        row |= {name: rental.fields[name] for name in ("label", *rental.chosen)}
        if rental.start_queued:
            row |= {"intended_status": "running", "next_state": "running"}
        if rental.destroyed_at is not None:
            row |= {"intended_status": "stopped", "cur_state": "unloaded", "next_state": "stopped"}
            row |= {"actual_status": "exited"}
        row["ssh_port"] = rental.ssh_port
        row["ports"] = None
        if row["actual_status"] == "running" and rental.ssh_port:
            places = ("0.0.0.0", "::")  # noqa: S104 - what the API shows, nothing listens there
            row["ports"] = {
                "22/tcp": [{"HostIp": place, "HostPort": str(rental.ssh_port)} for place in places]
            }
            row |= {"direct_port_start": rental.ssh_port, "direct_port_end": rental.ssh_port}
        settle(row, now)
        if rental.destroyed_at is None:
            self.ledger.observe(row, now)
        return row

    def destroy(self, instance_id: int) -> bool:
        """End a contract; tells whether there was one."""
        rental = self.living(instance_id)
        if rental is None:
            return False
        now = self.clock.now()
        self.row(rental)
        rental.destroyed_at = self.real()
        rental.host.stop(now)
        self.stock.give_back(rental.fields["machine_id"], now)
        return True
