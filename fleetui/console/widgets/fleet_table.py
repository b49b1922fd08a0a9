"""The fleet table: line API, keyed by id, painting only the visible rows that changed."""

import time
from collections.abc import Callable, Container, Mapping

import msgspec
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fleetui.console import figures
from fleetui.console.arranging import Group, Line, Marks, arrange, arrange_still
from fleetui.console.columns import GAP, Layout, Scene, layout
from fleetui.console.diff_output import paint_lines
from fleetui.console.fitting import fit
from fleetui.console.fleet_state import FleetState
from fleetui.console.glyphs import Glyphs
from fleetui.console.ordering import Selection, select, standing
from fleetui.console.palette import Piece, paint_of
from fleetui.console.widgets.plain_scrollbar import make_plain
from fleetui.domain.quiet import Quiet
from fleetui.domain.reading import FleetRow

LOOK_AT_ALL_SECONDS = 1.0
"""So often rows that have not changed are looked at as well: their ages grow."""
READING_SECONDS = 8.0
"""After a key the order stands still for so long: no row jumps away from who reads it."""


class _Drawn(msgspec.Struct, frozen=True):
    """What a row looked like when it was drawn, to tell whether it must be drawn again.

    `seen` is what its words were made of besides the row; they hold for a second after `at`.
    """

    row: FleetRow
    seen: tuple[object, ...]
    at: float
    pieces: tuple[Piece, ...]
    ground: str
    strip: Strip


def _just_drawn(drawn: _Drawn, scene: Scene) -> bool:
    """Tell whether no age can have grown by a step worth showing since a row was drawn."""
    return 0 <= scene.now - drawn.at < LOOK_AT_ALL_SECONDS * scene.speed


