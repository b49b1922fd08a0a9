"""Stories on whole hosts: what is cause, what is echo."""

from pathlib import Path

import pytest

from made_hosts import MadeHost

BENCH = "/tmp/benchmark-full.log"
DAEMON = "/tmp/cuzk-bench-daemon.log"
ENTRY = "/var/log/entrypoint.log"
SETUP = "/tmp/setup.log"
ALONE = (
    "  PID PPID STAT WCHAN ELAPSED RSS COMMAND\n"
    "  369 1 S do_wait 05:40 3900 /bin/bash /usr/local/bin/entrypoint.sh\n"
)
LOST = "f01_broken_pipe_warmup"


def only_critical(host: MadeHost, category: str) -> dict[str, object]:
    findings = host.findings()
    assert findings
    assert findings[0]["category"] == category, [one["category"] for one in findings]
    assert [one["category"] for one in findings if one["severity"] == "critical"] == [category]
    return dict(findings[0])


def sources(finding: dict[str, object]) -> set[str]:
    evidence = finding["evidence"]
    assert isinstance(evidence, list)
    return {str(proof["source"]) for proof in evidence}


def test_broken_pipe_with_a_counted_kill_is_the_kill(tmp_path: Path) -> None:
    host = MadeHost(tmp_path, LOST)
    host.probe(cgroup_memory_events="low 0\nhigh 0\nmax 35\noom 1\noom_kill 1\noom_group_kill 0\n")
    finding = only_critical(host, "cgroup_oom_kill")
    assert "oom_kill 1" in str(finding["summary"])
    assert "540 GiB" in str(finding["summary"])
    assert "PCE" in str(finding["summary"])
    assert {"probe:cgroup.memory.events", BENCH} <= sources(finding)


def test_broken_pipe_with_a_killed_by_the_shell_is_the_kill(tmp_path: Path) -> None:
    line = "/usr/local/bin/benchmark.sh: line 88:   412 Killed    cuzk-daemon --config /tmp/c.toml"
    only_critical(MadeHost(tmp_path, LOST).append(BENCH, line), "cgroup_oom_kill")


@pytest.mark.parametrize(
    ("lines", "category"),
    [
        (
            [
                "thread 'tokio-runtime-worker' panicked at supraseal-c2/src/lib.rs:316:9:",
                'cudaMalloc(&p, n)@sppark-0.1.14/sppark/util/gpu_t.cuh:77 failed: "out of memory"',
            ],
            "gpu_vram_oom",
        ),
        (
            [
                "terminate called after throwing an instance of 'sppark_error'",
                '  what():  x@gpu_t.cuh:158 failed: "an illegal memory access was encountered"',
            ],
            "gpu_illegal_access",
        ),
        (["memory allocation of 8589934592 bytes failed"], "host_alloc_failure"),
        (
            [
                "thread 'rayon-synth-3' panicked at bellperson/src/lc.rs:12:5:",
                "attempt to subtract with overflow",
            ],
            "prover_panic",
        ),
    ],
)
def test_broken_pipe_after_words_in_the_daemons_log_is_what_the_log_says(
    lines: list[str], category: str, tmp_path: Path
) -> None:
    finding = only_critical(MadeHost(tmp_path, LOST).append(DAEMON, *lines), category)
    assert {DAEMON, BENCH} <= sources(finding)


def test_silent_host_with_finished_logs_is_what_they_show(tmp_path: Path) -> None:
    host = MadeHost(tmp_path, LOST).probe(ps=ALONE)
    for log in (ENTRY, SETUP):
        host.cut(log, "benchmark.sh exited with error")
    finding = only_critical(host, "prover_lost")
    evidence = finding["evidence"]
    assert isinstance(evidence, list)
    told = "\n".join(str(proof["text"]) for proof in evidence)
    assert "do_wait" in told
    assert "GPU 0: 0 %" in told
    assert "broken pipe" in told
    assert "the entrypoint waits for a child that never ends" in str(finding["summary"])


def test_silent_host_without_a_deeper_cause_is_stalled(tmp_path: Path) -> None:
    host = MadeHost(tmp_path, LOST).probe(ps=ALONE)
    for log in (ENTRY, SETUP):
        host.cut(log, "benchmark.sh exited with error")
    host.cut(BENCH, "Error: Prove RPC failed")
    finding = only_critical(host, "stage_stalled")
    assert "do_wait" in str(finding["summary"])
    assert {"probe:ps", "probe:nvidia-smi", BENCH, DAEMON} <= sources(finding)


