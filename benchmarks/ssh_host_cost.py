"""What following logs costs the host: the script by several shells beside `tail -F`.

    python benchmarks/ssh_host_cost.py [--seconds 10]

For 1 and 20 files, idle and growing (10 lines of 200 bytes a second each), all ways of a load run
side by side at the default interval; a start is measured apart and taken off. CPU is what the
kernel counts for the process and all it ran, in per cent of one core. `no stat` is a host whose
PATH has the tools of POSIX only.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from bare_tools import bare_tools
from fleetui.ssh.scripts import follow_command, follow_order
from fleetui.ssh.settings import FollowPlan, SshSettings

LINES_PER_SECOND = 10
LINE = b"x" * 199 + b"\n"
WAYS = {"sh": "dash", "bash": "bash", "busybox": "busybox sh", "sh, no stat": "dash"}


def cpu_of(command: str, orders: bytes, path: str) -> float:
    """Run the command to its end; returns its CPU seconds and those of all it ran."""
    with tempfile.TemporaryFile() as stdin:
        stdin.write(orders)
        stdin.seek(0)
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"PATH": path},
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def follow(settings: SshSettings, folder: Path, way: str, beats: int) -> float:
    """Return the share of a core that following costs, its start left out."""
    path = str(bare_tools(folder.parent, "bare")) if "no stat" in way else os.environ["PATH"]
    shell, *rest = WAYS[way].split()
    command = follow_command(
        settings,
        FollowPlan(streams=(("bench", f"{folder}/*.log"),)),
        "",
        shell=" ".join([shutil.which(shell) or shell, *rest]),
    )
    start = cpu_of(command, b"1 0\n", path)
    cost = cpu_of(command, follow_order(settings, watched=False) * beats, path)
    return (cost - start) / (beats * settings.beat_seconds)


def tail(folder: Path, seconds: float) -> float:
    """Return the share of a core that `tail -F` costs."""
    files = shlex.join(str(path) for path in folder.iterdir())
    command = f"exec timeout {seconds:g} tail -n 0 -F {files}"
    return cpu_of(command, b"", os.environ["PATH"]) / seconds


def grow(folder: Path, end: threading.Event) -> None:
    """Append lines to each file until the end is set."""
    files = [path.open("ab", buffering=0) for path in folder.iterdir()]
    while not end.wait(1 / LINES_PER_SECOND):
        for file in files:
            file.write(LINE)
    for file in files:
        file.close()


def measure(count: int, beats: int, *, growing: bool) -> None:
    """Measure all ways under one load and print a row each."""
    settings = SshSettings()
    shares: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "logs"
        folder.mkdir()
        bare_tools(Path(place), "bare")
        for number in range(count):
            (folder / f"{number}.log").write_bytes(LINE)
        end = threading.Event()
        runs = [
            threading.Thread(
                target=lambda way=way: shares.update({way: follow(settings, folder, way, beats)})
            )
            for way in WAYS
        ]
        runs.append(
            threading.Thread(
                target=lambda: shares.update(
                    {"tail -F": tail(folder, beats * settings.beat_seconds)}
                )
            )
        )
        writer = threading.Thread(target=grow, args=(folder, end))
        if growing:
            writer.start()
        for run in runs:
            run.start()
        for run in runs:
            run.join()
        end.set()
        if growing:
            writer.join()
    for way in ("tail -F", *WAYS):
        load = "growing" if growing else "idle"
        print(f"{count:>2} files, {load:<7}  {way:<12} {shares[way]:7.2%} of a core")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="about so long each load")
    beats = max(1, round(parser.parse_args().seconds / SshSettings().beat_seconds))
    for count in (1, 20):
        for growing in (False, True):
            measure(count, beats, growing=growing)


if __name__ == "__main__":
    main()
