from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.text import SafeText
from fleetui.reading.probe_output import parse_probe

DATA = Path(__file__).parent.parent / "data"
NAMES = [
    "nvidia-smi", "ps", "cgroup.memory.events", "cgroup.memory.max", "cgroup.memory.current", "df",
    "dmesg", "ss", "loadavg", "files",
]  # fmt: skip


def test_sample_host_is_read_whole() -> None:
    folder = DATA / "hosts" / "f10_curio_no_lotus_1234" / "probe"
    probe = parse_probe({path.name: path.read_text() for path in folder.iterdir()}, 5.0)
    assert probe.at == 5.0
    assert probe.gpus is not None
    gpu = probe.gpus[0]
    assert (gpu.name, gpu.utilization, gpu.memory_total_mib, gpu.temperature) == (
        "NVIDIA RTX PRO 4000 Blackwell",
        0.0,
        24467.0,
        34.0,
    )
    assert probe.processes is not None
    assert [(one.pid, one.elapsed_seconds, one.rss_kib) for one in probe.processes] == [
        (369, 120.0, 3900.0),
        (874, 110.0, 74900000.0),
    ]
    assert probe.memory_events is not None
    assert probe.memory_events["oom_kill"] == 0
    assert probe.memory_max_bytes == 579820584960
    assert probe.disk_available_kib == 76021760
    assert probe.listening == ("127.0.0.1:1235", "127.0.0.1:9820")
    assert probe.kernel_lines is None
    assert "not permitted" in probe.errors["dmesg"]


def test_columns_may_come_in_any_order_with_or_without_units() -> None:
    lines = (DATA / "gpu" / "nvidia_smi_idle.txt").read_text().splitlines()
    header = next(line for line in lines if line.startswith("index, uuid"))
    rows = [line for line in lines if ", GPU-0000" in line]
    for row in (rows[0], rows[2]):
        probe = parse_probe({"nvidia-smi": f"{header}\n{row}\n"}, None)
        assert probe.gpus is not None
        gpu = probe.gpus[0]
        assert gpu.name == "NVIDIA H200"
        assert gpu.driver_version == "580.159.04"
        assert gpu.throttle_reasons == 0x1
        assert gpu.utilization == 0.0
        assert gpu.memory_total_mib == 143771.0
        assert gpu.ecc_uncorrected == 0.0


def test_wait_channels_and_plain_seconds_of_a_real_ps() -> None:
    probe = parse_probe({"ps": (DATA / "gpu" / "ps_wchan.txt").read_text()}, None)
    assert probe.processes is not None
    shell = next(one for one in probe.processes if one.pid == 555)
    assert (shell.wait_channel, shell.elapsed_seconds, shell.ppid) == ("do_wait", 16.0, 1)
    assert shell.args == "bash capture.sh"


@pytest.mark.parametrize(
    ("elapsed", "seconds"),
    [("05:40", 340), ("01:05:40", 3940), ("2-01:00:00", 176400), ("17", 17), ("?", None)],
)
def test_elapsed_time(elapsed: str, seconds: float | None) -> None:
    text = f"  PID STAT ELAPSED RSS COMMAND\n  7 S {elapsed} 1 x\n"
    processes = parse_probe({"ps": text}, None).processes
    assert processes is not None
    assert processes[0].elapsed_seconds == seconds


def test_unknown_values_are_none_and_no_limit_is_no_number() -> None:
    probe = parse_probe(
        {
            "nvidia-smi": "index, name, utilization.gpu [%], fan\n0, X, [N/A], 3\n1, Y, ERR!, 4\n",
            "cgroup.memory.max": "max\n",
            "cgroup.memory.current": "9223372036854771712\n",
            "files": "5 1700000000 /tmp/a b.log\n- - -\n",
            "loadavg": "1.5 0.1 0.2 1/2 3\n",
        },
        None,
    )
    assert probe.gpus is not None
    assert [gpu.utilization for gpu in probe.gpus] == [None, None]
    assert probe.memory_max_bytes is None
    assert probe.memory_current_bytes is None
    assert probe.files is not None
    assert [(one.path, one.size, one.modified_at) for one in probe.files] == [
        ("/tmp/a b.log", 5, 1700000000.0)
    ]
    assert probe.load == 1.5


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nvidia-smi", "sh: nvidia-smi: not found\n"),
        ("nvidia-smi", "No devices were found\n"),
        ("ps", "sh: ps: not found\n"),
        ("ss", "sh: ss: not found\n"),
        ("files", "cat: /x: Permission denied\n"),
    ],
)
def test_a_complaint_is_a_fact(name: str, text: str) -> None:
    probe = parse_probe({name: text}, None)
    assert probe.errors == {name: SafeText(text.strip())}
    assert probe.gpus is None
    assert probe.processes is None


def test_card_that_cannot_be_asked_does_not_hide_the_others() -> None:
    text = (
        "index, name, temperature.gpu\n"
        "Unable to determine the device handle for GPU0: 0000:0A:00.0: Unknown Error\n"
        "1, NVIDIA GeForce RTX 3090, 44\n"
    )
    probe = parse_probe({"nvidia-smi": text}, None)
    assert probe.gpus is not None
    assert [gpu.index for gpu in probe.gpus] == [1]
    assert "device handle" in probe.errors["nvidia-smi"]


WORDS = st.sampled_from(
    ["PID ", "index, ", "name", "LISTEN", "1 2 3 4%", "0x4", ",", "\n", " 99999999999999999999 ",
     "ELAPSED ", "COMMAND", "\x1b[31m", "\u202e", "a/b", "max", "12:34", "-1", "ERR!", "error"]
)  # fmt: skip


@given(
    st.dictionaries(
        st.sampled_from(NAMES) | st.text(max_size=8),
        st.lists(WORDS | st.text(max_size=10), max_size=30).map("".join),
        max_size=10,
    )
)
def test_no_output_of_a_tool_can_break_it(sections: dict[str, str]) -> None:
    probe = parse_probe(sections, 1.0)
    for process in probe.processes or ():
        assert isinstance(process.args, SafeText)
        assert "\x1b" not in process.args
    for line in probe.kernel_lines or ():
        assert isinstance(line, SafeText)


@given(
    written=st.datetimes(datetime(2025, 1, 1), datetime(2027, 12, 31)),  # noqa: DTZ001 - made UTC below
    age=st.floats(0.0, 300 * 86_400.0),
    size=st.integers(0, 10**15),
)
def test_the_time_that_ls_tells_is_read_to_the_minute_or_the_day(
    written: datetime, age: float, size: int
) -> None:
    written = written.replace(tzinfo=UTC)
    recent = age < 180 * 86_400.0
    clock = f"{written:%H:%M}" if recent else f" {written:%Y}"
    line = f"-rw-r--r-- 1 0 0 {size:>9} {written:%b} {written.day:>2} {clock} /var/log/a  b.log\n"
    files = parse_probe({"files": line}, written.timestamp() + age).files
    assert files is not None
    (state,) = files
    assert (state.path, state.size) == ("/var/log/a  b.log", size)
    assert state.modified_at is not None
    assert 0 <= written.timestamp() - state.modified_at < (60 if recent else 86_400)
