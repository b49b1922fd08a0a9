"""The course of a life from lines, rows and their order."""

from itertools import permutations
from pathlib import Path

import pytest

from fleetui.domain.finding import Severity
from fleetui.domain.host import Gpu, Probe, SshOutcome, SshState
from fleetui.domain.rate import RateSource
from fleetui.domain.stage import Outcome, Stage
from fleetui.domain.text import SafeText, sanitise
from fleetui.profiles.loader import load
from fleetui.reading.reader import Reader
from fleetui.reading.summary import fleet_row, progress_text, sample
from written_life import (
    BENCH_JOB,
    BOOT,
    COMPLETE,
    FETCH,
    JOB,
    LOST,
    PARAM_OK,
    PASSED,
    PROFILE,
    READY,
    STARTING,
    SUBMIT,
    T0,
    Life,
    instance,
    to_bench,
)


def test_a_healthy_life_in_order() -> None:
    life = to_bench().say(900, "bench", "throughput:    0.5 proofs/min (120s/proof)")
    life.say(950, "curio", "repopath ~/.curio")
    assert [stage for stage, _, _ in life.stages()] == [
        "boot",
        "param_fetch",
        "params_done",
        "c1_download",
        "daemon_start",
        "warmup",
        "daemon_restart",
        "bench",
        "bench_done",
        "running",
    ]
    assert {outcome for _, _, outcome in life.stages()[:-1]} == {"done"}
    assert all(span.evidence is not None for span in life.at(950).spans)


def test_streams_may_come_in_any_order() -> None:
    lines = [
        ("setup", BOOT, 1),
        ("daemon", STARTING, 210),
        ("bench", SUBMIT, 240),
    ]
    outcomes = set()
    for order in permutations(lines):
        life = Life()
        for kind, text, second in order:
            life.say(second, kind, text)
        outcomes.add(tuple(life.stages()))
    assert len(outcomes) == 1


def test_late_news_of_an_earlier_stage_does_not_move_it_back() -> None:
    life = to_bench()
    life.say(500, "setup", FETCH)
    life.say(505, "bench", SUBMIT)
    assert life.at(510).stage is Stage.BENCH


def test_a_daemon_that_starts_again_is_a_reason_to_move_back() -> None:
    life = to_bench().say(600, "daemon", STARTING)
    assert life.stages()[-2:] == [("bench", 1, "unknown"), ("daemon_restart", 2, "active")]
    life.say(640, "daemon", BENCH_JOB)
    assert life.stages()[-1] == ("bench", 2, "active")


def test_a_restart_while_proving_returns_to_proving() -> None:
    life = Life().say(1, "daemon", STARTING).say(20, "daemon", JOB).say(90, "daemon", STARTING)
    assert life.stages()[-1][0] == "daemon_restart"
    life.say(120, "daemon", JOB)
    assert life.stages()[-1] == ("running", 2, "active")


def test_each_start_of_a_crash_loop_is_an_attempt() -> None:
    life = Life()
    for second in (1, 60, 120):
        life.say(second, "daemon", STARTING)
    assert life.stages() == [
        ("daemon_start", 1, "failed"),
        ("daemon_start", 2, "failed"),
        ("daemon_start", 3, "active"),
    ]


def test_a_second_run_of_the_benchmark_is_a_new_attempt() -> None:
    life = to_bench().say(500, "bench", "Error: Prove RPC failed")
    life.say(501, "setup", "[entrypoint] {t} benchmark.sh exited with error")
    assert life.stages()[-1] == ("bench", 1, "failed")
    life.say(600, "setup", "[entrypoint] {t} Starting benchmark (proofs=12 concurrency=3)")
    life.say(610, "bench", "C1 output not found at /data/c1.json", anew=True)
    assert life.stages()[-1] == ("c1_download", 2, "active")


def test_a_benchmark_that_is_run_again_was_done() -> None:
    life = to_bench().say(900, "bench", "throughput:    0.5 proofs/min (120s/proof)")
    life.say(1000, "setup", "[entrypoint] {t} Starting benchmark (proofs=12 concurrency=3)")
    life.say(1010, "daemon", STARTING).say(1020, "bench", SUBMIT)
    assert life.stages()[-3:] == [
        ("bench_done", 1, "done"), ("daemon_start", 2, "done"), ("warmup", 2, "active"),
    ]  # fmt: skip