class FleetTable(ScrollView, can_focus=True):
    """Rows of the fleet in the operator's order; the cursor belongs to an id, not to a place.

    The first line is the column titles and does not scroll. `lines` are the rows and the heads
    of groups, `order` the rows alone; the cursor stands on rows only.
    """

    DEFAULT_CSS = "FleetTable { overflow-x: hidden; overflow-y: auto; }"

    class Moved(Message):
        """The cursor stands on another instance (or on none)."""

        def __init__(self, instance_id: int | None) -> None:
            super().__init__()
            self.instance_id = instance_id

    class Opened(Message):
        """A row was clicked twice."""

    def __init__(
        self,
        state: FleetState,
        glyphs: Glyphs,
        *,
        reading_seconds: float = READING_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
        id: str | None = None,  # noqa: A002 - textual's own name
    ) -> None:
        super().__init__(id=id)
        self._state = state
        self._glyphs = glyphs
        self._monotonic = monotonic
        self._reading_seconds = reading_seconds
        self.selection = Selection()
        self.lines: list[Line] = []
        self.order: list[int] = []
        self.marks = Marks()
        self.trends: dict[int, tuple[float | None, ...]] = {}
        self.cursor_id: int | None = None
        self.pinned = False
        """While a dialog is open the order is frozen, so that nothing moves under it."""
        self.follow = False
        """Whether the cursor's row is kept in sight wherever the order takes it."""
        self._at_rest = True
        self._touched_at = float("-inf")
        self._looked_at = float("-inf")
        self._ordered_by: dict[int, object] = {}
        self._quiet_ordered: Mapping[int, Quiet] = {}
        self._waits = False
        self._places: dict[int, int] = {}
        self._line_of: list[int] = []
        self._layout: Layout = layout(80)
        self._columns: tuple[str, ...] = ()
        self._wide = False
        self._skip = 0
        self._drawn: dict[int, _Drawn] = {}
        self._titles: Strip | None = None

    # -- what is shown -----------------------------------------------------------------------

    @property
    def cursor_place(self) -> int:
        """The cursor's place in the order, 0 when there is none."""
        return 0 if self.cursor_id is None else self._places.get(self.cursor_id, 0)

    @property
    def page(self) -> int:
        """How many lines are visible at once."""
        return max(self.scrollable_content_region.height - 1, 1)

    @property
    def hidden_columns(self) -> int:
        """How many of the chosen columns have no room."""
        return self._layout.hidden

    def shows(self, name: str) -> bool:
        """Tell whether a column has room now."""
        return any(column.name == name for column, _ in self._layout.columns)

    @property
    def order_waits(self) -> bool:
        """Whether rows would stand elsewhere but for the reader's sake."""
        return self._waits

    def set_selection(self, selection: Selection) -> None:
        """Filter and order anew."""
        self.selection = selection
        self._ordered_by.clear()
        self._titles = None
        self._touched_at = float("-inf")
        self.put_in_order()
        self.refresh()

    def set_columns(self, names: tuple[str, ...], *, wide: bool) -> None:
        """Choose columns and their order (empty: our own choice); `wide`: whole and sideways."""
        self._columns, self._wide, self._skip = names, wide, 0
        self._relayout(self.scrollable_content_region.width)
        self.refresh()

    def shift_columns(self, step: int) -> None:
        """Scroll sideways by a column; without wide columns there is nowhere to go."""
        if self._wide and (step < 0 or self._layout.hidden):
            self._skip = max(self._skip + step, 0)
            self._relayout(self.scrollable_content_region.width)
            self.refresh()

    def look_changed(self) -> None:
        """Forget what was drawn: the theme is another one."""
        self._relayout(self._layout.width)
        self.refresh()

    def put_in_order(self) -> None:
        """Bring the order up to date; the cursor's row keeps its place on the screen."""
        now, quiet = self._state.shown_at(), self._state.quiet
        grouping = self.selection.group
        rows = select(self._rows(), self.selection, now, quiet)
        self._quiet_ordered = quiet
        lines = arrange(rows, grouping, quiet)
        reading = self._monotonic() - self._touched_at < self._reading_seconds
        self._waits = False
        if self.pinned or (reading and not self.follow):
            still = arrange_still(self.lines, rows, grouping, quiet)
            self._waits = still != lines
            lines = still
        if lines != self.lines:
            self._reorder(lines)
        if self.order and (self.cursor_id is None or self._at_rest):
            # Until the operator moves, the cursor stands on what matters most.
            self._set_cursor(self.order[0])
            self._scroll(0)

    def update_rows(self, changed: set[int]) -> None:
        """Take changed rows in: arrange, then paint those visible lines that look different."""
        for instance_id in changed:
            if instance_id not in self._state.rows:
                self._drawn.pop(instance_id, None)
        if self.selection.query.terms or self._waits or self._moves(changed):
            self.put_in_order()
        now = self._monotonic()
        if now - self._looked_at >= LOOK_AT_ALL_SECONDS:
            # What grew older is said in steps of 10 s at the least.
            self._looked_at = now
            self.repaint_changed()
        else:
            self.repaint_changed(changed)

    def _moves(self, changed: set[int]) -> bool:
        """Tell whether a change of these rows can change the order, the groups or their heads."""
        if self.selection.group or self._quiet_ordered != self._state.quiet:
            return True
        moved = False
        standing_of = standing(self.selection, self._state.quiet)
        for instance_id in changed:
            row = self._state.rows.get(instance_id)
            place = None if row is None else standing_of(row)
            if self._ordered_by.get(instance_id) != place:
                self._ordered_by[instance_id] = place
                moved = True
        return moved

    def repaint_changed(self, only: Container[int] | None = None) -> None:
        """Paint the visible rows whose words or colours differ from what was painted.

        `only`: the others have not changed, so that nobody need look at them.
        """
        if not self.is_attached or not self.size.height:
            return
        top = self.scroll_offset.y
        scene = self._scene()
        changed: dict[int, Strip] = {}
        for line in range(min(self.page, len(self.lines) - top)):
            item = self.lines[top + line]
            if isinstance(item, Group) or (only is not None and item not in only):
                continue
            before = self._drawn.get(item)
            drawn = self._draw(item, scene)
            if drawn is None or before is None:
                self._repaint_line(line + 1)
            elif drawn.strip is not before.strip:
                changed[line + 1] = drawn.strip
        if changed and not paint_lines(self, changed):
            for line in changed:
                self._repaint_line(line)

    def visible_ids(self) -> list[int]:
        """Return the instances on the screen."""
        top = self.scroll_offset.y
        shown = self.lines[top : top + self.page]
        return [item for item in shown if not isinstance(item, Group)]

    def _rows(self) -> list[FleetRow]:
        state = self._state
        if not state.acting:
            return list(state.rows.values())
        rows = (state.row(instance_id) for instance_id in state.rows)
        return [row for row in rows if row is not None]

    def _reorder(self, lines: list[Line]) -> None:
        old_place, top = self.cursor_place, self.scroll_offset.y
        old_line = self._line(old_place)
        visible = self.follow or top <= old_line < top + self.page
        self.lines = lines
        self.order, self._line_of = [], []
        for number, line in enumerate(lines):
            if not isinstance(line, Group):
                self.order.append(line)
                self._line_of.append(number)
        self._places = {instance_id: place for place, instance_id in enumerate(self.order)}
        self.virtual_size = Size(self.size.width, len(lines) + 1)
        lost = self.cursor_id is not None and self.cursor_id not in self._places
        if lost or (self.cursor_id is None and self.order):
            order = self.order
            self._set_cursor(order[min(old_place, len(order) - 1)] if order else None)
        if visible and self.cursor_id is not None and not self._at_rest:
            self._scroll(self._line(self.cursor_place) - min(max(old_line - top, 0), self.page - 1))
        self.refresh()

    def _line(self, place: int) -> int:
        """Return the line that a place of the order stands on."""
        return self._line_of[place] if place < len(self._line_of) else place

    # -- the cursor --------------------------------------------------------------------------

    def touch(self) -> None:
        """Note that somebody reads here: the order waits for a while."""
        self._at_rest = False
        self._touched_at = self._monotonic()

    def move(self, rows: int) -> None:
        """Move the cursor by rows; it stops at the ends."""
        self.go(self.cursor_place + rows)

    def go(self, place: int) -> None:
        """Put the cursor at a place of the order."""
        if not self.order:
            return
        self.touch()
        place = min(max(place, 0), len(self.order) - 1)
        before = self.cursor_place
        self._set_cursor(self.order[place])
        top, line = self.scroll_offset.y, self._line(place)
        if line < top:
            # The head of the group comes into sight with its first row.
            headed = line > 0 and isinstance(self.lines[line - 1], Group)
            self._scroll(line - headed)
        elif line >= top + self.page:
            self._scroll(line - self.page + 1)
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
        limit = max(len(self.lines) - self.page, 0)
        self.scroll_to(y=min(max(top, 0), limit), animate=False, immediate=True)

    def _repaint_place(self, place: int) -> None:
        line = self._line(place) - self.scroll_offset.y + 1
        if 1 <= line < self.size.height and not paint_lines(self, {line: self.render_line(line)}):
            self._repaint_line(line)

    def _repaint_line(self, line: int) -> None:
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
        number = self.scroll_offset.y + y - 1
        if number >= len(self.lines):
            return self._beyond(number, width)
        line = self.lines[number]
        if isinstance(line, Group):
            return self._group_strip(line, width)
        drawn = self._draw(line, self._scene())
        return drawn.strip if drawn else paint_of(self).strip([], width)

    def _relayout(self, width: int) -> None:
        self._layout = layout(width, self._columns, wide=self._wide, skip=self._skip)
        self._drawn.clear()
        self._titles = None

    def _scene(self) -> Scene:
        state = self._state
        return Scene(
            state.shown_at(), self._glyphs, state.stale_before(), state.speed,
            quiet=state.quiet, trends=self.trends,
        )  # fmt: skip

    def _draw(self, instance_id: int, scene: Scene) -> _Drawn | None:
        row = self._state.row(instance_id)
        if row is None:
            return None
        at_cursor = instance_id == self.cursor_id
        ground = ("cursor" if self.has_focus else "cursor-off") if at_cursor else ""
        stale = row.row_seen_at is not None and row.row_seen_at < scene.stale_before
        marked = instance_id in self.marks.ids
        quiet, trend = scene.quiet.get(instance_id), scene.trends.get(instance_id)
        seen = (ground, stale, marked, quiet, trend)
        drawn = self._drawn.get(instance_id)
        if drawn and drawn.row is row and drawn.seen == seen and _just_drawn(drawn, scene):
            return drawn
        sign = self._glyphs["mark" if marked else "cursor"] if marked or at_cursor else " "
        pieces = ((sign, "warn bold" if marked else "key"), *self._cells(row, scene, stale=stale))
        if drawn and drawn.pieces == pieces and drawn.ground == ground:
            strip = drawn.strip
        else:
            strip = paint_of(self).strip(pieces, self._layout.width, ground)
        self._drawn[instance_id] = _Drawn(row, seen, scene.now, pieces, ground, strip)
        return self._drawn[instance_id]

    def _cells(self, row: FleetRow, scene: Scene, *, stale: bool) -> list[Piece]:
        pieces: list[Piece] = []
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
            pieces: list[Piece] = [(self._glyphs["left"] if self._skip else " ", "key bold")]
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
            if self._wide and self._layout.hidden:
                pieces.append((f" {self._glyphs['arrow']}", "key bold"))
            self._titles = paint_of(self).strip(pieces, width, "bar")
        return self._titles

    def _group_strip(self, group: Group, width: int) -> Strip:
        rule = self._glyphs["rule"]
        pieces: list[Piece] = [
            (f"{rule} ", "line"),
            (self._glyphs.plain(group.title), "title bold"),
            (f"  {group.count}", "strong"),
        ]
        if group.critical:
            pieces.append((f"  {self._glyphs['critical']} {group.critical}", "bad bold"))
        if group.warnings:
            pieces.append((f"  {self._glyphs['warning']} {group.warnings}", "warn bold"))
        rate = group.proofs_per_hour
        sums = "" if rate is None else f"  {figures.rate(rate)} proofs/h"
        sums += f"  ${figures.money(group.burn)}/h "
        pieces += [(sums, "dim"), (rule * width, "line")]
        return paint_of(self).strip(pieces, width)

    def _beyond(self, place: int, width: int) -> Strip:
        paint = paint_of(self)
        if place != 1 or self.lines or not self._state.loaded:
            return paint.strip([], width)
        if self._state.rows:
            words = "no instance passes the filter (esc clears it)"
        else:
            walk = self._state.last_complete_walk
            words = "waiting for the collector's first complete walk over the API"
            if walk is not None:
                words = "no instances: the last complete walk over the API found none"
                if walk.rows:
                    words = f"the last complete walk found {walk.rows}: their rows are on the way"
        return paint.strip([("  " + words, "dim")], width)

    # -- events ------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Fit the columns and keep the cursor in view."""
        self.virtual_size = Size(self.size.width, len(self.lines) + 1)
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
        number = self.scroll_offset.y + event.y - 1
        if event.y == 0 or number >= len(self.lines):
            return
        line = self.lines[number]
        if isinstance(line, Group):
            return
        self.go(self._places[line])
        if event.chain > 1:
            self.post_message(self.Opened())
