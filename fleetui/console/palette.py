"""Semantic colours: what a tone looks like. Nothing is told by colour alone."""

from collections.abc import Iterable
from functools import cache

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.theme import Theme

GROUND = "#11161c"
RAISED = "#182028"
LINE = "#2a3641"
TEXT = "#c9d3dc"
MUTED = "#75828f"
TONES: dict[str, str] = {
    "text": TEXT,
    "strong": "#eef3f7",
    "dim": MUTED,
    "faint": "#4a5763",
    "ok": "#84c08d",
    "active": "#7db4e6",
    "busy": "#b9a6e0",
    "warn": "#e5b567",
    "bad": "#f07a72",
    "title": "#9fb3c5",
    "key": "#8ecbe0",
    "line": LINE,
}
"""Tone to foreground. Contrast on `GROUND`: at least 4.5 for every tone that carries words."""

GROUNDS: dict[str, str] = {
    "": "",
    "cursor": "#24384b",
    "cursor-off": "#1d2833",
    "bar": RAISED,
    "match": "#5a4a12",
    "here": "#2c3f30",
    "alarm": "#4a1f22",
}

THEME = Theme(
    name="fleet",
    primary="#7db4e6",
    secondary="#b9a6e0",
    warning=TONES["warn"],
    error=TONES["bad"],
    success=TONES["ok"],
    accent="#8ecbe0",
    foreground=TEXT,
    background=GROUND,
    surface=RAISED,
    panel=RAISED,
    dark=True,
    variables={
        "state-ok": TONES["ok"],
        "state-busy": TONES["busy"],
        "state-warn": TONES["warn"],
        "state-bad": TONES["bad"],
        "edge": LINE,
        "muted": MUTED,
        "scrollbar": LINE,
        "scrollbar-background": GROUND,
        "scrollbar-background-hover": GROUND,
        "scrollbar-background-active": GROUND,
        "scrollbar-corner-color": GROUND,
    },
)

Piece = tuple[str, str]
"""A text and its tone, `tone` or `tone bold` or `tone@ground`."""


@cache
def style(tone: str, ground: str = "") -> Style:
    """Return the style of a tone on a ground; `tone bold` and `tone@ground` are understood."""
    name, _, own_ground = tone.partition("@")
    words = name.split()
    # Every ground is explicit: a partial repaint must not inherit the terminal's own.
    behind = GROUNDS[own_ground or ground] or GROUND
    return Style(
        color=TONES[words[0]],
        bgcolor=behind,
        bold="bold" in words or None,
        reverse="reverse" in words or None,
        strike="strike" in words or None,
    )


def segments(pieces: Iterable[Piece], ground: str = "") -> list[Segment]:
    """Turn pieces into segments; the texts are drawn as they are, never as markup."""
    return [Segment(text, style(tone, ground)) for text, tone in pieces if text]


def strip(pieces: Iterable[Piece], width: int, ground: str = "") -> Strip:
    """Turn pieces into one line of exactly `width` cells."""
    return Strip(segments(pieces, ground)).adjust_cell_length(width, style("text", ground))
