"""Hosts of rented offers: machines of the market with their true selves."""

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fleetui.domain.clock import Clock
from fleetui.simulator.hosts.host import Host
from fleetui.simulator.hosts.machine import Hardware
from fleetui.simulator.hosts.plan import Plan
from fleetui.simulator.stock import Flaw, StockMachine

SCENARIO = "param_fetch"
PARAMETER_BYTES = 133 * 2**30
_WATTS = 400.0


def offered_host(
    instance_id: int,
    machine: StockMachine,
    environment: Mapping[str, str],
    clock: Clock,
    started_at: float,
) -> Host:
    """Make the host of a renting; `MIN_RATE` of its environment is what its benchmark heeds."""
    plan = Plan(params_seconds=PARAMETER_BYTES / machine.download)
    if machine.flaw is Flaw.FAILING_GPU:
        plan = replace(plan, warmup="vram")
    with contextlib.suppress(TypeError, ValueError):
        plan = replace(plan, min_rate=float(environment.get("MIN_RATE", plan.min_rate)))
    return Host(
        instance_id,
        SCENARIO,
        machine.machine_id,
        clock,
        started_at,
        hardware=hardware_of(machine),
        plan=plan,
    )


def hardware_of(machine: StockMachine) -> Hardware:
    """Return what the machine's row says, and the speed that it does not."""
    row: Mapping[str, Any] = machine.fields
    memory = int(row["cpu_ram"] // 1024)
    return Hardware(
        gpu_name=row["gpu_name"],
        gpus=row["num_gpus"],
        gpu_memory_mib=row["gpu_ram"],
        power_limit=_WATTS,
        cores=int(row["cpu_cores_effective"]),
        memory_gib=memory,
        limit_gib=memory,
        disk_gib=int(row["disk_space"]),
        driver=row["driver_version"],
        cuda=str(row["cuda_max_good"]),
        cpu_name=row["cpu_name"],
        compute_capability=row["compute_cap"],
        speed=machine.card_speed,
    )
