"""A plotext drawing as lines of pieces. plotext is imported on the first drawing only."""

import re
import time
from collections.abc import Sequence

from fleetui.console.fitting import fit
from fleetui.console.palette import Piece

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def reduce_points(
    points: Sequence[tuple[float, float | None]], columns: int
) -> list[tuple[float, float]]:
    """Return at most `columns` points: the mean of the known values of equal spans of time."""
    known = [(at, value) for at, value in points if value is not None]
    if len(known) <= columns:
        return known
    start, end = known[0][0], known[-1][0]
    span = (end - start) / columns or 1.0
    buckets: dict[int, list[float]] = {}
    for at, value in known:
        buckets.setdefault(min(int((at - start) / span), columns - 1), []).append(value)
    return [
        (start + (index + 0.5) * span, sum(values) / len(values))
        for index, values in sorted(buckets.items())
    ]


def draw_chart(
    points: Sequence[tuple[float, float | None]],
    width: int,
    height: int,
    *,
    title: str,
    tone: str,
    ascii_only: bool,
) -> list[list[Piece]]:
    """Draw points into `width` x `height` cells; the first line is the title with the newest value.

    Not thread-safe: plotext has one figure a process.
    """
    known = reduce_points(points, max(width - 10, 8))
    newest = f"{known[-1][1]:.1f}" if known else "nothing measured yet"
    head: list[Piece] = [(f" {title}  ", "title bold"), (newest, f"{tone} bold" if known else "dim")]
    if len(known) < 2:
        return [head]
    import plotext  # noqa: PLC0415 - costs 100 ms, so only when a chart is drawn

    figure = plotext.figure
    figure.clear()
    figure.plot_size(width, height - 2)
    first = known[0][0]
    xs = [(at - first) / 3600 for at, _ in known]
    ys = [value for _, value in known]
    marker = "*" if ascii_only else "braille"
    figure.draw(figure.signal(xs, ys, marker=marker).lines())
    rows = _ESCAPES.sub("", figure.build().string()).splitlines()
    lines = [head, *(_toned(fit(row, width), tone) for row in rows[:-1])]
    return [*lines, _times(rows[-2] if len(rows) > 1 else "", first, known[-1][0], width)]


def _toned(row: str, tone: str) -> list[Piece]:
    """Colour the drawing apart from its frame and labels."""
    pieces: list[Piece] = []
    for character in row:
        drawn = "⠀" <= character <= "⣿" or character == "*"
        kind = tone if drawn else "line" if character in "┌┐└┘│─┤├┬┴┼" else "dim"
        if pieces and (pieces[-1][1] == kind or character == " "):
            pieces[-1] = (pieces[-1][0] + character, pieces[-1][1])
        else:
            pieces.append((character, kind))
    return pieces


def _times(axis: str, first: float, last: float, width: int) -> list[Piece]:
    """Write local times under the axis' ticks."""
    places = [index for index, character in enumerate(axis) if character in "┬+"]
    left = axis.find("└")
    line = [" "] * width
    for place in places:
        share = (place - left - 1) / max(width - left - 3, 1)
        text = time.strftime("%H:%M", time.localtime(first + share * (last - first)))
        start = min(max(place - 2, 0), width - 5)
        if "".join(line[max(start - 1, 0) : start + 6]).strip():
            continue
        line[start : start + 5] = text
    return [("".join(line), "dim")]
