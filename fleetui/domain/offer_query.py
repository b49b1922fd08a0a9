"""The query language of the official client's `search offers`: words to the API's conditions.

`disk_space>=250 dph<=0.9 gpu_name in [RTX_4090,RTX_5090] verified=any`: field, operator, value; all
must hold (facts: vast_api.md section 5.4). What the official client sends for a query, this gives
too, quirks included: numbers stay text, `_` is a blank, memory is asked for in GB and sent in MB.
"""

import difflib
import math
import re
from collections.abc import Mapping

import msgspec

DEFAULT_QUERY = (
    "disk_space>=250 dph<=0.9 gpu_ram>12.5 cpu_ram>=240 cpu_cores>25 inet_down>100 cuda_vers>=13.0"
)
"""What a proving instance needs at least."""

UNLESS_SAID: Mapping[str, Mapping[str, object]] = {
    "verified": {"eq": True},
    "external": {"eq": False},
    "rentable": {"eq": True},
}
"""Conditions that hold unless the query has the field; `verified=any` lifts one."""

FIELDS = frozenset(
    {
        "bw_nvlink", "cluster_id", "compute_cap", "cpu_arch", "cpu_cores", "cpu_cores_effective",
        "cpu_ghz", "cpu_ram", "cuda_max_good", "datacenter", "direct_port_count", "disk_bw",
        "disk_space", "dlperf", "dlperf_per_dphtotal", "dph_total", "driver_version", "duration",
        "external", "flops_per_dphtotal", "geolocation", "gpu_arch", "gpu_display_active",
        "gpu_frac", "gpu_max_power", "gpu_max_temp", "gpu_mem_bw", "gpu_name", "gpu_ram",
        "gpu_total_ram", "has_avx", "host_id", "id", "inet_down", "inet_down_cost", "inet_up",
        "inet_up_cost", "machine_id", "min_bid", "mobo_name", "num_gpus", "pci_gen", "pcie_bw",
        "reliability", "rentable", "rented", "static_ip", "storage_cost", "total_flops",
        "ubuntu_version", "verification", "verified", "vms_enabled",
    }
)  # fmt: skip
ALIASES = {
    "cuda_vers": "cuda_max_good",
    "display_active": "gpu_display_active",
    "dlperf_usd": "dlperf_per_dphtotal",
    "dph": "dph_total",
    "flops_usd": "flops_per_dphtotal",
}
FACTORS = {"cpu_ram": 1000.0, "gpu_ram": 1000.0, "gpu_total_ram": 1000.0, "duration": 86_400.0}
"""From the query's GB and days to the API's MB and seconds."""

_OPERATIONS = {
    ">=": "gte", ">": "gt", "<=": "lte", "<": "lt", "!=": "neq", "=": "eq", "==": "eq",
    "gte": "gte", "gt": "gt", "lte": "lte", "lt": "lt", "neq": "neq", "not eq": "neq",
    "noteq": "neq", "eq": "eq", "in": "in", "not in": "notin", "notin": "notin", "nin": "notin",
}  # fmt: skip
_OF_LISTS = ("in", "notin")
_ANYTHING = ("?", "*", "any")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "None": None, "null": None}
_FIELD = re.compile(r"[a-zA-Z0-9_]+")
_OPERATOR = re.compile(r" *([=<>!]+)| +(lte?|gte?|neq|eq|not ?eq|not ?in|nin|in) ")
_VALUE = re.compile(r" *(\[[^\]]+\]|\"[^\"]+\"|[^ ]+)? *")

Value = bool | str | float | int | list[str] | None


class OfferQueryError(ValueError):
    """The text is not a query; the message shows the part that was not understood."""


class OfferQuery(msgspec.Struct, frozen=True):
    """What to ask the API for: `{column: {operation: value}}`.

    `doubts` names the fields that the language does not know. They are sent all the same, as
    the official client does, and the API may ignore them.
    """

    conditions: dict[str, dict[str, Value]]
    doubts: tuple[str, ...] = ()


def parse_offer_query(text: str, *, defaults: bool = True) -> OfferQuery:
    """Parse a query; `defaults` adds the conditions of `UNLESS_SAID` to what the query lacks.

    Raises:
        OfferQueryError: a part of it cannot be understood.
    """
    conditions: dict[str, dict[str, Value]] = {}
    if defaults:
        conditions = {name: dict(condition) for name, condition in UNLESS_SAID.items()}  # type: ignore[arg-type]  # booleans are values
    doubts: dict[str, None] = {}
    for part, field, operation, raw in _terms(text.strip()):
        name = ALIASES.get(field, field)
        if name not in FIELDS:
            doubts[_doubt(field)] = None
        if raw in _ANYTHING and operation not in _OF_LISTS:
            if operation != "eq":
                raise OfferQueryError(f"{part!r}: {raw!r} stands for anything only after '='")
            conditions.pop(name, None)
        else:
            conditions.setdefault(name, {})[operation] = _value(part, name, operation, raw)
    return OfferQuery(conditions, tuple(doubts))


def _terms(text: str) -> list[tuple[str, str, str, str]]:
    """Split into the text, the field, the operation and the raw value of each term."""
    found = []
    place = 0
    while place < len(text):
        field = _FIELD.match(text, place)
        if field is None:
            raise OfferQueryError(f"not understood from here on: {text[place:][:80]!r}")
        operator = _OPERATOR.match(text, field.end())
        if operator is None:
            near = text[place:].split(" ", maxsplit=1)[0][:80]
            raise OfferQueryError(f"not understood: {near!r} has no operator and value")
        value = _VALUE.match(text, operator.end())
        assert value is not None  # noqa: S101 - it matches nothing at all, too
        part = text[place : value.end()].strip()
        sign = operator[1] or operator[2]
        if sign not in _OPERATIONS:
            raise OfferQueryError(f"{part!r}: no such operator: {sign!r}")
        found.append((part, field[0], _OPERATIONS[sign], (value[1] or "").strip(",[]")))
        place = value.end()
    return found


def _value(part: str, name: str, operation: str, raw: str) -> Value:
    many = operation in _OF_LISTS
    if name == "driver_version" and "." in raw:
        return _version(part, raw, many=many)
    items = [item.strip() for item in raw.split(",")] if many else [raw]
    items = [item for item in items if item]
    if not items:
        raise OfferQueryError(f"{part!r}: the value is missing")
    if name in FACTORS:
        return _scaled(part, items[0] if not many else "", FACTORS[name])
    items = [item.replace("_", " ").strip('"') for item in items]
    if many:
        return items
    return _WORDS.get(items[0], items[0])


def _scaled(part: str, text: str, factor: float) -> float:
    try:
        value = float(text.replace("_", " ").strip('"')) * factor
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise OfferQueryError(f"{part!r}: needs one number after a comparison")
    return value


def _version(part: str, text: str, *, many: bool) -> int:
    """Return `535.86.05` as 535086005, by which drivers are compared."""
    pieces = text.split(".")
    try:
        number = int("".join(piece.zfill(3) for piece in pieces))
    except ValueError:
        number = 0
    if many or len(pieces) != 3 or not number:
        raise OfferQueryError(f"{part!r}: a driver's version has three numbers, as in 535.86.05")
    return number


def _doubt(field: str) -> str:
    near = difflib.get_close_matches(field, (*FIELDS, *ALIASES), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"no such field: {field!r}{hint}"
