from hypothesis import given, settings
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style

from fleetui.console.line_filter import line_filter
from fleetui.console.line_words import is_trouble
from fleetui.console.log_merge import ErrorsSource, MergedSource
from fleetui.console.log_reading import readable
from fleetui.console.log_ring import LogRing
from fleetui.console.log_source import LogSource
from fleetui.console.widgets.line_parts import window, without_time
from fleetui.domain.stream import StreamId
from memory_store import MemoryStore

COUNT = 60_000
PATH = "/tmp/a.log"
BODY = b"".join(
    b"2026-03-12T07:%02d:%02dZ %s line %06d %s\n"
    % (n // 60 % 60, n % 60, b"ERROR" if n % 20_000 == 19_000 else b" INFO", n, b"x" * (n % 40))
    for n in range(COUNT)
)


def numbers(ring: LogRing) -> list[int]:
    return [int(ring.line(n).split()[3]) for n in range(ring.first, ring.end)]


def stored() -> MemoryStore:
    store = MemoryStore()
    store.write(1, PATH, BODY, at=1.0)
    return store


STEPS = st.lists(
    st.one_of(
        st.sampled_from(["older", "newer", "start", "end", "advance", "write"]),
        st.integers(0, len(BODY) - 1),
    ),
    max_size=14,
)


@settings(deadline=None, max_examples=40)
@given(STEPS)
async def test_wherever_the_window_goes_its_lines_follow_one_another(
    steps: list[str | int],
) -> None:
    store, written = stored(), COUNT
    source = LogSource(store, 1)
    await source.advance()
    source.ring.capacity = 4_000
    for step in steps:
        match step:
            case "older":
                await source.older()
            case "newer":
                await source.newer()
            case "start":
                await source.to_start()
            case "end":
                await source.to_end()
            case "advance":
                await source.advance()
            case "write":
                store.write(1, PATH, b"2026-03-12T07:00:00Z  INFO line %06d\n" % written, at=2.0)
                written += 1
            case int(offset):
                number = await source.to_offset(offset)
                assert number is not None
                entry = source.ring.entry(number)
                assert entry is not None
                assert entry[1] <= offset <= entry[1] + len(entry[0])
        source.ring.capacity = 4_000
        found = numbers(source.ring)
        assert found == list(range(found[0], found[0] + len(found)))
        for number in (source.ring.first, source.ring.end - 1):
            entry = source.ring.entry(number)
            assert entry is not None
            assert source.ring.number_at(entry[1]) == number


async def test_a_search_goes_through_all_that_is_stored_in_both_directions() -> None:
    source = LogSource(stored(), 1)
    await source.advance()
    wanted = line_filter("ERROR line")
    assert wanted is not None
    entry = source.ring.entry(source.ring.first)
    assert entry is not None
    seen = []
    place = entry[1]
    while (number := await source.find(wanted, place, -1)) is not None:
        found = source.ring.entry(number)
        assert found is not None
        seen.append(int(found[0].split()[3]))
        place = found[1]
    assert seen[-1] == 19_000
    assert seen == sorted(seen, reverse=True)
    await source.to_start()
    forwards = await source.find(wanted, 0, 1)
    assert forwards is not None
    assert b"line 019000" in source.ring.line(forwards)


async def test_a_filter_keeps_the_place_and_shows_only_what_passes() -> None:
    source = LogSource(stored(), 1)
    await source.advance()
    entry = source.ring.entry(source.ring.first + 500)
    assert entry is not None
    await source.set_keep(line_filter("ERROR|07:00:0[0-9]Z"), entry[1])
    assert len(source.ring) > 5
    assert all(
        b"ERROR" in source.ring.line(n) or b"07:00:0" in source.ring.line(n)
        for n in range(source.ring.first, source.ring.end)
    )
    before = source.ring.first
    assert await source.older() > 0
    assert source.ring.first < before
    await source.set_keep(None, entry[1])
    number = source.ring.number_at(entry[1])
    assert source.ring.line(number) == entry[0]


def test_a_gutter_of_times_takes_the_place_of_the_lines_own() -> None:
    coloured = b"\x1b[2m2026-03-12T07:00:01.5Z\x1b[0m \x1b[32m INFO\x1b[0m x: y"
    for raw, rest in (
        (coloured, " INFO x: y"),
        (b"2026-03-12T07:00:01Z ERROR bad", "ERROR bad"),
        (b"ERROR bad", "ERROR bad"),
        (b"2026-03-12T07:00:01Z", ""),
        (b"", ""),
    ):
        assert "".join(text for text, _ in without_time(readable(raw))) == rest


@given(
    st.lists(st.text("ab é漢", min_size=1, max_size=8), max_size=6),
    st.integers(0, 30),
    st.integers(1, 20),
)
def test_a_window_of_a_line_is_as_wide_as_asked_for(
    texts: list[str], left: int, width: int
) -> None:
    segments = [Segment(text) for text in texts]
    shown = window(segments, left, width, Style())
    assert sum(segment.cell_length for segment in shown) == width
    if all(text.isascii() for text in texts):
        whole = "".join(texts) + " " * (left + width)
        assert "".join(segment.text for segment in shown) == whole[left : left + width]


async def test_a_previous_life_is_read_on_into() -> None:
    store = MemoryStore()
    lives = {1: b"first life\ncrashed\n", 2: b"second life\n"}

    class Lives(MemoryStore):
        async def log_window(self, stream, **wanted):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN003, ANN202
            life = wanted.pop("generation", None) or 2
            self.logs[stream] = (life, bytearray(lives[life]))
            try:
                return await super().log_window(stream, generation=life, **wanted)
            finally:
                self.logs[stream] = (2, bytearray(lives[2]))

    store = Lives()
    store.write(1, PATH, lives[2], at=1.0)
    store.logs[StreamId(1, PATH)] = (2, bytearray(lives[2]))
    source = LogSource(store, 1)
    await source.advance()
    assert await source.older() > 0
    shown = [source.ring.line(n) for n in range(source.ring.first, source.ring.end)]
    assert shown[0] == b"first life"
    assert shown[1] == b"crashed"
    assert b"life no. 2" in shown[2]
    assert shown[3] == b"second life"
    assert await source.to_previous_life() is not None
    assert source.ring.line(source.ring.end - 1) == b"crashed"
    assert await source.newer() > 0
    assert source.ring.line(source.ring.end - 1) == b"second life"
    assert source.at_end


def stamped(second: int, word: bytes) -> bytes:
    return b"2026-03-12T07:%02d:%02dZ %s\n" % (second // 60, second % 60, word)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.lists(st.integers(0, 3000), max_size=60).map(sorted), min_size=1, max_size=4),
    st.integers(1, 5),
)
async def test_a_merge_is_in_the_order_of_times_and_loses_nothing(
    files: list[list[int]], tail: int
) -> None:
    store = MemoryStore()
    streams = []
    for place, seconds in enumerate(files):
        stream = StreamId(place, PATH)
        body = b"".join(
            stamped(s, b"%d-%d %s" % (place, n, b"y" * 400)) for n, s in enumerate(seconds)
        )
        store.write(place, PATH, body, at=1.0)
        streams.append((stream, f"host {place}"))
    source = MergedSource(store, streams)
    await source.advance()
    while await source.older():
        pass
    shown = [source.ring.line(n) for n in range(source.ring.first, source.ring.end)]
    assert sorted(shown) == sorted(
        stamped(s, b"%d-%d %s" % (p, n, b"y" * 400)).rstrip(b"\n")
        for p, seconds in enumerate(files)
        for n, s in enumerate(seconds)
    )
    times = [line[:20] for line in shown]
    assert times == sorted(times)
    for n in range(tail):
        store.write(0, PATH, stamped(3100 + n, b"late"), at=2.0)
        await source.advance()
    assert source.ring.line(source.ring.end - 1) == stamped(3099 + tail, b"late").rstrip(b"\n")
    assert len(source.ring) == len(shown) + tail


async def test_the_fleets_errors_come_from_every_file() -> None:
    store = MemoryStore()
    for host in range(5):
        store.write(host, PATH, b"fine\n" * 50 + b"ERROR of host %d\n" % host, at=float(host))
    source = ErrorsSource(store, {host: f"host-{host}" for host in range(5)})
    await source.advance()
    assert len(source.ring) == 5
    store.write(3, PATH, b"fine\nERROR again\nfine\n", at=9.0)
    assert await source.advance()
    entry = source.ring.entry(source.ring.end - 1)
    assert entry is not None
    assert entry[0] == b"ERROR again"
    assert source.tags[entry[2]] == "host-3"
    assert not await source.advance()


@given(st.text(max_size=40), st.binary(max_size=80))
def test_any_search_searches_any_line(text: str, raw: bytes) -> None:
    wanted = line_filter(text)
    if wanted is not None:
        wanted.matches(raw)
        for begin, end in wanted.spans(raw.decode("utf-8", "replace")):
            assert 0 <= begin < end
    "".join(piece for piece, _ in readable(raw))


def test_searches() -> None:
    raw = b"\x1b[31mERROR\x1b[0m at [/] 8.42s"
    for text, found in (
        ("error", True), ("ERROR", True), ("Error", False), ("[/]", True), ("8.42s", True),
        ("!error", False), ("at .* 8", True), ("(", False), ("!(", True),
    ):  # fmt: skip
        wanted = line_filter(text)
        assert wanted is not None
        assert wanted.matches(raw) is found, text
    assert line_filter("") is None
    assert is_trouble(raw)


def test_structure_is_made_readable() -> None:
    line = (
        b'{"timestamp":"2026-03-12T07:00:00Z","level":"WARN",'
        b'"fields":{"message":"slow","n":3},"target":"cuzk"}'
    )
    pieces = readable(line)
    assert "".join(text for text, _ in pieces).split() == [
        "2026-03-12T07:00:00Z", "WARN", "cuzk", "slow", "n=3",
    ]  # fmt: skip
    assert ("WARN".rjust(5) + " ", "warn bold") in pieces
    plain = readable(b"2026-03-12T07:00:00Z ERROR cuzk::engine: proof failed job=7f took=3s")
    assert (" ".join(text.strip() for text, _ in plain)).startswith(
        "2026-03-12T07:00:00Z ERROR cuzk::engine:"
    )
    assert ("7f", "key") in plain
    assert readable(b"{not json") == [("{not json", "text")]
