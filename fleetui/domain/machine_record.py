"""What is remembered of a physical machine past its instances: the ground of the next renting."""

import statistics

import msgspec

from fleetui.domain.finding_record import MachineMark
from fleetui.domain.standing import Mark
from fleetui.domain.text import SafeText

RAM_EDGES_GB = (128.0, 240.0, 360.0, 480.0, 720.0, 960.0)
"""Where the classes of main memory begin: how many partitions a proof has at once follows it."""


class RunningRate(msgspec.Struct, frozen=True):
    """What an instance completed over one life of its daemon; less than it could where work lacked.

    `measured_at` is the end of the window in epoch seconds.
    """

    instance_id: int
    proofs_per_hour: float
    window_seconds: float
    measured_at: float


class PricePoint(msgspec.Struct, frozen=True):
    """From `at` (epoch seconds) on it cost `price` dollars an hour."""

    at: float
    price: float


class MachineRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One machine as rented with one number of one kind of GPU. `None` is "not known".

    Rates are proofs an hour, oldest first; `downloads` are measured bytes a second of the
    parameters, oldest first; `worked_hours` are those of rentals that are over, after their
    benchmark; prices are dollars an hour while running, `prices` its
    changes, oldest first. `rented_hours` is how long we had it in all; `rentals` counts
    instances that are over or have a benchmark's rate, `failures` those of them that ended
    without one.
    """

    machine_id: int
    gpu_name: SafeText | None = None
    num_gpus: int | None = None
    gpu_ram_mb: float | None = None
    cpu_ram_gb: float | None = None
    host_id: int | None = None
    geolocation: SafeText | None = None
    inet_down_mbps: float | None = None
    first_seen: float | None = None
    last_seen: float | None = None
    last_instance: int | None = None
    rented_hours: float = 0.0
    rentals: int = 0
    failures: int = 0
    rates: tuple[float, ...] = ()
    running: tuple[RunningRate, ...] = ()
    downloads: tuple[float, ...] = ()
    worked_hours: tuple[float, ...] = ()
    price_least: float | None = None
    price_most: float | None = None
    price_last: float | None = None
    prices: tuple[PricePoint, ...] = ()
    findings: tuple[MachineMark, ...] = ()
    blacklist: Mark | None = None

    @property
    def best_rate(self) -> float | None:
        """The best benchmark."""
        return max(self.rates, default=None)

    @property
    def median_rate(self) -> float | None:
        """The middle of the benchmarks."""
        return statistics.median(self.rates) if self.rates else None

    @property
    def last_rate(self) -> float | None:
        """The newest benchmark."""
        return self.rates[-1] if self.rates else None

    @property
    def running_rate(self) -> float | None:
        """The newest running rate."""
        return self.running[-1].proofs_per_hour if self.running else None

    @property
    def download_speed(self) -> float | None:
        """The middle of the measured downloads, in bytes a second."""
        return statistics.median(self.downloads) if self.downloads else None


def ram_class(cpu_ram_gb: float | None) -> int | None:
    """Return the class of a machine's main memory; `None` when it is not known."""
    if cpu_ram_gb is None:
        return None
    return sum(cpu_ram_gb >= edge for edge in RAM_EDGES_GB)
