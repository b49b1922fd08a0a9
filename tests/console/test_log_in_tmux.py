import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from terminal import Tmux, wait_until

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    terminal = Tmux()
    terminal.start(
        [sys.executable, str(SUPPORT / "shell_stage.py"), "1", "none"], (90, 30), tmp_path,
        PYTHONPATH=str(SUPPORT), TERM="tmux-256color", HOME=str(tmp_path), LOGIN_AS="nobody",
    )  # fmt: skip
    terminal.wait_for("20110148")
    terminal.keys("3")
    terminal.wait_for("following")
    yield terminal
    terminal.end()


def test_a_copied_line_is_in_the_buffer_of_tmux_whole(tmux: Tmux) -> None:
    tmux.keys("c")
    tmux.wait_for("copied: tmux has it")
    line = tmux.run("show-buffer")
    assert line.strip()
    assert line[:60].rstrip() in tmux.screen()
    tmux.keys("C")
    wait_until(lambda: tmux.run("show-buffer").endswith("\n" + line.rstrip("\n")), "the lines")
    assert line != tmux.run("show-buffer")


def test_plain_lines_are_for_the_terminal_to_select_and_any_key_draws_the_screen(
    tmux: Tmux,
) -> None:
    tmux.keys("c")
    tmux.wait_for("copied: tmux has it")
    line = tmux.run("show-buffer").rstrip("\n")
    tmux.keys("C-l")
    tmux.wait_for("-- any key returns --")
    # tmux joins what it wrapped itself: nothing was cut at the width of the screen.
    assert line in tmux.run("capture-pane", "-p", "-J")
    assert "following" not in tmux.screen()
    # A key that ends programs is no more than a key here.
    tmux.keys("C-c")
    tmux.wait_for("following")
    tmux.keys("q", "q")
    tmux.wait_for("exit-status=0")
