from functools import partial

import msgspec

from console_pilot import NOW, console
from fleetui.console.log_source import LogSource
from fleetui.domain.intent import IntentState
from fleetui.domain.stream import StreamId
from fleetui.domain.text import sanitise
from memory_store import MemoryStore
from sample_fleet import build

LOG = "/tmp/cuzk.log"


async def test_the_log_opens_at_its_end_and_follows() -> None:
    async with console() as run:
        await run.press("l")
        await run.shows("partition 8 synthesized in 8.38s")
        await run.shows("following")
        run.store.write(20110148, LOG, b"the newest line\n", at=NOW)
        await run.shows("the newest line")


async def test_new_lines_never_yank_the_reader() -> None:
    async with console() as run:
        await run.press("l")
        await run.shows("following")
        view = run.app.fleet_screen.log_view
        await run.until(lambda: len(view.ring) == 240, "the whole log")
        await run.press("pageup", "k")
        top, shown = view.top_line, view.ring.line(view.top_line)
        for number in range(300):
            run.store.write(20110148, LOG, b"more %d\n" % number, at=NOW)
        await run.until(lambda: len(view.ring) == 540, "the new lines")
        await run.pilot.pause()
        assert (view.top_line, view.ring.line(view.top_line)) == (top, shown)
        await run.shows("lines below, G follows")
        await run.press("G")
        await run.shows("more 299")
        await run.press("F", "g")
        await run.shows("06:00:00Z")
        await run.press("F")
        await run.shows("more 299")


async def test_search_highlights_and_jumps() -> None:
    async with console() as run:
        await run.press("l")
        await run.shows("following")
        await run.press("slash", *"8.42s", "enter")
        await run.shows("8.42s")
        view = run.app.fleet_screen.log_view
        assert view.mark is not None
        first = view.mark
        await run.press("n")
        assert view.mark > first
        await run.press("N")
        assert view.mark == first
        await run.press("N")
        await run.shows("no earlier match")
        await run.press("slash", "escape")
        assert view.search is None
        assert view.has_focus


async def test_the_shown_file_is_marked_and_apart_from_what_follows_at_80_columns() -> None:
    store = build(24, now=NOW)
    for name in ("a-first-long-name", "b-second-long-name", "z-last-and-newest"):
        store.write(20110148, f"/tmp/{name}.log", b"a line\n", at=NOW + 1)
    async with console(store, size=(80, 24)) as run:
        await run.press("l")
        await run.shows("following")
        for _ in range(len(store.logs)):
            await run.press("tab")
            source = run.app.fleet_screen.log_pane.file
            assert source is not None
            assert source.shown is not None
            name = source.shown.stream.path.rpartition("/")[2]
            await run.shows(f" {name.removesuffix('.log')}")
            title = next(line for line in run.text.split("\n") if "following" in line)
            assert " following" in title


async def test_errors_are_jumped_to() -> None:
    async with console() as run:
        await run.press("l")
        await run.shows("following")
        view = run.app.fleet_screen.log_view
        await run.until(lambda: len(view.ring) == 240, "the whole log")
        await run.press("e")
        assert view.mark == 79
        await run.press("e", "e")
        assert view.mark == 239
        await run.press("e")
        await run.shows("no further error")
        await run.press("E")
        assert view.mark == 159
        await run.shows("[/] [@click=app.quit]")


def shows_another(source: LogSource, path: str) -> bool:
    return source.shown is not None and source.shown.stream.path != path


async def test_tab_goes_through_the_files() -> None:
    async with console() as run:
        await run.press("l")
        await run.shows("following")
        seen = []
        for _ in range(3):
            source = run.app.fleet_screen.log_pane.file
            assert source is not None
            assert source.shown is not None
            before = source.shown.stream.path
            seen.append(before)
            await run.press("tab")
            await run.until(partial(shows_another, source, before), "the next file")
        assert sorted(seen) == ["/tmp/benchmark-full.log", LOG, "/tmp/setup.log"]


async def test_full_screen_and_back() -> None:
    async with console(size=(100, 30)) as run:
        await run.press("l")
        await run.shows("following")
        await run.press("f")
        await run.until(lambda: "finding" not in run.text, "only the log")
        assert run.app.fleet_screen.log_view.page > 20
        await run.press("f")
        await run.shows("finding")
        await run.press("l")
        assert run.app.fleet_screen.table.has_focus
        await run.press("L")
        await run.until(lambda: run.app.fleet_screen.has_class("-full"), "full screen")
        await run.press("escape")
        assert run.app.fleet_screen.table.has_focus


