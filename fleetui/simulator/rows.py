"""Rows of the pretend Vast: every field of a real row, in its types and units.

Source of shapes and arithmetic: facts, vast_api.md section 3.
"""

import random
from typing import Any, NamedTuple

HOURS_A_MONTH = 720.0
PRICE_SHARES = (0.85, 1.2)
RUNTYPE = "ssh_direc ssh_proxy"


class Model(NamedTuple):
    """A GPU model of the market: memory in MB, price in $/h and speed for one card."""

    name: str
    memory_mb: int
    price: float
    dlperf: float
    compute_cap: int
    bandwidth: float


MODELS = (
    Model("RTX 4090", 24564, 0.38, 98.4, 890, 901.3),
    Model("RTX 3080 Ti", 12288, 0.12, 38.0, 860, 720.4),
    Model("RTX 3090", 24576, 0.21, 46.2, 860, 780.9),
    Model("RTX 5090", 32607, 0.62, 141.0, 1200, 1525.0),
    Model("RTX PRO 4000", 24467, 0.34, 71.5, 1200, 651.2),
    Model("RTX 5070 Ti", 16303, 0.19, 62.8, 1200, 812.4),
    Model("L40S", 46068, 0.71, 88.6, 890, 742.0),
    Model("A100 SXM4", 81920, 1.05, 92.1, 800, 1618.0),
    Model("H100 SXM", 81559, 1.89, 188.0, 900, 2894.2),
)
_PLACES = ("Oregon, US", "Quebec, CA", "Norway, NO", "Texas, US", "Bavaria, DE", ", US", "Île, FR")
_PROCESSORS = (
    ("AMD EPYC 7B13 64-Core Processor", 128, 515_000),
    ("Xeon® Platinum 8468", 192, 1_031_000),
    ("AMD EPYC 9654 96-Core Processor", 192, 773_000),
    ("Core™ i9-13900K", 32, 128_700),
)


