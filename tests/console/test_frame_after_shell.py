import getpass
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from openssh import serving
from pty_child import PtyChild
from terminal import wait_until

SUPPORT = Path(__file__).parents[1] / "support"
WIDTH, HEIGHT = 120, 40
WHOLE = {(x, y) for y in range(HEIGHT) for x in range(WIDTH)}
ENTERED = b"\x1b[?1049h"
_PIECE = re.compile(
    r"\x1b\[(\d+);(\d+)H|\x1b\[H|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[^A-Za-z]*[A-Za-z]|(\r?\n)|(\r)|([^\x1b])"
)


def cells_written(output: bytes) -> set[tuple[int, int]]:
    """Return the cells (column, row) that a terminal gets something to show in."""
    written: set[tuple[int, int]] = set()
    x = y = 0
    for match in _PIECE.finditer(output.decode("utf-8", "replace")):
        row, column, line_end, start, text = match.groups()
        if row:
            x, y = int(column) - 1, int(row) - 1
        elif match[0] == "\x1b[H":
            x = y = 0
        elif line_end:
            x, y = 0, y + 1
        elif start:
            x = 0
        elif text:
            width = cell_len(text)
            written |= {(x + cell, y) for cell in range(width)}
            x += width
    return written


@pytest.fixture
def child(tmp_path: Path) -> Iterator[PtyChild]:
    with serving(tmp_path) as server:
        child = PtyChild(
            [
                sys.executable, str(SUPPORT / "shell_stage.py"), str(server.port),
                str(server.folder / "client_key"), str(server.host_key.with_suffix(".pub")),
            ],
            width=WIDTH, height=HEIGHT, PYTHONPATH=str(SUPPORT), HOME=str(tmp_path),
            LOGIN_AS=getpass.getuser(), TEXTUAL_ANIMATIONS="none",
        )  # fmt: skip
        yield child
        child.end()


def test_the_first_frames_after_a_shell_assume_nothing_of_the_screen(child: PtyChild) -> None:
    child.read_until(b"20110148")
    child.read(1.0)
    for _ in range(2):
        child.write(b"s")
        child.read_until(b"exit or ^D returns")
        child.write(b"clear; echo in-$((40+2))-shell\n")
        child.read_until(b"in-42-shell")
        child.write(b"exit\n")
        output = [child.read_until(ENTERED).rpartition(ENTERED)[2]]
        # A terminal that forgot the screen meanwhile must be able to show all of it.

        def is_whole(output: list[bytes] = output) -> bool:
            output.append(child.read(0.2))
            return cells_written(b"".join(output)) >= WHOLE

        wait_until(is_whole, "every cell of the screen is written")
