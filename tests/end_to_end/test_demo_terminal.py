import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from terminal import FLEETUI, Tmux, alive, descendants, wait_until


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_the_demo_shows_its_table_in_a_real_terminal_and_q_ends_it(
    tmux: Tmux, size: tuple[int, int], quiet_environment: dict[str, str], tmp_path: Path
) -> None:
    tmux.start([*FLEETUI, "demo", "--hosts", "8"], size, tmp_path, **quiet_environment)
    tmux.wait_for("RTX")
    screen = tmux.wait_for("proofs/h")
    assert "Traceback" not in screen
    tmux.keys("q")
    tmux.wait_for("exit-status=0")
    assert not list(Path(quiet_environment["TMPDIR"]).iterdir())


def test_killing_the_console_leaves_no_process_and_no_file(
    tmux: Tmux, quiet_environment: dict[str, str], tmp_path: Path
) -> None:
    tmux.start([*FLEETUI, "demo", "--hosts", "4"], (120, 40), tmp_path, **quiet_environment)
    tmux.wait_for("RTX")
    pane = int(tmux.run("display-message", "-p", "#{pane_pid}"))
    console = next(
        pid
        for pid in sorted(descendants(pane))
        if b"fleetui\0demo\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
        and b"demo-keeper" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    )
    below = descendants(console)
    assert len(below) >= 3, "keeper, simulator and collector"
    os.kill(console, signal.SIGKILL)
    folder = Path(quiet_environment["TMPDIR"])
    wait_until(lambda: not any(map(alive, below)), "every process of the demo has ended", 10)
    wait_until(lambda: not list(folder.iterdir()), "the demo's folder is gone", 10)


def test_the_installed_wheel_runs_from_an_empty_folder(
    tmux: Tmux, quiet_environment: dict[str, str], tmp_path: Path
) -> None:
    project = Path(__file__).parents[2]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path / "dist", project],
        check=True,
        timeout=180,
        capture_output=True,
    )
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    site = tmp_path / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", site, wheel],
        check=True,
        timeout=180,
        capture_output=True,
    )
    empty = tmp_path / "empty"
    empty.mkdir()
    where = subprocess.run(
        [sys.executable, "-c", "import fleetui; print(fleetui.__file__)"],
        env=quiet_environment | {"PYTHONPATH": str(site)},
        cwd=empty,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert where.startswith(str(site))
    assert list((site / "fleetui" / "styles").glob("*.tcss"))
    tmux.start(
        [*FLEETUI, "demo", "--hosts", "4"],
        (120, 40),
        empty,
        **(quiet_environment | {"PYTHONPATH": str(site)}),
    )
    screen = tmux.wait_for("RTX")
    assert not re.search(r"Traceback|StylesheetError|FileNotFound", screen)
    tmux.keys("q")
    tmux.wait_for("exit-status=0")
