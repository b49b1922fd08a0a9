"""What a scenario asks of a host's programs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """Knobs of one life; the defaults are a healthy host.

    `params`: ok, cached, stalled, incomplete, disk_full. `c1`: ok, missing, truncated.
    `warmup`: ok, silent_death, oom, vram. `restart`: ok, port_in_use. `bench`: ok, slow, hang.
    `after_failure`: report, wait (the entrypoint waits for ever for a background job).
    `run`: none (the life ends with the benchmark), curio, no_lotus, crash_loop, xid, oddities,
    silent (no log file at all).
    `skip_to_run` starts with parameters on disk and goes straight to proving.
    """

    era: str = "O"
    params: str = "ok"
    params_seconds: float = 220.0
    c1: str = "ok"
    warmup: str = "ok"
    restart: str = "ok"
    bench: str = "ok"
    after_failure: str = "report"
    run: str = "curio"
    skip_to_run: bool = False
    min_rate: float = 29.0
    partition_workers: int = 16
    warmup_workers: int = 4
    proofs: int = 12
    concurrency: int = 3
    driver_too_old: bool = False
    fault_after: float = 240.0
