"""What is done to the cursor's instance or to the marked ones."""

from textual.widgets import Input

from fleetui.console.screens.fleet_parts import FleetParts
from fleetui.domain.host import SshState
from fleetui.domain.intent import Verb
from fleetui.domain.reading import FleetRow


class FleetActs(FleetParts):
    """Asks before anything is done; the targets are captured when the key is pressed."""

    def targets(self) -> list[int]:
        """The ids that an act is for, those of this very moment: the marks, else the cursor."""
        marked = self.table.marks.live(self.state.rows, self.table.order)
        if marked:
            return marked
        return [] if self.table.cursor_id is None else [self.table.cursor_id]

    def action_act(self, verb: str) -> None:
        """Ask before something is done to the targets."""
        self.console_app.acts.ask(Verb(verb), self.targets())

    def action_acts(self) -> None:
        """Choose what is done to the targets."""
        self.console_app.commands.open(dangerous_only=True)

    def action_accept_key(self) -> None:
        """Ask before a changed host key is accepted."""
        row = self._cursor_row()
        if row is None:
            return
        if row.ssh is not SshState.HOST_KEY_CHANGED:
            self.console_app.say(f"the host key of {row.instance_id} has not changed")
            return
        self.console_app.acts.ask(Verb.ACCEPT_HOST_KEY, [row.instance_id])

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

    def _cursor_row(self) -> FleetRow | None:
        cursor = self.table.cursor_id
        return None if cursor is None else self.state.rows.get(cursor)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Refuse what acts while something is typed, whatever key it came by."""
        if action in ("act", "acts", "accept_key", "shell") and isinstance(self.focused, Input):
            return False
        return super().check_action(action, parameters)
