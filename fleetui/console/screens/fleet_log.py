"""The log pane of the fleet screen: opened, closed, on the whole screen."""

from fleetui.console.screens.fleet_parts import FleetParts
from fleetui.console.widgets.log_pane import LogPane


class FleetLog(FleetParts):
    """Opens the log of the cursor's instance below the table."""

    def action_toggle_log(self) -> None:
        """Open the log pane, or close it."""
        if self.has_class("-log"):
            self.on_log_pane_close()
            return
        self.add_class("-log")
        self.set_focus(self.log_view)
        self.console_app.wake()

    def action_log_full(self) -> None:
        """Give the log the whole screen, or take it back."""
        if self.has_class("-log"):
            self.toggle_class("-full")
            self._full_from_table = False
        else:
            self.action_toggle_log()
            self.add_class("-full")
            self._full_from_table = True
        self.set_focus(self.log_view)

    def on_log_pane_full(self) -> None:
        """The same from inside the pane."""
        self.action_log_full()

    def on_log_pane_close(self) -> None:
        """Back to the table."""
        self.remove_class("-log", "-full")
        self.set_focus(self.table)

    def on_log_pane_copy(self, event: LogPane.Copy) -> None:
        """Copy what the pane says."""
        self.console_app.shell.copy_text(event.text)

    def saved(self) -> tuple[str, str]:
        """The table, or the log when it has the focus."""
        if self.focused is self.log_view:
            return self.log_pane.saved()
        return super().saved()

    def on_log_pane_said(self, event: LogPane.Said) -> None:
        """Pass a word of the pane on."""
        self.console_app.say(event.text)
