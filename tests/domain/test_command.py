"""Commands that only look: nothing else passes, and a real shell sees the words that were read."""

import posixpath
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetui.domain.command import Command, CommandRefusedError, parse_command
from fleetui.domain.command_rules import RULES

PASS = [
    "nvidia-smi",
    "nvidia-smi -L",
    "nvidia-smi -q -i 0 -d MEMORY,ECC",
    "nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader",
    "nvidia-smi topo -m",
    "ps -eo pid,stat,args --sort=-rss | head -20",
    "ps aux | grep -v 'ps aux' | sort | uniq -c",
    "df -h /tmp",
    "tail -n 3 /tmp/cuzk*.log",
    "cat /proc/meminfo | grep -i memavailable",
    "head -c 200 /data/32gbench/c1.json",
    "curl -s http://127.0.0.1:9821/status",
    "cuzk-bench status",
    "sysctl -n vm.swappiness",
    "date +%s",
    "ip -br addr show",
    "ls -l /dev/nvidia*",
    "stat /dev/shm",
    "grep -c 'a|b; $(c)' /tmp/x",
    'grep "two words" /tmp/x',
    "top -b -n 1 | head -n 5",
    "grep token /tmp/cuzk.log",
    "cat /proc/1/environ",
    "cat /proc/1/status /proc/loadavg",
    "printenv",
    "vmstat -S M 1 5",
    "vmstat",
    "ps aux",
    "ps -p 1,2 -o pid,args",
    "ls -l /proc/self/fd",
]
REFUSE = [
    ("", "no command"),
    ("rm -rf /tmp/x", "not among the programs"),
    ("sh -c ls", "not among the programs"),
    ("env ls", "not among the programs"),
    ("find / -delete", "not among the programs"),
    ("/bin/cat /tmp/x", "not among the programs"),
    ("A=1 ls", "not among the programs"),
    ("ls > /tmp/x", "> is not allowed"),
    ("ls; rm x", "; is not allowed"),
    ("ls && rm x", "& is not allowed"),
    ("ls & ", "& is not allowed"),
    ("ls || rm x", "has no program"),
    ("ls | tee /tmp/x", "tee is not among"),
    ("ls | ", "has no program"),
    ("cat $(ls)", "$ is not allowed"),
    ("cat `ls`", "` is not allowed"),
    ('cat "$HOME"', "$ within double quotes"),
    ("cat /tmp/{a,b}", "{ is not allowed"),
    ("cat ~/x", "~ is not allowed"),
    ("cat /tmp/x # y", "# is not allowed"),
    ("cat \\x", "\\ is not allowed"),
    ("cat /tmp/x\nrm y", "control characters"),
    ("cat 'x", "is not closed"),
    ("cat *", "a pattern must stand"),
    ("cat /*/x", "a pattern must stand"),
    ("ls *", "a pattern must stand"),
    ("cat /proc/kms?", "a pattern must not"),
    ("cat //proc/1/e*", "a pattern must not"),
    ("cat /./proc/1/e*", "a pattern must not"),
    ("cat /var//run/./x*", "a pattern must not"),
    ("cat /root/.s*/config", "a pattern must stand"),
    ("cat /root/*", "may mean a file of keys"),
    ("cat /tmp/id_r?a", "may mean a file of keys"),
    ("head //dev//watchdog0", "not read"),
    ("head dev/zero", "not read"),
    ("cat /proc//kmsg", "not read"),
    ("cat /proc/./kmsg", "not read"),
    ("cat /proc/self/fd/3", "not read"),
    ("cat /proc/1/task/1/fd/3", "not read"),
    ("cat /proc/1/root/etc/x", "not read"),
    ("cat /proc/1/cwd/x", "not read"),
    ("head -c 5 /proc/1/mem", "not read"),
    ("cat /x/watchdog1", "not read"),
    ("cat /dev", "not read"),
    ("cat /proc/1/environ | cut -d= -f2", "not read"),
    ("cut -d= -f2 /proc/1/environ", "not read"),
    ("tail -c 20 /proc/self/environ", "not read"),
    ("printenv HF_X", "too many words"),
    ("printenv | cut -d= -f2", "must stand alone"),
    ("cat /root/.ssh/id_ed25519", "not read"),
    ("cat .netrc", "not read"),
    ("grep -ea .netrc", "not read"),
    ("grep x /root/.vast_api_key", "not read"),
    ("head /etc/shadow", "not read"),
    ("cat /etc/ssl/x.key", "not read"),
    ("lspci -q", "-q is not among"),
    ("tail +1f /tmp/x", "not among what may be asked"),
    ("tail -1f /tmp/x", "-1f is not among"),
    ("vmstat 1", "with these words"),
    ("vmstat -S M 1", "with these words"),
    ("ps axe", "not among what may be asked"),
    ("ps aux e", "not among what may be asked"),
    ("cat -", "wait for input"),
    ("grep x -", "wait for input"),
    ("cat /dev/watchdog", "not read"),
    ("cat /proc/kmsg", "not read"),
    ("cat /tmp/../dev/watchdog", "not read"),
    ("head -c 1 /proc/self/root/dev/zero", "not read"),
    ("cat /sys/kernel/tracing/trace_pipe", "not read"),
    ("cat", "wait for input"),
    ("grep x", "wait for input"),
    ("tail -f /tmp/x", "-f is not among"),
    ("tail --fol /tmp/x", "--fol is not among"),
    ("sort -o /tmp/x", "-o is not among"),
    ("uniq /tmp/a /tmp/b", "too many words"),
    ("nvidia-smi -r", "with these words"),
    ("nvidia-smi -i -r", "with these words"),
    ("nvidia-smi -pm 1", "with these words"),
    ("nvidia-smi --gpu-reset", "with these words"),
    ("nvidia-smi '-L -r'", "with these words"),
    ("date -s 12:00", "-s is not among"),
    ("date 010112002026", "not among what may be asked"),
    ("hostname other", "too many words"),
    ("dmesg -C", "-C is not among"),
    ("ss -K", "-K is not among"),
    ("ip link set eth0 down", "with these words"),
    ("sysctl -p", "with these words"),
    ("sysctl --system", "with these words"),
    ("sysctl vm.swappiness=1", "with these words"),
    ("curl -o /tmp/x http://127.0.0.1:9821/status", "with these words"),
    ("curl http://10.0.0.1:80/status", "with these words"),
    ("head -n", "needs a value"),
    ("ls " + "x" * 1000, "at most 1000"),
    ("|".join(["ls"] * 9), "at most 8"),
]


