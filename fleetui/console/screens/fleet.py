"""The fleet screen: table, inspector, log pane, chart."""

import msgspec
from textual.events import DescendantBlur, DescendantFocus

from fleetui.console.screens.fleet_cursor import FleetCursor
from fleetui.console.screens.fleet_faults import FleetFaults
from fleetui.console.screens.fleet_log import FleetLog
from fleetui.console.screens.fleet_order import FleetOrder
from fleetui.console.size_mode import SizeMode, size_mode
from fleetui.console.widgets.crumbs import crumbs
from fleetui.console.widgets.header import flags, totals_line
from fleetui.console.widgets.line_bar import LineBar

CHART_HOURS = 6.0


class FleetScreen(FleetOrder, FleetCursor, FleetFaults, FleetLog):
    """Screen 1. The table has the focus unless the operator reads a pane or types a filter."""

    def on_mount(self) -> None:
        """Start with the cursor in the table."""
        self.set_focus(self.table)
        self._arrange(*self.size)

    def fleet_changed(self, changed: set[int]) -> None:
        """Draw what changed, each part only when it looks different."""
        self.table.update_rows(changed)
        self.draw_bars()
        # While other rows change, what grew older in it is drawn with the next pull.
        if not changed or (self.subject and self.subject.row.instance_id in changed):
            self._draw_inspector()
        if self.chart.display:
            self.chart.advance()

    def draw_bars(self) -> None:
        """Draw header, flags, crumbs, log title and footer."""
        self.scope = (
            "log" if self.in_log else "lists" if self.focused is self.inspector else "fleet"
        )
        super().draw_bars()
        if self.mode is SizeMode.TOTALS:
            self.query_one("#header", LineBar).show(totals_line(self.state, self.glyphs))
        words = flags(self.state, self.glyphs)
        bar = self.query_one("#flags", LineBar)
        bar.set_class(bool(words), "-some")
        bar.show(words)
        line = crumbs(self.table, self.state, self.query_text, self.glyphs)
        self.query_one("#crumbs", LineBar).show(*line)
        if self.has_log:
            self.log_pane.draw_title()

    def look_changed(self) -> None:
        """Draw everything in the new colours."""
        self.table.look_changed()
        if self.has_log:
            self.log_view.forget()
        super().look_changed()

    def _draw_inspector(self) -> None:
        if not self.inspector.display or self.subject is None:
            return
        from fleetui.console.inspection import describe  # noqa: PLC0415 - after the first paint

        row = self.state.row(self.subject.row.instance_id) or self.subject.row
        subject = msgspec.structs.replace(self.subject, row=row, now=self.state.now())
        self.inspector.show(describe(subject, self.inspector.inner_width, self.glyphs))

    def on_resize(self) -> None:
        """Arrange for the new size."""
        self._arrange(*self.size)
        super().on_resize()
        self.call_after_refresh(self._hold_focus)

    def _hold_focus(self) -> None:
        """Give the keys to the table when what had them has no room any more."""
        focused = self.focused
        if focused is None or not focused.region:
            self.set_focus(self.table)

    def _arrange(self, width: int, height: int) -> None:
        self.mode = size_mode(width, height)
        self.update_classes({f"-{mode.value}": mode is self.mode for mode in SizeMode})
        self.chart.set_class(height >= 40, "-tall")

    async def pull(self) -> None:
        """Read what inspector, log pane and chart show."""
        store, now = self.console_app.store, self.state.now()
        instance_id = self.table.cursor_id
        if instance_id is None:
            self.subject = None
        elif self.inspector.display:
            self.subject = await self.console_app.read_subject(instance_id)
            self._draw_inspector()
        if instance_id is not None and self.has_class("-log"):
            self.log_view.utc = self.console_app.preferences.now.utc
            await self.log_pane.pull(store, instance_id)
        if self.table.shows("trend") and await self.trends.pull(store, self.table.visible_ids()):
            self.table.repaint_changed()
        if self.chart.display:
            since = now - CHART_HOURS * 3600
            samples = await store.fleet_samples(since, CHART_HOURS * 3600 / 240)
            totals = self.state.totals()
            self.chart.set_points(
                [(sample.at, sample.proofs_per_hour) for sample in samples],
                totals.proofs_per_hour if totals.measured else None,
                utc=self.console_app.preferences.now.utc,
            )

    def on_fleet_table_moved(self) -> None:
        """Show the selected instance's details soon."""
        self.console_app.wake()

    def on_fleet_table_opened(self) -> None:
        """A double click opens like enter."""
        self.action_open()

    def on_descendant_focus(self, _event: DescendantFocus) -> None:
        """The footer shows the keys of what has the focus."""
        if self.is_laid_out:
            self.draw_bars()

    def on_descendant_blur(self, _event: DescendantBlur) -> None:
        """The same when the focus goes."""
        if self.is_laid_out:
            self.draw_bars()

    def action_open(self) -> None:
        """Show the instance's page."""
        if self.table.cursor_id is not None:
            self.console_app.show_instance(self.table.cursor_id)

    def action_raw(self) -> None:
        """Show all that is known of it as JSON."""
        if self.table.cursor_id is not None:
            self.console_app.show_raw(self.table.cursor_id)

    def action_next_pane(self) -> None:
        """Go into the log pane, else into the inspector."""
        if self.has_class("-log"):
            self.set_focus(self.log_view)
        elif self.inspector.display:
            self.set_focus(self.inspector)

    def action_toggle_inspector(self) -> None:
        """Show or hide the details pane."""
        if self.mode not in (SizeMode.SIDE, SizeMode.BELOW):
            self.console_app.say("no room for the details here: enter opens the page")
            return
        self.toggle_class("-no-inspector")
        self.console_app.wake()

    def action_back(self) -> None:
        """Close the log; when it is closed, clear the filter."""
        if self.filter_line.is_open:
            self.clear_prompt()
        elif self.has_class("-log"):
            self.on_log_pane_close()
        elif self.query_text or self.query_error or self.table.selection.failures_only:
            self.apply("")
            self.filter_line.value = ""
            self.select(failures_only=False)
        else:
            self.action_clear_marks()

    def step_back(self) -> bool:
        """Undo one level: a prompt, the whole-screen log, a focused pane; false at the table."""
        focused = self.focused
        if self.filter_line.is_open:
            self.filter_line.close(self.table)
        elif self.has_log and self.log_pane.prompt.is_open:
            self.log_pane.prompt.close(self.log_view)
        elif self.has_class("-full") and not self._full_from_table:
            self.remove_class("-full")
            self.set_focus(self.log_view)
        elif self.has_class("-full") or self.in_log:
            self.on_log_pane_close()
        elif focused is self.inspector:
            self.set_focus(self.table)
        else:
            return False
        return True

    def on_lines_view_leave(self) -> None:
        """From the inspector back to the table."""
        self.set_focus(self.table)
