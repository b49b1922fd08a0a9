"""What the verbs about machines and money print. Imports lazily, like `verbs`."""

import contextlib
from collections.abc import Sequence

from fleetui import config
from fleetui.verbs import existing_store, json_text


async def print_money(
    settings: config.Settings, days: int, *, table: str | None, as_json: bool
) -> int:
    """Print the fleet's money of some days, one of its tables as CSV, or all as JSON."""
    from fleetui.domain.clock import parse_clock
    from fleetui.reports.money import money_report
    from fleetui.reports.money_text import money_csv, money_text

    now = parse_clock(settings.clock).now()
    store = await existing_store(settings)
    async with contextlib.aclosing(store):
        report = await money_report(store, settings.policy, now, days)
    if table is not None:
        print(money_csv(report, table), end="")
    else:
        print(json_text(report) if as_json else money_text(report))
    return 0


async def print_hosts(
    settings: config.Settings, words: Sequence[str], order: str, *, as_json: bool
) -> int:
    """Print what is remembered of machines; 1 when nothing fits."""
    from fleetui.reports.hosts import HostOrder, hosts_report, hosts_text

    store = await existing_store(settings)
    async with contextlib.aclosing(store):
        report = await hosts_report(store, words, HostOrder(order))
    print(json_text(report) if as_json else hosts_text(report))
    return 0 if report else 1
