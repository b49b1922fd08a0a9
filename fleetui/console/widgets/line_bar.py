"""One line of pieces, painted only when it changes."""

from textual.strip import Strip
from textual.widget import Widget

from fleetui.console import palette
from fleetui.console.fitting import cells, fit
from fleetui.console.palette import Piece


class LineBar(Widget):
    """A line with a left and a right part; the left one is cut where the right one begins."""

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
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return the only line."""
        width = self.size.width
        if y:
            return palette.strip([], width, self._ground)
        right = list(self._right)
        while right and cells(right) > width // 2 and len(right) > 1:
            right.pop(0)
        room = max(width - cells(right), 0)
        pieces: list[Piece] = []
        for text, tone in self._left:
            left_room = room - cells(pieces)
            if left_room <= 0:
                break
            pieces.append(
                (text if cells([(text, tone)]) <= left_room else fit(text, left_room), tone)
            )
        pieces.append((" " * max(room - cells(pieces), 0), "text"))
        return palette.strip(pieces + right, width, self._ground)
