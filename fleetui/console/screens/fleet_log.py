"""The log pane of the fleet screen: opened, closed, on the whole screen."""

from typing import TYPE_CHECKING

from fleetui.console.screens.fleet_parts import FleetParts

if TYPE_CHECKING:
    from fleetui.console.widgets.log_pane import LogPane


class FleetLog(FleetParts):
    """Opens the log of the cursor's instance below the table."""

    async def action_toggle_log(self) -> None:
        """Open the log pane, or close it."""
        if self.has_class("-log"):
            self.on_log_pane_close()
            return
        if not self.has_log:
            from fleetui.console.older_parts import OlderParts  # noqa: PLC0415 - on demand only

            app = self.console_app
            self.log_pane.older_parts = OlderParts(app.store, app.actor, self.state.clock)
            await self.query_one("#left").mount(self.log_pane)
        self.add_class("-log")
        self.set_focus(self.log_view)
        self.console_app.wake()

    async def action_log_full(self) -> None:
        """Give the log the whole screen, or take it back."""
        if self.has_class("-log"):
            self.toggle_class("-full")
            self._full_from_table = False
        else:
            await self.action_toggle_log()
            self.add_class("-full")
            self._full_from_table = True
        self.set_focus(self.log_view)

    async def action_previous_life(self) -> None:
        """Open the log at the end of its previous life."""
        if self.table.cursor_id is None:
            return
        if not self.has_class("-log"):
            await self.action_toggle_log()
        self.set_focus(self.log_view)
        await self.log_pane.pull(self.console_app.store, self.table.cursor_id)
        self.log_pane.action_previous_life()

    def action_full(self) -> None:
        """Give the table the whole screen, or take it back."""
        self.toggle_class("-table-full")
        self.console_app.wake()

    async def on_log_pane_full(self) -> None:
        """The same from inside the pane."""
        await self.action_log_full()

    def on_log_pane_close(self) -> None:
        """Back to the table."""
        self.remove_class("-log", "-full")
        self.set_focus(self.table)

    def on_log_pane_copy(self, event: "LogPane.Copy") -> None:
        """Copy what the pane says."""
        self.console_app.shell.copy_text(event.text)

    def saved(self) -> tuple[str, str]:
        """The table, or the log when it has the focus."""
        if self.in_log:
            return self.log_pane.saved()
        return super().saved()

    def plain(self) -> str:
        """The screen, or the visible lines of the log when it has the focus."""
        return self.log_pane.plain() if self.in_log else super().plain()

    def on_log_pane_said(self, event: "LogPane.Said") -> None:
        """Pass a word of the pane on."""
        self.console_app.say(event.text)
