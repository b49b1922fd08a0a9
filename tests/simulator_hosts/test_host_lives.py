"""The pretend hosts live as the real programs do, and the same twice."""

import itertools
import json
import re

import pytest

from fleetui.simulator.hosts.host import Host
from fleetui.simulator.hosts.scenarios import SCENARIOS, assign
from pretend_host import BORN, HandClock, make_host

ENTRYPOINT = "/var/log/entrypoint.log"
BENCH = "/tmp/benchmark-full.log"
BENCH_DAEMON = "/tmp/cuzk-bench-daemon.log"
DAEMON = "/tmp/cuzk.log"
CURIO = "/tmp/curio.log"
LOGS = (ENTRYPOINT, "/tmp/setup.log", BENCH, BENCH_DAEMON, DAEMON, CURIO)
REQUEST = b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n"


def plain(host: Host, path: str) -> str:
    """Return a log without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", host.machine.files.read(path).decode("utf-8", "replace"))


def status(host: Host) -> dict[str, object]:
    """Ask a host's daemon for its status."""
    head, _, body = host.answer_http(9821, REQUEST).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert f"Content-Length: {len(body)}".encode() in head
    answer: dict[str, object] = json.loads(body)
    return answer


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_same_seed_and_time_give_the_same_bytes_however_often_one_looks(scenario: str) -> None:
    once, _ = make_host(scenario, 1500)
    often, clock = make_host(scenario)
    sizes = dict.fromkeys(LOGS, 0)
    for step in range(1501):
        clock.value = BORN + step
        if step % 7 == 0:
            view = often.api_view(clock.value)
            assert view["actual_status"]
            for path in LOGS:
                size = often.machine.files.size(path)
                assert size >= sizes[path], "logs only grow in a life without restarts"
                sizes[path] = size
    for path in LOGS:
        assert often.machine.files.read(path) == once.machine.files.read(path)
    assert often.api_view(clock.value) == once.api_view(clock.value)


def test_another_seed_gives_other_timings() -> None:
    one, _ = make_host("running", 600, seed=1)
    other, _ = make_host("running", 600, seed=2)
    assert one.machine.files.read(DAEMON) != other.machine.files.read(DAEMON)


# What sets each failure apart (the failure catalogue of the programs), and what must be absent.
@pytest.mark.parametrize(
    ("scenario", "path", "present", "absent"),
    [
        ("incident_broken_pipe", BENCH, "3: stream closed because of a broken pipe", "Batch"),
        ("incident_broken_pipe", ENTRYPOINT, "benchmark.sh exited with error", "passed=true"),
        ("incident_broken_pipe", BENCH_DAEMON, "background PCE extraction starting", "panicked"),
        ("incident_hang", BENCH, "stream closed because of a broken pipe", "Restarting daemon"),
        ("incident_hang", ENTRYPOINT, "Starting benchmark (proofs=12", "exited with error"),
        ("oom_killed", BENCH, "Killed                  cuzk-daemon", "Restarting daemon"),
        ("c1_missing", BENCH, "curl: (22) The requested URL returned error: 404", "Starting cuzk"),
        ("c1_truncated", BENCH_DAEMON, "failed to parse C1 output wrapper JSON", "PASSED"),
        ("c1_truncated", BENCH, "status:    FAILED", "COMPLETED"),
        ("port_in_use", BENCH_DAEMON, "1: Address already in use (os error 98)", "panicked"),
        ("port_in_use", BENCH, "Restarting daemon with full partition_workers=16", "Batch"),
        ("slow_rate", BENCH, "throughput:", "Error"),
        ("slow_rate", ENTRYPOINT, "passed=false", "benchmark.sh exited with error"),
        ("no_lotus", CURIO, "failed to establish connection with all chain nodes", "harmonytask"),
        ("no_lotus", CURIO, "127.0.0.1:1234: connect: connection refused", "panic"),
        ("vram", BENCH_DAEMON, 'failed: "out of memory"', "PASSED"),
        ("disk_full", ENTRYPOINT, "No space left on device", "key-fetching complete"),
        ("params_stalled", ENTRYPOINT, "CN:16 DL:0B]", "key-fetching complete"),
        ("params_incomplete", ENTRYPOINT, "parameter and key-fetching complete", ".params is ok"),
        ("params_incomplete", BENCH_DAEMON, "SRS param file not found for Porep32G", "PASSED"),
        ("driver_too_old", BENCH_DAEMON, "CUDA driver version is insufficient", "PASSED"),
        ("xid_79", DAEMON, "terminate called after throwing an instance of 'sppark", "os error 98"),
        ("xid_79", CURIO, "dial tcp 127.0.0.1:9820: connect: connection refused", "1234"),
        ("crash_loop", ENTRYPOINT, "cuzk-daemon exited with 1, restarting in 5s", "benchmark"),
        ("running", DAEMON, "Phase 7: PoRep proof self-check PASSED", "ERROR"),
        ("running", DAEMON, "preloading SRS via SrsManager (Phase 2)", "memory budget initialized"),
        ("running_budget", DAEMON, "memory budget initialized", "preloading SRS"),
        ("running_budget", DAEMON, "GPU_QUEUE", "CHAN_SEND"),
        ("bench_done", BENCH, "RATE=", "Error"),
        ("bench", BENCH, "[12/12] COMPLETED", "FAILED"),
    ],
)
def test_a_life_prints_what_sets_it_apart(
    scenario: str, path: str, present: str, absent: str
) -> None:
    host, _ = make_host(scenario, 2600)
    text = plain(host, path)
    assert present in text
    assert absent not in text


