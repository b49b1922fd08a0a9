"""What is done to the instances that a screen is about."""

from fleetui.console.screens.base import FleetUIScreen
from fleetui.domain.host import SshState
from fleetui.domain.intent import Verb


class TargetActs(FleetUIScreen):
    """Asks before anything is done; the targets are captured when the key is pressed."""

    held: list[int] | None = None
    """The targets of the moment the command line was opened, while it is open."""

    def present_targets(self) -> list[int]:
        """Return the ids that an act is for, those of this very moment."""
        raise NotImplementedError

    def targets(self) -> list[int]:
        """Return the ids that an act is for: of the key press, while something is typed since."""
        return self.present_targets() if self.held is None else self.held

    def action_act(self, verb: str) -> None:
        """Ask before something is done to the targets."""
        self.console_app.acts.ask(Verb(verb), self.targets())

    def action_acts(self) -> None:
        """Choose what is done to the targets."""
        self.console_app.commands.open(acts_only=True)

    def action_accept_key(self) -> None:
        """Ask before the changed host key of one target is accepted."""
        app = self.console_app
        changed = [
            item
            for item in self.targets()
            if (row := app.state.row(item)) and row.ssh is SshState.HOST_KEY_CHANGED
        ]
        if not changed:
            which = "".join(f" of {item}" for item in self.targets()[:1])
            app.say(f"the host key{which} has not changed")
            return
        # Each key is looked at for itself.
        app.acts.ask(Verb.ACCEPT_HOST_KEY, changed[:1])

    def action_label_with(self, text: str) -> None:
        """Ask before the targets get a label."""
        self.console_app.acts.ask(Verb.LABEL, self.targets(), argument=text)

    def action_blacklist_with(self, text: str) -> None:
        """Ask before the targets' machines are blacklisted, and why."""
        self.console_app.acts.ask(Verb.BLACKLIST, self.targets(), argument=text)

    def action_run(self, text: str) -> None:
        """Run a command that only looks on the targets; without one, ask for it."""
        self.console_app.acts.ask(Verb.RUN, self.targets(), argument=text)