def test_rate_zero_without_a_cause_is_a_failed_script_and_not_slow(tmp_path: Path) -> None:
    host = MadeHost(tmp_path, LOST).cut(BENCH, "Error: Prove RPC failed")
    finding = only_critical(host, "bench_script_failed")
    assert "not a slow host" in str(finding["summary"])


def test_port_1234_is_not_blamed_for_a_benchmark(tmp_path: Path) -> None:
    host = MadeHost(tmp_path, LOST).append(
        SETUP, "WARN curio/chain dial tcp 127.0.0.1:1234: connect: connection refused"
    )
    names = [one["category"] for one in host.findings()]
    assert names[0] == "prover_lost"
    assert "chain_api_unreachable" not in names


def test_full_disk_under_a_failed_fetch(tmp_path: Path) -> None:
    host = MadeHost(tmp_path, "a_setup_ok").cut(ENTRY, "parameter and key-fetching complete")
    host.remove(SETUP)
    host.append(
        ENTRY,
        "Exception: [AbstractDiskWriter.cc:459] errNum=28 errorCode=9 Failed to write into the "
        "file /p/a.params, cause: No space left on device",
        "WARN paramfetch aria2c fetch failed: exit status 9",
        "ERROR: fetching proof parameters: re-checking file /p/a.params failed: checksum mismatch"
        " in param file /p/a.params, aa != bb",
    )
    only_critical(host, "disk_full")


def test_one_warning_on_a_resumed_file_that_ends_well_is_nothing(tmp_path: Path) -> None:
    host = MadeHost(tmp_path, "a_setup_ok").remove(SETUP)
    path = host.path(ENTRY)
    text = path.read_text()
    name = text.split("Parameter file ")[1].split(" is ok")[0]
    warning = f"WARN\tparamfetch\tchecksum mismatch in param file {name}, aa11 != bb22\n"
    path.write_text(warning + text)
    assert [one for one in host.findings() if one["severity"] != "info"] == []


def test_download_that_worked_on_the_second_try_is_not_critical(tmp_path: Path) -> None:
    host = MadeHost(tmp_path, "b_success")
    path = host.path(BENCH)
    data = path.read_bytes()
    mark = b"Downloading from"
    at = data.index(b"\n", data.index(mark)) + 1
    path.write_bytes(data[:at] + b"curl: (56) Recv failure: Connection reset by peer\n" + data[at:])
    assert [one for one in host.findings() if one["severity"] != "info"] == []


def test_panic_that_later_proofs_outlived_is_a_warning(tmp_path: Path) -> None:
    host = MadeHost(tmp_path, "b_success")
    path = host.path(DAEMON)
    text = path.read_text()
    panic = "thread 'rayon-synth-1' panicked at bellperson/src/lc.rs:12:5:\nboom\n"
    path.write_text(panic + text)
    findings = host.findings()
    assert findings[0]["category"] == "prover_panic"
    assert findings[0]["severity"] == "warning"


def test_missing_input_and_no_daemon_is_not_a_daemon_problem(tmp_path: Path) -> None:
    names = [one["category"] for one in MadeHost(tmp_path, "f02_c1_download_404").findings()]
    assert names == ["input_download_failed"]


def test_old_kills_of_the_counter_do_not_accuse_a_healthy_host(tmp_path: Path) -> None:
    host = MadeHost(tmp_path, "c_budget_era_running")
    assert host.findings() == []


def test_kernel_lines_of_the_probe_are_read(tmp_path: Path) -> None:
    host = MadeHost(tmp_path, LOST).probe(
        dmesg="[ 1.0] a\n[ 2.0] b\n"
        "[ 9.3] NVRM: Xid (PCI:0000:81:00): 79, GPU has fallen off the bus.\n"
    )
    finding = only_critical(host, "gpu_fallen_off_bus")
    assert {"kernel", BENCH} <= sources(finding)


def test_nvidia_smi_that_complains_is_evidence(tmp_path: Path) -> None:
    host = MadeHost(tmp_path, LOST).probe(nvidia_smi="Failed to initialize NVML: Unknown Error\n")
    only_critical(host, "gpu_container_access_lost")


def test_interrupted_daemon_that_lives_on(tmp_path: Path) -> None:
    host = MadeHost(tmp_path, "f10_curio_no_lotus_1234").remove("/tmp/curio.log")
    host.append(
        "/tmp/cuzk.log",
        "2026-03-12T07:02:00.000000Z  INFO cuzk_daemon: received SIGINT, shutting down",
    )
    finding = only_critical(host, "daemon_not_ready")
    assert "SIGINT" in str(finding["summary"])
