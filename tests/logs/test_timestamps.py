"""Times at the head of lines."""

from datetime import UTC, datetime
from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.logs.timestamps import stamp_of

MARCH = datetime(2026, 3, 12, 7, 0, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        (b"2026-03-12T07:04:18.383000Z  INFO cuzk_daemon: ready", 258.383),
        (b"\x1b[2m2026-03-12T07:04:18.383000Z\x1b[0m \x1b[32m INFO", 258.383),
        (b"2026-03-12T07:00:21.300Z\tWARN\tcurio/chain", 21.3),
        (b"2026-03-12T15:00:21.300+0800\tWARN\tcurio/chain", 21.3),
        (b"2026-03-12T01:30:21+05:30 x", -14400 - 4800 - 1800 - 5379 + 4800 + 1800 + 5400),
        (b"2026-03-12T01:30:21-05:30 x", 21),
        (b"2026-03-11T23:00:21.500-0800 x", 21.5),
        (b"[entrypoint] 2026-03-12 07:00:04 label=C.1", 4),
        (b"03/12 07:00:08 [\x1b[1;32mNOTICE\x1b[0m] Download complete", 8),
        (b"[Thu Mar 12 07:03:14 2026] NVRM: Xid", 194),
        (b" *** Download Progress Summary as of Thu Mar 12 07:03:14 2026 *** ", 194),
        (b"[2026-03-12 07:00:01] kernel style of journald", 1),
        (b"2026/03/12 07:00:08 plain log of Go", 8),
        (b"Thu Mar 12 07:00:04 UTC 2026 Starting benchmark", 4),
        (b"[entrypoint] Thu Mar 12 07:00:04 UTC 2026 Starting benchmark", 4),
        (b"Thu Mar 12 07:00:04 AM UTC 2026: x", 4),
        (b"Thu Mar 12 12:00:04 PM UTC 2026: x", 18004),
        (b"[Thu, 12 Mar 2026 07:00:04 +0000] x", 4),
        (b"Thu, 12 Mar 2026 08:00:04 +0100 x", 4),
    ],
)
def test_known_shapes(line: bytes, seconds: float) -> None:
    if b"+05:30" in line:
        seconds = datetime(2026, 3, 11, 20, 0, 21, tzinfo=UTC).timestamp() - MARCH
    assert stamp_of(line, MARCH) == pytest.approx(MARCH + seconds)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"TIMELINE,24031,SYNTH_START",
        b"[#db9550 18GiB/44GiB(41%)",
        b"[12345.678901] NVRM: x",
        b"2026-99-99T07:04:18Z",
        b"13/45 99:99:99 [NOTICE]",
        b"  2026 was a year",
        b"=== Batch ===",
        b"Sun rises",
        b"Thu Mar 12 07:00:04 CEST 2026 x",
    ],
)
def test_lines_without_a_time(line: bytes) -> None:
    assert stamp_of(line, MARCH) is None


def test_a_time_without_a_year_lands_near_the_reference() -> None:
    new_year = datetime(2027, 1, 1, 0, 1, tzinfo=UTC).timestamp()
    assert stamp_of(b"12/31 23:59:58 [NOTICE] x", new_year) == new_year - 62
    old_year = datetime(2026, 12, 31, 23, 59, tzinfo=UTC).timestamp()
    assert stamp_of(b"01/01 00:00:05 [NOTICE] x", old_year) == old_year + 65


@given(st.binary(max_size=120), st.floats(0, 4e9))
def test_no_bytes_make_it_raise(raw: bytes, reference: float) -> None:
    stamp = stamp_of(raw, reference)
    assert stamp is None or isfinite(stamp)


@given(st.from_regex(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", fullmatch=True))
def test_impossible_dates_are_none_or_finite(raw: bytes) -> None:
    stamp = stamp_of(raw, 0.0)
    assert stamp is None or -1e12 < stamp < 1e12
