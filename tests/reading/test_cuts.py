"""How the bytes of a stream were cut never shows, whatever they are."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetui.domain.stage import Stage
from fleetui.domain.stream import LogChunk, StreamId
from fleetui.profiles.loader import load
from fleetui.reading.reader import Reader

PROFILE = load("cuzk")
HEADS = st.sampled_from(
    [
        b"",
        b"2026-03-12T07:04:18Z  INFO ",
        b"2026-03-12T07:09:18Z  INFO ",
        b"1999-03-12T07:09:18Z  INFO ",
        b"2031-03-12T07:09:18Z  INFO ",
        b"03/12 07:00:08 [NOTICE] ",
        b"12/31 23:00:08 [NOTICE] ",
        b"[Thu Mar 12 07:03:14 2026] ",
        b"[entrypoint] 2026-03-12 07:00:04 ",
    ]
)
BODIES = st.sampled_from(
    [
        b"nothing here",
        b"label=C.1 min_rate=29.0",
        b"Starting benchmark",
        b"submitting proof",
        b"[#abcdef 1.9GiB/44GiB(4%) CN:16 DL:29MiB ETA:1m30s]",
        b"=== Batch Benchmark ===",
        b"cuzk_daemon: cuzk-daemon starting",
        b"job enqueued job_id=ps-porep-1-2-3 proof_kind=porep-c2",
        b"Phase 7: PoRep proof self-check PASSED job_id=ps-porep-1-2-3",
        b"Error: x",
    ]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n", b""])
ARRIVALS = st.lists(
    st.tuples(
        st.sampled_from([0.5, 1.0, 3.0, 60.0, 3600.0]),
        st.lists(st.tuples(HEADS, BODIES, ENDS).map(b"".join), min_size=1, max_size=8),
        st.lists(st.integers(1, 400), max_size=6),
    ),
    min_size=1,
    max_size=4,
)


def outcome(arrivals: list[tuple[float, list[bytes]]], kind: str, start: int) -> bytes:
    """All that is read of a stream; each time comes with the pieces that came then."""
    reader = Reader(PROFILE, 0)
    at, offset = 1773298800.0, start
    for wait, parts in arrivals:
        at += wait
        for data in parts:
            chunk = LogChunk(
                stream=StreamId(0, "/tmp/x"), generation=1, offset=offset, data=data, at=at
            )
            reader.feed(chunk, kind)
            offset += len(data)
    told = [
        [reader.reading(at + 1, live=live), reader.case(at + 1, live=live)]
        for live in (True, False)
    ]
    return msgspec.json.encode(told, enc_hook=str)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % len(data) for place in places), len(data)]
    return [data[low:high] for low, high in pairwise(edges) if low < high]


@settings(max_examples=150, deadline=None)
@given(ARRIVALS, st.sampled_from(["setup", "bench", "daemon", "curio"]), st.sampled_from([0, 99]))
def test_the_cuts_never_show(
    arrivals: list[tuple[float, list[bytes], list[int]]], kind: str, start: int
) -> None:
    whole = [(wait, [b"".join(lines)]) for wait, lines, _ in arrivals]
    pieces = [(wait, cut(b"".join(lines), places)) for wait, lines, places in arrivals]
    assert outcome(pieces, kind, start) == outcome(whole, kind, start)


@pytest.mark.parametrize("size", [1, 7, 400])
def test_a_gap_after_the_first_line_does_not_show_how_it_was_cut(size: int) -> None:
    reader = Reader(PROFILE, 0)
    warned = b"2026-03-12T07:00:37.800Z\tWARN\tcurio/chain\tx.go:1\tFailed to get network name\r"
    later = warned.replace(b"07:00:37", b"07:01:43")

    def feed(data: bytes, offset: int, at: float) -> None:
        chunk = LogChunk(
            stream=StreamId(0, "/tmp/curio.log"), generation=1, offset=offset, data=data, at=at
        )
        reader.feed(chunk, "curio")

    feed(warned, 0, 1773307216.0)
    rest = b"lost\r" + later
    for begin in range(0, len(rest), size):
        feed(rest[begin : begin + size], 1000 + begin, 1773322816.0)
    (span,) = reader.reading(1773322817.0).spans
    assert span.started_at == 1773298837.8


def test_a_bar_is_read_from_its_middle() -> None:
    reader = Reader(PROFILE, 0)
    data = b"##   30.0%\r###   40.0%\r####  50.0%\r#####"
    chunk = LogChunk(stream=StreamId(0, "/tmp/x"), generation=1, offset=7, data=data, at=5.0)
    reader.feed(chunk, "bench")
    reading = reader.reading(6.0)
    assert reading.stage is Stage.C1_DOWNLOAD
    assert reading.progress is not None
    assert reading.progress.fraction == 0.5
