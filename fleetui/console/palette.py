"""Semantic colours: what a tone looks like in each theme. Nothing is told by colour alone."""

from collections.abc import Iterable, Mapping

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.theme import Theme
from textual.widget import Widget

from fleetui.domain.text import sanitise

Piece = tuple[str, str]
"""A text and its tone, `tone` or `tone bold` or `tone@ground`."""

TERMINAL = "terminal"
MONO = "mono"


class Paint(msgspec.Struct, frozen=True):
    """A theme: tones and grounds as styles; `theme` colours what textual draws itself.

    A ground of a terminal's own colours may be an attribute (`reverse`) that swallows tones.
    """

    name: str
    theme: Theme
    tones: Mapping[str, Style]
    grounds: Mapping[str, Style]
    plain_grounds: frozenset[str] = frozenset()
    """Grounds on which every tone looks the same."""
    styles: dict[tuple[str, str], Style] = msgspec.field(default_factory=dict)

    def style(self, tone: str, ground: str = "") -> Style:
        """Return the style of a tone on a ground; `tone bold` and `tone@ground` are understood."""
        found = self.styles.get((tone, ground))
        if found is None:
            found = self.styles[tone, ground] = self._make(tone, ground)
        return found

    def _make(self, tone: str, ground: str) -> Style:
        name, _, own_ground = tone.partition("@")
        words = name.split()
        chosen = own_ground or ground
        # Every ground is explicit: a partial repaint must not inherit the terminal's own.
        behind = self.grounds[chosen]
        extra = Style(bold="bold" in words or None)
        if chosen in self.plain_grounds:
            return behind + extra
        return self.tones[words[0]] + behind + extra

    def segments(self, pieces: Iterable[Piece], ground: str = "") -> list[Segment]:
        """Turn pieces into segments; the texts are drawn as they are, never as markup.

        The last door before the terminal: whatever is not printable is taken out here, too.
        """
        return [
            Segment(text if text.isprintable() else sanitise(text), self.style(tone, ground))
            for text, tone in pieces
            if text
        ]

    def strip(self, pieces: Iterable[Piece], width: int, ground: str = "") -> Strip:
        """Turn pieces into one line of exactly `width` cells."""
        line = Strip(self.segments(pieces, ground))
        return line.adjust_cell_length(width, self.style("text", ground))


def paint_of(widget: Widget) -> Paint:
    """Return the theme that the widget's app draws with."""
    paint = getattr(widget.app, "paint", None)
    return paint if isinstance(paint, Paint) else PAINTS["dark"]


def _coloured(name: str, tones: dict[str, str], grounds: dict[str, str], *, dark: bool) -> Paint:
    ground = grounds[""]
    return Paint(
        name,
        Theme(
            name=f"fleet-{name}",
            primary=tones["active"],
            secondary=tones["busy"],
            warning=tones["warn"],
            error=tones["bad"],
            success=tones["ok"],
            accent=tones["key"],
            foreground=tones["text"],
            background=ground,
            surface=grounds["bar"],
            panel=grounds["bar"],
            dark=dark,
            variables=_variables(
                ok=tones["ok"], busy=tones["busy"], warn=tones["warn"], bad=tones["bad"],
                edge=tones["line"], muted=tones["dim"], ground=ground,
            ),
        ),
        {tone: Style(color=colour) for tone, colour in tones.items()},
        {name: Style(bgcolor=colour or ground) for name, colour in grounds.items()},
    )  # fmt: skip


def _variables(
    *, ok: str, busy: str, warn: str, bad: str, edge: str, muted: str, ground: str
) -> dict[str, str]:
    return {
        "state-ok": ok,
        "state-busy": busy,
        "state-warn": warn,
        "state-bad": bad,
        "edge": edge,
        "muted": muted,
        "ansi-background": ground,
        "ansi-foreground": muted,
        "scrollbar": edge,
        "scrollbar-background": ground,
        "scrollbar-background-hover": ground,
        "scrollbar-background-active": ground,
        "scrollbar-corner-color": ground,
    }