async def test_sideways_position_stays_when_lines_come() -> None:
    async with console() as run:
        run.store.write(20110148, LOG, b"x" * 300 + b"END\n", at=NOW)
        await run.press("l")
        await run.shows("following")
        await run.press("shift+right", "right", "left", "shift+right")
        left = run.app.fleet_screen.log_view.left
        assert left > 50
        run.store.write(20110148, LOG, b"y\n", at=NOW)
        await run.until(lambda: run.app.fleet_screen.log_view.ring.end == 242, "one more line")
        assert run.app.fleet_screen.log_view.left == left


async def test_hostile_lines_are_drawn_harmless() -> None:
    hostile = (
        b"\x1b]0;title\x07\x1b]52;c;aGk=\x07[/] [@click=app.quit]x[/]\x1b[2J\xff\xfe"
        + "\u202egnp.exe".encode()
        + b"\x9b31m\n"
    )
    async with console() as run:
        run.store.write(20110148, LOG, hostile + b"A" * 1_000_000 + b"\n", at=NOW)
        await run.press("l")
        await run.shows("following")
        run.store.write(20110148, LOG, hostile, at=NOW)
        await run.shows("[/] [@click=app.quit]x[/]")
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(run.text)


async def test_pages_upwards_load_older_lines_and_g_goes_to_the_first_stored_one() -> None:
    async with console() as run:
        body = b"".join(b"old line %07d\n" % number for number in range(40_000))
        stream = StreamId(20110148, "/tmp/long.log")
        run.store.write(20110148, stream.path, body, at=NOW + 100)
        await run.press("l")
        await run.shows("old line 0039999")
        view = run.app.fleet_screen.log_view
        before = view.ring.first
        view.reveal(view.ring.first + view.page)
        await run.press("pageup")
        await run.until(lambda: view.ring.first < before, "older lines")
        await run.press("g")
        await run.shows("old line 0000000")
        await run.shows("at 0%")
        for _ in range(3):
            await run.press("pagedown")
        number = view.top_line
        await run.shows(f"old line {int(view.ring.line(number)[9:]):07d}")
        await run.press("G")
        await run.shows("old line 0039999")
        await run.shows("following")


async def test_an_instance_without_logs_says_so() -> None:
    async with console() as run:
        run.store.logs.clear()
        await run.press("l")
        await run.shows("is stored yet")


async def test_at_the_top_what_was_never_stored_is_asked_for() -> None:
    stream = StreamId(20110148, LOG)
    store = build(24, now=NOW)
    body = b"".join(b"old line %04d\n" % number for number in range(400))
    whole = bytearray(body) + store.logs[stream][1]
    store.logs[stream] = (1, whole)
    store.kept_from[stream] = len(body) - 7
    store.intent_list.clear()
    async with console(store, read_only=True) as run:
        await run.press("l")
        await run.shows("following")
        await run.shows("not kept")
        view = run.app.fleet_screen.log_view
        await run.press("g")
        await run.until(lambda: view.top_line == view.ring.first, "the top")
        assert b"old line" not in view.ring.line(view.ring.first)
        await run.press("k")
        await run.until(lambda: store.intent_list, "the request")
        (intent,) = store.intent_list
        assert (intent.verb, intent.instance_id, intent.argument) == (
            "read_older", stream.instance_id, LOG,
        )  # fmt: skip
        # What is asked for once is not asked for again meanwhile.
        await run.press("k", "k", "pageup")
        assert len(store.intent_list) == 1
        store.kept_from[stream] = len(b"old line 0000\n") * 100
        settled(store, IntentState.DONE, "300 lines")
        await run.until(lambda: b"old line 0101" in view.ring.line(view.ring.first), "older lines")
        lines = [view.ring.line(number) for number in range(view.ring.first, view.ring.end)]
        assert [text for text in lines if text.startswith(b"old")] == body.splitlines()[101:]
        await run.press("g", "k")
        await run.until(lambda: len(store.intent_list) == 2, "the next request")
        settled(store, IntentState.FAILED, "no SSH connection")
        await run.shows("nothing older can be shown: no SSH connection")
        await run.press("k", "k")
        assert len(store.intent_list) == 2


def settled(store: MemoryStore, state: IntentState, words: str) -> None:
    """Settle the newest request, as a collector would."""
    store.intent_list[-1] = msgspec.structs.replace(
        store.intent_list[-1], state=state, result=sanitise(words)
    )


async def test_what_was_lost_is_said_where_the_file_began_anew() -> None:
    async with console() as run:
        await run.press("l")
        await run.shows("following")
        stream = StreamId(20110148, LOG)
        run.store.losses[stream] = (2, 3_000_000)
        run.store.write(20110148, LOG, b"the last of it\n", at=NOW)
        await run.shows("at least 2.9 MiB of 2 files lost unread")
        run.store.begin_anew(20110148, LOG)
        run.store.write(20110148, LOG, b"a new file\n", at=NOW)
        await run.shows("its life no. 2); at least 2.9 MiB of 2 files lost unread before")
