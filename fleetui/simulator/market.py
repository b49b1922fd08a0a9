"""The pretend market: what of a machine an offer shows, and what a renting must say."""

from typing import Any

from fleetui.simulator.rows import HOURS_A_MONTH
from fleetui.simulator.stock import Offer

CREATE_LABEL_LIMIT = 256
_OF_A_CONTRACT = frozenset(
    {
        "actual_status", "intended_status", "cur_state", "next_state", "label", "extra_env",
        "onstart", "jupyter_token", "status_msg", "ports", "ssh_host", "ssh_port", "ssh_idx",
        "image_uuid", "image_args", "image_runtype", "uptime_mins", "public_ipaddr", "instance",
    }
)  # fmt: skip


def wrong_in_order(body: dict[str, Any]) -> str | None:
    """Say what is wrong with a request to rent (facts: section 5.4)."""
    label, disk, price = body.get("label"), body.get("disk"), body.get("price")
    if not isinstance(body.get("image"), str) and not body.get("template_hash_id"):
        return "image is missing"
    if not isinstance(label, str | None) or len(label or "") > CREATE_LABEL_LIMIT:
        return f"label must be text of at most {CREATE_LABEL_LIMIT} characters"
    if not isinstance(disk, int | float | None) or isinstance(disk, bool) or (disk or 1) <= 0:
        return "disk must be a number of GB"
    if not isinstance(price, int | float | None) or isinstance(price, bool):
        return "price must be a number or null"
    if not isinstance(body.get("env"), dict | None):
        return "env must be an object"
    return None


def offer_row(offer: Offer, disk_gb: float | None = None) -> dict[str, Any]:
    """Make the row of an offer: of the machine alone, nothing of a contract.

    Its price includes `disk_gb`, or (`None`) all the disk that it has.
    """
    row = {name: value for name, value in offer.fields.items() if name not in _OF_A_CONTRACT}
    if disk_gb is not None:
        row["storage_total_cost"] = row["storage_cost"] * disk_gb / HOURS_A_MONTH
        row["dph_total"] = row["dph_base"] + row["storage_total_cost"]
    return row | {
        "id": offer.offer_id,
        "ask_contract_id": offer.offer_id,
        "rented": False,
        "verified": True,
        "reliability": offer.fields["reliability2"],
        "gpu_total_ram": offer.fields["gpu_totalram"],
        "hostname": None,
    }
