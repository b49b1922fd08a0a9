"""Rules that need time, probes, rows or the connection."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.finding import Finding, Severity
from fleetui.domain.host import (
    DaemonStatus,
    FileState,
    Gpu,
    Partition,
    Pipeline,
    Probe,
    Process,
    SshOutcome,
    SshState,
    StatusCounters,
)
from fleetui.domain.instance import Instance
from fleetui.domain.stage import Outcome, Progress, Stage, StageSpan
from fleetui.domain.stream import Fact, LogChunk, StreamId
from fleetui.domain.text import SafeText, sanitise
from fleetui.profiles.loader import load
from fleetui.reading.case import Case, Counted, StreamTail
from fleetui.reading.daemon_starts import DaemonStart, DaemonStarts
from fleetui.reading.findings import diagnose
from fleetui.reading.reader import Reader

NOW = 1_800_000_000.0
CUZK = load("cuzk")
GIB = 1 << 30
SHELL = Process(
    pid=369,
    args=sanitise("/bin/bash /usr/local/bin/entrypoint.sh"),
    wait_channel=sanitise("do_wait"),
)
DAEMON = Process(pid=874, args=sanitise("cuzk-daemon --config x"), elapsed_seconds=4000.0)


def gpus(*loads: float, **more: Any) -> tuple[Gpu, ...]:  # noqa: ANN401 - any field
    return tuple(Gpu(index=at, utilization=load, **more) for at, load in enumerate(loads))


def tail(kind: str, text: str, age: float) -> StreamTail:
    return StreamTail(
        source=f"/tmp/{kind}.log", kind=kind, generation=1, last_line=9, last_offset=99,
        last_text=sanitise(text), lines=9, grown_at=NOW - age,
    )  # fmt: skip


def fact(
    rule: str, age: float = 60.0, *, line: int = 1, kind: str = "daemon", **fields: str
) -> Fact:
    return Fact(
        rule=rule, kind=kind, source=f"/tmp/{kind}.log", generation=1, offset=line * 10, line=line,
        text=sanitise(rule), at=NOW - age, fields=fields,
    )  # fmt: skip


def case(stage: Stage, **fields: Any) -> Case:  # noqa: ANN401 - any field
    limits = {"stage_limits": CUZK.stage_limits, "silence_limits": CUZK.silence_limits}
    return Case(now=NOW, live=True, stage=stage, **{**limits, **fields})


def first(findings: tuple[Finding, ...]) -> str | None:
    return findings[0].category if findings else None


IDLE = Probe(at=NOW - 5, gpus=gpus(0.0), processes=(SHELL,))
BUSY = Probe(at=NOW - 5, gpus=gpus(97.0), processes=(SHELL, DAEMON))


def test_silence_with_an_idle_gpu_is_a_stall_but_not_before_its_time() -> None:
    bench = (tail("bench", "submitting proof", 900.0), tail("daemon", "SYNTH_START", 800.0))
    findings = diagnose(case(Stage.WARMUP, tails=bench, probe=IDLE))
    assert first(findings) == "stage_stalled"
    assert "13 minutes" in findings[0].summary
    told = {proof.source for proof in findings[0].evidence}
    assert {"probe:ps", "probe:nvidia-smi", "/tmp/bench.log", "/tmp/daemon.log"} <= told
    assert diagnose(case(Stage.WARMUP, tails=bench, probe=BUSY)) == ()
    fresh = (tail("bench", "submitting proof", 100.0),)
    assert diagnose(case(Stage.WARMUP, tails=fresh, probe=IDLE)) == ()


def test_a_stall_shows_the_ages_of_the_logs_and_every_card() -> None:
    files = (
        FileState(path="/tmp/bench.log", size=3000, modified_at=NOW - 905),
        FileState(path="/tmp/cuzk-old.log", size=10, modified_at=NOW - 90_005),
        FileState(path="/data/c1.json", size=51_000_000, modified_at=NOW - 2000),
    )
    idle = msgspec.structs.replace(IDLE, gpus=gpus(0.0, 1.0), files=files)
    bench = (tail("bench", "submitting proof", 900.0),)
    (stall,) = diagnose(case(Stage.WARMUP, tails=bench, probe=idle))
    told = {proof.source: proof.text for proof in stall.evidence}
    assert told["probe:nvidia-smi"] == "GPU 0: 0 %, GPU 1: 1 %"
    assert told["probe:files"] == (
        "last written: /tmp/bench.log 15 min ago, /tmp/cuzk-old.log 1 d ago"
    )


def test_silence_of_a_lost_connection_proves_nothing() -> None:
    lost = SshOutcome(state=SshState.LOST, at=NOW, attempts=1)
    bench = (tail("bench", "submitting proof", 9000.0),)
    assert diagnose(case(Stage.WARMUP, tails=bench, probe=IDLE, ssh=lost)) == ()
    old = msgspec.structs.replace(IDLE, at=NOW - 9000)
    assert diagnose(case(Stage.WARMUP, tails=bench, probe=old)) == ()


def test_silent_fetch_is_a_stalled_fetch() -> None:
    setup = (tail("setup", "[#e55c76 1GiB/44GiB(2%)]", 600.0),)
    assert first(diagnose(case(Stage.PARAM_FETCH, tails=setup, probe=IDLE))) == "params_fetch_stall"


def test_benchmark_past_its_limit() -> None:
    spans = (
        StageSpan(stage=Stage.C1_DOWNLOAD, started_at=NOW - 3000),
        StageSpan(stage=Stage.BENCH, started_at=NOW - 2000),
    )
    findings = diagnose(case(Stage.BENCH, spans=spans, probe=BUSY))
    assert first(findings) == "bench_timeout"
    assert "50 minutes" in findings[0].summary


def test_idle_and_paid() -> None:
    before = Probe(at=NOW - 3600, gpus=gpus(0.0, 1.0))
    after = Probe(at=NOW - 1, gpus=gpus(0.0, 0.0), processes=(SHELL, DAEMON))
    paid = Instance(instance_id=1, cost_per_hour=0.8, actual_status=sanitise("running"))
    idle = case(Stage.RUNNING, probe=after, first_probe=before, instance=paid)
    findings = diagnose(idle)
    assert first(findings) == "gpu_idle_paid"
    assert "$0.80/h" in findings[0].summary
    worked = msgspec.structs.replace(idle, facts=(fact("mark.proof_passed", 60.0),))
    assert diagnose(worked) == ()
    once_busy = msgspec.structs.replace(
        idle, first_probe=Probe(at=NOW - 3600, gpus=gpus(0.0, 90.0))
    )
    assert diagnose(once_busy) == ()


@pytest.mark.parametrize(
    ("workers", "limit", "category"),
    [
        ("16", 540, None),
        ("20", 256, "memory_overcommit_risk"),
        ("4", 128, "memory_overcommit_risk"),
    ],
)
def test_memory_of_the_daemon_without_a_budget(
    workers: str, limit: int, category: str | None
) -> None:
    probe = msgspec.structs.replace(BUSY, memory_max_bytes=limit * GIB)
    facts = (fact("mark.workers", workers=workers),)
    assert first(diagnose(case(Stage.BENCH, era="O", facts=facts, probe=probe))) == category


def test_budget_over_the_containers_limit() -> None:
    probe = msgspec.structs.replace(BUSY, memory_max_bytes=256 * GIB)
    findings = diagnose(
        case(Stage.RUNNING, era="N", facts=(fact("mark.budget", gib="499"),), probe=probe)
    )
    assert first(findings) == "memory_overcommit_risk"
    assert findings[0].severity is Severity.WARNING
    assert "499 GiB" in findings[0].summary
    assert "256 GiB" in findings[0].summary


def test_disk_that_cannot_hold_what_is_to_come() -> None:
    small = Probe(at=NOW, disk_total_kib=100 << 20, disk_available_kib=90 << 20)
    findings = diagnose(case(Stage.PARAM_FETCH, probe=small))
    assert first(findings) == "disk_shortfall_risk"
    fetched = Progress(what=SafeText("parameters"), done=120.0 * GIB, total=133.0 * GIB, unit="B")
    assert diagnose(case(Stage.PARAM_FETCH, probe=small, progress=fetched)) == ()
    assert first(diagnose(case(Stage.WARMUP, probe=Probe(at=NOW, disk_available_kib=9 << 20)))) == (
        "disk_shortfall_risk"
    )
    cached = (FileState(path="/p/pce-porep-32g.bin", size=27 << 30),)
    there = Probe(at=NOW, disk_available_kib=9 << 20, files=cached)
    assert diagnose(case(Stage.WARMUP, probe=there)) == ()


def test_full_disk() -> None:
    assert (
        first(diagnose(case(Stage.WARMUP, probe=Probe(at=NOW, disk_available_kib=12.0))))
        == "disk_full"
    )


def test_deadline_at_this_pace() -> None:
    spans = (StageSpan(stage=Stage.PARAM_FETCH, started_at=NOW - 3000),)
    slow = Progress(
        what=SafeText("parameters"), done=40e9, total=143e9, unit="B", eta_seconds=8000.0,
        eta_low_seconds=6000.0,
    )  # fmt: skip
    findings = diagnose(case(Stage.PARAM_FETCH, spans=spans, progress=slow))
    assert first(findings) == "stage_deadline_risk"
    assert "150 minutes" in findings[0].summary


def test_new_card_with_an_old_driver_is_warned_of() -> None:
    card = gpus(5.0, name=sanitise("NVIDIA GeForce RTX 5090"), driver_version=sanitise("560.35.03"))
    findings = diagnose(case(Stage.BOOT, probe=Probe(at=NOW, gpus=card)))
    assert first(findings) == "gpu_driver_too_old"
    assert findings[0].severity is Severity.WARNING


@pytest.mark.parametrize(
    ("reasons", "temperature", "category"),
    [(0x4, 60.0, None), (0x0, 70.0, None), (0x40, 92.0, "gpu_thermal_or_power_limit"),
     (0x8, 60.0, "gpu_thermal_or_power_limit"), (0x0, 95.0, "gpu_thermal_or_power_limit")],
)  # fmt: skip
def test_heat_and_power(reasons: int, temperature: float, category: str | None) -> None:
    card = gpus(99.0, throttle_reasons=reasons, temperature=temperature)
    assert first(diagnose(case(Stage.RUNNING, probe=Probe(at=NOW, gpus=card)))) == category


def test_kills_counted_before_we_came_accuse_nobody() -> None:
    old = Probe(at=NOW - 900, memory_events={"oom_kill": 2})
    same = Probe(at=NOW, memory_events={"oom_kill": 2})
    risen = Probe(at=NOW, memory_events={"oom_kill": 3, "oom": 3, "max": 9})
    assert diagnose(case(Stage.RUNNING, first_probe=old, probe=same)) == ()
    assert first(diagnose(case(Stage.RUNNING, first_probe=old, probe=risen))) == "cgroup_oom_kill"


def test_connection_cut_while_the_daemon_lives_on() -> None:
    facts = (fact("prover_lost.h2", 60.0, kind="bench"),)
    findings = diagnose(case(Stage.RUNNING, facts=facts, probe=BUSY))
    assert first(findings) == "grpc_connection_broken"
    reborn = msgspec.structs.replace(DAEMON, elapsed_seconds=20.0)
    probe = msgspec.structs.replace(BUSY, processes=(SHELL, reborn))
    assert first(diagnose(case(Stage.RUNNING, facts=facts, probe=probe))) == "prover_lost"


def test_three_starts_in_ten_minutes_are_a_loop_and_two_are_not() -> None:
    starts = tuple(fact("mark.daemon_starting", 500.0 - 200 * n, line=n + 1) for n in range(3))
    ready = tuple(fact("mark.daemon_ready", 499.0 - 200 * n, line=n + 50) for n in range(3))
    findings = diagnose(case(Stage.RUNNING, facts=starts + ready))
    assert first(findings) == "daemon_crash_loop"
    assert diagnose(case(Stage.RUNNING, facts=starts[:2] + ready)) == ()


def row(**fields: Any) -> Instance:  # noqa: ANN401 - any field
    texts: dict[str, Any] = {
        name: sanitise(value) if isinstance(value, str) else value for name, value in fields.items()
    }
    return Instance(instance_id=7, **texts)


@pytest.mark.parametrize(
    ("instance", "category"),
    [
        (row(actual_status="running", intended_status="running"), None),
        (row(actual_status="stopped", intended_status="stopped", cur_state="stopped"), None),
        (
            row(
                actual_status="exited", intended_status="stopped", cur_state="stopped",
                is_bid=True,
            ),
            "vast_outbid",
        ),
        (row(actual_status="offline", intended_status="running"), "vast_host_offline"),
        (row(actual_status="unknown", intended_status="running"), "vast_host_offline"),
        (row(actual_status="exited", intended_status="running"), "vast_exited"),
        (row(actual_status="loading", start_date=NOW - 300), None),
        (row(actual_status="loading", start_date=NOW - 1300), "vast_not_starting"),
        (row(intended_status="running", start_date=NOW - 1300), "vast_not_starting"),
        (
            row(
                actual_status="created", intended_status="running",
                status_msg="OCI runtime create failed: unresolvable CDI devices",
                start_date=NOW - 20,
            ),
            "vast_container_start_failed",
        ),
        (
            row(
                actual_status="loading", start_date=NOW - 20,
                status_msg="Error response from daemon: No such container: C.7",
            ),
            None,
        ),
    ],
)  # fmt: skip
def test_rows_of_the_api(instance: Instance, category: str | None) -> None:
    assert first(diagnose(case(Stage.LOADING, instance=instance))) == category


def test_an_instance_that_was_started_again_has_not_waited_since_its_contract() -> None:
    loading = row(actual_status="loading", intended_status="running", start_date=NOW - 90_000)
    reader = Reader(CUZK, 7)
    reader.observe_row(loading, NOW - 100)
    assert first(reader.reading(NOW).findings) == "vast_not_starting"
    for status in ("running", "stopped"):
        reader.observe_row(row(actual_status=status), NOW - 1000)
        reader.observe_row(loading, NOW - 500)
        assert reader.reading(NOW).findings == ()
        (finding,) = reader.reading(NOW + 600).findings
        assert (finding.category, "for 18 minutes" in finding.summary) == (
            "vast_not_starting",
            True,
        )
    restarted = Reader(CUZK, 7)
    chunk = LogChunk(
        stream=StreamId(7, "/tmp/cuzk.log"), generation=1, offset=0, at=NOW - 200,
        data=b"INFO cuzk_core::scheduler: job enqueued job_id=ps-1 proof_kind=porep-c2\n",
    )  # fmt: skip
    restarted.feed(chunk, "daemon")
    restarted.observe_row(loading, NOW - 100)
    assert restarted.reading(NOW).findings == ()


def test_a_fetch_that_was_first_seen_at_its_end_is_not_incomplete() -> None:
    complete = fact("mark.params_complete", kind="setup", line=9)
    cut = msgspec.structs.replace(tail("setup", "x", 5.0), read_from=4000)
    assert diagnose(case(Stage.PARAMS_DONE, facts=(complete,), tails=(cut,))) == ()
    begun = (fact("mark.fetch_argument", kind="setup", line=2), complete)
    for facts, tails in ((begun, (cut,)), ((complete,), (tail("setup", "x", 5.0),))):
        found = diagnose(case(Stage.PARAMS_DONE, facts=facts, tails=tails))
        assert first(found) == "params_incomplete"


@pytest.mark.parametrize(
    ("by_log", "by_counter", "window", "disagree"),
    [(60, 59, 3600, False), (60, 40, 3600, True), (0, 15, 3600, True), (0, 15, 600, False),
     (0, 3, 3600, False)],
)  # fmt: skip
def test_a_log_and_a_counter_that_disagree_are_told(
    by_log: int, by_counter: int, window: float, disagree: bool
) -> None:
    counted = Counted(by_log=by_log, by_counter=by_counter, window=window, at=NOW)
    found = diagnose(case(Stage.RUNNING, counted=counted))
    assert first(found) == ("rates_disagree" if disagree else None)


@pytest.mark.parametrize(
    ("state", "attempts", "uptime", "category", "severity"),
    [
        (SshState.CONNECTED, 0, 900.0, None, None),
        (SshState.REFUSED, 1, 900.0, None, None),
        (SshState.REFUSED, 5, 60.0, None, None),
        (SshState.TIMED_OUT, 5, 900.0, "ssh_unreachable", Severity.WARNING),
        (SshState.AUTH_FAILED, 1, 900.0, "ssh_auth_failed", Severity.WARNING),
        (SshState.AUTH_FAILED, 4, 900.0, "ssh_auth_failed", Severity.CRITICAL),
        (SshState.HOST_KEY_CHANGED, 1, 900.0, "ssh_host_key_changed", Severity.CRITICAL),
        (SshState.LOST, 0, 900.0, None, None),
        (SshState.NO_ADDRESS, 0, 60.0, None, None),
        (SshState.NO_ADDRESS, 0, 900.0, "ssh_unreachable", Severity.WARNING),
    ],
)
def test_our_own_connection(
    state: SshState, attempts: int, uptime: float, category: str | None, severity: Severity | None
) -> None:
    outcome = SshOutcome(state=state, at=NOW, address="203.0.113.5:20000", attempts=attempts)
    instance = row(actual_status="running", intended_status="running")
    instance = msgspec.structs.replace(instance, uptime_seconds=uptime)
    findings = diagnose(case(Stage.BOOT, ssh=outcome, instance=instance))
    assert first(findings) == category
    assert (findings[0].severity if findings else None) == severity


def test_dead_host_explains_dead_ssh() -> None:
    outcome = SshOutcome(state=SshState.AUTH_FAILED, at=NOW, attempts=9)
    offline = row(actual_status="offline", intended_status="running")
    findings = diagnose(case(Stage.RUNNING, ssh=outcome, instance=offline))
    assert [one.category for one in findings] == ["vast_host_offline"]
    assert any(proof.source == "ssh" for proof in findings[0].evidence)


def test_cards_that_differ_in_one_host() -> None:
    cards = (
        Gpu(index=0, name=sanitise("NVIDIA GeForce RTX 3090")),
        Gpu(index=1, name=sanitise("NVIDIA GeForce RTX 4090")),
    )
    assert first(diagnose(case(Stage.BOOT, probe=Probe(at=NOW, gpus=cards)))) == "config_drift"


def test_daemons_own_account_of_failures() -> None:
    failed = Pipeline("a", total_partitions=10, partitions=(Partition(3, "failed"), Partition(4)))
    status = DaemonStatus(
        uptime_secs=500.0, pipelines=(failed,), counters=StatusCounters(total_failed=2), at=NOW
    )
    findings = diagnose(case(Stage.RUNNING, status=status, probe=BUSY))
    assert first(findings) == "proof_invalid"
    assert findings[0].count == 2
    clean = msgspec.structs.replace(status, counters=StatusCounters(total_completed=7))
    assert first(diagnose(case(Stage.RUNNING, status=clean, probe=BUSY))) == "job_lost"
    healthy = msgspec.structs.replace(clean, pipelines=())
    assert diagnose(case(Stage.RUNNING, status=healthy, probe=BUSY)) == ()


def test_a_restart_that_was_asked_for_is_no_fault() -> None:
    lost = fact("prover_lost.broken", age=60.0, kind="curio")
    lost = msgspec.structs.replace(lost, category="prover_lost")
    silent = diagnose(case(Stage.RUNNING, facts=(lost,), counts={lost.rule: 1}))
    assert (first(silent), silent[0].severity) == ("prover_lost", Severity.CRITICAL)
    asked = diagnose(
        case(Stage.RUNNING, facts=(lost,), counts={lost.rule: 1}, restarts=(NOW - 90.0,))
    )
    assert [finding.severity for finding in asked] == [Severity.INFO]
    assert "on request" in asked[0].summary
    later = diagnose(
        case(Stage.RUNNING, facts=(lost,), counts={lost.rule: 1}, restarts=(NOW - 900.0,))
    )
    assert later[0].severity is Severity.CRITICAL


def test_starts_that_were_asked_for_make_no_crash_loop() -> None:
    starts = tuple(fact("mark.daemon_starting", age=age, line=9) for age in (500.0, 300.0, 100.0))
    counts = {"mark.daemon_starting": 3}
    loop = diagnose(case(Stage.RUNNING, facts=starts, counts=counts, probe=BUSY))
    assert "daemon_crash_loop" in [finding.category for finding in loop]
    asked = case(Stage.RUNNING, facts=starts, counts=counts, probe=BUSY, restarts=(NOW - 310.0,))
    assert "daemon_crash_loop" not in [finding.category for finding in diagnose(asked)]


def test_a_crash_loop_leads_its_single_ends() -> None:
    starts = [fact("mark.daemon_starting", age=age, line=9) for age in (500.0, 300.0, 100.0)]
    lost = msgspec.structs.replace(
        fact("prover_lost.broken", age=290.0, kind="curio"), category="prover_lost"
    )
    counts = {"mark.daemon_starting": 3, lost.rule: 1}
    findings = diagnose(case(Stage.RUNNING, facts=(*starts, lost), counts=counts))
    assert first(findings) == "daemon_crash_loop"
    assert "prover_lost" not in [finding.category for finding in findings]


def test_the_limits_are_those_of_the_profile() -> None:
    bench = (tail("bench", "submitting proof", 400.0),)
    quiet = case(Stage.WARMUP, tails=bench, probe=IDLE)
    assert first(diagnose(quiet)) == "stage_stalled"
    patient = msgspec.structs.replace(quiet, silence_limits={Stage.WARMUP: 500.0})
    assert diagnose(patient) == ()
    assert diagnose(msgspec.structs.replace(quiet, silence_limits={})) == ()
    spans = (StageSpan(stage=Stage.BENCH, started_at=NOW - 3000),)
    late = case(Stage.BENCH, spans=spans, probe=BUSY)
    assert first(diagnose(late)) == "bench_timeout"
    assert diagnose(msgspec.structs.replace(late, stage_limits={Stage.BENCH: 4000.0})) == ()


def starts(*ages: float, jobs: int = 0) -> tuple[DaemonStart, ...]:
    return tuple(
        DaemonStart(NOW - age, is_first=not number, jobs=jobs) for number, age in enumerate(ages)
    )


def test_falling_uptime_is_a_loop_and_one_fall_a_lost_prover() -> None:
    loop = case(Stage.RUNNING, daemon_starts=starts(500, 300, 100))
    assert first(diagnose(loop)) == "daemon_crash_loop"
    assert diagnose(case(Stage.RUNNING, daemon_starts=starts(5000, 300, 100))) == ()
    once = case(Stage.RUNNING, daemon_starts=starts(9000, 100, jobs=2))
    (lost,) = diagnose(once)
    assert (lost.category, lost.severity) == ("prover_lost", Severity.WARNING)
    assert "2 proof(s) were under way" in lost.summary
    assert diagnose(msgspec.structs.replace(once, restarts=(NOW - 110,))) == ()
    assert diagnose(msgspec.structs.replace(once, stage=Stage.BENCH)) == ()
    healed = msgspec.structs.replace(once, facts=(fact("mark.proof_passed", 50.0),))
    assert [one.severity for one in diagnose(healed)] == [Severity.INFO]


@given(st.lists(st.tuples(st.floats(1.0, 900.0), st.booleans()), max_size=30))
def test_each_fall_of_the_uptime_is_one_start(answers: list[tuple[float, bool]]) -> None:
    known = DaemonStarts()
    at, uptime, falls = NOW, 1000.0, 0
    known.take(DaemonStatus(uptime_secs=uptime, at=at), 0)
    for later, restarted in answers:
        at += later + 10.0
        uptime = later if restarted else uptime + later + 10.0
        falls += restarted
        known.take(DaemonStatus(uptime_secs=uptime, at=at), 1)
    assert len(known.starts) == min(1 + falls, 16)
    assert not any(one.is_first for one in list(known.starts)[1:])


def test_processes_listed_before_the_benchmark_began_prove_nothing() -> None:
    begun = fact("mark.bench_start", 40.0, kind="setup")
    early = msgspec.structs.replace(IDLE, at=NOW - 45.0)
    late = msgspec.structs.replace(IDLE, at=NOW - 5.0)
    assert diagnose(case(Stage.WARMUP, facts=(begun,), probe=early)) == ()
    assert first(diagnose(case(Stage.WARMUP, facts=(begun,), probe=late))) == "stage_stalled"
    grown = (tail("bench", "submitting proof", 1.0),)
    assert diagnose(case(Stage.WARMUP, facts=(begun,), probe=late, tails=grown)) == ()


def test_a_daemon_that_is_about_to_serve_may_refuse() -> None:
    refused = fact("grpc_connection_refused.go", 100.0, kind="curio", line=3)
    starting = fact("mark.daemon_starting", 110.0)
    ready = fact("mark.daemon_ready", 90.0, line=2)
    assert diagnose(case(Stage.RUNNING, facts=(refused, starting, ready))) == ()
    assert diagnose(case(Stage.RUNNING, facts=(refused, starting))) == ()
    alone = case(Stage.RUNNING, facts=(refused,))
    assert first(diagnose(alone)) == "grpc_connection_refused"
    old = fact("mark.daemon_ready", 200.0, line=2)
    died = case(Stage.RUNNING, facts=(refused, fact("mark.daemon_starting", 210.0), old))
    assert first(diagnose(died)) == "grpc_connection_refused"


def test_a_risk_says_when_it_will_bite() -> None:
    small = Probe(at=NOW, disk_total_kib=100 << 20, disk_available_kib=60 << 20)
    pace = Progress(
        what=SafeText("parameters"), done=10.0 * GIB, total=133.0 * GIB, unit="B",
        per_second=GIB / 10.0,
    )  # fmt: skip
    (disk,) = diagnose(case(Stage.PARAM_FETCH, probe=small, progress=pace))
    assert "full in about 10 min at this pace" in disk.summary
    probe = msgspec.structs.replace(BUSY, memory_max_bytes=256 * GIB)
    facts = (fact("mark.budget", gib="499"),)
    for stage, words in ((Stage.RUNNING, "as soon as"), (Stage.DAEMON_START, "to come")):
        (memory,) = diagnose(case(stage, era="N", facts=facts, probe=probe))
        assert words in memory.summary
    spans = (StageSpan(stage=Stage.PARAM_FETCH, started_at=NOW - 3000),)
    slow = Progress(
        what=SafeText("parameters"), done=40e9, total=143e9, unit="B", eta_seconds=8000.0
    )
    setup = (tail("setup", "[#e55c76 12GiB/44GiB(27%)]", 1.0),)
    (late,) = diagnose(case(Stage.PARAM_FETCH, spans=spans, progress=slow, tails=setup))
    assert "reached in 40 min" in late.summary
    assert [proof.source for proof in late.evidence] == ["progress", "/tmp/setup.log"]


def test_a_pace_that_never_shows_a_tenth_is_warned_of_all_the_same() -> None:
    crawling = Progress(
        what=SafeText("parameters"), done=2e9, total=143e9, unit="B", eta_seconds=70_000.0
    )
    spans = (StageSpan(stage=Stage.PARAM_FETCH, started_at=NOW - 1000),)
    (late,) = diagnose(case(Stage.PARAM_FETCH, spans=spans, progress=crawling))
    assert (late.category, late.severity) == ("stage_deadline_risk", Severity.WARNING)
    first_minutes = (StageSpan(stage=Stage.PARAM_FETCH, started_at=NOW - 300),)
    assert diagnose(case(Stage.PARAM_FETCH, spans=first_minutes, progress=crawling)) == ()


def test_a_benchmark_that_cannot_end_in_time_is_told_at_the_pace_seen() -> None:
    spans = (
        StageSpan(stage=Stage.C1_DOWNLOAD, started_at=NOW - 1500),
        StageSpan(stage=Stage.BENCH, started_at=NOW - 900),
    )
    slow = Progress(
        what=SafeText("proofs"), done=3.0, total=12.0, unit="proofs", eta_seconds=2700.0,
        eta_low_seconds=2500.0,
    )  # fmt: skip
    bench = (tail("bench", "proof 3 done", 5.0),)
    live = {"spans": spans, "probe": BUSY, "tails": bench}
    (late,) = diagnose(case(Stage.BENCH, progress=slow, **live))
    assert late.category == "stage_deadline_risk"
    assert "needs 67 minutes; its limit is 45, reached in 20 min" in late.summary
    assert [proof.source for proof in late.evidence] == ["progress", "/tmp/bench.log"]
    quick = msgspec.structs.replace(slow, eta_low_seconds=1000.0)
    assert diagnose(case(Stage.BENCH, progress=quick, **live)) == ()
    begun_anew = case(Stage.BENCH, progress=slow, restarts=(NOW - 100.0,), **live)
    assert diagnose(begun_anew) == ()
    failed = msgspec.structs.replace(
        spans[0], stage=Stage.WARMUP, ended_at=NOW - 900, outcome=Outcome.FAILED
    )
    last = msgspec.structs.replace(spans[1], started_at=NOW - 100)
    pace = msgspec.structs.replace(slow, eta_low_seconds=2000.0)
    after_failure = {**live, "spans": (failed, last)}
    assert diagnose(case(Stage.BENCH, progress=pace, **after_failure)) == ()


def test_a_first_warmup_with_few_workers_tells_of_those_to_come() -> None:
    line = "Starting benchmark (proofs=12 concurrency=3 partition_workers=16)"
    setup = msgspec.structs.replace(
        fact("setup.bench_start", 90.0, kind="setup"), text=sanitise(line)
    )
    facts = (setup, fact("mark.workers", workers="4"))
    probe = msgspec.structs.replace(BUSY, memory_max_bytes=256 * GIB)
    warmup = case(Stage.WARMUP, era="O", facts=facts, probe=probe)
    (risk,) = diagnose(warmup)
    assert risk.category == "memory_overcommit_risk"
    assert "16 partition workers, about 389 GiB" in risk.summary
    assert "once the daemon is restarted" in risk.summary
    assert risk.evidence[0].text == line
    enough = msgspec.structs.replace(probe, memory_max_bytes=400 * GIB)
    assert diagnose(msgspec.structs.replace(warmup, probe=enough)) == ()
    later = msgspec.structs.replace(warmup, stage=Stage.RUNNING)
    assert diagnose(later) == ()


def test_a_card_too_small_for_a_proof_is_warned_of_and_blamed_for_nothing() -> None:
    card = gpus(5.0, name=sanitise("RTX 3080 Ti"), memory_total_mib=12_288.0)
    small = case(Stage.BOOT, probe=Probe(at=NOW, gpus=card))
    (risk,) = diagnose(small)
    assert (risk.category, risk.severity) == ("gpu_vram_oom", Severity.WARNING)
    assert "12 GiB" in risk.summary
    failed = msgspec.structs.replace(
        small, facts=(fact("bench_script_failed.entry", kind="setup"),)
    )
    assert first(diagnose(failed)) == "bench_script_failed"
    proved = msgspec.structs.replace(small, facts=(fact("mark.proof_passed"),))
    assert diagnose(proved) == ()
    large = gpus(5.0, name=sanitise("RTX 5070 Ti"), memory_total_mib=16_303.0)
    assert diagnose(case(Stage.BOOT, probe=Probe(at=NOW, gpus=large))) == ()
