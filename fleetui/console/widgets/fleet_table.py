"""The fleet table: line API, keyed by id, painting only the visible rows that changed."""

import msgspec
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fleetui.console import palette
from fleetui.console.columns import GAP, Layout, Scene, layout
from fleetui.console.fitting import fit
from fleetui.console.fleet_state import FleetState
from fleetui.console.glyphs import Glyphs
from fleetui.console.ordering import Selection, select
from fleetui.console.palette import Piece
from fleetui.console.widgets.plain_scrollbar import make_plain
from fleetui.domain.reading import FleetRow


class _Drawn(msgspec.Struct, frozen=True):
    """What a row looked like when it was drawn, to tell whether it must be drawn again."""

    row: FleetRow
    pieces: tuple[Piece, ...]
    ground: str
    strip: Strip


class FleetTable(ScrollView, can_focus=True):
    """Rows of the fleet in the operator's order; the cursor belongs to an id, not to a place.

    The first line is the column titles and does not scroll.
    """

    DEFAULT_CSS = "FleetTable { overflow-x: hidden; overflow-y: auto; }"

    class Moved(Message):
        """The cursor stands on another instance (or on none)."""

        def __init__(self, instance_id: int | None) -> None:
            super().__init__()
            self.instance_id = instance_id

    class Opened(Message):
        """A row was clicked twice."""

    def __init__(self, state: FleetState, glyphs: Glyphs, *, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(id=id)
        self._state = state
        self._glyphs = glyphs
        self.selection = Selection()
        self.order: list[int] = []
        self.cursor_id: int | None = None
        self.pinned = False
        """While a dialog is open the order is frozen, so that nothing moves under it."""
        self._at_rest = True
        self._places: dict[int, int] = {}
        self._layout: Layout = layout(80)
        self._drawn: dict[int, _Drawn] = {}
        self._titles: Strip | None = None

    # -- what is shown -----------------------------------------------------------------------

    @property
    def cursor_place(self) -> int:
        """The cursor's place in the order, 0 when there is none."""
        return 0 if self.cursor_id is None else self._places.get(self.cursor_id, 0)

    @property
    def page(self) -> int:
        """How many rows are visible at once."""
        return max(self.scrollable_content_region.height - 1, 1)

    def set_selection(self, selection: Selection) -> None:
        """Filter and order anew."""
        self.selection = selection
        self._titles = None
        self.put_in_order()
        self.refresh()

    def put_in_order(self) -> None:
        """Bring the order up to date; the cursor's row keeps its place on the screen."""
        now = self._state.now()
        if self.pinned:
            order = [item for item in self.order if item in self._state.rows]
        else:
            order = [row.instance_id for row in select(self._rows(), self.selection, now)]
        if order != self.order:
            self._reorder(order)
        if self.order and (self.cursor_id is None or self._at_rest):
            # Until the operator moves, the cursor stands on what matters most.
            self._set_cursor(self.order[0])
            self._scroll(0)

    def update_rows(self, changed: set[int]) -> None:
        """Take changed rows in: arrange, then paint those visible lines that look different."""
        for instance_id in changed:
            if instance_id not in self._state.rows:
                self._drawn.pop(instance_id, None)
        if changed or self.selection.query.terms:
            self.put_in_order()
        self.repaint_changed()

    def repaint_changed(self) -> None:
        """Paint the visible rows whose words or colours differ from what was painted."""
        if not self.is_attached or not self.size.height:
            return
        top = self.scroll_offset.y
        scene = self._scene()
        for line in range(min(self.page, len(self.order) - top)):
            instance_id = self.order[top + line]
            before = self._drawn.get(instance_id)
            if self._draw(instance_id, scene) is not before:
                self.refresh(Region(0, line + 1, self.size.width, 1))

    def _rows(self) -> list[FleetRow]:
        rows = (self._state.row(instance_id) for instance_id in self._state.rows)
        return [row for row in rows if row is not None]

    def _reorder(self, order: list[int]) -> None:
        old_place, top = self.cursor_place, self.scroll_offset.y
        visible = top <= old_place < top + self.page
        self.order = order
        self._places = {instance_id: place for place, instance_id in enumerate(order)}
        self.virtual_size = Size(self.size.width, len(order) + 1)
        lost = self.cursor_id is not None and self.cursor_id not in self._places
        if lost or (self.cursor_id is None and order):
            self._set_cursor(order[min(old_place, len(order) - 1)] if order else None)
        if visible and self.cursor_id is not None and not self._at_rest:
            wanted = self.cursor_place - (old_place - top)
            self._scroll(wanted)
        self.refresh()

    # -- the cursor --------------------------------------------------------------------------

    def move(self, rows: int) -> None:
        """Move the cursor by rows; it stops at the ends."""
        self.go(self.cursor_place + rows)

    def go(self, place: int) -> None:
        """Put the cursor at a place of the order."""
        if not self.order:
            return
        self._at_rest = False
        place = min(max(place, 0), len(self.order) - 1)
        before = self.cursor_place
        self._set_cursor(self.order[place])
        top = self.scroll_offset.y
        if place < top:
            self._scroll(place)
        elif place >= top + self.page:
            self._scroll(place - self.page + 1)
        for changed in (before, place):
            self._repaint_place(changed)

    def go_to(self, instance_id: int) -> bool:
        """Put the cursor on an instance; false when the filter hides it."""
        if instance_id not in self._places:
            return False
        self.go(self._places[instance_id])
        return True

    def _set_cursor(self, instance_id: int | None) -> None:
        if instance_id != self.cursor_id:
            self.cursor_id = instance_id
            self.post_message(self.Moved(instance_id))

    def _scroll(self, top: int) -> None:
        limit = max(len(self.order) - self.page, 0)
        self.scroll_to(y=min(max(top, 0), limit), animate=False, immediate=True)

    def _repaint_place(self, place: int) -> None:
        line = place - self.scroll_offset.y + 1
        if 1 <= line < self.size.height:
            self.refresh(Region(0, line, self.size.width, 1))

    # -- painting ----------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Scrollbars of whole cells."""
        make_plain(self.vertical_scrollbar)

    def render_line(self, y: int) -> Strip:
        """Return one visible line."""
        width = self.scrollable_content_region.width
        if width != self._layout.width:
            self._relayout(width)
        if y == 0:
            return self._title_strip(width)
        place = self.scroll_offset.y + y - 1
        if place >= len(self.order):
            return self._beyond(place, width)
        drawn = self._draw(self.order[place], self._scene())
        return drawn.strip if drawn else palette.strip([], width)

    def _relayout(self, width: int) -> None:
        self._layout = layout(width)
        self._drawn.clear()
        self._titles = None

    def _scene(self) -> Scene:
        state = self._state
        return Scene(state.now(), self._glyphs, state.stale_before(), state.speed)

    def _draw(self, instance_id: int, scene: Scene) -> _Drawn | None:
        row = self._state.row(instance_id)
        if row is None:
            return None
        at_cursor = instance_id == self.cursor_id
        ground = ("cursor" if self.has_focus else "cursor-off") if at_cursor else ""
        pieces = tuple(self._pieces(row, scene, at_cursor=at_cursor))
        drawn = self._drawn.get(instance_id)
        if drawn and drawn.pieces == pieces and drawn.ground == ground:
            return drawn
        strip = palette.strip(pieces, self._layout.width, ground)
        self._drawn[instance_id] = _Drawn(row, pieces, ground, strip)
        return self._drawn[instance_id]

    def _pieces(self, row: FleetRow, scene: Scene, *, at_cursor: bool) -> list[Piece]:
        stale = row.row_seen_at is not None and row.row_seen_at < scene.stale_before
        pieces: list[Piece] = [(self._glyphs["cursor"] if at_cursor else " ", "key")]
        for index, (column, width) in enumerate(self._layout.columns):
            if width <= 0:
                continue
            if index:
                pieces.append((" " * GAP, "dim"))
            cell = column.cell(row, scene, width)
            pieces += [(text, "faint") for text, _ in cell] if stale else cell
        return pieces

    def _title_strip(self, width: int) -> Strip:
        if self._titles is None:
            pieces: list[Piece] = [(" ", "title")]
            for index, (column, size) in enumerate(self._layout.columns):
                if size <= 0:
                    continue
                if index:
                    pieces.append((" " * GAP, "title"))
                sorted_by = column.name == self.selection.sort
                mark = self._glyphs["down" if self.selection.descending else "up"]
                title = column.short if column.short and size < len(column.title) else column.title
                if sorted_by and len(title) < size:
                    title += mark
                text = fit(title, size, right=column.right, more=self._glyphs["more"])
                pieces.append((text, "strong bold" if sorted_by else "title"))
            self._titles = palette.strip(pieces, width, "bar")
        return self._titles

    def _beyond(self, place: int, width: int) -> Strip:
        if place > 1 or self.order or not self._state.loaded:
            return palette.strip([], width)
        if place == 0:
            return palette.strip([], width)
        if self._state.rows:
            words = "no instance passes the filter (esc clears it)"
        else:
            words = "no instances: the last complete walk over the API found none"
            if self._state.last_complete_walk is None:
                words = "waiting for the collector's first complete walk over the API"
        return palette.strip([("  " + words, "dim")], width)

    # -- events ------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Fit the columns and keep the cursor in view."""
        self.virtual_size = Size(self.size.width, len(self.order) + 1)
        if self.order and not self._at_rest:
            self.go(self.cursor_place)
        elif self._at_rest:
            self._scroll(0)
        self.refresh()

    def on_focus(self) -> None:
        """Show the cursor as live."""
        self._repaint_place(self.cursor_place)

    def on_blur(self) -> None:
        """Show the cursor as resting."""
        self._repaint_place(self.cursor_place)

    def on_click(self, event: Click) -> None:
        """Move the cursor to the clicked row; a second click opens it."""
        place = self.scroll_offset.y + event.y - 1
        if event.y == 0 or place >= len(self.order):
            return
        self.go(place)
        if event.chain > 1:
            self.post_message(self.Opened())
