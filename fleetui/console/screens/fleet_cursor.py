"""The cursor and the marks of the fleet screen's table."""

from collections.abc import Sequence

from fleetui.console.screens.fleet_parts import FleetParts

_LONGEST_ID = 16


class FleetCursor(FleetParts):
    """Moves the cursor and marks rows."""

    def action_cursor(self, rows: int) -> None:
        """Move the cursor by rows."""
        self.table.move(rows)

    def action_cursor_top(self) -> None:
        """Go to the first row."""
        self.table.go(0)

    def action_cursor_bottom(self) -> None:
        """Go to the last row."""
        self.table.go(len(self.table.order) - 1)

    def action_cursor_page(self, pages: int) -> None:
        """Move by pages."""
        self.table.move(pages * max(self.table.page - 1, 1))

    def action_follow(self) -> None:
        """Keep the selected row in sight, or let it be."""
        self.table.follow = not self.table.follow
        self.table.put_in_order()
        self.draw_bars()

    def action_go(self, words: str) -> None:
        """Put the cursor on an instance named by id or label."""
        found = next(
            (
                row.instance_id
                for row in self.state.rows.values()
                if words in (str(row.instance_id), row.label)
            ),
            None,
        )
        if found is None and words.isascii() and words.isdigit() and len(words) < _LONGEST_ID:
            # One that is gone has no row, but what is kept of it opens as before.
            self.console_app.show_instance(int(words))
        elif found is None:
            self.console_app.say(f"there is no instance {words}")
        elif not self.table.go_to(found):
            self.console_app.say(f"the filter hides {found}")

    def action_mark(self) -> None:
        """Mark or unmark the row, and go down."""
        if self.table.cursor_id is not None:
            self.table.marks.toggle(self.table.cursor_id)
            self.table.move(1)
            self._marked()

    def action_mark_range(self) -> None:
        """Mark from the last mark to here."""
        if self.table.cursor_id is not None:
            self.table.marks.extend(self.table.order, self.table.cursor_id)
            self._marked()

    def action_mark_all(self) -> None:
        """Mark all that the filter shows."""
        self.table.marks.add(self.table.order)
        self._marked()

    def action_invert_marks(self) -> None:
        """Turn the marks round."""
        self.table.marks.invert(self.table.order)
        self._marked()

    def action_clear_marks(self) -> None:
        """Clear all marks."""
        if self.table.marks.clear():
            self._marked()

    def mark_only(self, ids: Sequence[int]) -> None:
        """Mark these and no others."""
        self.table.marks.clear()
        self.table.marks.add(ids)
        self._marked()

    def _marked(self) -> None:
        self.table.touch()
        self.table.repaint_changed()
        self.draw_bars()
