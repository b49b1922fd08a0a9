import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.console.line_filter import LineFilter, line_filter, trouble_lines, warning_lines
from fleetui.console.log_ring import LogRing
from fleetui.console.log_source import LogSource
from fleetui.console.sgr import pieces_of
from memory_store import MemoryStore

LOG = st.binary(max_size=400) | st.lists(
    st.sampled_from([b"ab", b"\n", b"\r", b"\r\n", b"error: x", b"\x1b[31m", b""]), max_size=60
).map(b"".join)


def lines(ring: LogRing) -> list[bytes]:
    return [ring.line(number) for number in range(ring.first, ring.end)]


def found(ring: LogRing, wanted: LineFilter, start: int, direction: int) -> int | None:
    return next(
        (number for number in ring.find(wanted, start, direction) if number is not None), None
    )


@given(LOG, st.lists(st.integers(0, 400), max_size=6))
def test_any_split_gives_the_same_lines(data: bytes, cuts: list[int]) -> None:
    whole, split = LogRing(), LogRing()
    whole.feed(data)
    places = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    for begin, end in pairwise(places):
        split.feed(data[begin:end])
    assert lines(whole) == lines(split)


@given(LOG, st.integers(1, 5))
def test_the_ring_is_bounded_and_numbers_do_not_change(data: bytes, capacity: int) -> None:
    bounded, whole = LogRing(capacity), LogRing()
    bounded.feed(data)
    whole.feed(data)
    assert len(bounded) <= capacity
    assert bounded.end == whole.end
    for number in range(bounded.first, bounded.end):
        assert bounded.line(number) == whole.line(number)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["feed", "prepend"]), LOG),
        st.tuples(st.sampled_from(["note", "trim"]), st.just(b"")),
    ),
    max_size=12,
)


@given(STEPS, st.integers(1, 9), st.integers(1, 3))
def test_shelves_change_nothing(
    steps: list[tuple[str, bytes]], capacity: int, shelf_lines: int
) -> None:
    shelved = LogRing(capacity, shelf_lines=shelf_lines)
    loose = LogRing(capacity, shelf_lines=10_000)
    wanted = line_filter("ab")
    assert wanted is not None
    for step, data in steps:
        for ring in (shelved, loose):
            match step:
                case "feed":
                    ring.feed(data)
                case "prepend":
                    ring.prepend(data, 7)
                    ring.trim_end()
                case "note":
                    ring.note("a note")
                case _:
                    ring.trim_end()
        assert (shelved.first, shelved.end) == (loose.first, loose.end)
        numbers = range(loose.first - 1, loose.end + 1)
        assert [shelved.entry(n) for n in numbers] == [loose.entry(n) for n in numbers]
        matching = [n for n in numbers if n in numbers[1:-1] and wanted.matches(loose.line(n))]
        for start in numbers:
            assert found(shelved, wanted, start, 1) == next(
                (n for n in matching if n >= start), None
            )
            earlier = [n for n in matching if n <= start]
            assert found(shelved, wanted, start, -1) == (earlier[-1] if earlier else None)


WORDS = st.lists(
    st.sampled_from(
        [
            "error",
            "Err",
            "or",
            " ",
            "0 failed",
            "timed out",
            "\x1b[31m",
            "\x1b[0;1m",
            "ab",
            ".",
            "\n",
            "x",
        ]
    ),
    max_size=40,
).map("".join)
SEARCHES = st.sampled_from(
    ["error", "Err", "a.", "^x", "x$", "ab|or", "\\Ax", "!x", "[[", "x\\z", "é ", "b *"]
)


@given(WORDS, SEARCHES)
def test_what_is_passed_over_in_one_go_holds_no_match(text: str, search: str) -> None:
    raw = text.encode()
    filters = [line_filter(search), trouble_lines(), warning_lines()]
    for wanted in filters:
        assert wanted is not None
        if any(wanted.matches(line) for line in raw.split(b"\n")):
            assert wanted.may_match(raw)


