import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import msgspec
import pytest

from console_pilot import NOW, Console, console
from fleetui.console.machine_lines import machines, sorted_machines
from fleetui.console.screens.instance import InstanceScreen
from fleetui.console.screens.logs import LogsScreen
from fleetui.console.screens.settings import WelcomeScreen
from fleetui.console.terminal_check import examine_terminal
from fleetui.domain.check import Check, Health
from fleetui.domain.finding import Evidence, Severity
from fleetui.domain.host import Probe, Process
from fleetui.domain.intent import Event, Verb
from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage
from fleetui.domain.text import sanitise
from sample_fleet import build


async def test_the_instance_page_has_all_that_is_known() -> None:
    store = build(24, now=NOW)
    reading = store.readings_by_id[20110148]
    process = Process(pid=42, args=sanitise("cuzk-daemon --serve [/]"), state=sanitise("S"))
    probe = Probe(at=NOW, processes=(process,), errors={"kernel": sanitise("not permitted")})
    store.readings_by_id[20110148] = msgspec.structs.replace(reading, probe=probe)
    store.event_list.append(
        Event(at=NOW, kind="stage", text=sanitise("warmup -> failed"), instance_id=20110148)
    )
    async with console(store) as run:
        await run.press("enter")
        await run.shows("root cause")
        assert isinstance(run.app.screen, InstanceScreen)
        await run.press("G")
        for words in ("cuzk-daemon --serve [/]", "not permitted", "warmup -> failed"):
            await run.shows(words)
        await run.press("y")
        await run.shows('"instance_id": 20110148')
        await run.press("q")
        await run.shows("what happened")
        await run.press("R")
        await run.shows("press y to restart")
        await run.press("y")
        await run.until(lambda: len(run.store.intent_list) == 2, "an intent")
        assert run.store.intent_list[1].verb is Verb.RESTART_DAEMON
        await run.press("l")
        await run.shows("following")
        await run.press("q", "q")
        await run.until(lambda: len(run.app.screen_stack) == 2, "the fleet")


def drawn(run: Console) -> bool:
    return bool(run.text.strip())


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (40, 12)])
async def test_every_page_draws_at_every_size(size: tuple[int, int]) -> None:
    async with console(size=size) as run:
        for keys in (("enter",), ("y",), ("3",), ("4",), ("5",), ("6",), ("7",), ("2", "w")):
            await run.press(*keys)
            await run.until(partial(drawn, run), "something")
            await run.press("1")
        assert run.app.screen is run.app.fleet_screen


async def test_enter_on_a_failure_goes_to_the_byte_in_the_log() -> None:
    store = build(24, now=NOW)
    body = b"fine\n" * 300 + b"Error: the proof\n" + b"after\n" * 300
    store.write(20110148, "/tmp/evidence.log", body, at=NOW - 50)
    reading = store.readings_by_id[20110148]
    evidence = Evidence(
        source="/tmp/evidence.log", text=sanitise("Error: the proof"), line=301, generation=1,
        offset=1500,
    )  # fmt: skip
    finding = msgspec.structs.replace(reading.findings[0], evidence=(evidence,))
    store.readings_by_id[20110148] = msgspec.structs.replace(reading, findings=(finding,))
    async with console(store) as run:
        await run.press("4")
        await run.shows("/tmp/evidence.log:301")
        await run.until(lambda: "prover_lost" in run.text, "the group")
        place = [line for line in run.text.split("\n") if "hosts" in line or "host " in line]
        moves = next(n for n, line in enumerate(place) if "prover_lost" in line)
        await run.press(*["j"] * moves, "enter")
        await run.until(lambda: isinstance(run.app.screen, LogsScreen), "the log")
        screen = run.app.screen
        assert isinstance(screen, LogsScreen)
        await run.until(lambda: screen.pane.view.mark is not None, "the line")
        view = screen.pane.view
        assert view.mark is not None
        assert view.ring.line(view.mark) == b"Error: the proof"
        await run.shows("Error: the proof")


async def test_hosts_group_by_machine_and_open_in_the_fleet() -> None:
    async with console() as run:
        await run.press("5")
        await run.shows("41004")
        await run.press("enter")
        await run.shows("machine=41004")
        assert run.app.fleet_screen.table.order == [20110148]


def test_machines_with_trouble_come_first() -> None:
    rows = [FleetRow(instance_id=n, stage=Stage.RUNNING, machine_id=n % 2) for n in range(4)]
    rows[3] = msgspec.structs.replace(rows[3], finding_severity=Severity.WARNING)
    found = sorted_machines(machines([], rows), "trouble")
    assert [machine.machine_id for machine in found] == [1, 0]
    assert [len(machine.rows) for machine in found] == [2, 2]
    assert machines([], [FleetRow(instance_id=1, stage=Stage.BOOT)]) == []


