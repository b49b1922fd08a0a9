"""Whole hosts that look worse than they are, and looks at them that hide what is wrong."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from fleetui.reading.probe_output import parse_probe
from fleetui.reports.diagnose import diagnose_file
from made_hosts import MadeHost

WELL = "c_budget_era_running"
LOST = "f01_broken_pipe_warmup"
XID = (
    "[10.1] NVRM: Xid (PCI:0000:3b:00): 79, pid=874, name=cuzk-daemon, GPU has fallen off the bus."
)
ORDINARY = "[20.1] docker0: port 3(veth91) entered forwarding state\n"
NO_KILL = "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n"
MONTH = 30 * 86_400.0


def well(folder: Path) -> MadeHost:
    """A host that proves, with the processes that do."""
    host = MadeHost(folder, WELL)
    (host.folder / "probe").mkdir()
    return host.probe(
        ps="  PID STAT ELAPSED RSS COMMAND\n"
        "  369 S 05:40 3900 /bin/bash /usr/local/bin/entrypoint.sh\n"
        "  874 Sl 01:50 74900000 cuzk-daemon --config /data/zk/cuzk.toml\n"
    )


def severities(host: MadeHost) -> dict[str, str]:
    return {one["category"]: one["severity"] for one in host.findings()}


@pytest.mark.parametrize("following", [0, 1, 500, 2000])
def test_a_fault_in_the_kernel_log_is_seen_however_long_the_log_is(
    following: int, tmp_path: Path
) -> None:
    host = well(tmp_path).probe(dmesg=XID + "\n" + ORDINARY * following)
    assert severities(host) == {"gpu_fallen_off_bus": "critical"}


@pytest.mark.parametrize(
    "text",
    [
        "dmesg: read kernel buffer failed: Operation not permitted\n",
        "sh: dmesg: not found\n",
        "sudo: a password is required\ndmesg: Permission denied\n",
    ],
)
def test_a_refused_kernel_log_is_a_complaint_and_no_kernel_line(text: str) -> None:
    probe = parse_probe({"dmesg": text}, None)
    assert probe.kernel_lines is None
    assert set(probe.errors) == {"dmesg"}


def test_kills_and_crashes_of_other_containers_are_not_ours(tmp_path: Path) -> None:
    host = well(tmp_path).probe(
        cgroup_memory_events=NO_KILL,
        dmesg="[9.1] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/docker/77aa,"
        "task_memcg=/docker/77aa,task=postgres,pid=811,uid=70\n"
        "[9.2] Memory cgroup out of memory: Killed process 811 (postgres) total-vm:4123kB\n"
        "[9.9] chrome[4121]: segfault at 0 ip 00007f sp 00007ffd error 4 in libc.so.6\n",
    )
    assert severities(host) == {}


def test_a_kill_in_the_kernel_log_with_a_counted_one_is_ours(tmp_path: Path) -> None:
    host = MadeHost(tmp_path, LOST).probe(
        cgroup_memory_events=NO_KILL.replace("oom_kill 0", "oom_kill 1"),
        dmesg="[9.2] Memory cgroup out of memory: Killed process 812 (cuzk-daemon) total-vm:9kB\n",
    )
    assert severities(host) == {"cgroup_oom_kill": "critical"}


def test_a_counted_kill_beside_a_daemon_that_lives_is_a_warning(tmp_path: Path) -> None:
    host = well(tmp_path).probe(
        cgroup_memory_events="low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 0\n",
    )
    assert severities(host) == {"cgroup_oom_kill": "warning"}


def test_kills_that_cgroup_v1_counts_are_counted(tmp_path: Path) -> None:
    host = MadeHost(tmp_path, LOST)
    (host.folder / "probe" / "cgroup.memory.events").unlink()
    (host.folder / "probe" / "memory.oom_control").write_text(
        "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"
    )
    (host.folder / "probe" / "memory.failcnt").write_text("31\n")
    finding = host.findings()[0]
    assert (finding["category"], finding["severity"]) == ("cgroup_oom_kill", "critical")
    assert "oom_kill 2" in finding["summary"]


def test_a_missing_nvidia_smi_beside_a_daemon_that_proves_is_only_told(tmp_path: Path) -> None:
    words = "bash: nvidia-smi: command not found\n"
    host, lost = well(tmp_path / "a"), MadeHost(tmp_path / "b", LOST)
    assert severities(host.probe(nvidia_smi=words)) == {"gpu_container_access_lost": "info"}
    assert severities(lost.probe(nvidia_smi=words))["gpu_container_access_lost"] == "critical"


@pytest.mark.parametrize("figure", ["[GPU requires reset]", "ERR!", "[GPU is lost]"])
def test_a_card_that_gives_no_figures_any_more_is_named(figure: str, tmp_path: Path) -> None:
    host = well(tmp_path).probe(
        nvidia_smi="index, name, utilization.gpu [%], memory.used [MiB]\n"
        f"0, NVIDIA RTX 4090, {figure}, {figure}\n"
    )
    category = "gpu_fallen_off_bus" if "lost" in figure else "gpu_fault_needs_reset"
    assert severities(host) == {category: "critical"}


def test_processes_much_older_than_their_last_words_stand_still(tmp_path: Path) -> None:
    host = MadeHost(tmp_path, LOST)
    host.cut("/tmp/benchmark-full.log", "Error")
    table = (
        "  PID PPID STAT WCHAN ELAPSED RSS COMMAND\n"
        "  369 1 S do_wait {2} 3900 /bin/bash /usr/local/bin/entrypoint.sh\n"
        "  812 369 Sl futex_wait_queue {1} 74900000 cuzk-daemon --config /tmp/c.toml\n"
        "  899 369 Sl ep_poll {0} 9000 cuzk-bench single -t porep --c1 /data/32gbench/c1.json\n"
    )
    host.probe(ps=table.format(10, 20, 30))
    assert "stage_stalled" not in severities(host)
    host.probe(ps=table.format(14190, 14200, 14400))
    assert severities(host)["stage_stalled"] == "critical"


def row(**more: Any) -> dict[str, Any]:  # noqa: ANN401 - a row holds whatever the API sends
    known = {"id": 7, "machine_id": 3, "actual_status": "running", "intended_status": "running"}
    return {**known, "cur_state": "running", "is_bid": False, **more}


@pytest.mark.parametrize("name", ["vast.json", "instance.jsonl", "probe/vast.txt"])
def test_a_row_that_lies_beside_a_host_is_read(name: str, tmp_path: Path) -> None:
    host = well(tmp_path)
    (host.folder / name).write_text(json.dumps(row(actual_status="offline")))
    assert severities(host) == {"vast_host_offline": "critical"}


def test_words_of_ssh_that_lie_beside_a_host_are_read(tmp_path: Path) -> None:
    host = well(tmp_path)
    host.probe(ssh="root@ssh5.vast.ai: Permission denied (publickey).\n" * 3)
    assert severities(host) == {"ssh_auth_failed": "critical"}


@pytest.mark.parametrize(
    ("months", "status", "found"),
    [(2, "loading", True), (2, "running", False), (0, "loading", False), (30, "loading", False)],
)
def test_a_row_alone_waits_until_its_file_was_written(
    months: int, status: str, *, found: bool, tmp_path: Path
) -> None:
    now = 1_790_000_000.0
    file = tmp_path / "row.json"
    file.write_text(json.dumps(row(actual_status=status, start_date=now - months * MONTH)))
    os.utime(file, (now, now))
    names = [one["category"] for one in diagnose_file(file, "vast")["findings"]]
    assert names == (["vast_not_starting"] if found else [])


def test_the_last_row_of_an_instance_counts(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    rows = [row(actual_status="offline"), row(), row(id=8), row(id=8, actual_status="offline")]
    file.write_text("\n".join(json.dumps(one) for one in rows))
    found = diagnose_file(file, "vast")["findings"]
    assert [one["summary"].split(":")[0] for one in found] == ["instance 8"]


def test_rows_before_one_that_is_cut_short_are_read_and_the_cut_is_said(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row(actual_status="offline")) + "\n" + json.dumps(row())[:40])
    answer = diagnose_file(file, "vast")
    assert [one["category"] for one in answer["findings"]] == ["vast_host_offline"]
    assert "line 2" in answer.unread[0]
