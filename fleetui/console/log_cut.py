"""Cutting a window of a stored log at its line ends, and looking through it. Pure."""

from itertools import pairwise

from fleetui.console.figures import size
from fleetui.console.line_filter import LineFilter
from fleetui.store.interface import LogWindow

STRETCH_BYTES = 65_536


def from_line_start(window: LogWindow) -> tuple[bytes, int]:
    """Cut a window that starts inside a line so that it starts at the next one.

    So does what is stored of a file whose beginning is not.
    """
    if window.offset == 0:
        return window.data, 0
    cut = window.data.find(b"\n") + 1
    return window.data[cut:], window.offset + cut


def lost_words(window: LogWindow) -> str:
    """Say what was lost after this life of the file."""
    if not window.lost_files:
        return ""
    files = "1 file" if window.lost_files == 1 else f"{window.lost_files} files"
    if window.lost_bytes:
        return f"at least {size(window.lost_bytes)} of {files} lost unread"
    return f"{files} moved away, perhaps not read to the end"


def whole_lines(data: bytes, window: LogWindow) -> bytes:
    """Leave a last line that goes on behind the window to the next window."""
    if window.offset + len(window.data) >= window.end_offset:
        return data
    return data[: data.rfind(b"\n") + 1] or data


def first_match(data: bytes, wanted: LineFilter, direction: int) -> int | None:
    """Return where the first (or last) matching line of a block begins."""
    for begin, end in _stretches(data, direction):
        stretch = data[begin:end]
        if wanted.may_match(stretch):
            found = _match_in(stretch, wanted, direction)
            if found is not None:
                return begin + found
    return None


def _stretches(data: bytes, direction: int) -> list[tuple[int, int]]:
    """Cut at line ends, into pieces small enough to look at each line of one."""
    cuts = [0]
    while cuts[-1] < len(data):
        cut = data.find(b"\n", cuts[-1] + STRETCH_BYTES) + 1
        cuts.append(cut or len(data))
    return list(pairwise(cuts))[::direction]


def _match_in(data: bytes, wanted: LineFilter, direction: int) -> int | None:
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if direction > 0:
        place = 0
        for line in lines:
            if wanted.matches(line):
                return place
            place += len(line) + 1
        return None
    place = sum(len(line) + 1 for line in lines)
    for line in reversed(lines):
        place -= len(line) + 1
        if wanted.matches(line):
            return place
    return None
