"""A chart over time, drawn by plotext in a thread at most once a second."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence

from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from fleetui.console.chart_drawing import draw_chart
from fleetui.console.diff_output import paint_lines
from fleetui.console.palette import Piece, paint_of

Point = tuple[float, float | None]
REDRAW_SECONDS = 1.0
_FIGURE_LOCK = threading.Lock()
"""plotext's figure is one object for the whole process."""


class Chart(Widget):
    """Draws points again only when they or the size changed, and only while it is visible."""

    DEFAULT_CSS = "Chart { height: 1fr; }"

    def __init__(
        self,
        title: str,
        *,
        tone: str = "ok",
        ascii_only: bool = False,
        digits: int = 1,
        monotonic: Callable[[], float] = time.monotonic,
        id: str | None = None,  # noqa: A002 - textual's own name
    ) -> None:
        super().__init__(id=id)
        self._title = title
        self._tone = tone
        self._ascii = ascii_only
        self._digits = digits
        self._window = ""
        self._monotonic = monotonic
        self._points: tuple[Point, ...] | None = None
        self._head: list[Piece] = [(f" {title}  ", "title bold"), ("loading", "dim")]
        self._drawn_for: object = None
        self._drawn_at = float("-inf")
        self._lines: list[list[Piece]] = []
        self._busy = False
        self._utc = False

    def set_points(
        self, points: Sequence[Point], newest: float | None, *, utc: bool = False
    ) -> None:
        """Set the points (epoch seconds, value or unknown), oldest first, and the value now.

        Points are means over steps of time: without a value now the last one is labelled so.
        """
        self._points = tuple(points)
        self._utc = utc
        mean = next((value for _, value in reversed(points) if value is not None), None)
        figure: list[Piece] = [("nothing measured yet", "dim")]
        if newest is not None:
            figure = [(f"{newest:.{self._digits}f}", f"{self._tone} bold")]
        elif mean is not None:
            figure = [(f"avg {mean:.{self._digits}f}", self._tone)]
        window: list[Piece] = [(f"{self._window}  ", "dim")] if self._window else []
        head = [(f" {self._title}  ", "title bold"), *window, *figure]
        if head != self._head:
            self._head = head
            if not self.is_attached or not paint_lines(self, {0: self.render_line(0)}):
                self.refresh(Region(0, 0, self.size.width, 1))

    def set_window(self, name: str) -> None:
        """Say over what time the points go, beside the title."""
        self._window = name

    def advance(self) -> None:
        """Start a redraw in a thread when there is a reason to."""
        wanted = (self._points, self.size, self._utc)
        if (
            self._busy
            or self._points is None
            or not self.is_attached
            or not self.display
            or self.size.height < 4
            or self.size.width < 20
            or wanted == self._drawn_for
            or self._monotonic() - self._drawn_at < REDRAW_SECONDS
        ):
            return
        self._busy = True
        self.run_worker(self._redraw(), name=f"chart {self.id}", group="chart", exit_on_error=False)

    async def _redraw(self) -> None:
        points, size, utc = self._points or (), self.size, self._utc
        try:
            lines = await asyncio.to_thread(self._draw, points, size.width, size.height)
            self._lines, self._drawn_for = lines, (points, size, utc)
            drawn = {y: self.render_line(y) for y in range(self.size.height)}
            if not paint_lines(self, drawn):
                self.refresh()
        except Exception as error:  # noqa: BLE001 - a chart that cannot be drawn must not end the app
            self._lines = [[(f"no chart: {type(error).__name__}", "dim")]]
            self._drawn_for = (points, size, utc)
            self.refresh()
        finally:
            self._drawn_at = self._monotonic()
            self._busy = False

    def _draw(self, points: tuple[Point, ...], width: int, height: int) -> list[list[Piece]]:
        with _FIGURE_LOCK:
            return draw_chart(
                points, width, height - 1, tone=self._tone, ascii_only=self._ascii, utc=self._utc
            )

    def render_line(self, y: int) -> Strip:
        """Return the title with its figure, or one line of the newest drawing."""
        if y == 0:
            return paint_of(self).strip(self._head, self.size.width)
        if y <= len(self._lines):
            return paint_of(self).strip(self._lines[y - 1], self.size.width)
        return paint_of(self).strip([], self.size.width)
