"""A rented contract as the Vast API shows it, without its secrets."""

from enum import StrEnum

import msgspec

from fleetui.domain.text import SafeText


class Route(StrEnum):
    """How an SSH address reaches the instance (facts: vast_api.md section 4)."""

    DIRECT = "direct"
    PROXY = "proxy"


class SshAddress(msgspec.Struct, frozen=True):
    """One place to try an SSH login at."""

    host: str
    port: int
    route: Route


class Instance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of the inventory. `None` always means "not known", never zero.

    Times are epoch seconds, money is US dollars an hour, `gpu_util` is percent averaged over
    the GPUs, `gpu_temp` is degrees Celsius, memory and disk are in the API's own units
    (facts: vast_api.md section 3).
    """

    instance_id: int
    machine_id: int | None = None
    host_id: int | None = None
    label: SafeText | None = None
    gpu_name: SafeText | None = None
    num_gpus: int | None = None
    gpu_ram_mb: float | None = None
    cpu_name: SafeText | None = None
    cpu_cores: float | None = None
    cpu_ram_mb: float | None = None
    mem_limit_gb: float | None = None
    disk_space_gb: float | None = None
    actual_status: SafeText | None = None
    intended_status: SafeText | None = None
    cur_state: SafeText | None = None
    next_state: SafeText | None = None
    status_msg: SafeText | None = None
    image: SafeText | None = None
    image_runtype: SafeText | None = None
    is_bid: bool | None = None
    min_bid: float | None = None
    cost_per_hour: float | None = None
    """What it costs in its present state (vast_api.md rule R9)."""
    price_running: float | None = None
    """What it costs while running (`dph_total`)."""
    storage_per_hour: float | None = None
    start_date: float | None = None
    end_date: float | None = None
    uptime_seconds: float | None = None
    gpu_util: float | None = None
    gpu_temp: float | None = None
    inet_down_mbps: float | None = None
    driver_version: SafeText | None = None
    cuda_max_good: float | None = None
    geolocation: SafeText | None = None
    verification: SafeText | None = None
    reliability: float | None = None
    ssh_addresses: tuple[SshAddress, ...] = ()
    odd: SafeText | None = None
    """Why this row could not be read in full; `None` for a well-shaped row."""

    @property
    def is_start_queued(self) -> bool:
        """Whether it waits for its machine's GPUs: meant to run, its contract still stopped."""
        return self.intended_status == "running" and self.cur_state == "stopped"


class WalkOutcome(StrEnum):
    """How a pass over the instance list ended."""

    COMPLETE = "complete"
    FAILED = "failed"


class Walk(msgspec.Struct, frozen=True, kw_only=True):
    """One pass over the Vast list. Only a complete one may change what is known."""

    started_at: float
    ended_at: float
    outcome: WalkOutcome
    rows: int
    total_reported: int | None = None
    error: SafeText | None = None
    error_category: str | None = None
