import re

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from fleetui.console.diff_output import _put
from fleetui.console.frame_diff import FrameDiff, StyleCodes

WIDTH, HEIGHT = 12, 3
STYLES = [
    Style(color="#112233", bgcolor="#445566"),
    Style(color="#ffffff", bgcolor="#000000", bold=True),
    Style(color="#00ff00", bgcolor="#112233", reverse=True),
]
CONSOLE = Console(color_system="truecolor", force_terminal=True)
_PIECE = re.compile(r"\x1b\[([0-9;]*)([Hm])|(\n)|([^\x1b\n])")


class Terminal:
    """Just enough of a terminal to see what a sequence does to its cells."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], tuple[str, str]] = {}
        self.x = self.y = 0
        self.style = ""

    def feed(self, sequence: str) -> None:
        position = 0
        for match in _PIECE.finditer(sequence):
            assert match.start() == position, sequence[position : match.start()]
            position = match.end()
            numbers, verb, feed, text = match.groups()
            if verb == "H":
                y, _, x = numbers.partition(";")
                self.y, self.x = int(y) - 1, int(x) - 1
            elif verb == "m":
                self.style = numbers.removeprefix("0;") if numbers not in ("", "0") else ""
            elif feed:
                self.y, self.x = self.y + 1, 0
            else:
                self.write(text)
        assert position == len(sequence)

    def write(self, text: str) -> None:
        width = cell_len(text)
        if width == 0:
            old, style = self.cells.get((self.x - 1, self.y), ("", ""))
            self.cells[self.x - 1, self.y] = (old + text, style)
            return
        self.cells[self.x, self.y] = (text, self.style)
        for more in range(1, width):
            self.cells[self.x + more, self.y] = ("", self.style)
        self.x += width


@st.composite
def lines(draw: st.DrawFn) -> Strip:
    """Draw a strip of exactly WIDTH cells, with wide characters among the others."""
    segments: list[Segment] = []
    left = WIDTH
    while left:
        text = draw(st.text("ab ─●漢", min_size=1, max_size=left))
        while cell_len(text) > left:
            text = text[:-1] or "x"
        segments.append(Segment(text, draw(st.sampled_from(STYLES))))
        left -= cell_len(text)
    return Strip(segments)


FRAMES = st.lists(st.lists(lines(), min_size=HEIGHT, max_size=HEIGHT), min_size=1, max_size=5)


@given(FRAMES)
def test_the_diff_shows_what_stock_output_shows(frames: list[list[Strip]]) -> None:
    stock, ours, frame = Terminal(), Terminal(), FrameDiff()
    codes = StyleCodes(ColorSystem.TRUECOLOR)
    for strips in frames:
        update = LayoutUpdate([[strip] for strip in strips], Region(0, 0, WIDTH, HEIGHT))
        stock.feed(update.render_segments(CONSOLE))
        assert _put(frame, update)
        ours.feed(frame.take(codes))
        assert ours.cells == stock.cells
        assert frame.take(codes) == ""
        assert _put(frame, update)
        assert frame.take(codes) == "", "the same frame again costs nothing"


@given(
    FRAMES,
    st.lists(st.tuples(st.integers(0, HEIGHT - 1), st.integers(0, 5), lines()), max_size=8),
)
def test_partial_updates_too(
    frames: list[list[Strip]], parts: list[tuple[int, int, Strip]]
) -> None:
    stock, ours, frame = Terminal(), Terminal(), FrameDiff()
    codes = StyleCodes(ColorSystem.TRUECOLOR)
    update = LayoutUpdate([[strip] for strip in frames[0]], Region(0, 0, WIDTH, HEIGHT))
    stock.feed(update.render_segments(CONSOLE))
    _put(frame, update)
    ours.feed(frame.take(codes))
    for y, cut, strip in parts:
        plain = Strip([Segment("ab─ ●x"[:6] * 2, STYLES[cut % 3])]) if cut else strip
        left, right = plain.crop(0, 6), plain.crop(6, WIDTH)
        chops: list[dict[int, Strip | None]] = [{} for _ in range(HEIGHT)]
        ends: list[list[int]] = [[] for _ in range(HEIGHT)]
        chops[y], ends[y] = {0: left, 6: None if cut % 2 else right}, [6, WIDTH]
        part = ChopsUpdate(chops, [(y, 0, WIDTH)], ends)
        stock.feed(part.render_segments(CONSOLE))
        assert _put(frame, part)
        ours.feed(frame.take(codes))
        assert ours.cells == stock.cells


def test_one_changed_figure_costs_a_few_bytes() -> None:
    frame, codes = FrameDiff(), StyleCodes(ColorSystem.TRUECOLOR)
    frame.put(0, 0, [Strip([Segment("x" * 200, STYLES[0])])])
    frame.take(codes)
    frame.put(0, 0, [Strip([Segment("x" * 100 + "7" + "x" * 99, STYLES[0])])])
    assert len(frame.take(codes)) < 60
    frame.forget()
    frame.put(0, 0, [Strip([Segment("x" * 200, STYLES[0])])])
    assert len(frame.take(codes)) > 200


def test_control_codes_and_links_are_left_to_textual() -> None:
    frame = FrameDiff()
    assert not frame.put(0, 0, [Strip([Segment("x", Style(link="https://example.test"))])])
