"""One line of pieces, painted only when it changes."""

from collections.abc import Sequence

from textual.strip import Strip
from textual.widget import Widget

from fleetui.console.diff_output import paint_lines
from fleetui.console.fitting import cells, fit
from fleetui.console.palette import Piece, paint_of


class LineBar(Widget):
    """A line with a left and a right part; the left one is cut a blank before the right one."""

    DEFAULT_CSS = "LineBar { height: 1; }"

    def __init__(self, *, ground: str = "bar", id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(id=id)
        self._ground = ground
        self._left: tuple[Piece, ...] = ()
        self._right: tuple[Piece, ...] = ()

    def show(self, left: list[Piece], right: list[Piece] | None = None) -> None:
        """Set what the line says."""
        both = (tuple(left), tuple(right or ()))
        if both != (self._left, self._right):
            self._left, self._right = both
            if not self.size or not paint_lines(self, {0: self.render_line(0)}):
                self.refresh()

    def room_beside(self, right: Sequence[Piece]) -> int:
        """Return how many cells the left part has beside a right one."""
        kept = self._kept(right)
        return max(self.size.width - cells(kept) - bool(kept), 0)

    def _kept(self, right: Sequence[Piece]) -> list[Piece]:
        kept = list(right)
        while len(kept) > 1 and cells(kept) > self.size.width * 2 // 3:
            kept.pop(0)
        return kept

    def render_line(self, y: int) -> Strip:
        """Return the only line."""
        width = self.size.width
        if y:
            return paint_of(self).strip([], width, self._ground)
        right = self._kept(self._right)
        room = self.room_beside(self._right)
        pieces: list[Piece] = []
        for text, tone in self._left:
            left_room = room - cells(pieces)
            if left_room <= 0:
                break
            pieces.append(
                (text if cells([(text, tone)]) <= left_room else fit(text, left_room), tone)
            )
        pieces.append((" " * max(width - cells(right) - cells(pieces), 0), "text"))
        return paint_of(self).strip(pieces + right, width, self._ground)
