"""Screen 5: machines with their records, and the money."""

from typing import Any

import msgspec
import pytest

from console_pilot import NOW, Console, console
from fleetui.console.inspection import Line
from fleetui.console.machine_lines import Machine, machine_line
from fleetui.console.machine_list import arranged
from fleetui.console.screens.hosts import HostsScreen, MoneyScreen
from fleetui.domain.charge import Charge, DayOfCharges
from fleetui.domain.finding import Severity
from fleetui.domain.finding_record import MachineMark
from fleetui.domain.machine_record import MachineRecord
from fleetui.domain.money import DAY_SECONDS, Spend
from fleetui.domain.stage import Stage
from fleetui.domain.standing import Mark
from fleetui.domain.text import sanitise
from memory_store import MemoryStore
from sample_fleet import build


def recorded() -> MemoryStore:
    store = build(6, now=NOW)
    mark = MachineMark(
        machine_id=777, category="gpu_xid", signature="s", severity=Severity.CRITICAL,
        summary=sanitise("the card fell off [/]"), first_seen=NOW - 9e5, last_seen=NOW - 8e5,
        occurrences=4,
    )  # fmt: skip
    store.records = (
        MachineRecord(
            machine_id=777, gpu_name=sanitise("RTX 4090"), num_gpus=2, rentals=3, failures=2,
            rates=(51.0, 49.0, 60.5), downloads=(9e7,), price_least=0.5, price_most=0.7,
            price_last=0.6, first_seen=NOW - 1e6, last_seen=NOW - 7e5, findings=(mark,),
            blacklist=Mark(by=sanitise("ana@ops"), at=NOW - 6e5, reason=sanitise("bad card")),
        ),
        MachineRecord(
            machine_id=41004, gpu_name=sanitise("RTX 4090"), num_gpus=1, rentals=1,
            rates=(80.0,), price_last=0.4, last_seen=NOW,
        ),
    )  # fmt: skip
    return store


async def shown(run: Console) -> list[str]:
    await run.until(lambda: isinstance(run.app.screen, HostsScreen), "the hosts")
    await run.shows("machines by")
    return run.text.split("\n")


async def test_a_machine_that_is_not_rented_now_keeps_its_record() -> None:
    async with console(recorded(), size=(160, 45)) as run:
        await run.press("5")
        await shown(run)
        await run.shows("BLACKLISTED")
        await run.press("slash")
        await run.press(*"blacklisted")
        await run.shows("1 machine by trouble   matching “blacklisted”")
        assert "41004" not in run.text
        await run.press("enter", "d")
        await run.shows("blacklisted by ana@ops")
        await run.shows("bad card")
        await run.shows("gpu_xid x4")
        await run.shows("the card fell off [/]")
        await run.shows("benchmarks 51.0 49.0 60.5")
        await run.press("d")
        await run.until(lambda: "bad card" not in run.text, "the record closed")
        # Enter has no instance to go to.
        await run.press("enter")
        await run.shows("bad card")
        assert isinstance(run.app.screen, HostsScreen)


async def test_machines_are_sorted_by_what_the_menu_says() -> None:
    async with console(recorded()) as run:
        await run.press("5")
        await shown(run)
        await run.press("o")
        await run.shows("sort machines by")
        await run.press("r")
        lines = await shown(run)
        await run.shows("machines by rate")
        lines = run.text.split("\n")
        first = next(n for n, line in enumerate(lines) if "41004" in line)
        second = next(n for n, line in enumerate(lines) if " 777 " in line)
        assert first < second


async def test_escape_while_searching_clears_and_stays() -> None:
    async with console(recorded()) as run:
        await run.press("5", "slash", *"nothing like it")
        await run.shows("no machine has all these words")
        await run.press("escape")
        await run.shows("41004")
        assert isinstance(run.app.screen, HostsScreen)
        await run.press("escape")
        await run.until(lambda: run.app.screen is run.app.fleet_screen, "the fleet")


