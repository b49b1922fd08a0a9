"""The v1 list's parameters: filters, order, columns and pages (facts: vast_api.md 2.2)."""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any

DEFAULT_LIMIT = 25
MOST_ROWS = 25
LIMIT_FOR_NONSENSE = 5
COMPUTED = frozenset(
    {
        "dph_total", "num_gpus", "duration", "search", "instance", "offline", "dlperf_per_dphtotal",
        "flops_per_dphtotal", "score", "storage_total_cost", "vram_costperhour",
    }
)  # fmt: skip


class BadRequestError(Exception):
    """The API refuses a parameter with status 400."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(message)
        self.error = error
        self.message = message


def page(rows: list[dict[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    """Answer a list call over all rows of the account.

    Raises:
        BadRequestError: a parameter is not what the API takes.
    """
    matching = [row for row in rows if _matches(row, query)]
    ordered = _ordered(matching, query)
    start = _start(ordered, query.get("after_token"))
    limit = _limit(query.get("limit"))
    shown = ordered[start : start + limit]
    more = start + limit < len(ordered)
    labels: dict[str, int] = {}
    for row in matching:
        labels[row["label"] or ""] = labels.get(row["label"] or "", 0) + 1
    return {
        "success": True,
        "instances_found": len(shown),
        "total_instances": len(ordered),
        "label_counts": labels,
        "next_token": _token(start + limit, shown[-1]["id"]) if more and shown else None,
        "instances": _columns(shown, query.get("select_cols")),
    }


def _limit(text: str | None) -> int:
    if text is None:
        return DEFAULT_LIMIT
    try:
        limit = int(text)
    except ValueError:
        raise BadRequestError("invalid_args", "limit must be an integer") from None
    return LIMIT_FOR_NONSENSE if limit <= 0 else min(limit, MOST_ROWS)


def _json(text: str, name: str) -> Any:  # noqa: ANN401 - JSON has no narrower type
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BadRequestError("invalid_args", f"{name} is not JSON") from None


def _columns(rows: list[dict[str, Any]], text: str | None) -> list[dict[str, Any]]:
    names = ["*"] if text is None else _json(text, "select_cols")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadRequestError("invalid_args", "select_cols must be a list of names")
    if "*" in names:
        return rows
    return [{name: row.get(name) for name in names} for row in rows]


_Operation = Callable[[Any, Any], bool]
_OPERATIONS: dict[str, _Operation] = {
    "eq": lambda value, wanted: bool(value == wanted),
    "neq": lambda value, wanted: bool(value != wanted),
    "gt": lambda value, wanted: value is not None and bool(value > wanted),
    "gte": lambda value, wanted: value is not None and bool(value >= wanted),
    "lt": lambda value, wanted: value is not None and bool(value < wanted),
    "lte": lambda value, wanted: value is not None and bool(value <= wanted),
    "in": lambda value, wanted: value in wanted,
    "notin": lambda value, wanted: value not in wanted,
}


def _matches(row: Mapping[str, Any], query: Mapping[str, str]) -> bool:
    text = query.get("select_filters")
    filters = {} if text is None else _json(text, "select_filters")
    if not isinstance(filters, dict):
        raise BadRequestError("invalid_args", "select_filters must be an object")
    return matches(row, filters, closed=COMPUTED)


def matches(row: Mapping[str, Any], filters: Mapping[str, Any], closed: frozenset[str]) -> bool:
    """Tell whether a row passes `{column: {operation: value}}`.

    Raises:
        BadRequestError: a column or operation cannot be filtered by.
    """
    for column, conditions in filters.items():
        if column in closed or column not in row:
            raise BadRequestError("invalid_request", f"{column} is not a valid search key")
        if not isinstance(conditions, dict):
            raise BadRequestError("invalid_request", f"{column} needs an operation")
        for name, wanted in conditions.items():
            operation = _OPERATIONS.get(name)
            if operation is None:
                raise BadRequestError("invalid_request", f"{name} is not an operation")
            value = _place(row[column]) if column == "geolocation" else row[column]
            try:
                passed = operation(value, _like(value, wanted))
            except TypeError:
                passed = False
            if not passed:
                return False
    return True


def _like(value: object, wanted: Any) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """Read what is asked for as the column's type: clients send numbers as text."""
    if isinstance(wanted, list):
        return [_like(value, item) for item in wanted]
    if isinstance(value, bool) and isinstance(wanted, str):
        return {"true": True, "false": False}.get(wanted.lower(), wanted)
    if isinstance(value, int | float) and isinstance(wanted, str):
        try:
            return float(wanted)
        except ValueError:
            return wanted
    return wanted


def _place(value: object) -> object:
    """Return the country's two letters, by which places are searched."""
    return value.rpartition(", ")[2] if isinstance(value, str) else value


def sorted_by(rows: list[dict[str, Any]], order: object) -> list[dict[str, Any]]:
    """Sort by `[[column, "asc" | "desc"], ...]`, the first most; unknown columns change nothing."""
    if isinstance(order, list):
        for item in reversed(order):
            if isinstance(item, list) and len(item) == 2 and isinstance(item[0], str):
                rows = sorted(rows, key=_sort_key(item[0]), reverse=item[1] == "desc")
    return rows


def _ordered(rows: list[dict[str, Any]], query: Mapping[str, str]) -> list[dict[str, Any]]:
    text = query.get("order_by")
    order = [] if text is None else _json(text, "order_by")
    if not isinstance(order, list) or not all(isinstance(item, dict) for item in order):
        raise BadRequestError("invalid_args", "order_by must be a list of objects")
    ordered = sorted(rows, key=lambda row: int(row["id"]))
    for item in reversed(order):
        column = item.get("col")
        if not isinstance(column, str):
            raise BadRequestError("invalid_args", "order_by needs a column's name")
        if rows and column not in rows[0]:
            raise BadRequestError("invalid_args", f"unknown column {column}")
        ordered.sort(key=_sort_key(column), reverse=item.get("dir") == "desc")
    return ordered


def _sort_key(column: str) -> Callable[[dict[str, Any]], tuple[bool, bool, Any]]:
    def key(row: dict[str, Any]) -> tuple[bool, bool, Any]:
        value = row.get(column)
        is_number = isinstance(value, int | float)
        return value is None, is_number, value if is_number else str(value)

    return key


def _token(position: int, last_id: int) -> str:
    return base64.b64encode(json.dumps({"at": position, "id": last_id}).encode()).decode()


def _start(rows: list[dict[str, Any]], token: str | None) -> int:
    """Find where a page begins: after the row the last one ended with, also if others went."""
    if not token:
        return 0
    try:
        cursor = json.loads(base64.b64decode(token, validate=True))
        position, last_id = int(cursor["at"]), int(cursor["id"])
    except (binascii.Error, ValueError, KeyError, TypeError):
        raise BadRequestError("invalid_token", "the token cannot be read") from None
    for index, row in enumerate(rows):
        if row["id"] == last_id:
            return index + 1
    return max(position - 1, 0)
