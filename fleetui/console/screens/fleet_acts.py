"""What is done to the cursor's instance or to the marked ones."""

from textual.widgets import Input

from fleetui.console.screens.fleet_parts import FleetParts
from fleetui.console.screens.target_acts import TargetActs

_ACTING = frozenset({"act", "acts", "accept_key", "shell", "run", "label_with", "blacklist_with"})


class FleetActs(TargetActs, FleetParts):
    """The targets are the marks, else the cursor's instance."""

    def present_targets(self) -> list[int]:
        """Return the ids that an act is for: the marks, else the cursor."""
        marked = self.table.marks.live(self.state.rows, self.table.order)
        if marked:
            return marked
        return [] if self.table.cursor_id is None else [self.table.cursor_id]

    def action_shell(self) -> None:
        """Open an SSH shell on the selected instance."""
        if self.table.cursor_id is not None:
            self.console_app.shell.open_shell(self.table.cursor_id)

    def action_copy(self) -> None:
        """Copy the selected instance's id."""
        if self.table.cursor_id is not None:
            self.console_app.shell.copy_text(str(self.table.cursor_id))

    def action_copy_ssh(self) -> None:
        """Copy the ssh command of the selected instance."""
        if self.table.cursor_id is not None:
            self.console_app.shell.copy_ssh_command(self.table.cursor_id)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Refuse what acts while something is typed, whatever key it came by."""
        if action in _ACTING and isinstance(self.focused, Input):
            return False
        return super().check_action(action, parameters)