async def test_the_money_says_what_it_went_into() -> None:
    store = recorded()
    first = min(store.rows)
    row = store.rows[first][1]
    store.put(
        msgspec.structs.replace(
            row, stage=Stage.RUNNING, cost_per_hour=0.4, proofs_per_hour=40.0, label=None
        )
    )
    today = int(NOW // DAY_SECONDS)
    store.spend_list = [
        Spend(
            instance_id=first, machine_id=1, day=today, stage=stage, began_at=NOW - 3600,
            seconds=3600.0, unseen_seconds=0.0, dollars=dollars,
        )
        for stage, dollars in ((Stage.WARMUP, 1.0), (Stage.RUNNING, 3.0))
    ]  # fmt: skip
    store.proofs_made = {(first, today): 400.0}
    async with console(store, size=(120, 40)) as run:
        await run.press("5", "m")
        await run.until(lambda: isinstance(run.app.screen, MoneyScreen), "the money")
        await run.shows("30 days: $4.00 for 400.0 proofs, $0.0100 a proof")
        await run.shows("75%")
        # 40 proofs an hour are less than the 50 at which a proof costs what is allowed.
        await run.shows("40.0 <")
        await run.shows("they need a key with billing_read")
        await run.press("m")
        await shown(run)


async def test_time_without_a_price_and_what_was_before_us_are_said_on_a_small_screen() -> None:
    store = recorded()
    first = min(store.rows)
    today = int(NOW // DAY_SECONDS)
    store.spend_list = [
        Spend(
            instance_id=first, machine_id=1, day=today, stage=stage, began_at=NOW - 3600,
            seconds=3600.0, unseen_seconds=0.0, dollars=dollars, unpriced_seconds=unpriced,
        )
        for stage, dollars, unpriced in (
            (Stage.LOADING, 0.0, 3600.0), (Stage.RUNNING, 28.59, 0.0),
        )
    ]  # fmt: skip
    store.proofs_made = {(first, today): 0.4}
    store.charge_days = [
        DayOfCharges(day=today, read_at=today * DAY_SECONDS + 3660.0, counted={first: 28.59},
                     charges=(Charge(instance_id=first, kind="gpu", dollars=40.0),))
    ]  # fmt: skip
    async with console(store, size=(80, 40)) as run:
        await run.press("5", "m")
        await run.shows("30 days: ≥$28.59 for <1 proofs, ≥$71.4750 a proof")
        await run.shows("1.0 h without a known price are not in the sums")
        await run.shows("1 day as of 01:01 UTC, for GPU and disk; bandwidth $0.00")
        await run.shows("charged $0.00 less counted $0.00: difference $0.00")
        await run.shows("not compared: $40.00 of the days on which an instance was first seen")
        (line,) = [line for line in run.text.split("\n") if "01:01" in line and "2" in line[:2]]
        assert line.split()[1:] == [
            "≥28.59", "<1", "≥71.4750", "0.00", "0.00", "0.00", "40.00", "01:01",
        ]  # fmt: skip


async def test_a_key_among_thousands_of_machines_draws_and_sorts_none_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[Machine] = []
    sorts: list[str] = []

    def draw(machine: Machine, *rest: Any) -> Line:  # noqa: ANN401 - handed on
        drawn.append(machine)
        return machine_line(machine, *rest)

    def sort(*all_of_it: Any) -> list[Machine]:  # noqa: ANN401 - handed on
        sorts.append(all_of_it[-1])
        return arranged(*all_of_it)

    monkeypatch.setattr("fleetui.console.screens.hosts.machine_line", draw)
    monkeypatch.setattr("fleetui.console.screens.hosts.arranged", sort)
    store = build(6, now=NOW)
    store.records = tuple(
        MachineRecord(machine_id=100_000 + n, price_last=n / 100.0, rates=(50.0,), rentals=1)
        for n in range(20_000)
    )
    async with console(store, size=(120, 40)) as run:
        await run.press("5")
        await run.shows("20006 machines by trouble")
        assert len(drawn) < 1000
        drawn.clear()
        sorts.clear()
        await run.press(*["down"] * 60)
        screen = run.app.screen
        assert isinstance(screen, HostsScreen)
        await run.until(lambda: screen._place == 60, "the cursor moved")
        await run.press("d", "down", "up")
        await run.shows("price $")
        assert len(drawn) < 1000
        assert sorts == []
        await run.press("o", "p")
        await run.shows("20006 machines by proof")
        # Nothing costs nothing: 0 is a price that is not known.
        await run.until(lambda: screen._shown[0].machine_id == 100_001, "the cheapest first")
        assert sorts == ["proof"]
