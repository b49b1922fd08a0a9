"""Named lives of hosts: every stage and every main failure of the field."""

import random
from dataclasses import dataclass, replace
from typing import NamedTuple

from fleetui.simulator.hosts.machine import Hardware
from fleetui.simulator.hosts.plan import Plan

_EPYC = "AMD EPYC 9354 32-Core Processor"
_XEON = "Intel(R) Xeon(R) Gold 6448Y"
_NEW = ("580.95.05", "13.0")

PRO_4000 = Hardware(
    "RTX PRO 4000 Blackwell", 1, 24_467, 145.0, 48, 504, 504, 250, *_NEW, _EPYC, 1200, 1.0
)
RTX_3090X2 = Hardware(
    "GeForce RTX 3090", 2, 24_576, 350.0, 64, 503, 503, 250, *_NEW, _XEON, 860, 0.8
)
RTX_4090 = Hardware(
    "GeForce RTX 4090", 1, 24_564, 450.0, 64, 503, 503, 300, *_NEW, _EPYC, 890, 1.25
)
RTX_5090 = Hardware(
    "GeForce RTX 5090", 1, 32_607, 575.0, 96, 503, 503, 300, *_NEW, _EPYC, 1200, 1.6
)
RTX_4090X2 = Hardware(
    "GeForce RTX 4090", 2, 24_564, 450.0, 96, 755, 755, 400, *_NEW, _EPYC, 890, 1.2
)
L40S = Hardware("L40S", 1, 46_068, 350.0, 64, 503, 503, 300, *_NEW, _XEON, 890, 1.15)
RTX_5070_TI = Hardware(
    "GeForce RTX 5070 Ti", 1, 16_303, 300.0, 48, 503, 503, 250, *_NEW, _EPYC, 1200, 1.05
)
SLOW = Hardware("GeForce RTX 3080 Ti", 1, 12_288, 350.0, 24, 251, 251, 250, *_NEW, _XEON, 860, 0.42)
SMALL_LIMIT = Hardware(
    "GeForce RTX 4090", 1, 24_564, 450.0, 48, 503, 128, 250, *_NEW, _EPYC, 890, 1.1
)
OLD_DRIVER = Hardware(
    "GeForce RTX 3090", 1, 24_576, 350.0, 48, 377, 377, 250, "535.129.03", "12.2", _XEON, 860, 0.9
)
_HEALTHY = (PRO_4000, RTX_4090, RTX_5090, L40S, RTX_5070_TI, RTX_4090X2, RTX_3090X2)


@dataclass(frozen=True)
class Scenario:
    """One kind of life.

    `vast` is what the rental service shows: running, loading (never gets further), failed (the
    container does not start), offline, stopped, exited; the last three from `vast_after` seconds
    on. `pull_seconds` is the image pull before the container runs. `age` is how long ago such a
    host started in a demo's first seconds. `category` is what its diagnosis should name.
    """

    about: str
    plan: Plan
    hardware: Hardware | None = None
    pull_seconds: float = 50.0
    vast: str = "running"
    vast_after: float = 0.0
    age: float = 300.0
    category: str = ""


class Assignment(NamedTuple):
    """A scenario for one host, and how many seconds ago it started."""

    scenario: str
    age: float


_CACHED = Plan(params="cached", skip_to_run=True)
_RUN = Scenario("proves for the market", _CACHED, pull_seconds=20, age=420)

