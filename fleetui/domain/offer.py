"""A machine that can be rented."""

import msgspec

from fleetui.domain.text import SafeText


class Offer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of the market. `None` is "not known"; units are the API's (facts: vast_api.md 3).

    `price` is dollars an hour while it runs, disk included.
    """

    offer_id: int
    machine_id: int | None = None
    host_id: int | None = None
    gpu_name: SafeText | None = None
    num_gpus: int | None = None
    gpu_ram_mb: float | None = None
    cpu_name: SafeText | None = None
    cpu_cores: float | None = None
    cpu_ram_mb: float | None = None
    disk_space_gb: float | None = None
    pcie_bandwidth: float | None = None
    inet_down_mbps: float | None = None
    price: float | None = None
    min_bid: float | None = None
    reliability: float | None = None
    verification: SafeText | None = None
    cuda_max_good: float | None = None
    driver_version: SafeText | None = None
    geolocation: SafeText | None = None
