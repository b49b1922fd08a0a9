"""The pretend fleet: instances with their rows and their hosts."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from fleetui.domain.clock import Clock
from fleetui.simulator.rows import PRICE_SHARES, base_row, price, settle

FIRST_ID = 41_200_100
FIRST_OFFER = 9_100_000
LINGER_SECONDS = 4.0
OFFERS = 12
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
class Offer:
    """A machine that can be rented."""

    offer_id: int
    fields: dict[str, Any]
    scenario: str = "healthy"


@dataclass
class World:
    """All instances of one account. The same seed makes the same fleet.

    `plan` has a scenario name and the age in seconds for each first instance. `real` is the
    monotonic time that the lingering of destroyed rows follows.
    """

    plan: Sequence[tuple[str, float]]
    seed: int
    clock: Clock
    make_host: MakeHost
    new_scenario: str = ""
    real: Callable[[], float] = time.monotonic
    linger_seconds: float = LINGER_SECONDS
    rentals: dict[int, Rental] = field(default_factory=dict)
    offers: dict[int, Offer] = field(default_factory=dict)
    _next_id: int = FIRST_ID

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 - a reproducible pretence
        now = self.clock.now()
        for scenario, age in self.plan:
            self.add(scenario, now - age)
        for number in range(OFFERS):
            offer_id = FIRST_OFFER + number
            fields = base_row(offer_id, self._random, now)
            settle(fields, now)
            self.offers[offer_id] = Offer(offer_id, fields, self.new_scenario)

    def add(self, scenario: str, started_at: float) -> Rental:
        """Rent a machine that lives through a scenario."""
        instance_id = self._next_id
        self._next_id += self._random.randint(1, 40)
        fields = base_row(instance_id, self._random, started_at)
        fields["label"] = self._random.choice(_LABELS)
        return self._rent(instance_id, scenario, fields, started_at)

    def create(self, offer_id: int, body: Mapping[str, Any]) -> Rental | None:
        """Rent an offer; `None` when it is not there."""
        offer = self.offers.pop(offer_id, None)
        if offer is None:
            return None
        now = self.clock.now()
        instance_id = self._next_id
        self._next_id += self._random.randint(1, 40)
        env = body.get("env")
        fields = offer.fields | {
            "id": instance_id,
            "label": body.get("label"),
            "start_date": now,
            "end_date": now + 30 * 86_400.0,
            "image_uuid": body.get("image") or offer.fields["image_uuid"],
            "onstart": body.get("onstart"),
            "extra_env": [[name, value] for name, value in env.items()]
            if isinstance(env, dict)
            else [],
            "disk_space": float(body.get("disk") or offer.fields["disk_space"]),
            "is_bid": body.get("price") is not None,
        }
        rental = self._rent(instance_id, offer.scenario, fields, now)
        rental.chosen = ("image_uuid", "disk_space")
        if body.get("target_state") == "stopped":
            rental.host.stop(now)
        return rental

    def _rent(
        self, instance_id: int, scenario: str, fields: dict[str, Any], started_at: float
    ) -> Rental:
        seed = self.seed * 1_000_003 + len(self.rentals)
        host = self.make_host(instance_id, scenario, seed, self.clock, started_at)
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
        return row

    def destroy(self, instance_id: int) -> bool:
        """End a contract; tells whether there was one."""
        rental = self.living(instance_id)
        if rental is None:
            return False
        rental.destroyed_at = self.real()
        rental.host.stop(self.clock.now())
        return True
