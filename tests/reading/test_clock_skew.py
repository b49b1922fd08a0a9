"""Hosts whose clock is wrong, is set right, or stamps one line wildly."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetui.domain.host import DaemonStatus, Probe, StatusCounters
from fleetui.domain.rate import RateSource
from fleetui.domain.reading import Reading
from fleetui.domain.stage import Stage
from fleetui.domain.stream import LogChunk, StreamId
from fleetui.profiles.loader import load
from fleetui.reading.reader import Reader
from fleetui.reading.skew import Skew

T0 = 1773298800.0
PROFILE = load("cuzk")


class Host:
    """Writes a daemon's log by a clock that is `behind` ours by so many seconds."""

    def __init__(self, behind: float) -> None:
        self.behind = behind
        self.reader = Reader(PROFILE, 7)
        self._held = b""
        self._offset = 0
        self._number = 0

    def write(self, second: float, text: str, stamp: float | None = None) -> None:
        at = T0 + second - self.behind if stamp is None else stamp
        self._number += 1
        clock = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._held += f"{clock}  INFO {text.format(n=self._number)}\n".encode()

    def read(self, second: float) -> None:
        data, self._held = self._held, b""
        self._read(second, data, None)

    def _read(self, second: float, data: bytes, behind: int | None) -> None:
        chunk = LogChunk(
            stream=StreamId(7, "/tmp/cuzk.log"),
            generation=1,
            offset=self._offset,
            data=data,
            at=T0 + second,
            behind=behind,
        )
        self._offset += len(data)
        self.reader.feed(chunk, "daemon")

    def read_part(self, second: float, size: int, *, knows_size: bool) -> bool:
        """Read so many bytes of what was written; tell whether there are more."""
        data, self._held = self._held[:size], self._held[size:]
        behind = len(self._held) if knows_size else None
        self._read(second, data, behind)
        return bool(self._held)

    def prove(self, begin: int, end: int, *, followed: bool = True) -> None:
        """One proof a minute."""
        for second in range(begin, end, 60):
            self.write(
                second,
                "cuzk_core::engine: Phase 7: PoRep proof self-check PASSED job_id=ps-porep-{n}",
            )
            if followed:
                self.read(second + 1)

    def start(self) -> None:
        self.write(0, "cuzk_daemon: cuzk-daemon starting")
        self.write(5, "cuzk_daemon: cuzk-daemon ready, serving on 0.0.0.0:9820")
        self.write(10, "cuzk_core::scheduler: job enqueued job_id=ps-porep-{n} proof_kind=porep-c2")

    def at(self, second: float) -> Reading:
        return self.reader.reading(T0 + second)


def quarter(reading: Reading) -> float:
    return next(
        rate.proofs_per_hour
        for rate in reading.rates
        if rate.source is RateSource.COMPLETIONS and rate.window_seconds == 900
    )


@pytest.mark.parametrize("behind", [0, 300, 3600, -300, -3600, 90_000])
@pytest.mark.parametrize("seen_from", [0, 3600])
def test_a_wrong_clock_changes_neither_rates_nor_stages(behind: float, seen_from: int) -> None:
    host = Host(behind)
    host.start()
    host.prove(60, seen_from, followed=False)
    host.read(max(seen_from, 11))
    host.prove(max(seen_from, 60), seen_from + 3600)
    reading = host.at(seen_from + 3600)
    assert quarter(reading) == pytest.approx(60, abs=5)
    assert reading.stage is Stage.RUNNING
    assert reading.spans[0].started_at == pytest.approx(T0, abs=62)
    assert reading.findings == ()


@pytest.mark.parametrize(("before", "after"), [(300, 0), (-3600, 0), (0, 300), (0, -3600)])
def test_a_clock_that_is_set_heals_within_the_window(before: float, after: float) -> None:
    host = Host(before)
    host.start()
    host.read(11)
    host.prove(60, 1800)
    host.behind = after
    host.prove(1800, 3000)
    assert host.reader.reading(T0 + 3000).clock_skew_seconds == pytest.approx(after, abs=2)
    assert quarter(host.at(3000)) == pytest.approx(60, abs=5)
    host.write(3010, "cuzk_daemon: cuzk-daemon starting")
    host.read(3011)
    assert host.at(3012).stage is Stage.DAEMON_RESTART
    assert host.at(3012).spans[-1].started_at == pytest.approx(T0 + 3010, abs=5)


@pytest.mark.parametrize("stamp", [1_900_000_000.0, T0 - 5000, 0.0])
def test_one_stray_time_spoils_nothing(stamp: float) -> None:
    host = Host(0)
    host.start()
    host.read(11)
    host.prove(60, 1200)
    host.write(1201, "cuzk_daemon: cuzk-daemon starting", stamp)
    host.read(1202)
    assert host.at(1203).stage is Stage.DAEMON_RESTART
    host.write(1210, "cuzk_core::scheduler: job enqueued job_id=ps-porep-{n} proof_kind=porep-c2")
    host.read(1211)
    host.prove(1260, 2400)
    reading = host.at(2400)
    assert reading.stage is Stage.RUNNING
    assert quarter(reading) == pytest.approx(60, abs=5)
    assert reading.clock_skew_seconds == pytest.approx(1, abs=1)