def test_errors_are_found_in_both_directions_and_older_ones_in_front() -> None:
    ring = LogRing()
    ring.feed(b"fine\nERROR one\n0 errors\nfailed: two\nfine\n")
    assert found(ring, trouble_lines(), 0, 1) == 1
    assert found(ring, trouble_lines(), 2, 1) == 3
    assert found(ring, trouble_lines(), 4, 1) is None
    assert found(ring, trouble_lines(), 2, -1) == 1
    assert ring.prepend(b"panic here\nold\n") == 2
    assert found(ring, trouble_lines(), 0, -1) == -2
    assert ring.line(-2) == b"panic here"


@given(st.binary(max_size=200))
def test_no_control_reaches_the_screen(raw: bytes) -> None:
    text = "".join(text for text, _ in pieces_of(raw))
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_colours_become_tones() -> None:
    pieces = pieces_of(b"\x1b[1;31mbad\x1b[0m plain \x1b[38;5;200mx\x1b[39my \x1b]0;title\x07z")
    assert pieces[0] == ("bad", "bad bold")
    assert "".join(text for text, _ in pieces) == "bad plain xy z"


@given(st.lists(st.binary(min_size=1, max_size=50), min_size=1, max_size=12), st.integers(1, 4))
async def test_the_source_follows_without_loss_or_doubling(chunks: list[bytes], every: int) -> None:
    store = MemoryStore()
    source = LogSource(store, 1)
    for index, chunk in enumerate(chunks):
        store.write(1, "/tmp/a.log", chunk, at=float(index))
        if index % every == 0:
            await source.advance()
    await source.advance()
    expected = LogRing()
    expected.feed(b"".join(chunks))
    assert lines(source.ring) == lines(expected)


async def test_a_gap_a_new_life_and_older_bytes() -> None:
    store = MemoryStore()
    body = b"".join(b"line %06d\n" % number for number in range(60_000))
    store.write(1, "/tmp/a.log", body, at=1.0)
    source = LogSource(store, 1)
    await source.advance()
    before = len(source.ring)
    assert source.ring.line(source.ring.end - 1) == b"line 059999"
    added = await source.older()
    assert added > 0
    first = source.ring.line(source.ring.first)
    assert re.fullmatch(rb"line \d{6}", first)
    numbers = [int(source.ring.line(n)[5:]) for n in range(source.ring.first, source.ring.end)]
    assert numbers == list(range(numbers[0], 60_000))
    assert len(source.ring) <= max(before, source.ring.capacity)
    store.write(1, "/tmp/a.log", body, at=2.0)
    await source.advance()
    notes = [line for line in lines(source.ring) if line.startswith(b"\x00")]
    assert notes
    assert b"not shown" in notes[0]
    store.begin_anew(1, "/tmp/a.log")
    store.write(1, "/tmp/a.log", b"fresh\n", at=3.0)
    await source.advance()
    assert source.ring.line(source.ring.end - 1) == b"fresh"
    assert b"began anew" in source.ring.line(source.ring.end - 2)


async def test_a_livelier_file_takes_over_only_until_one_is_picked() -> None:
    store = MemoryStore()
    store.write(1, "/tmp/setup.log", b"s\n", at=1.0)
    source = LogSource(store, 1)
    await source.advance()
    store.write(1, "/tmp/bench.log", b"b\n", at=100.0)
    await source.advance(following=False)
    assert source.shown is not None
    assert source.shown.stream.path == "/tmp/setup.log"
    await source.advance()
    assert source.shown.stream.path == "/tmp/bench.log"
    assert await source.choose(1)
    assert source.shown.stream.path == "/tmp/setup.log"
    store.write(1, "/tmp/bench.log", b"b\n", at=200.0)
    await source.advance()
    assert source.shown.stream.path == "/tmp/setup.log"


@pytest.mark.parametrize("direction", [1, -1])
def test_an_empty_ring_has_nothing(direction: int) -> None:
    assert found(LogRing(), trouble_lines(), 0, direction) is None
    assert LogRing().line(5) == b""