def test_a_log_line_has_the_colours_of_the_real_one() -> None:
    host, _ = make_host("running", 120)
    first = host.machine.files.read(DAEMON).split(b"\n")[0]
    assert re.fullmatch(
        rb"\x1b\[2m2027-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\x1b\[0m \x1b\[32m INFO\x1b\[0m "
        rb"\x1b\[2mcuzk_daemon\x1b\[0m\x1b\[2m:\x1b\[0m cuzk-daemon starting",
        first,
    )


def test_the_memory_limit_kill_is_counted() -> None:
    host, clock = make_host("oom_killed", 30)
    events = "/sys/fs/cgroup/memory.events"
    assert b"oom_kill 0\n" in host.machine.files.read(events)
    clock.value = BORN + 600
    assert b"oom_kill 1\n" in host.machine.files.read(events)


def test_the_second_incident_leaves_the_entrypoint_alone_and_the_gpus_idle() -> None:
    host, _ = make_host("incident_hang", 1500)
    host.machine.sync()
    names = [process.comm for process in host.machine.processes.values()]
    assert not {"cuzk-daemon", "cuzk-bench", "curio"} & set(names)
    entrypoint = next(
        process
        for process in host.machine.processes.values()
        if process.args[-1].endswith("entrypoint.sh")
    )
    assert entrypoint.wait_channel == "do_wait"
    assert [row["utilization.gpu"] for row in host.machine.gpu_rows()] == ["0 %", "0 %"]


def test_a_lost_gpu_is_in_the_kernel_log_and_gone_from_the_tool() -> None:
    host, _ = make_host("xid_79", 900)
    host.machine.sync()
    assert any("): 79, " in line for line in host.machine.kernel_lines or [])
    assert host.machine.gpu_rows()[0]["lost"]


def test_proofs_go_on_at_a_steady_rate_and_the_status_agrees_with_the_log() -> None:
    host, clock = make_host("running_budget", 900)
    counts = []
    for _ in range(4):
        clock.value += 900
        passed = plain(host, DAEMON).count("Phase 7: PoRep proof self-check PASSED")
        counters = status(host)["counters"]
        assert isinstance(counters, dict)
        assert counters["total_completed"] == passed
        counts.append(passed)
    gains = [later - earlier for earlier, later in itertools.pairwise(counts)]
    assert min(gains) > 5
    assert max(gains) - min(gains) <= 3


