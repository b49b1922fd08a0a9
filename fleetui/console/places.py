"""Where the operator goes: from one screen to another, and back.

A screen is imported when it is gone to: what the first paint does not need is not read for it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import App

from fleetui.console.fleet_state import FleetState
from fleetui.console.glyphs import Glyphs
from fleetui.console.keymap import Keymap
from fleetui.console.screens.base import FleetUIScreen
from fleetui.console.screens.fleet import FleetScreen
from fleetui.domain.finding import Finding

if TYPE_CHECKING:
    from fleetui.console.screens.logs import LogsScreen


class PlacesApp(App[None]):
    """An app with the fleet at the bottom and at most one numbered screen over it."""

    state: FleetState
    glyphs: Glyphs
    keymap: Keymap
    fleet_screen: FleetScreen
    _explained = False

    def say(self, text: str, *, severity: str = "information") -> None:
        """Show a short note; never read as markup."""
        raise NotImplementedError

    def wake(self) -> None:
        """Read for the screen that is shown soon."""
        raise NotImplementedError

    def action_show_fleet(self) -> None:
        """Go to the fleet."""
        while len(self.screen_stack) > 1 and self.screen is not self.fleet_screen:
            self.pop_screen()

    def action_show_pulse(self) -> None:
        """Go to the charts."""
        from fleetui.console.screens.pulse import PulseScreen  # noqa: PLC0415 - see above

        self._show(PulseScreen(ascii_only=self.glyphs.ascii_only))

    def action_show_logs(self) -> None:
        """Go to the logs of the marked instances, else of the selected one."""
        self.show_logs(self.fleet_screen.targets())

    def show_logs(self, ids: Sequence[int]) -> "LogsScreen":
        """Go to the logs of instances."""
        from fleetui.console.screens.logs import LogsScreen  # noqa: PLC0415 - see above

        screen = LogsScreen(self.state.clock, self.glyphs, self.keymap, ids=ids)
        self._show(screen)
        return screen

    def action_show_failures(self) -> None:
        """Go to the failures."""
        from fleetui.console.screens.lists import FailuresScreen  # noqa: PLC0415 - see above

        self._show(FailuresScreen())

    def action_show_hosts(self) -> None:
        """Go to the machines."""
        from fleetui.console.screens.hosts import HostsScreen  # noqa: PLC0415 - see above

        self._show(HostsScreen())

    def action_show_activity(self) -> None:
        """Go to the activity."""
        from fleetui.console.screens.activity import ActivityScreen  # noqa: PLC0415 - see above

        self._show(ActivityScreen())

    def action_show_settings(self) -> None:
        """Go to the settings and the doctor."""
        from fleetui.console.screens.settings import SettingsScreen  # noqa: PLC0415 - see above

        self._show(SettingsScreen())

    def explain_start(self, trouble: str) -> None:
        """Say on a screen of its own why no collector could be started, once."""
        from fleetui.console.screens.settings import WelcomeScreen  # noqa: PLC0415 - see above

        if isinstance(self.screen, WelcomeScreen):
            self.screen.notice = trouble
            self.wake()
        elif not self._explained:
            self.push_screen(WelcomeScreen(trouble))
        self._explained = True

    def show_instance(self, instance_id: int) -> None:
        """Go to an instance's page."""
        from fleetui.console.screens.instance import InstanceScreen  # noqa: PLC0415 - see above

        self.push_screen(InstanceScreen(instance_id, ascii_only=self.glyphs.ascii_only))

    def show_messages(self) -> None:
        """Go to what was said and what is wrong."""
        from fleetui.console.screens.messages import MessagesScreen  # noqa: PLC0415 - see above

        if not isinstance(self.screen, MessagesScreen):
            self.push_screen(MessagesScreen())

    def show_raw(self, instance_id: int) -> None:
        """Go to all that is known of an instance, as JSON."""
        from fleetui.console.screens.instance import RawScreen  # noqa: PLC0415 - see above

        self.push_screen(RawScreen(instance_id))

    def show_evidence(self, instance_id: int, finding: Finding) -> None:
        """Go to the log line that proves a finding; to the instance's page when none does."""
        place = next((e for e in finding.evidence if e.source.startswith("/")), None)
        if place is None:
            self.say("its proof is no log line: see the page")
            self.show_instance(instance_id)
            return
        from fleetui.console.screens.logs import LogsScreen  # noqa: PLC0415 - see above

        self.push_screen(
            LogsScreen(self.state.clock, self.glyphs, self.keymap, ids=[instance_id], place=place)
        )

    def _show(self, screen: FleetUIScreen) -> None:
        if type(self.screen) is type(screen):
            return
        self.action_show_fleet()
        self.push_screen(screen)

    def leave(self, screen: FleetUIScreen) -> None:
        """Go back from a screen, unless it has been left already."""
        if self.screen is screen and screen is not self.fleet_screen:
            self.pop_screen()