@pytest.mark.parametrize("text", PASS)
def test_what_only_looks_passes(text: str) -> None:
    assert parse_command(text).script


@pytest.mark.parametrize(("text", "reason"), REFUSE)
def test_all_else_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(CommandRefusedError) as refused:
        parse_command(text)
    assert reason in str(refused.value)


@pytest.fixture(scope="module")
def listening_shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a folder in which every allowed program only notes the words it was given."""
    folder = tmp_path_factory.mktemp("listening")
    programs = folder / "programs"
    programs.mkdir()
    (folder / "work").mkdir()
    listener = programs / "cat"
    listener.write_text(
        '#!/bin/sh\nset -f\n{ printf "%s\\0" "${0##*/}" "$@"; printf "\\1"; } > "$NOTES.$$"\n'
        'mv "$NOTES.$$" "$NOTES-${0##*/}-$$"\n'
    )
    listener.chmod(0o755)
    for name in RULES:
        if name != "cat":
            (programs / name).symlink_to(listener)
    mover = shutil.which("mv")
    assert mover is not None
    (programs / "mv").symlink_to(mover)
    yield folder
    shutil.rmtree(folder)


WORDS = st.sampled_from(
    ["-n", "-c", "5", "/tmp/x", "/no/such/*.log", "'a b'", '"it\'s"', "-L", "x=1", "''", "status",
     "-eo", "+%s", "'$(touch x)'", "'; touch x'", "'|'", "addr", "\"'\"", "'\"`'"]
)  # fmt: skip
TEXTS = st.one_of(
    st.lists(
        st.tuples(st.sampled_from(sorted(RULES)), st.lists(WORDS, max_size=4)), min_size=1,
        max_size=3,
    ).map(lambda programs: " | ".join(" ".join([name, *words]) for name, words in programs)),
    st.tuples(
        st.sampled_from(sorted(RULES)),
        st.text(alphabet="ab/*?[]'\"-=|;&<>$`(){}\\~#! \n\té\x1b0", max_size=25),
    ).map(" ".join),
    st.text(max_size=40),
)  # fmt: skip


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=TEXTS)
def test_a_shell_sees_the_words_that_were_read_and_does_nothing_else(
    listening_shell: Path, text: str
) -> None:
    try:
        command = parse_command(text)
    except CommandRefusedError:
        return
    assert heard(listening_shell, command) == sorted(
        [word.text for word in program] for program in command.programs
    )


NAMES = st.lists(
    st.sampled_from(
        ["/", "//", "/./", ".", "proc", "self", "1", "task", "fd", "root", "cwd", "kmsg", "environ",
         "dev", "zero", "watchdog", "etc", "shadow", "tmp", "x.log", "var", "run", ".ssh", "id_rsa"]
    ),
    min_size=1, max_size=9,
).map("".join)  # fmt: skip
READERS = st.sampled_from(["cat", "head -c 9", "grep x", "md5sum", "cat /tmp/x", "wc"])


@settings(max_examples=500)
@given(reader=READERS, name=NAMES)
def test_no_spelling_of_a_name_reaches_what_is_not_read(reader: str, name: str) -> None:
    try:
        parse_command(f"{reader} {name}")
    except CommandRefusedError:
        return
    # An independent normaliser; a relative name counts as of the root.
    true_name = posixpath.normpath("/" + name.lstrip("/"))
    parts = true_name.split("/")[1:]
    assert parts[0] != "dev"
    assert true_name != "/proc/kmsg"
    if parts[0] == "proc":
        assert not {"fd", "root", "cwd"} & set(parts[2:])
        assert "environ" not in parts[2:] or reader == "cat"
    assert not {".ssh", "watchdog"} & set(parts)
    assert parts[-1] not in ("shadow", "id_rsa")


def heard(folder: Path, command: Command) -> list[list[str]]:
    """Run it by a real shell; returns the words that each program was given."""
    notes = folder / "note"
    done = subprocess.run(
        ["/bin/sh", "-c", command.script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=folder / "work",
        env={"PATH": str(folder / "programs"), "NOTES": str(notes)},
        timeout=30,
        check=False,
    )
    assert done.stderr == b""
    assert not list((folder / "work").iterdir()), "something was written"
    found = []
    for note in folder.glob("note*"):
        words = note.read_bytes()
        assert words.endswith(b"\0\1")
        found.append(words[:-2].decode().split("\0"))
        note.unlink()
    return sorted(found)
