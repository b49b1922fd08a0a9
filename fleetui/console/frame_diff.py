"""What the terminal shows, cell by cell, and the shortest way from there to the next frame.

Textual re-emits whole rows; this sends changed cells only (facts: perf.md section 2).
"""

from collections.abc import Iterable
from itertools import repeat

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.style import Style
from textual.strip import Strip

Cell = tuple[str, Style | None]
"""One cell's text and style. The second half of a wide character is an empty text."""

GAP_WORTH_WRITING = 4
"""Unchanged cells between two changes that are cheaper to write again than to jump over."""
UNKNOWN: Cell = ("\x00", None)


class FrameDiff:
    """The cells on the terminal. `put` says what a part of a line should be; `take` the way."""

    def __init__(self) -> None:
        self._lines: dict[int, list[Cell]] = {}
        self._wanted: dict[int, list[Cell]] = {}
        self._strips: dict[tuple[int, int], Strip] = {}

    def forget(self) -> None:
        """Assume nothing of the terminal: the next frame is written whole."""
        self._lines.clear()
        self._wanted.clear()
        self._strips.clear()

    def put(self, x: int, y: int, strips: Iterable[Strip]) -> bool:
        """Set what stands at a place of a line; false when it holds control codes."""
        for strip in strips:
            length = strip.cell_length
            if self._strips.get((x, y)) is not strip:
                cells = cells_of(strip)
                if cells is None:
                    return False
                line = self._wanted.get(y)
                if line is None:
                    line = self._wanted[y] = list(self._lines.get(y, ()))
                if len(line) < x + len(cells):
                    line.extend([UNKNOWN] * (x + len(cells) - len(line)))
                line[x : x + len(cells)] = cells
                self._overwrite_strips(x, y, length)
                self._strips[x, y] = strip
            x += length
        return True

    def take(self, codes: "StyleCodes") -> str:
        """Return the bytes that bring the terminal to what was put; nothing for no change."""
        parts: list[str] = []
        for y, wanted in sorted(self._wanted.items()):
            shown = self._lines.get(y, [])
            for start, end in _changes(shown, wanted):
                parts.append(f"\x1b[{y + 1};{start + 1}H")
                parts.append(_write(wanted[start:end], codes))
            self._lines[y] = wanted
        self._wanted.clear()
        return "".join(parts)

    def _overwrite_strips(self, x: int, y: int, length: int) -> None:
        """Forget the strips that the new one covers in part: they no longer stand there."""
        stale = [
            place
            for place, strip in self._strips.items()
            if place[1] == y and place[0] < x + length and place[0] + strip.cell_length > x
        ]
        for place in stale:
            del self._strips[place]


class StyleCodes:
    """Styles as the terminal's codes."""

    def __init__(self, color_system: ColorSystem) -> None:
        self._color_system = color_system
        self._codes: dict[Style | None, str] = {None: ""}

    def __getitem__(self, style: Style | None) -> str:
        codes = self._codes.get(style)
        if codes is None:
            assert style is not None  # noqa: S101 - `None` is in the table from the start
            codes = Strip.render_ansi(style, self._color_system)
            self._codes[style] = codes
        return codes


def cells_of(strip: Strip) -> list[Cell] | None:
    """Split a strip into cells; `None` when it holds control codes or links."""
    cells: list[Cell] = []
    for text, style, control in strip:
        if control or (style is not None and style.link):
            return None
        if text.isascii():
            cells.extend(zip(text, repeat(style)))
            continue
        for character in text:
            width = cell_len(character)
            if width == 0 and cells:
                cells[-1] = (cells[-1][0] + character, cells[-1][1])
            else:
                cells.append((character, style))
                cells.extend([("", style)] * (width - 1))
    return cells


def _changes(shown: list[Cell], wanted: list[Cell]) -> list[tuple[int, int]]:
    """Return the spans to write: changed cells, near ones joined, wide characters whole."""
    if shown == wanted and UNKNOWN not in wanted:
        return []
    spans: list[tuple[int, int]] = []
    known = len(shown)
    for index, cell in enumerate(wanted):
        if cell == UNKNOWN or (index < known and shown[index] == cell):
            continue
        start, end = index, index + 1
        while start > 0 and not wanted[start][0]:
            start -= 1
        while end < len(wanted) and not wanted[end][0]:
            end += 1
        if spans and start - spans[-1][1] <= GAP_WORTH_WRITING:
            between = wanted[spans[-1][1] : start]
            if UNKNOWN not in between:
                spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
                continue
        spans.append((start, end))
    return spans


def _write(cells: list[Cell], codes: StyleCodes) -> str:
    parts: list[str] = []
    now = ""
    for text, style in cells:
        wanted = codes[style]
        if wanted != now:
            parts.append(f"\x1b[0;{wanted}m" if now else f"\x1b[{wanted}m")
            if not wanted:
                parts[-1] = "\x1b[0m"
            now = wanted
        parts.append(text)
    if now:
        parts.append("\x1b[0m")
    return "".join(parts)