def test_a_restart_ends_the_daemon_and_its_uptime_starts_again() -> None:
    host, clock = make_host("running_budget", 900)
    before = status(host)
    old = next(iter(host.machine.find("cuzk-daemon"))).pid
    inode = host.machine.files.stat(DAEMON)
    assert host.restart_daemon()
    assert not host.machine.find("cuzk-daemon")
    assert not host.listens(9821)
    clock.value += 30
    after = status(host)
    uptime_before, uptime_after = before["uptime_secs"], after["uptime_secs"]
    assert isinstance(uptime_before, float)
    assert isinstance(uptime_after, float)
    assert uptime_before > 800
    assert uptime_after < 30
    assert next(iter(host.machine.find("cuzk-daemon"))).pid != old
    assert plain(host, DAEMON).count("cuzk-daemon starting") == 1
    assert host.machine.files.stat(DAEMON) is inode
    assert "error reading from server: EOF" in plain(host, CURIO)
    clock.value += 900
    counters = status(host)["counters"]
    assert isinstance(counters, dict)
    assert counters["total_completed"] > 3


def test_an_interrupt_leaves_a_daemon_that_holds_its_port() -> None:
    host, clock = make_host("running", 600)
    assert host.listens(9820)
    daemon = next(iter(host.machine.find("cuzk-daemon")))
    host.machine.signal(daemon.pid, 2)
    clock.value += 120
    assert host.listens(9820)
    assert "received SIGINT, shutting down" in plain(host, DAEMON)
    host.machine.signal(daemon.pid, 15)
    assert daemon.status == 143


def test_stop_start_reboot_and_recycle_do_to_files_what_they_should() -> None:
    host, clock = make_host("running", 600)
    assert host.reachable()
    host.stop(clock.value)
    assert host.api_view(clock.value)["actual_status"] == "stopped"
    assert not host.reachable()
    assert not host.machine.processes
    kept = host.machine.files.size(DAEMON)
    clock.value += 100
    assert host.machine.files.size(DAEMON) == kept > 0
    host.start(clock.value)
    assert host.api_view(clock.value)["actual_status"] == "loading"
    clock.value += 300
    assert host.api_view(clock.value)["actual_status"] == "running"
    assert host.machine.files.size(DAEMON) > kept
    host.reboot(clock.value)
    clock.value += 120
    assert host.machine.find("cuzk-daemon")
    host.recycle(clock.value)
    assert not host.machine.files.exists(DAEMON)
    clock.value += 200
    assert host.machine.find("cuzk-daemon")


def test_the_service_shows_pulls_errors_and_ends() -> None:
    host, clock = make_host("loading", 60)
    view = host.api_view(clock.value)
    assert (view["actual_status"], view["gpu_util"]) == ("loading", None)
    assert "Pulling fs layer" in view["status_msg"]
    host, clock = make_host("container_error", 100)
    assert "failed to inject CDI devices" in host.api_view(clock.value)["status_msg"]
    assert not host.reachable()
    for scenario in ("offline", "exited"):
        host, clock = make_host(scenario, 100)
        assert host.api_view(clock.value)["actual_status"] == "running"
        clock.value = BORN + 1200
        assert host.api_view(clock.value)["actual_status"] == scenario


def test_the_first_hosts_are_a_mix_with_the_incidents_early() -> None:
    plan = assign(200, 3)
    assert plan == assign(200, 3)
    assert len(plan) == 200
    first = [scenario for scenario, _ in plan[:12]]
    assert {"incident_broken_pipe", "incident_hang", "oom_killed", "no_lotus"} <= set(first)
    assert sum(name.startswith("running") for name in first) >= 3
    healthy = [name for name, _ in plan[:24] if not SCENARIOS[name].category]
    assert 10 <= len(healthy) <= 15
    assert {name for name, _ in plan} == set(SCENARIOS)
    assert all(age >= 0 for _, age in plan)


def test_a_clock_that_stands_still_changes_nothing() -> None:
    clock = HandClock(BORN + 700)
    host = Host(1, "warmup", 1, clock, BORN)
    before = {path: host.machine.files.read(path) for path in LOGS}
    assert {path: host.machine.files.read(path) for path in LOGS} == before