def _of_the_terminal(name: str, tones: dict[str, str], edge: str, *, coloured: bool) -> Paint:
    """Make a theme of the terminal's own 16 colours, or of attributes alone."""

    def colour(tone: str) -> str:
        return f"ansi_{tone}" if coloured else "ansi_default"

    default = Style(color="default", bgcolor="default")
    ground = "ansi_default"
    return Paint(
        name,
        Theme(
            name=f"fleet-{name}",
            ansi=True,
            primary=colour("cyan"),
            secondary=colour("magenta"),
            warning=colour("yellow"),
            error=colour("red"),
            success=colour("green"),
            accent=colour("cyan"),
            foreground=ground,
            background=ground,
            surface=ground,
            panel=ground,
            boost=ground,
            variables=_variables(
                ok=colour("green"), busy=colour("magenta"), warn=colour("yellow"),
                bad=colour("red"), edge=edge, muted=colour("bright_black"), ground=ground,
            )
            | {
                "ansi-background": "ansi_black",
                "ansi-foreground": "ansi_white",
                "border-blurred": "ansi_default",
                "screen-selection-background": colour("bright_blue"),
                "screen-selection-foreground": "ansi_black",
                "block-cursor-foreground": "ansi_black",
                "block-cursor-background": "ansi_white",
                "input-cursor-background": "ansi_white",
                "input-cursor-foreground": "ansi_black",
                "input-cursor-text-style": "none",
                "input-selection-background": colour("bright_blue"),
                "input-selection-foreground": "ansi_black",
            },
        ),
        {tone: default + Style.parse(words) for tone, words in tones.items()},
        {
            "": Style(bgcolor="default"),
            "cursor": default + Style(reverse=True),
            "cursor-off": Style(bgcolor="default", underline=True),
            "bar": Style(bgcolor="default"),
            "match": default + Style(reverse=True),
            "here": Style(bgcolor="default", underline=True),
            "alarm": default + Style(reverse=True, bold=True),
        },
        frozenset({"cursor", "match", "alarm"}),
    )  # fmt: skip


PAINTS: dict[str, Paint] = {
    TERMINAL: _of_the_terminal(
        TERMINAL,
        {
            "text": "default", "strong": "default bold", "dim": "bright_black",
            "faint": "bright_black", "ok": "green", "active": "cyan", "busy": "magenta",
            "warn": "yellow", "bad": "red", "title": "bold", "key": "cyan",
            "line": "bright_black",
        },
        "ansi_bright_black",
        coloured=True,
    ),
    "dark": _coloured(
        "dark",
        {
            "text": "#c9d3dc", "strong": "#eef3f7", "dim": "#83909d", "faint": "#56646f",
            "ok": "#84c08d", "active": "#7db4e6", "busy": "#b9a6e0", "warn": "#e5b567",
            "bad": "#f07a72", "title": "#9fb3c5", "key": "#8ecbe0", "line": "#2a3641",
        },
        {
            "": "#11161c", "cursor": "#24384b", "cursor-off": "#1d2833", "bar": "#182028",
            "match": "#5a4a12", "here": "#2c3f30", "alarm": "#4a1f22",
        },
        dark=True,
    ),
    "light": _coloured(
        "light",
        {
            "text": "#2b333b", "strong": "#0c1116", "dim": "#5d6973", "faint": "#8a959e",
            "ok": "#1f6b33", "active": "#155a9c", "busy": "#66409f", "warn": "#8a5200",
            "bad": "#b3221b", "title": "#3f4d59", "key": "#0f6580", "line": "#c6ccd2",
        },
        {
            "": "#fbfbf9", "cursor": "#cfe1f2", "cursor-off": "#e4eaef", "bar": "#eef0f1",
            "match": "#ffe58a", "here": "#d8ecd9", "alarm": "#f8d4d1",
        },
        dark=False,
    ),
    "safe": _coloured(
        "safe",
        # Okabe and Ito's palette, lightened for a dark ground: blue is well, orange is bad.
        {
            "text": "#d0d6dc", "strong": "#ffffff", "dim": "#8c96a0", "faint": "#5d6872",
            "ok": "#6fb6f0", "active": "#8fd6f5", "busy": "#c9c9c9", "warn": "#f0e442",
            "bad": "#ff9633", "title": "#b4c0cc", "key": "#8fd6f5", "line": "#333c46",
        },
        {
            "": "#101317", "cursor": "#2b3f57", "cursor-off": "#1f2833", "bar": "#191e24",
            "match": "#5c5410", "here": "#24405c", "alarm": "#5c3410",
        },
        dark=True,
    ),
    MONO: _of_the_terminal(
        MONO,
        {
            "text": "default", "strong": "bold", "dim": "dim", "faint": "dim", "ok": "default",
            "active": "default", "busy": "default", "warn": "bold", "bad": "bold underline",
            "title": "bold", "key": "bold", "line": "dim",
        },
        "ansi_default",
        coloured=False,
    ),
}  # fmt: skip
"""Theme name to theme; the first is the default."""


def paint_named(name: str, *, no_color: bool) -> Paint:
    """Return a theme; without colours wanted it is the one of attributes alone."""
    return PAINTS[MONO] if no_color else PAINTS.get(name, PAINTS[TERMINAL])