def base_row(instance_id: int, randomness: random.Random, started_at: float) -> dict[str, Any]:
    """Make a rented machine's row. What the host itself decides is laid over it later."""
    model = randomness.choice(MODELS)
    cards = randomness.choice((1, 1, 1, 2, 2, 4, 8))
    processor, cores, memory = randomness.choice(_PROCESSORS)
    disk = float(randomness.choice((250, 300, 400)))
    storage_cost = randomness.choice((0.1, 0.13, 0.15, 0.2))
    token = f"{instance_id:08x}{randomness.getrandbits(224):056x}"
    row: dict[str, Any] = {
        "id": instance_id, "actual_status": "running", "intended_status": "running",
        "cur_state": "running", "next_state": "running", "label": None,
        "template_id": None, "template_hash_id": None, "template_name": None,
        "image_uuid": "curiostorage/cuzk-worker:latest", "image_args": [],
        "image_runtype": RUNTYPE, "extra_env": [["WORKER_TOKEN", token[:16]]], "onstart": None,
        "jupyter_token": token, "status_msg": None, "public_ipaddr": "127.0.0.1",
        "local_ipaddrs": "127.0.0.1 \n", "ssh_host": "127.0.0.1", "ssh_idx": "1", "ssh_port": 0,
        "machine_dir_ssh_port": 5300 + instance_id % 90,
        "machine_id": randomness.randint(10_000, 59_999),
        "bundle_id": randomness.randint(400_000, 899_999),
        "host_id": randomness.randint(50_000, 199_999),
        "hosting_type": randomness.choice((0, 1)), "start_date": started_at,
        "end_date": started_at + 30 * 86_400.0, "uptime_mins": None, "duration": None,
        "cpu_arch": "amd64", "cpu_cores": cores, "cpu_cores_effective": float(cores // 2),
        "cpu_name": processor, "cpu_ram": memory, "cpu_util": 0.0, "mem_limit": None,
        "mem_usage": None, "vmem_usage": None, "gpu_name": model.name, "num_gpus": cards,
        "gpu_arch": "nvidia", "gpu_totalram": model.memory_mb * cards, "gpu_ram": model.memory_mb,
        "gpu_util": None, "gpu_temp": None, "gpu_frac": 0.5, "gpu_lanes": 16,
        "gpu_mem_bw": model.bandwidth, "bw_nvlink": 0.0, "compute_cap": model.compute_cap,
        "cuda_max_good": 13.0, "driver_version": "580.95.05", "disk_name": "Samsung SSD 990 PRO",
        "disk_space": disk, "disk_bw": 3121.5, "disk_util": -1, "disk_usage": -1,
        "inet_up": round(randomness.uniform(200, 900), 1),
        "inet_down": round(randomness.uniform(300, 2000), 1),
        "inet_up_billed": 0.0, "inet_down_billed": 0.0, "inet_up_cost": 0.005,
        "inet_down_cost": 0.005, "direct_port_count": 100, "direct_port_start": -1,
        "direct_port_end": -1, "ports": None, "static_ip": False,
        "geolocation": randomness.choice(_PLACES), "country_code": None,
        "verification": "verified", "rentable": True, "min_bid": 0.0,
        "is_bid": False, "dph_base": 0.0, "dph_total": 0.0,
        "dlperf": 0.0, "dlperf_per_dphtotal": None,
        "flops_per_dphtotal": None, "total_flops": 0.0, "score": 250.0,
        "reliability2": round(randomness.uniform(0.97, 0.9995), 6), "os_version": "22.04",
        "mobo_name": "ROMED8-2T", "pci_gen": 4.0, "pcie_bw": 24.6,
        "logo": "/static/logos/vastai_small2.png", "webpage": None, "search": None,
        "instance": None, "storage_cost": storage_cost, "storage_total_cost": 0.0,
        "vram_costperhour": 0.0, "credit_balance": None, "credit_discount": None,
        "credit_discount_max": 0.4, "client_run_time": 1.1, "host_run_time": 2_592_000.0,
        "external": False, "time_remaining": "", "time_remaining_isbid": "", "volume_info": [],
    }  # fmt: skip
    price(row, randomness.uniform(*PRICE_SHARES))
    return row


def price(row: dict[str, Any], share: float) -> None:
    """Price a machine by its cards; `share` of the market's price, around 1."""
    model = next((model for model in MODELS if row["gpu_name"].startswith(model.name)), MODELS[0])
    row["dph_base"] = round(model.price * row["num_gpus"] * share, 4)
    row["min_bid"] = round(row["dph_base"] * 0.6, 4)
    row["dlperf"] = round(model.dlperf * row["num_gpus"], 2)
    row["total_flops"] = round(82.6 * row["num_gpus"], 2)


def outbid(row: dict[str, Any]) -> dict[str, Any]:
    """Return what differs in the row of an interruptible instance that was outbid.

    All three states say `stopped`, as after a renter's stop (facts: vast_api.md section 7, 12).
    """
    states = dict.fromkeys(("intended_status", "cur_state", "next_state"), "stopped")
    bid = {"is_bid": True, "min_bid": round(row["dph_base"] * 1.2, 4)}
    return states | bid | {"actual_status": "exited", "ports": None, "uptime_mins": None}


def settle(row: dict[str, Any], now: float) -> None:
    """Fill in what follows from the rest of the row: money, remaining time, GPU memory sum."""
    storage = row["storage_cost"] * row["disk_space"] / HOURS_A_MONTH
    total = row["dph_base"] + storage
    pays_gpu = row["actual_status"] in ("running", "frozen", "rebooting", "recycling")
    row["gpu_totalram"] = row["gpu_ram"] * row["num_gpus"]
    row["storage_total_cost"] = storage
    row["dph_total"] = total
    row["vram_costperhour"] = total / max(row["gpu_totalram"], 1)
    row["dlperf_per_dphtotal"] = row["dlperf"] / total
    row["flops_per_dphtotal"] = row["total_flops"] / total
    row["duration"] = max(row["end_date"] - now, 0.0)
    row["search"] = _costs(row["dph_base"], storage)
    row["instance"] = _costs(row["dph_base"] if pays_gpu else 0.0, storage)


def _costs(gpu: float, disk: float) -> dict[str, float]:
    return {
        "gpuCostPerHour": gpu,
        "diskHour": disk,
        "totalHour": gpu + disk,
        "discountTotalHour": 0,
        "discountedTotalPerHour": gpu + disk,
    }
