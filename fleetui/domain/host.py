"""What a look at the host and its daemon showed."""

from enum import StrEnum

import msgspec

from fleetui.domain.text import SafeText


class SshState(StrEnum):
    """Where the connection to an instance stands."""

    NONE = "none"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    REFUSED = "refused"
    TIMED_OUT = "timed_out"
    AUTH_FAILED = "auth_failed"
    HOST_KEY_CHANGED = "host_key_changed"
    NO_ADDRESS = "no_address"
    LOST = "lost"


class SshOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The last word on the connection, with the reason in words as detail."""

    state: SshState
    at: float
    address: str | None = None
    detail: SafeText | None = None
    attempts: int = 0
    other_key: SafeText | None = None
    """Fingerprint of the host key that was shown in place of the bound one."""


class Gpu(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One card as `nvidia-smi` reports it (percent, MiB, Celsius, watts, MHz)."""

    index: int
    name: SafeText | None = None
    utilization: float | None = None
    memory_used_mib: float | None = None
    memory_total_mib: float | None = None
    temperature: float | None = None
    power_watts: float | None = None
    clock_mhz: float | None = None
    throttle_reasons: int | None = None
    ecc_uncorrected: float | None = None
    driver_version: SafeText | None = None


class Process(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of `ps`; `rss_kib` in KiB, `elapsed_seconds` since its start."""

    pid: int
    args: SafeText
    ppid: int | None = None
    state: SafeText | None = None
    wait_channel: SafeText | None = None
    elapsed_seconds: float | None = None
    rss_kib: float | None = None


class FileState(msgspec.Struct, frozen=True, kw_only=True):
    """Size in bytes and modification time (epoch seconds) of one file on the host."""

    path: str
    size: int
    modified_at: float | None = None


class Probe(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One look at a host. A section that could not be read is `None`, with its error said."""

    at: float | None = None
    gpus: tuple[Gpu, ...] | None = None
    processes: tuple[Process, ...] | None = None
    memory_events: dict[str, int] | None = None
    memory_max_bytes: int | None = None
    memory_current_bytes: int | None = None
    disk_total_kib: float | None = None
    disk_used_kib: float | None = None
    disk_available_kib: float | None = None
    load: float | None = None
    files: tuple[FileState, ...] | None = None
    listening: tuple[str, ...] | None = None
    kernel_lines: tuple[SafeText, ...] | None = None
    clock: float | None = None
    """What the host's own clock showed at the end of the look, in whole epoch seconds."""
    errors: dict[str, SafeText] = {}
    """Section name to what the tool said instead of an answer (a fact, not a failure)."""


class Partition(msgspec.Struct, frozen=True, omit_defaults=True):
    """One partition of a proof in the daemon's status."""

    index: int
    state: str = "pending"
    synth_ms: int | None = None
    gpu_ms: int | None = None


class Pipeline(msgspec.Struct, frozen=True, omit_defaults=True):
    """One partitioned job. Failed jobs stay listed for ever (facts: cuzk.md section 3.1).

    `total_partitions` is 0 where the daemon's answer is none.
    """

    job_id: str
    proof_kind: str = ""
    started_secs_ago: float | None = None
    total_partitions: int = 0
    partitions_done: int = 0
    partitions: tuple[Partition, ...] = ()


class GpuWorker(msgspec.Struct, frozen=True, omit_defaults=True):
    """One GPU worker thread of the daemon; usually two a card."""

    worker_id: int
    gpu_ordinal: int = 0
    state: str = "idle"
    current_job: str | None = None
    current_partition: int | None = None
    busy_secs: float | None = None


class StatusMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """The daemon's budget and its reservations in bytes: neither RSS nor VRAM.

    `total_bytes` is 0 where they are not known.
    """

    total_bytes: int = 0
    used_bytes: int = 0
    available_bytes: int = 0


class StatusCounters(msgspec.Struct, frozen=True, omit_defaults=True):
    """Counters since the daemon's start; they return to zero with it."""

    total_completed: int = 0
    total_failed: int = 0
    completed_by_kind: dict[str, int] = {}
    failed_by_kind: dict[str, int] = {}
    queue_depth: int | None = None


class StatusSynthesis(msgspec.Struct, frozen=True, omit_defaults=True):
    """Partitions in synthesis. `max_concurrent` is not the real limit: show it to nobody."""

    max_concurrent: int = 0
    active: int | None = None


class DaemonStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`GET /status` of the daemon (facts: cuzk.md section 3.1); unknown fields are ignored."""

    uptime_secs: float
    memory: StatusMemory = StatusMemory()
    synthesis: StatusSynthesis = StatusSynthesis()
    pipelines: tuple[Pipeline, ...] = ()
    gpu_workers: tuple[GpuWorker, ...] = ()
    counters: StatusCounters = StatusCounters()
    at: float | None = None
    """When it was read; set by the reader, not sent by the daemon."""
