import time
from collections.abc import Callable
from pathlib import Path

import pytest

from console_pilot import NOW, Console, StillClock, console
from fleetui.console import clipboard
from fleetui.console.clock_words import typed_time
from fleetui.console.screens.logs import LogsScreen
from fleetui.console.widgets.log_view import LogView
from fleetui.domain.stream import StreamId

LOG = "/tmp/cuzk.log"


async def opened(run: Console, *keys: str) -> LogView:
    await run.press(*keys, "3")
    await run.until(lambda: isinstance(run.app.screen, LogsScreen), "the logs")
    await run.shows("following")
    screen = run.app.screen
    assert isinstance(screen, LogsScreen)
    return screen.pane.view


def stands(view: LogView, number: int) -> Callable[[], bool]:
    return lambda: view.mark == number


async def test_3_opens_the_log_of_the_selected_instance_on_the_whole_screen() -> None:
    async with console() as run:
        view = await opened(run)
        assert view.page > 35
        await run.press("right_square_bracket")
        await run.shows(str(run.app.fleet_screen.table.order[1]))
        await run.press("left_square_bracket")
        await run.shows(str(run.app.fleet_screen.table.order[0]))
        await run.press("q")
        assert run.app.screen is run.app.fleet_screen


async def test_marked_instances_are_merged_with_their_names() -> None:
    async with console() as run:
        view = await opened(run, "space", "space")
        await run.shows("2 files by time")
        await run.until(lambda: len(view.ring) > 0, "lines")
        await run.shows("over-04")
        await run.press("b")
        await run.press("b")
        await run.until(lambda: "over-04" not in run.text, "no names")
        await run.press("A")
        await run.shows("errors of the whole fleet")
        await run.until(lambda: all(b"ERROR" in view.ring.line(n) or b"pipe" in view.ring.line(n)
                        for n in range(view.ring.first, view.ring.end)), "errors only")  # fmt: skip
        await run.press("i")
        await run.shows("cuzk.log")
        await run.press("M")
        await run.shows("files by time")


async def test_a_filter_and_back_keeps_the_place() -> None:
    async with console() as run:
        view = await opened(run, "j")
        await run.press("slash", *"06:02:00", "enter")
        await run.until(lambda: view.mark is not None, "a match")
        assert view.mark is not None
        line = view.ring.line(view.mark)
        await run.press("ampersand", *"06:02:0\\d", "enter")
        await run.shows("only 06:02:0")
        await run.until(lambda: len(view.ring) == 10, "ten lines")
        assert view.ring.line(view.mark) == line
        await run.press("ampersand", "enter")
        await run.until(lambda: len(view.ring) == 240, "all lines")
        assert view.ring.line(view.mark) == line
        await run.press("slash", *"failed", "enter", "x")
        await run.until(lambda: len(view.ring) == 3, "the matches")
        await run.press("x")
        await run.until(lambda: len(view.ring) == 240, "all lines")


async def test_the_ways_a_line_is_drawn() -> None:
    async with console(size=(100, 30)) as run:
        run.store.write(20110148, LOG, b'{"level":"warn","msg":"json here","k":1}\n', at=NOW)
        run.store.write(20110148, LOG, b"W" * 250 + b"END\n", at=NOW)
        view = await opened(run)
        await run.shows("WARN json here k=1")
        await run.press("J")
        await run.shows('{"level":"warn"')
        await run.press("J", "t")
        await run.shows(time.strftime("%H:%M:", time.localtime(1_796_018_580)))
        await run.press("U")
        await run.press("t")
        await run.shows("2026-11-30 06:03")
        await run.press("t", "w")
        await run.shows("END")
        assert view.follow
        await run.press("k", "k", "j", "G")
        await run.shows("END")
        await run.press("w")
        assert "END" not in run.text


async def test_times_are_gone_to() -> None:
    clock = StillClock(1_796_018_600.0)
    async with console(clock=clock) as run:
        run.store.written_at[StreamId(20110148, LOG)] = clock.at
        view = await opened(run)
        await run.press("U", "at", *"06:01:30", "enter")
        await run.until(stands(view, 90), "the line of that second")
        await run.press("right_curly_bracket")
        await run.until(lambda: view.mark is not None and view.mark > 90, "the next minute")
        assert view.mark == 120
        await run.press("left_curly_bracket")
        await run.until(lambda: view.mark in {0, 60}, "the minute before")
        await run.press("at", *"nonsense", "enter")
        await run.shows("is no time")
        await run.press("colon", *"time 06:02:00", "enter")
        await run.until(stands(view, 120), "by command")


async def test_marks_warnings_and_lives() -> None:
    async with console() as run:
        run.store.write(20110148, LOG, b"WARN slow\nfine\n", at=NOW)
        view = await opened(run)
        await run.press("W")
        assert view.mark == 79
        await run.press("W", "W", "W")
        assert view.mark == 240
        await run.press("m", "e", "E")
        await run.press("m", "apostrophe")
        assert view.mark == 240
        await run.press("apostrophe")
        assert view.mark in {159, 239}
        await run.press("P")
        await run.shows("no earlier run of this file")


async def test_lines_are_copied_and_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.delenv("STY", raising=False)
    async with console(save_folder=tmp_path) as run:
        sent: list[str] = []
        monkeypatch.setattr(run.app, "write_terminal", sent.append)
        await opened(run)
        await run.press("e", "c")
        await run.shows("sent to the terminal")
        assert sent[-1] == clipboard.osc52(
            "ERROR cuzk::gpu: worker 1 failed: [/] [@click=app.quit]", {}
        )
        await run.press("C")
        await run.until(lambda: len(sent) == 2, "the screen")
        await run.press("ctrl+s")
        await run.until(lambda: list(tmp_path.iterdir()), "a file")
        await run.shows("saved:")
        text = saved(tmp_path)
        assert text.count("\n") == 240
        assert "\x1b" not in text


def saved(folder: Path) -> str:
    (path,) = folder.iterdir()
    return path.read_text()


def test_clipboard_limits_and_wrapping() -> None:
    with pytest.raises(clipboard.ClipboardRefusedError):
        clipboard.osc52("x" * 60_000, {})
    assert clipboard.osc52("hi", {}) == "\x1b]52;c;aGk=\x07"
    assert clipboard.osc52("hi", {"TMUX": "x"}) == "\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\"
    assert clipboard.osc52("hi", {"STY": "x"}).startswith("\x1bP\x1b]52")


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("15m", NOW - 900), ("-1.5h", NOW - 5400), ("2h ago", NOW - 7200), ("nope", None),
        ("2025-11-30 00:00", 1_764_460_800.0), ("00:30", 1_764_462_600.0),
        ("23:59:59", 1_764_460_799.0),
        ("2025-11-30", 1_764_460_800.0), ("", None), ("99:99", None),
    ],
)  # fmt: skip
def test_typed_times(text: str, at: float | None) -> None:
    assert typed_time(text, NOW, utc=True) == at