def test_complete_is_said_before_what_failed() -> None:
    life = Life().say(1, "setup", BOOT).say(2, "setup", FETCH).say(90, "setup", COMPLETE)
    life.say(90, "setup", "ERROR: fetching proof parameters: fetching file /p/a.params failed")
    assert life.stages()[-1] == ("param_fetch", 1, "failed")


def test_failed_needs_a_failed_stage_and_a_critical_cause() -> None:
    life = to_bench().say(500, "bench", "Error: Prove RPC failed")
    life.say(500, "bench", "    3: stream closed because of a broken pipe")
    reading = life.at(520)
    assert any(finding.severity is Severity.CRITICAL for finding in reading.findings)
    assert reading.stage is Stage.FAILED
    assert life.reader.case(T0 + 520).stage is Stage.BENCH
    assert reading.progress is None
    life.say(600, "daemon", STARTING)
    assert life.at(610).stage is not Stage.FAILED


@pytest.mark.parametrize(
    ("status", "stage"),
    [
        (None, Stage.LOADING),
        ("loading", Stage.LOADING),
        ("created", Stage.LOADING),
        ("exited", Stage.STOPPED),
        ("stopped", Stage.STOPPED),
        ("running", Stage.BENCH),
        ("offline", Stage.BENCH),
        ("unknown", Stage.BENCH),
    ],
)
def test_the_row_decides_where_logs_cannot(status: str | None, stage: Stage) -> None:
    life = to_bench()
    life.reader.observe_row(instance(status), T0 + 490)
    assert life.at(500).stage is stage
    assert life.reader.case(T0 + 500).stage is Stage.BENCH


def test_a_benchmark_whose_end_comes_late_is_not_seen_as_broken_off() -> None:
    life = to_bench()
    life.say(800, "daemon", STARTING, anew=True)
    life.say(803, "bench", "throughput:    0.941 proofs/min (63.8s/proof)")
    life.say(812, "daemon", JOB)
    assert life.stages()[-4:] == [
        ("bench", 1, "done"),
        ("bench_done", 1, "done"),
        ("daemon_start", 2, "done"),
        ("running", 1, "active"),
    ]


def test_times_cut_to_seconds_do_not_turn_a_stream_round() -> None:
    life = Life().say(1, "setup", BOOT)
    life.say(
        2, "setup", "2026-03-12T07:00:02.419Z\tINFO\tparamfetch\tx.go:1\tParameter file /a is ok"
    )
    life.say(2, "setup", "[entrypoint] 2026-03-12 07:00:02 Starting benchmark (proofs=12)")
    assert [stage for stage, *_ in life.stages()] == ["boot", "param_fetch", "params_done"]


def test_the_clock_of_the_host_is_measured_on_followed_files_only() -> None:
    life = Life().say(0, "daemon", STARTING)
    assert life.at(1).clock_skew_seconds is None
    behind = "{z}  INFO cuzk_core::engine: nothing"
    life.say(100, "daemon", behind.format(z="2026-03-12T07:01:28Z"))
    life.say(200, "daemon", behind.format(z="2026-03-12T07:03:10Z"))
    assert life.at(201).clock_skew_seconds is None
    life.say(210, "daemon", behind.format(z="2026-03-12T07:03:20Z"))
    life.say(220, "daemon", behind.format(z="2026-03-12T07:03:30Z"))
    assert life.at(221).clock_skew_seconds == 10
    life.say(300, "daemon", behind.format(z="2026-03-12T07:05:30Z"))
    assert life.at(301).clock_skew_seconds == -30
    old = Life().say(9000, "daemon", behind.format(z="2026-03-12T07:01:28Z"))
    old.say(9100, "daemon", "TIMELINE,1,SYNTH_START,j,partition=1")
    assert old.at(9100).clock_skew_seconds is None
    ahead = Life().say(0, "daemon", behind.format(z="2026-03-12T07:00:20Z"))
    assert ahead.at(1).clock_skew_seconds == -20


