"""A line of many redraws: the scanner sees of it what the plain decoder does."""

from hypothesis import given
from hypothesis import strategies as st

from fleetui.logs.decoder import SegmentDecoder
from fleetui.logs.matcher import compiled
from fleetui.logs.scanner import Scanner
from fleetui.logs.strip import is_blank
from fleetui.logs.timestamps import stamp_of
from fleetui.profiles.loader import load

MATCHER = compiled(load("cuzk").rules).for_kind("setup")
PIECES = st.sampled_from(
    [
        b"\r",
        b"\n",
        b"\r\n",
        b" ",
        b"x",
        b"2026-03-12T07:04:18Z",
        b"2026-03-12T07:09:18Z",
        b" 1.00 GiB / 2.00 GiB [-->__] 50.00%",
        b"\r" * 300,
        b"x\r" * 300,
    ]
)


@given(st.lists(st.lists(PIECES, max_size=12).map(b"".join), max_size=4))
def test_the_last_redraw_and_the_times_are_those_of_the_plain_decoder(parts: list[bytes]) -> None:
    scanner, plain = Scanner(MATCHER), SegmentDecoder()
    hits, segments = [], []
    for part in [*parts, b"\n"]:
        hits += scanner.feed(part, 1.0)
        segments += plain.feed(part)
    shown = [one for one in segments if not is_blank(one.raw)]
    tail = scanner.tail
    told = None if tail is None else (tail.line, tail.offset, tail.raw)
    assert told == ((shown[-1].line, shown[-1].offset, shown[-1].raw) if shown else None)
    stamps = [at for one in segments if (at := stamp_of(one.raw, 1.0)) is not None]
    assert (scanner.first_stamp, scanner.last_stamp) == (
        (stamps[0], stamps[-1]) if stamps else (None, None)
    )
    matched = [one for one in segments if MATCHER.match(one.text)]
    assert [(hit.line, hit.offset, hit.text) for hit in hits] == [
        (one.line, one.offset, one.text) for one in matched
    ]
