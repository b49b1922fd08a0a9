"""A plotext drawing as lines of pieces. plotext is imported on the first drawing only."""

import math
import re
import time
from collections.abc import Sequence

from fleetui.console.fitting import fit
from fleetui.console.palette import Piece

_TIME_STEPS = (60, 300, 600, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 604_800)
_ASCII_FRAME = str.maketrans("┌┐└┘│─┤├┬┴┼", "++++|-+++++")
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
    tone: str,
    ascii_only: bool,
    utc: bool = False,
) -> list[list[Piece]]:
    """Draw points into `width` x `height` cells; nothing when fewer than two are known.

    Not thread-safe: plotext has one figure a process.
    """
    known = reduce_points(points, max(width - 10, 8))
    if len(known) < 2:
        return []
    import plotext  # noqa: PLC0415 - costs 100 ms, so only when a chart is drawn

    plotext.terminal.limit(width=False, height=False)
    figure = plotext.figure
    figure.clear()
    figure.plot_size(width - 1, height)
    start, end = known[0][0], known[-1][0]
    values = value_ticks(max(value for _, value in known), (height - 2) // 2)
    times = time_ticks(start, end, (width - 12) // 12, utc=utc)
    across, upright = figure.ruler("x"), figure.ruler("y")
    # The signal is drawn against hours since the start: plotext rounds large numbers.
    across.lim(0.0, (end - start) / 3600)
    across.ticks([(at - start) / 3600 for at, _ in times], [label for _, label in times])
    upright.lim(0.0, values[-1])
    upright.ticks(values, [f"{value:g}" for value in values])
    marker = "*" if ascii_only else "braille"
    xs = [(at - start) / 3600 for at, _ in known]
    figure.draw(figure.signal(xs, [value for _, value in known], marker=marker).lines())
    rows = _ESCAPES.sub("", figure.build().string()).splitlines()
    if ascii_only:
        rows = [row.translate(_ASCII_FRAME) for row in rows]
    return [_toned(fit(" " + row, width), tone) for row in rows]


def value_ticks(top: float, count: int) -> list[float]:
    """Return round values from 0 to at least `top`, about `count` steps."""
    if top < 1e-9:
        return [0.0, 1.0]
    rough = top / max(min(count, 5), 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= rough * 0.999)
    steps = max(math.ceil(top / step - 1e-9), 1)
    return [round(step * index, 10) for index in range(steps + 1)]


def time_ticks(
    start: float, end: float, count: int, *, utc: bool = False
) -> list[tuple[float, str]]:
    """Return at most about `count` round times between two epoch seconds, with labels."""
    span = max(end - start, 1.0)
    rough = span / max(count, 1)
    step = next((nice for nice in _TIME_STEPS if nice >= rough), _TIME_STEPS[-1])
    split = time.gmtime if utc else time.localtime
    shift = split(start).tm_gmtoff
    first = float(math.ceil((start + shift) / step) * step - shift)
    form = "%H:%M" if step < 86_400 else "%d %b"
    ticks: list[tuple[float, str]] = []
    while first <= end and len(ticks) < 100:
        if first >= start:
            ticks.append((first, time.strftime(form, split(first))))
        first += step
    return ticks


def _toned(row: str, tone: str) -> list[Piece]:
    """Colour the drawing apart from its frame and labels."""
    pieces: list[Piece] = []
    for character in row:
        drawn = "⠀" <= character <= "⣿" or character == "*"
        kind = tone if drawn else "line" if character in "┌┐└┘│─┤├┬┴┼+|-" else "dim"
        if pieces and (pieces[-1][1] == kind or character == " "):
            pieces[-1] = (pieces[-1][0] + character, pieces[-1][1])
        else:
            pieces.append((character, kind))
    return pieces