def test_a_rate_ends_where_the_logs_do_while_the_host_is_out_of_reach() -> None:
    life = Life().say(0, "daemon", STARTING).say(10, "daemon", JOB)
    for second in range(100, 3700, 100):
        life.say(second, "daemon", PASSED)
    lost = SshOutcome(state=SshState.LOST, at=T0 + 3700, attempts=1)
    life.reader.observe_ssh(lost)
    rates = [rate for rate in life.at(9000).rates if rate.source is RateSource.COMPLETIONS]
    assert {rate.measured_at for rate in rates} == {T0 + 3600}
    assert all(rate.proofs_per_hour == pytest.approx(36, rel=0.05) for rate in rates)
    life.reader.observe_ssh(SshOutcome(state=SshState.CONNECTED, at=T0 + 9000, attempts=1))
    newest = next(rate for rate in life.at(9010).rates if rate.source is RateSource.COMPLETIONS)
    assert (newest.measured_at, newest.proofs) == (T0 + 9010, 0)


def test_without_any_log_a_running_row_is_booting() -> None:
    reader = Reader(PROFILE, 7)
    reader.observe_row(instance("loading"), T0)
    assert reader.reading(T0 + 5).stage is Stage.LOADING
    assert reader.reading(T0 + 5).spans[-1].started_at == T0
    reader.observe_row(instance("running"), T0 + 60)
    assert reader.reading(T0 + 65).stage is Stage.BOOT


def test_gone_is_final_until_the_row_is_back() -> None:
    life = to_bench()
    life.reader.gone(T0 + 600)
    assert life.at(610).stage is Stage.GONE
    assert [span.outcome for span in life.at(610).spans][-2:] == [Outcome.UNKNOWN, Outcome.ACTIVE]
    life.reader.observe_row(instance("running"), T0 + 700)
    assert life.at(710).stage is Stage.BENCH


def test_proving_is_rated_by_completions_with_their_windows() -> None:
    life = Life().say(0, "daemon", STARTING).say(10, "daemon", JOB)
    for second in range(100, 7300, 100):
        life.say(second, "daemon", PASSED)
    rates = {
        round(rate.window_seconds): rate
        for rate in life.at(7210).rates
        if rate.source is RateSource.COMPLETIONS
    }
    assert sorted(rates) == [900, 3600, 7200]
    assert all(rate.proofs_per_hour == pytest.approx(36, rel=0.03) for rate in rates.values())
    row = fleet_row(
        instance("running", cost_per_hour=0.36),
        life.at(7210),
        row_seen_at=T0 + 7200,
        acting=SafeText("restarting"),
    )
    assert row.rate_source is RateSource.COMPLETIONS
    assert row.proofs_per_hour == pytest.approx(36, rel=0.03)
    assert row.cost_per_proof == pytest.approx(0.01, rel=0.03)
    assert row.acting == "restarting"
    assert [window for window, _ in row.counted] == [900, 3600, 7200]
    assert row.counted_at == T0 + 7210
    point = sample(instance("running"), life.at(7210), T0 + 7210)
    assert point.proofs_per_hour == row.proofs_per_hour
    assert sample(instance("running"), life.at(7210), T0 + 9000).proofs_per_hour is None
    assert row.stage_since == T0 + 10


def test_the_prover_own_line_of_a_proof_is_not_counted_twice() -> None:
    life = Life().say(0, "daemon", STARTING).say(10, "daemon", JOB)
    life.say(50, "daemon", '{z}  INFO cuzk_core::prover: PoRep proof self-check PASSED job_id="j"')
    life.say(
        50, "daemon", "{z}  INFO cuzk_core::engine: Phase 7: PoRep proof self-check PASSED job_id=j"
    )
    (rate,) = [rate for rate in life.at(400).rates if rate.source is RateSource.COMPLETIONS]
    assert rate.proofs == 1


def test_what_is_not_measured_is_none_in_row_and_sample() -> None:
    reader = Reader(PROFILE, 7)
    row = fleet_row(instance(None), reader.reading(T0), row_seen_at=T0, acting=None)
    assert (row.proofs_per_hour, row.cost_per_proof, row.gpu_util, row.gpu_at) == (None,) * 4
    point = sample(instance(None), reader.reading(T0), T0)
    assert (point.proofs_per_hour, point.cost_per_hour) == (None, None)


