"""Hosts whose clock is wrong, is set right, or stamps one line wildly."""

from datetime import UTC, datetime

import pytest

from fleetui.domain.host import DaemonStatus, StatusCounters
from fleetui.domain.rate import RateSource
from fleetui.domain.reading import Reading
from fleetui.domain.stage import Stage
from fleetui.domain.stream import LogChunk, StreamId
from fleetui.profiles.loader import load
from fleetui.reading.reader import Reader
from fleetui.reading.skew import WINDOW_SECONDS, Skew

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
        stream = StreamId(7, "/tmp/cuzk.log")
        chunk = LogChunk(
            stream=stream, generation=1, offset=self._offset, data=self._held, at=T0 + second
        )
        self._offset += len(self._held)
        self._held = b""
        self.reader.feed(chunk, "daemon")

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
        skew.take(second, 2.0)
    for step in range(10):
        skew.take(4000 + step, 3000 - 300 * step)
    assert skew.seconds is not None
    assert skew.seconds < 5
    skew.take(4000 + WINDOW_SECONDS * 2, 40)
    assert (skew.seconds, skew.correction) == (40, 40)


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
