import re
import sys
import time
from codecs import getincrementaldecoder
from pathlib import Path

from rich.cells import cell_len

from pty_child import PtyChild

SUPPORT = Path(__file__).parents[1] / "support"
WIDTH, HEIGHT = 160, 45
_PIECE = re.compile(
    r"\x1b\[(\d+);(\d+)H|\x1b\[([0-9;]*)m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[^A-Za-z]*[A-Za-z]|(\r?\n)|([^\x1b])"
)


class Terminal:
    """What a terminal shows: each cell's character and its codes."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], tuple[str, str]] = {}
        self._x = self._y = 0
        self._style = ""
        self._rest = ""
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def feed(self, output: bytes) -> None:
        found = self._rest + self._decoder.decode(output)
        # What may be the begin of a sequence waits for its end.
        cut = found.rfind("\x1b")
        end = len(found) if cut < 0 or _PIECE.match(found, cut) else cut
        self._rest = found[end:]
        for match in _PIECE.finditer(found[:end]):
            row, column, codes, line_end, text = match.groups()
            if row:
                self._x, self._y = int(column) - 1, int(row) - 1
            elif codes is not None:
                self._style = codes.removeprefix("0;") if codes not in ("", "0") else ""
            elif line_end:
                self._x, self._y = 0, self._y + 1
            elif text and self._x < WIDTH and self._y < HEIGHT:
                self.cells[self._x, self._y] = (text, self._style)
                self._x += cell_len(text)


def both_count(before: tuple[str, str] | None, after: tuple[str, str]) -> bool:
    """Tell whether only a figure went on: ages and counts grow between two looks."""
    return before is not None and before[0].isdigit() and after[0].isdigit()


def quiet(child: PtyChild, terminal: Terminal) -> None:
    """Feed the terminal until nothing more comes for a while."""
    end = time.monotonic() + 30.0
    while output := child.read(1.0):
        terminal.feed(output)
        assert time.monotonic() < end, "the frozen screen never comes to rest"


def test_lines_painted_one_by_one_leave_the_screen_that_a_whole_redraw_gives() -> None:
    child = PtyChild(
        [sys.executable, str(SUPPORT / "sample_fleet.py"), "300"],
        width=WIDTH, height=HEIGHT, PYTHONPATH=str(SUPPORT), TEXTUAL_ANIMATIONS="none",
    )  # fmt: skip
    try:
        terminal = Terminal()
        terminal.feed(child.read_until(b"20110148"))
        for key in (b"j", b"j", b" ", b"G", b"k", b"k", b"g", b"j", b"k"):
            child.write(key)
            terminal.feed(child.read(0.3))
        child.write(b"p")
        terminal.feed(child.read_until(b"FROZEN"))
        quiet(child, terminal)
        painted = dict(terminal.cells)
        child.write(b"\x0c")
        quiet(child, terminal)
        differing = {
            at: (painted.get(at), cell)
            for at, cell in terminal.cells.items()
            if painted.get(at) != cell and not both_count(painted.get(at), cell)
        }
        assert not differing
    finally:
        child.end()