async def test_the_doctor_says_what_is_wrong_and_looks_again() -> None:
    calls = 0

    async def examine() -> tuple[Check, ...]:
        nonlocal calls
        calls += 1
        return (
            Check(
                part="API key", health=Health.BAD, found=sanitise(f"look no. {calls} [/]"),
                mend=sanitise("export VAST_API_KEY=..."),
            ),
        )  # fmt: skip

    async with console(examine=examine) as run:
        await run.press("7")
        await run.shows("look no. 1 [/]")
        await run.shows("export VAST_API_KEY")
        await run.press("r")
        await run.shows("look no. 2")


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"TERM": "xterm", "NO_COLOR": "1"}, "attributes only"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "true colour"),
        ({"TERM": "xterm-256color"}, "256 colours"),
        ({}, "16 colours"),
        ({"SSH_CONNECTION": "1 2 3 4"}, "over SSH"),
    ],
)
async def test_the_terminal_is_examined(environ: dict[str, str], words: str) -> None:
    checks = await examine_terminal(environ, (60, 20))
    assert any(words in check.found for check in checks)
    assert any(check.part == "size" and check.health is Health.POOR for check in checks)


def starter(answers: list[str], calls: list[int]) -> Callable[[], Awaitable[str]]:
    async def start() -> str:
        calls.append(1)
        await asyncio.sleep(0)
        return answers.pop(0) if answers else ""

    return start


async def test_a_start_without_a_key_explains_itself_and_tries_again() -> None:
    store = build(3, now=NOW)
    store.lease_held = False
    calls: list[int] = []
    start = starter(["no Vast API key; looked at: x", "still no key"], calls)
    async with console(store, start_collector=start) as run:
        await run.shows("no Vast API key")
        await run.shows("fleetui demo")
        await run.press("r")
        await run.shows("still no key")
        store.lease_held = True
        await run.until(lambda: not isinstance(run.app.screen, WelcomeScreen), "the fleet")
        assert len(calls) == 2


async def test_a_console_starts_a_collector_when_its_own_died(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fleetui.console.collector_watch.COLLECTOR_GONE_SECONDS", 0.0)
    monkeypatch.setattr("fleetui.console.store_loops.HEARTBEAT_SECONDS", 0.05)
    calls: list[int] = []
    async with console(start_collector=starter([], calls)) as run:
        run.store.lease_held = False
        await run.until(
            lambda: any("starting a coll" in note.text for note in run.app.notes.kept), "the word"
        )
        await run.until(lambda: calls, "a start")
        run.store.lease_held = True
        await run.shows("a collector runs")
        assert len(calls) == 1


async def test_freezing_keeps_the_screen_and_counts_what_it_hides() -> None:
    async with console() as run:
        await run.press("p")
        await run.shows("FROZEN")
        row = run.store.rows[20110148][1]
        run.store.put(msgspec.structs.replace(row, label=sanitise("renamed")))
        await run.shows("FROZEN +1")
        assert "renamed" not in run.text
        await run.press("p")
        await run.shows("renamed")


@pytest.mark.parametrize("theme", ["terminal", "dark", "light", "safe", "mono"])
async def test_every_theme_draws_every_state_in_words(theme: str) -> None:
    async with console(theme=theme) as run:
        for words in ("FAILED", "running", "✖", "▲", "●"):
            assert words in run.text
        await run.press("D")
        await run.shows("Cancel (esc)")
        await run.press("escape", "T", "enter")
        assert run.app.paint.name == theme


async def test_no_color_means_attributes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with console(theme="dark") as run:
        assert run.app.paint.name == "mono"
        await run.press("colon", *"theme light", "enter")
        assert run.app.paint.name == "mono"
        await run.shows("NO_COLOR is set")


async def test_times_are_local_or_utc_by_one_key() -> None:
    async with console() as run:
        await run.press("U")
        await run.shows("times are UTC")
        await run.press("U")
        await run.shows("times are local")


async def test_a_chart_without_a_measurement_leaves_its_room_to_the_other() -> None:
    async with console(size=(140, 45)) as run:
        await run.press("enter")
        page = run.app.screen
        assert isinstance(page, InstanceScreen)
        await run.until(lambda: page.subject is not None, "what is known")
        assert page.subject is not None
        samples = page.subject.samples
        assert page.rate.display == any(s.proofs_per_hour is not None for s in samples)
        assert page.load.display == any(s.gpu_util is not None for s in samples)
        assert not page.rate.display
        assert "nothing measured" not in run.text


async def test_the_footer_does_not_offer_the_way_to_where_one_is() -> None:
    async with console(size=(120, 40)) as run:
        await run.press("2")
        await run.shows("4 failures")
        assert "2 pulse" not in run.text.split("\n")[-1]
        await run.press("4")
        await run.shows("2 pulse")
        assert "4 failures" not in run.text.split("\n")[-1]
