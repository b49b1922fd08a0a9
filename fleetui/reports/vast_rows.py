"""Instance rows of the Vast API in a file: a row, a list, a page, one JSON value a line."""

import json
from collections.abc import Iterable
from typing import Any

from fleetui.domain.instance import Instance
from fleetui.vast.rows import read_row

_KEPT_SECONDS = 90 * 86_400.0
_WRAPPERS = ("instances", "instance", "row", "results")


def json_values(data: bytes) -> tuple[list[Any], tuple[str, ...]]:
    """Return the JSON values of a file, one or one a line, and what of it was cut short.

    Text that is not JSON at all gives nothing of both.
    """
    text = data.decode("utf-8", "replace").strip().removeprefix("\ufeff")
    whole = _value(text)
    if whole is not None:
        return [whole], ()
    values: list[Any] = []
    cut: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        value = _value(line)
        if value is not None:
            values.append(value)
        elif line.lstrip()[:1] in "{[":
            cut.append(f"line {number} looks like JSON but is none that can be read")
        else:
            return [], ()
    return values, tuple(cut)


def _value(text: str) -> Any:  # noqa: ANN401 - whatever the file holds
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def rows_in(value: object) -> list[dict[str, Any]]:
    """Return the instance rows in one JSON value, however they are wrapped."""
    if isinstance(value, list):
        return [row for item in value for row in rows_in(item)]
    if not isinstance(value, dict):
        return []
    if "actual_status" in value or ("id" in value and "machine_id" in value):
        return [value]
    return [row for name in _WRAPPERS for row in rows_in(value.get(name))]


def histories(rows: Iterable[dict[str, Any]]) -> dict[int, list[Instance]]:
    """Return what the rows tell of each instance, the newest last."""
    told: dict[int, list[Instance]] = {}
    for place, row in enumerate(rows, 1):
        # A row in a report may have lost its id; its number does as well.
        instance = read_row(row) or read_row({**row, "id": place})
        if instance is not None:
            told.setdefault(instance.instance_id, []).append(instance)
    return told


def moment_of(instances: Iterable[Instance], written: float) -> float:
    """Return when rows were read: what they prove by start and uptime, else the file's time.

    `written` is the file's time, in epoch seconds. It says nothing of rows that are much older:
    somebody has copied them since.
    """
    known = list(instances)
    starts = [one.start_date for one in known if one.start_date is not None]
    proved = [
        one.start_date + one.uptime_seconds
        for one in known
        if one.start_date is not None and one.uptime_seconds is not None
    ]
    if proved:
        return max(proved)
    newest = max(starts, default=0.0)
    return written if 0 <= written - newest <= _KEPT_SECONDS else newest
