"""Lines from bytes, whatever the split."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.text import sanitise
from fleetui.logs.decoder import Line, LineDecoder, Segment, SegmentDecoder
from fleetui.logs.strip import strip_line

PIECES = st.sampled_from(
    [
        b"\n",
        b"\r",
        b"\r\n",
        b"a",
        b"word ",
        b"\x1b[2m",
        b"\x1b[0m",
        b"\x1b]0;t\x07",
        "—é".encode(),
        b"\xe2\x80",
        b"\xff",
        b"\t",
        b"[#e5 1/2]",
        b"# 40.0%",
        b"curl: (22)",
        b"\x00",
        b"x" * 40,
    ]
)
STREAMS = st.lists(PIECES, max_size=40).map(b"".join)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[low:high] for low, high in pairwise(edges)]


def segments_of(parts: list[bytes], limit: int = 64) -> tuple[list[Segment], Segment | None]:
    decoder = SegmentDecoder(limit=limit)
    found = [segment for part in parts for segment in decoder.feed(part)]
    return found, decoder.pending()


def lines_of(parts: list[bytes], limit: int = 64) -> tuple[list[Line], Line | None]:
    decoder = LineDecoder(limit=limit)
    found = [line for part in parts for line in decoder.feed(part)]
    return found, decoder.pending()


@given(STREAMS, st.lists(st.integers(0, 2000), max_size=12))
def test_the_split_never_changes_lines_or_redraws(data: bytes, places: list[int]) -> None:
    assert segments_of(cut(data, places)) == segments_of([data])
    assert lines_of(cut(data, places)) == lines_of([data])


@given(STREAMS)
def test_numbers_and_offsets_are_those_of_the_file(data: bytes) -> None:
    lines, pending = lines_of([data])
    assert [line.number for line in lines] == list(range(1, data.count(b"\n") + 1))
    for line in lines:
        assert line.offset == 0 or data[line.offset - 1 : line.offset] == b"\n"
    assert (pending is None) == (data.endswith(b"\n") or not data)


@given(STREAMS, st.integers(1, 20))
def test_what_is_cut_is_counted(data: bytes, limit: int) -> None:
    segments, pending = segments_of([data], limit)
    last = [pending] if pending is not None else []
    kept = sum(len(segment.raw) + segment.cut for segment in [*segments, *last])
    ends = data.count(b"\r") + data.count(b"\n")
    assert kept == len(data) - ends
    assert all(len(segment.raw) <= limit for segment in segments)


@given(STREAMS)
def test_stripped_text_can_do_nothing_to_a_terminal(data: bytes) -> None:
    for line in lines_of([data])[0]:
        assert sanitise(line.text) == line.text


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_plain_text_strips_like_sanitise(text: str) -> None:
    text = text.replace("\x1b", "")
    assert strip_line(text.encode()) == sanitise(text.encode())


def test_progress_redraws_one_line_and_an_error_follows_on_it() -> None:
    bar = b"\r#####      40.0%\r########   80.0%curl: (18) transfer closed\nnext\n"
    lines, _ = lines_of([bar])
    assert [str(line.text) for line in lines] == [
        "########   80.0%curl: (18) transfer closed",
        "next",
    ]
    assert lines[0].updates == 2
    assert lines[1].offset == len(bar) - 5


def test_a_blank_last_redraw_keeps_what_was_shown() -> None:
    lines, _ = lines_of([b"50%\r      \r\n"])
    assert lines == [Line(1, 0, sanitise("50%"), updates=2)] or lines[0].text == "50%"


def test_the_unfinished_line_can_be_seen_without_ending_it() -> None:
    decoder = LineDecoder()
    assert decoder.feed("half é"[:5].encode()) == []
    assert decoder.pending() == Line(1, 0, sanitise("half "), 0)
    assert decoder.feed(b"way\n") == [Line(1, 0, sanitise("half way"), 0)]
    assert decoder.pending() is None
