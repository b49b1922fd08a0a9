"""One row of the wire to one `Instance`, and what is asked of the wire at all."""

import json
from typing import Any

import msgspec

from fleetui.domain.instance import Instance
from fleetui.domain.text import SafeText, sanitise
from fleetui.vast.addresses import ssh_addresses
from fleetui.vast.gates import MESSAGE_LIMIT, amount, flag, money, number, text, whole
from fleetui.vast.money import cost_now


class WireRow(msgspec.Struct, frozen=True):
    """The fields of a row that are read. Any of them may be null, absent or of another type.

    Their names are also the columns asked for, so secrets (`jupyter_token`, `extra_env`,
    `onstart`) never come over the wire of a list (facts: vast_api.md sections 2.2, 3).
    """

    id: Any = None
    machine_id: Any = None
    host_id: Any = None
    label: Any = None
    gpu_name: Any = None
    num_gpus: Any = None
    gpu_ram: Any = None
    cpu_name: Any = None
    cpu_cores_effective: Any = None
    cpu_ram: Any = None
    mem_limit: Any = None
    disk_space: Any = None
    actual_status: Any = None
    intended_status: Any = None
    cur_state: Any = None
    next_state: Any = None
    status_msg: Any = None
    image_uuid: Any = None
    image_runtype: Any = None
    is_bid: Any = None
    min_bid: Any = None
    instance: Any = None
    dph_total: Any = None
    storage_total_cost: Any = None
    start_date: Any = None
    end_date: Any = None
    uptime_mins: Any = None
    gpu_util: Any = None
    gpu_temp: Any = None
    inet_down: Any = None
    driver_version: Any = None
    cuda_max_good: Any = None
    geolocation: Any = None
    verification: Any = None
    reliability2: Any = None
    public_ipaddr: Any = None
    ports: Any = None
    ssh_host: Any = None
    ssh_port: Any = None


_MOST_DIGITS = 30
SELECT_COLUMNS = tuple(field.encode_name for field in msgspec.structs.fields(WireRow))


def decode_json(body: bytes) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """Decode a body, tolerating what Python servers emit beyond JSON (NaN, lone surrogates).

    Raises:
        ValueError: it is not JSON, or nested beyond reason.
    """
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        pass
    try:
        text = body.decode("utf-8", "replace")
        return json.loads(text, strict=False, parse_int=_whole_number)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _whole_number(text: str) -> int | None:
    """Read a number that is not of the API's world as none at all."""
    return int(text) if len(text) <= _MOST_DIGITS else None


def read_row(raw: object) -> Instance | None:
    """Read one row. Without a usable id there is no instance to speak of: `None`.

    Never raises for what a row holds: a value that cannot be read is `None`, and a row that
    lacks what every row has says so in `odd`.
    """
    if not isinstance(raw, dict):
        return None
    row = WireRow(**{name: raw[name] for name in SELECT_COLUMNS if name in raw})
    instance_id = whole(row.id)
    if instance_id is None:
        return None
    status = text(row.actual_status)
    price = money(row.dph_total)
    gpu_util, gpu_temp = amount(row.gpu_util), number(row.gpu_temp)
    if gpu_util == 0 and gpu_temp == 0:
        # Both zero is the API's way of not having heard from the host (rule R8).
        gpu_util = gpu_temp = None
    uptime = amount(row.uptime_mins)
    return Instance(
        instance_id=instance_id,
        machine_id=whole(row.machine_id),
        host_id=whole(row.host_id),
        label=text(row.label),
        gpu_name=text(row.gpu_name),
        num_gpus=whole(row.num_gpus),
        gpu_ram_mb=amount(row.gpu_ram),
        cpu_name=text(row.cpu_name),
        cpu_cores=amount(row.cpu_cores_effective),
        cpu_ram_mb=amount(row.cpu_ram),
        mem_limit_gb=amount(row.mem_limit),
        disk_space_gb=amount(row.disk_space),
        actual_status=status,
        intended_status=text(row.intended_status),
        cur_state=text(row.cur_state),
        next_state=text(row.next_state),
        status_msg=text(row.status_msg, MESSAGE_LIMIT),
        image=text(row.image_uuid),
        image_runtype=text(row.image_runtype),
        is_bid=flag(row.is_bid),
        min_bid=money(row.min_bid),
        cost_per_hour=cost_now(
            instance=row.instance,
            actual_status=status if _readable_status(row.actual_status) else "unreadable",
            dph_total=row.dph_total,
            storage_total=row.storage_total_cost,
        ),
        price_running=price,
        storage_per_hour=money(row.storage_total_cost),
        start_date=amount(row.start_date),
        end_date=amount(row.end_date),
        uptime_seconds=None if uptime is None else uptime * 60.0,
        gpu_util=gpu_util,
        gpu_temp=gpu_temp,
        inet_down_mbps=amount(row.inet_down),
        driver_version=text(row.driver_version),
        cuda_max_good=amount(row.cuda_max_good),
        geolocation=text(row.geolocation),
        verification=text(row.verification),
        reliability=amount(row.reliability2),
        ssh_addresses=ssh_addresses(
            public_ip=row.public_ipaddr,
            ports=row.ports,
            ssh_host=row.ssh_host,
            ssh_port=row.ssh_port,
            runtype=row.image_runtype,
        ),
        odd=_oddness(row),
    )


def _readable_status(value: object) -> bool:
    return value is None or (isinstance(value, str) and bool(value.strip()))


def _oddness(row: WireRow) -> SafeText | None:
    """Name the fields that every well-shaped row has and this one lacks."""
    wrong = [
        name
        for name, good in (
            ("machine_id", whole(row.machine_id) is not None),
            ("actual_status", _readable_status(row.actual_status)),
            ("label", row.label is None or isinstance(row.label, str)),
            ("status_msg", row.status_msg is None or isinstance(row.status_msg, str)),
            ("gpu_name", row.gpu_name is None or isinstance(row.gpu_name, str)),
            ("num_gpus", whole(row.num_gpus) is not None),
            ("dph_total", money(row.dph_total) is not None),
            ("ports", row.ports is None or isinstance(row.ports, dict | list)),
        )
        if not good
    ]
    return sanitise(f"unreadable: {', '.join(wrong)}") if wrong else None