SCENARIOS: dict[str, Scenario] = {
    # Healthy, by the stage such a host is in at the start.
    "loading": Scenario("pulls its image", Plan(), pull_seconds=150, age=20),
    "boot": Scenario("has just booted", Plan(), pull_seconds=30, age=32),
    "param_fetch": Scenario("downloads parameters", Plan(), age=130),
    "params_done": Scenario("has its parameters", Plan(params="cached"), pull_seconds=25, age=31),
    "c1_download": Scenario(
        "downloads the proof input", Plan(params="cached"), pull_seconds=25, age=33.5
    ),
    "daemon_start": Scenario("starts its daemon", Plan(params="cached"), pull_seconds=25, age=46),
    "warmup": Scenario("makes its first proof", Plan(params="cached"), pull_seconds=25, age=130),
    "daemon_restart": Scenario(
        "restarts its daemon", Plan(params="cached"), pull_seconds=25, age=250
    ),
    "bench": Scenario("runs the benchmark", Plan(params="cached"), pull_seconds=25, age=460),
    "bench_done": Scenario(
        "has a rate", Plan(params="cached", run="none", proofs=6), pull_seconds=25, age=720
    ),
    "running": _RUN,
    "running_budget": replace(
        _RUN, about="proves, era of the memory budget, with /status", plan=replace(_CACHED, era="N")
    ),
    "stopped": Scenario(
        "stopped by its operator", _CACHED, pull_seconds=20, vast="stopped", age=900
    ),
    "exited": Scenario(
        "its container ended by itself",
        _CACHED,
        pull_seconds=20,
        vast="exited",
        vast_after=1000,
        age=940,
        category="vast_exited",
    ),
    # The two incidents.
    "incident_broken_pipe": Scenario(
        "loses its daemon in the warmup proof; was destroyed for 0 proofs/h",
        Plan(warmup="silent_death"),
        PRO_4000,
        pull_seconds=30,
        age=310,
        category="prover_lost",
    ),
    "incident_hang": Scenario(
        "says Starting benchmark, then nothing; the entrypoint waits for ever",
        Plan(warmup="silent_death", after_failure="wait"),
        RTX_3090X2,
        pull_seconds=30,
        age=700,
        category="prover_lost",
    ),
    # Failures.
    "oom_killed": Scenario(
        "killed at the memory limit",
        Plan(params="cached", warmup="oom"),
        SMALL_LIMIT,
        pull_seconds=25,
        age=20,
        category="cgroup_oom_kill",
    ),
    "c1_missing": Scenario(
        "gets 404 for the proof input",
        Plan(params="cached", c1="missing"),
        pull_seconds=25,
        age=15,
        category="input_download_failed",
    ),
    "c1_truncated": Scenario(
        "has half a proof input",
        Plan(params="cached", c1="truncated"),
        pull_seconds=25,
        age=30,
        category="input_corrupt",
    ),
    "port_in_use": Scenario(
        "starts a second daemon too early",
        Plan(params="cached", restart="port_in_use"),
        pull_seconds=25,
        age=150,
        category="daemon_port_in_use",
    ),
    "slow_rate": Scenario(
        "is too slow for its price",
        Plan(params="cached", proofs=6, partition_workers=8),
        SLOW,
        pull_seconds=25,
        age=600,
        category="bench_rate_below_min",
    ),
    "no_lotus": Scenario(
        "cannot reach the chain API on 1234",
        replace(_CACHED, run="no_lotus"),
        PRO_4000,
        pull_seconds=20,
        age=60,
        category="chain_api_unreachable",
    ),
    "vram": Scenario(
        "runs out of GPU memory",
        Plan(params="cached", warmup="vram"),
        RTX_5070_TI,
        pull_seconds=25,
        age=40,
        category="gpu_vram_oom",
    ),
    "disk_full": Scenario(
        "fills its disk with parameters",
        Plan(params="disk_full"),
        pull_seconds=40,
        age=90,
        category="disk_full",
    ),
    "params_stalled": Scenario(
        "gets no more parameters",
        Plan(params="stalled"),
        pull_seconds=30,
        age=110,
        category="params_fetch_stall",
    ),
    "params_incomplete": Scenario(
        "fetched for 32 bytes, not 32 GiB",
        Plan(params="incomplete"),
        pull_seconds=25,
        age=20,
        category="params_incomplete",
    ),
    "driver_too_old": Scenario(
        "has a driver older than CUDA 13",
        Plan(params="cached", driver_too_old=True),
        OLD_DRIVER,
        pull_seconds=25,
        age=20,
        category="gpu_driver_too_old",
    ),
    "xid_79": Scenario(
        "loses its GPU from the bus",
        replace(_CACHED, run="xid", fault_after=240),
        RTX_4090,
        pull_seconds=20,
        age=200,
        category="gpu_fallen_off_bus",
    ),
    "crash_loop": Scenario(
        "its daemon crashes again and again",
        replace(_CACHED, era="N", run="crash_loop"),
        L40S,
        pull_seconds=20,
        age=60,
        category="daemon_crash_loop",
    ),
    "bench_hang": Scenario(
        "its benchmark client hangs",
        Plan(params="cached", bench="hang"),
        pull_seconds=25,
        age=300,
        category="stage_stalled",
    ),
    "container_error": Scenario(
        "its container cannot start",
        Plan(),
        RTX_4090,
        pull_seconds=45,
        vast="failed",
        age=25,
        category="vast_container_start_failed",
    ),
    "loading_stuck": Scenario(
        "never gets its image",
        Plan(),
        vast="loading",
        pull_seconds=1e9,
        age=2400,
        category="vast_not_starting",
    ),
    "offline": Scenario(
        "lost contact with the service",
        _CACHED,
        pull_seconds=20,
        vast="offline",
        vast_after=620,
        age=540,
        category="vast_host_offline",
    ),
    "oddities": Scenario(
        "prints broken UTF-8 and screen codes",
        replace(_CACHED, run="oddities"),
        pull_seconds=20,
        age=120,
    ),
    "no_logs": Scenario(
        "has no log file at all", replace(_CACHED, run="silent"), pull_seconds=20, age=400
    ),
}
_FIRST = (
    "running",
    "incident_broken_pipe",
    "bench",
    "incident_hang",
    "running_budget",
    "oom_killed",
    "warmup",
    "c1_missing",
    "running",
    "port_in_use",
    "param_fetch",
    "no_lotus",
    "running_budget",
    "slow_rate",
    "loading",
    "xid_79",
    "daemon_restart",
    "vram",
    "running",
    "params_stalled",
    "running_budget",
    "crash_loop",
    "container_error",
    "bench_done",
    "disk_full",
    "params_incomplete",
    "driver_too_old",
    "offline",
    "c1_truncated",
    "oddities",
    "boot",
    "params_done",
    "c1_download",
    "daemon_start",
    "stopped",
    "exited",
    "no_logs",
    "bench_hang",
    "loading_stuck",
)
# What larger fleets are filled with: mostly proving, some on their way, few faults.
_REST = ("running",) * 8 + ("running_budget",) * 8 + ("bench", "param_fetch", "warmup", "no_lotus")


def assign(hosts: int, seed: int) -> list[Assignment]:
    """Return a scenario and an age for each host: a mix first, then a mostly healthy fleet."""
    source = random.Random(seed)  # noqa: S311 - a simulation, repeatable on purpose
    found: list[Assignment] = []
    for index in range(hosts):
        name = _FIRST[index] if index < len(_FIRST) else source.choice(_REST)
        age = SCENARIOS[name].age
        if name.startswith("running"):
            age = source.uniform(150, 500) if index < len(_FIRST) else source.uniform(60, 240)
        elif index >= len(_FIRST):
            age *= source.uniform(0.5, 1.3)
        found.append(Assignment(name, age))
    return found


def hardware_of(name: str, seed: int) -> Hardware:
    """Return the scenario's hardware, or a healthy kind drawn by the seed."""
    source = random.Random(f"{name}/{seed}")  # noqa: S311 - a simulation
    chosen = SCENARIOS[name].hardware or source.choice(_HEALTHY)
    return replace(chosen, speed=chosen.speed * source.uniform(0.95, 1.05))
