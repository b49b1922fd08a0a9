"""What the pretend account is charged, by instance, day and kind (facts: vast_api.md 5.5)."""

import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from aiohttp import web

from fleetui.simulator import http_answers

DAY_SECONDS = 86_400
MOST_ROWS, USUAL_ROWS = 500, 100
_KINDS = {"gpu": "gpuCostPerHour", "disk": "diskHour"}


class Ledger:
    """Adds up what each row costs from one look at it to the next."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[float, dict[str, float]]] = {}
        self._sums: dict[tuple[int, int, str], float] = defaultdict(float)
        self._labels: dict[int, str | None] = {}

    def observe(self, row: dict[str, Any], now: float) -> None:
        """Charge an instance up to now; before the first look it cost what it costs then."""
        instance_id = row["id"]
        costs = {kind: float(row["instance"][name]) for kind, name in _KINDS.items()}
        since, earlier = self._seen.get(instance_id, (row["start_date"], costs))
        self._seen[instance_id] = max(now, since), costs
        self._labels[instance_id] = row["label"]
        while since < now:
            day = int(since // DAY_SECONDS)
            end = min(now, (day + 1.0) * DAY_SECONDS)
            for kind, dollars in earlier.items():
                self._sums[day, instance_id, kind] += dollars * (end - since) / 3600.0
            since = end

    def rows(self, first_day: int, last_day: int) -> list[dict[str, Any]]:
        """Return one row for each day and instance, oldest first."""
        grouped: dict[tuple[int, int], dict[str, float]] = defaultdict(dict)
        for (day, instance_id, kind), dollars in self._sums.items():
            if first_day <= day <= last_day:
                grouped[day, instance_id][kind] = dollars
        return [
            self._row(day, instance_id, kinds)
            for (day, instance_id), kinds in sorted(grouped.items())
        ]

    def _row(self, day: int, instance_id: int, kinds: dict[str, float]) -> dict[str, Any]:
        span = {"start": day * DAY_SECONDS, "end": (day + 1) * DAY_SECONDS}
        return span | {
            "type": "instance", "source": f"instance-{instance_id}",
            "description": f"Instance {instance_id}", "amount": sum(kinds.values()),
            "metadata": {"label": self._labels.get(instance_id), "template_id": None},
            "items": [
                span | {"type": kind, "source": None, "amount": dollars, "items": [],
                        "description": f"{kind} of instance {instance_id}"}
                for kind, dollars in sorted(kinds.items())
            ],
        }  # fmt: skip


class Billing:
    """The handler of the charges; `settle` charges all instances up to now."""

    def __init__(self, ledger: Ledger, settle: Callable[[], object]) -> None:
        self._ledger = ledger
        self._settle = settle

    async def charges(self, request: web.Request) -> web.StreamResponse:
        """List the charges of some days, by pages."""
        try:
            filters = json.loads(request.query.get("select_filters", "null"))
            span = filters["day"]
            first, last = (int(float(span[name]) // DAY_SECONDS) for name in ("gte", "lte"))
            skip = int(request.query.get("after_token") or 0)
            wanted = int(request.query.get("limit") or USUAL_ROWS)
        except (ValueError, TypeError, KeyError, OverflowError):
            return http_answers.refusal(400, "invalid_args", "select_filters needs day: gte, lte")
        self._settle()
        rows = self._ledger.rows(first, last)
        if request.query.get("latest_first", "").lower() == "true":
            rows.reverse()
        page = rows[max(skip, 0) :][: min(max(wanted, 1), MOST_ROWS)]
        following = max(skip, 0) + len(page)
        return http_answers.answer({
            "success": True, "count": len(page), "total": len(rows), "results": page,
            "next_token": str(following) if following < len(rows) else None,
        })  # fmt: skip
