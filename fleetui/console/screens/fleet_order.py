"""Filter, order, groups and columns of the fleet screen's table."""

from textual.content import Content
from textual.events import Key
from textual.widgets import Input, Static

from fleetui.console.arranging import GROUPINGS
from fleetui.console.columns import BY_NAME, COLUMNS
from fleetui.console.screens.fleet_parts import FleetParts
from fleetui.domain.query import QueryError, parse_query, valid_words

DEAREST_FIRST = frozenset({"cost", "proof"})


class FleetOrder(FleetParts):
    """Which rows the table shows, in what order, in which columns."""

    def action_filter(self) -> None:
        """Open the filter's prompt."""
        self._query_before = self.query_text
        self.filter_line.open()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as it is typed."""
        if event.input.id == "filter":
            self.apply(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close the prompt and keep what was typed."""
        event.stop()
        self.filter_line.close(self.table)

    def on_key(self, event: Key) -> None:
        """Esc in the filter's line clears and closes it."""
        if event.key == "escape" and self.filter_line.has_focus:
            event.stop()
            self.clear_prompt()

    def clear_prompt(self) -> None:
        """Empty the filter's line and close it."""
        self.filter_line.value = ""
        self.filter_line.close(self.table)

    def apply(self, text: str) -> None:
        """Filter by what is valid in the text; when nothing is, as before the prompt opened."""
        error, valid = "", text.strip()
        try:
            parse_query(text)
        except QueryError as wrong:
            error, valid = str(wrong), valid_words(text) or self._query_before
        if error != self.query_error:
            self.query_error = error
            line = self.query_one("#filter-error", Static)
            line.set_class(bool(error), "-some")
            line.update(Content(self.glyphs.plain(f"filter: {error}" if error else "")))
        self.query_text = valid
        self.select(query=parse_query(valid))

    def action_show_only(self, text: str) -> None:
        """Set the filter as if it had been typed."""
        self.filter_line.value = text
        self.apply(text)

    def action_failures_only(self) -> None:
        """Show only rows with trouble, or all."""
        self.select(failures_only=not self.table.selection.failures_only)

    def action_sort(self, step: int) -> None:
        """Sort by the next column."""
        names = [column.name for column in COLUMNS]
        here = names.index(self.table.selection.sort)
        self.select(sort=names[(here + step) % len(names)])

    def action_invert(self) -> None:
        """Turn the order round."""
        self.select(descending=not self.table.selection.descending)

    def action_sort_menu(self) -> None:
        """Choose the column to sort by; the one in use turns the order round."""
        from fleetui.console.modals.menu import Choice, Menu  # noqa: PLC0415 - on demand only

        choices = [Choice(column.name, column.title) for column in COLUMNS]
        menu = Menu("sort by", choices, self.glyphs, current=self.table.selection.sort)
        self.app.push_screen(menu, lambda name: self.action_sort_by(name) if name else None)

    def action_sort_by(self, name: str) -> None:
        """Sort by a column; a second time turns the order round."""
        selection = self.table.selection
        if name not in BY_NAME:
            self.console_app.say(f"there is no column {name}")
        elif name == selection.sort:
            self.select(descending=not selection.descending)
        else:
            self.select(sort=name, descending=name in DEAREST_FIRST)

    def action_group_menu(self) -> None:
        """Choose what to group by."""
        from fleetui.console.modals.menu import Choice, Menu  # noqa: PLC0415 - on demand only

        choices = [Choice("", "none"), *(Choice(name, name) for name in GROUPINGS)]
        menu = Menu("group by", choices, self.glyphs, current=self.table.selection.group)
        self.app.push_screen(menu, self._grouped)

    def _grouped(self, name: str | None) -> None:
        if name is not None:
            self.action_group_by(name)

    def action_group_by(self, name: str) -> None:
        """Group by a name of `GROUPINGS`; anything else: no groups."""
        self.select(group=name if name in GROUPINGS else "")
        self.console_app.prefer(group=self.table.selection.group)

    def action_columns(self) -> None:
        """Choose the columns and their order."""
        from fleetui.console.modals.columns import ColumnsDialog  # noqa: PLC0415 - on demand only

        dialog = ColumnsDialog(self.console_app.preferences.now.columns, self.glyphs)
        self.app.push_screen(dialog, self._columns_chosen)

    def _columns_chosen(self, names: tuple[str, ...] | None) -> None:
        if names is not None:
            self.console_app.prefer(columns=names)
            self.prefer_again()

    def action_wide(self) -> None:
        """Show whole columns, or as many as fit."""
        self.console_app.prefer(wide=not self.console_app.preferences.now.wide)
        self.prefer_again()

    def prefer_again(self) -> None:
        """Show the table as the preferences say."""
        chosen = self.console_app.preferences.now
        self.table.set_columns(chosen.columns, wide=chosen.wide)
        self.draw_bars()

    def action_sideways(self, step: int) -> None:
        """Scroll wide columns."""
        self.table.shift_columns(step)