def test_a_backlog_after_a_break_is_no_skew() -> None:
    skew = Skew()
    for second in range(0, 600, 60):
        skew.take_line(second, 2.0)
    for step in range(10):
        skew.take_line(4000 + step, 3000 - 300 * step)
    assert skew.seconds is not None
    assert skew.seconds < 5
    moves = [skew.take_line(5000 + step * 15, 40 + step) for step in range(3)]
    assert (skew.seconds, skew.correction) == (40, 40)
    assert moves == [0, 0, 0], "a clock that was set later says nothing of what was before"


def test_what_was_believed_for_lines_that_came_late_is_undone() -> None:
    skew = Skew()
    moves = [skew.take_line(second, 3000 + second % 3) for second in range(0, 60, 6)]
    assert sum(moves) == skew.correction == 3000
    moves = [skew.take_line(second, 1.0) for second in range(60, 120, 6)]
    assert (sum(moves), skew.correction) == (-3000, 0)


def test_a_stray_time_ahead_is_undone() -> None:
    skew = Skew()
    assert skew.take_line(0, -7200.0) == -7200
    moves = [skew.take_line(second, 1.0) for second in range(60, 180, 30)]
    assert (sum(moves), skew.correction) == (7200, 0)


@pytest.mark.parametrize("behind", [-80_000, -600, 0, 600, 90_000])
def test_the_hosts_own_clock_is_believed_more_than_its_lines(behind: int) -> None:
    host = Host(behind)
    host.start()
    host.prove(60, 3000, followed=False)
    host.read(3010)
    for second in range(3020, 3080, 15):
        clock = int(T0 + second - behind)
        host.reader.observe_probe(Probe(at=T0 + second + 0.7, clock=clock))
    # Its programs live in another zone and do not say so.
    host.behind = behind - 28_800
    host.prove(3120, 3600)
    reading = host.at(3600)
    assert reading.clock_skew_seconds == pytest.approx(behind, abs=2)
    assert reading.spans[0].started_at == pytest.approx(T0, abs=2)
    assert quarter(reading) == pytest.approx(52, abs=5)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_how_late_a_log_comes_never_shows_once_it_is_followed(data: st.DataObject) -> None:
    """The host writes a proof a minute; its log comes in any pieces, at any times, late."""
    behind = data.draw(st.sampled_from([0, 0, 400, -400, 50_000]))
    seen = data.draw(st.integers(0, 50))
    size = data.draw(st.integers(200, 4000))
    gap = data.draw(st.sampled_from([0.0, 0.5, 2.5, 20.0]))
    is_stored = data.draw(st.booleans())
    knows_size = data.draw(st.booleans())
    outage = data.draw(st.integers(0, 60))
    host = Host(behind)
    host.start()
    host.prove(60, 60 + seen * 60, followed=False)
    if is_stored:
        host.read(60 + seen * 60)
    now = 60.0 + (seen + outage) * 60
    host.prove(60 + seen * 60, int(now), followed=False)
    for _ in range(60):
        late = host.read_part(now, size, knows_size=knows_size)
        now += gap
        if not late:
            break
    else:
        host.read_part(now, 1 << 20, knows_size=knows_size)
    begin = 60 * (int(now) // 60 + 1)
    host.prove(60 + (seen + outage) * 60, begin, followed=False)
    host.prove(begin, begin + 1800)
    reading = host.at(begin + 1801)
    assert reading.clock_skew_seconds == pytest.approx(behind, abs=2)
    assert reading.spans[0].started_at == pytest.approx(T0, abs=7)
    assert quarter(reading) == pytest.approx(60, abs=5)
    hour = next((rate for rate in reading.rates if rate.window_seconds == 3600), None)
    assert hour is None or hour.proofs_per_hour == pytest.approx(60, abs=3)


def test_the_daemons_counter_is_held_against_its_log() -> None:
    host = Host(300)
    host.start()
    host.read(11)
    for second in range(60, 3600, 60):
        host.prove(second, second + 1)
        counters = StatusCounters(total_completed=second // 60)
        status = DaemonStatus(uptime_secs=float(second), counters=counters)
        host.reader.observe_status(status, None, T0 + second + 2)
    assert host.at(3545).findings == ()
    for second in range(3600, 5400, 60):
        host.prove(second, second + 1)
        counters = StatusCounters(total_completed=59 + (second - 3540) // 20)
        status = DaemonStatus(uptime_secs=float(second), counters=counters)
        host.reader.observe_status(status, None, T0 + second + 2)
    assert [one.category for one in host.at(5345).findings] == ["rates_disagree"]
    host.reader.observe_restart(T0 + 5300)
    assert host.at(5345).findings == ()