def test_progress_is_worded_for_the_table() -> None:
    life = Life().say(1, "setup", BOOT).say(2, "setup", FETCH)
    life.say(9, "setup", "[#abcdef 11GiB/44GiB(25%) CN:16 DL:359MiB ETA:2m4s]")
    progress = life.at(10).progress
    assert progress is not None
    assert progress_text(progress) == "11.0/44.0 GiB 359 MiB/s"
    assert progress.eta_seconds is not None
    assert 33 * 1024 / 359 <= progress.eta_seconds < 1.5 * 33 * 1024 / 359


def test_the_operators_rules_see_what_comes_from_no_file(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(
        '[[rule]]\nid = "own"\nkinds = ["vast", "dmesg"]\nany = ["quota"]\ncategory = "disk_full"\n'
    )
    reader = Reader(load("cuzk", tmp_path), 7)
    reader.observe_row(instance("running", status_msg=sanitise("over QUOTA")), T0)
    reader.observe_probe(Probe(at=T0, kernel_lines=(sanitise("quota hit"), sanitise("fine"))))
    facts = reader.case(T0).facts
    assert [(fact.source, fact.category) for fact in facts] == [
        ("vast", "disk_full"),
        ("kernel", "disk_full"),
    ]
    assert reader.case(T0).counts == {"own": 2}
    reader.observe_row(instance("running"), T0 + 9)
    assert reader.case(T0).counts == {"own": 1}


def lost_in_the_benchmark() -> Life:
    life = to_bench().say(448, "daemon", READY).say(500, "daemon", BENCH_JOB)
    life.say(540, "daemon", "TIMELINE,1,SYNTH_START,j,partition=1")
    life.say(600, "bench", "{z}  INFO cuzk_bench: nothing").say(601, "bench", LOST)
    return life.say(602, "bench", "Caused by: error reading a body from connection: h2 protocol")


def test_a_restart_on_request_after_a_failed_benchmark_leaves_it_failed() -> None:
    life = lost_in_the_benchmark()
    assert (life.at(650).stage, life.at(650).findings[0].category) == (Stage.FAILED, "prover_lost")
    life.reader.observe_restart(T0 + 700)
    life.say(705, "daemon", STARTING)
    assert life.at(710).stage is Stage.DAEMON_RESTART
    life.say(730, "daemon", READY)
    for second in (740, 9000):
        reading = life.at(second)
        assert reading.stage is Stage.FAILED
        assert [(span.stage, span.outcome) for span in reading.spans[-2:]] == [
            (Stage.BENCH, Outcome.FAILED),
            (Stage.DAEMON_RESTART, Outcome.DONE),
        ]
        found = {finding.category: finding for finding in reading.findings}
        assert set(found) == {"bench_script_failed", "prover_lost"}
        assert found["bench_script_failed"].severity is Severity.CRITICAL
        assert "Reboot" in found["bench_script_failed"].advice
        lost = found["prover_lost"]
        assert (lost.severity, lost.over, lost.action) == (Severity.WARNING, True, None)
        assert "during the benchmark" in lost.summary
        assert "lost 07:10 UTC, restarted on request 07:11 UTC, serves since 07:12" in lost.summary
        assert not any(
            "ready" in proof.text and (proof.at or 0) > T0 + 602 for proof in lost.evidence
        )
    row = fleet_row(instance("running"), life.at(740), row_seen_at=T0, acting=None)
    assert row.stage_since is not None
    assert row.stage_since <= T0 + 602


def test_a_benchmark_that_fails_because_its_daemon_was_restarted_is_what_failed() -> None:
    life = to_bench().say(448, "daemon", READY)
    life.reader.observe_restart(T0 + 600)
    life.say(601, "daemon", STARTING).say(603, "bench", "{z}  INFO cuzk_bench: nothing")
    life.say(604, "bench", LOST).say(640, "daemon", READY)
    assert life.stages()[-2:] == [("bench", 1, "failed"), ("daemon_restart", 2, "done")]


def test_a_healthy_host_that_was_restarted_on_request_proves_on_without_work() -> None:
    life = to_bench().say(900, "bench", "throughput:    0.5 proofs/min (120s/proof)")
    life.say(950, "daemon", STARTING).say(955, "daemon", READY).say(960, "curio", "repopath")
    life.say(1000, "daemon", JOB)
    life.reader.observe_restart(T0 + 1100)
    life.say(1105, "daemon", STARTING).say(1130, "daemon", READY)
    assert life.stages()[-2:] == [("daemon_restart", 2, "done"), ("running", 2, "active")]
    life.reader.observe_probe(Probe(at=T0 + 8999, gpus=(Gpu(index=0, utilization=0.0),)))
    reading = life.at(9000)
    assert reading.stage is Stage.RUNNING
    assert not [one for one in reading.findings if one.severity is Severity.CRITICAL]


def test_a_daemon_that_called_itself_ready_falsely_has_failed_to_restart() -> None:
    life = Life().say(1, "daemon", STARTING).say(20, "daemon", JOB).say(90, "daemon", STARTING)
    life.say(95, "daemon", READY).say(95, "daemon", "Error: transport error: address in use")
    assert life.stages()[-1] == ("daemon_restart", 1, "failed")


def test_a_failed_benchmark_does_not_run_past_its_time() -> None:
    life = to_bench().say(448, "daemon", READY).say(500, "bench", "Error: something broke")
    life.say(505, "setup", "[entrypoint] {t} benchmark.sh exited with error (code 1)")
    assert [finding.category for finding in life.at(8000).findings] == ["bench_script_failed"]


def test_a_rate_of_zero_is_a_failed_benchmark_even_after_a_restart() -> None:
    life = lost_in_the_benchmark()
    life.say(603, "bench", "completed:     0").say(603, "bench", "failed:        12")
    life.say(604, "bench", "throughput:    0.0 proofs/min (0s/proof)")
    life.say(605, "setup", "[entrypoint] {t} benchmark.sh exited with error (code 1)")
    assert life.at(650).stage is Stage.FAILED
    life.reader.observe_restart(T0 + 700)
    life.say(705, "daemon", STARTING).say(730, "daemon", READY)
    for second in (740, 9000):
        reading = life.at(second)
        assert reading.stage is Stage.FAILED
        assert [finding.category for finding in reading.findings] == [
            "bench_script_failed",
            "prover_lost",
        ]


def test_a_finished_benchmark_does_not_run_past_its_time_either() -> None:
    life = to_bench().say(900, "bench", "throughput:    0.5 proofs/min (120s/proof)")
    life.say(950, "daemon", STARTING).say(960, "daemon", READY)
    assert [finding.category for finding in life.at(9000).findings] == []


def test_a_restart_on_request_after_a_failed_warm_up_leaves_it_failed() -> None:
    life = to_failed_warm_up()
    assert life.at(310).stage is Stage.FAILED
    life.reader.observe_restart(T0 + 400)
    life.say(403, "daemon", STARTING).say(430, "daemon", READY)
    for second in (440, 9000):
        assert life.at(second).stage is Stage.FAILED
        assert life.stages()[-2:] == [("warmup", 1, "failed"), ("daemon_restart", 1, "done")]
        found = [(one.category, one.severity) for one in life.at(second).findings]
        assert found == [
            ("bench_script_failed", Severity.CRITICAL),
            ("prover_lost", Severity.WARNING),
        ]
    life.say(9100, "setup", BOOT).say(9101, "setup", FETCH)
    assert life.at(9102).stage is Stage.PARAM_FETCH


def to_failed_warm_up() -> Life:
    return (
        Life()
        .say(1, "setup", BOOT)
        .say(199, "setup", PARAM_OK)
        .say(200, "setup", COMPLETE)
        .say(201, "setup", "[entrypoint] {t} Starting benchmark (proofs=12 concurrency=3)")
        .say(210, "daemon", STARTING)
        .say(220, "daemon", READY)
        .say(240, "bench", SUBMIT)
        .say(300, "bench", LOST)
        .say(300, "bench", "Caused by: error reading a body from connection: h2 protocol")
    )
