"""The console: wires the store to the screens. It reads facts and writes intents, no more."""

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.events import Key
from textual.widgets import Input

from fleetui.console.arranging import GROUPINGS
from fleetui.console.binding import bindings_map, call_of
from fleetui.console.collector_watch import CollectorWatch
from fleetui.console.columns import COLUMNS
from fleetui.console.diff_output import DiffOutputApp
from fleetui.console.filter_completion import completions
from fleetui.console.fleet_state import FleetState
from fleetui.console.glyphs import Glyphs
from fleetui.console.inspection import Subject
from fleetui.console.intent_desk import IntentDesk
from fleetui.console.keymap import Keymap
from fleetui.console.modals.command import Command, CommandLine
from fleetui.console.modals.confirm import ConfirmDialog
from fleetui.console.modals.help import HelpScreen
from fleetui.console.modals.menu import Choice, Menu
from fleetui.console.ordered_keys import OrderedKeysApp
from fleetui.console.ordering import Selection
from fleetui.console.palette import PAINTS, TERMINAL, paint_named
from fleetui.console.preferences import PreferenceFile
from fleetui.console.screens.base import FleetUIScreen
from fleetui.console.screens.fleet import FleetScreen
from fleetui.console.screens.hosts import HostsScreen
from fleetui.console.screens.instance import InstanceScreen
from fleetui.console.screens.lists import ActivityScreen, FailuresScreen
from fleetui.console.screens.logs import LogsScreen
from fleetui.console.screens.pulse import PulseScreen
from fleetui.console.screens.settings import SettingsScreen, WelcomeScreen
from fleetui.console.shell import (
    ShellSettings,
)
from fleetui.console.shell_desk import ShellDesk
from fleetui.console.styles import style_sheets
from fleetui.console.widgets.fleet_table import READING_SECONDS
from fleetui.console.widgets.log_pane import LogPane
from fleetui.console.widgets.log_view import LogView
from fleetui.domain.check import Examine
from fleetui.domain.clock import Clock
from fleetui.domain.finding import Finding
from fleetui.domain.quiet import quiet_instances
from fleetui.domain.text import sanitise
from fleetui.reading.peers import Peers
from fleetui.store.interface import StoreFullError, ViewerStore

TICK_SECONDS = 0.25
PULL_SECONDS = 0.5
CURSOR_REST_SECONDS = 0.1
HEARTBEAT_SECONDS = 2.0
HEARTBEAT_LIFE_SECONDS = 10.0
STORE_DEADLINE_SECONDS = 5.0
SPARK_HOURS = 6.0
THEME_NOTES = {
    "terminal": "the terminal's own sixteen colours",
    "dark": "for a dark room",
    "light": "for a bright one",
    "safe": "told apart by every eye: blue is well, orange is bad",
    "mono": "no colours: bold, dim, underlined",
}
NO_COMMANDS = frozenset({"app.command", "app.no_act", "fleet.acts"})


class FleetApp(OrderedKeysApp, DiffOutputApp):
    """The operator's screen on one store.

    `actor` goes into every intent; `account` names whose fleet it is. With `read_only` no key
    that acts is bound, and an intent is refused however it came about. `start_collector` starts
    one when none runs and returns why it could not (empty: one runs); `notice` says why none
    could be started at first.
    """

    TITLE = "FleetUI"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(
        self,
        store: ViewerStore,
        *,
        clock: Clock,
        actor: str,
        account: str,
        read_only: bool = False,
        ascii_only: bool = False,
        undo_seconds: float = 5.0,
        reading_seconds: float = READING_SECONDS,
        keymap: Keymap | None = None,
        theme: str = "",
        shell: ShellSettings | None = None,
        preferences: PreferenceFile | None = None,
        save_folder: Path | None = None,
        examine: Examine | None = None,
        start_collector: Callable[[], Awaitable[str]] | None = None,
        notice: str = "",
    ) -> None:
        super().__init__(css_path=style_sheets())
        self.store = store
        self.state = FleetState(clock)
        self.glyphs = Glyphs(ascii_only)
        self.actor = sanitise(actor, 120)
        self.account = sanitise(account, 60)
        self.read_only = read_only
        self.keymap = keymap or Keymap(read_only=read_only)
        self.preferences = preferences or PreferenceFile()
        self.frozen = False
        self.behind = 0
        """While frozen: how many rows have changed since."""
        self._mouse = True
        self.viewer = f"{self.actor} {uuid.uuid4().hex[:8]}"
        self.fleet_screen = FleetScreen(
            self.state, self.glyphs, self.keymap, reading_seconds=reading_seconds
        )
        self.shell = ShellDesk(self, shell or ShellSettings(), save_folder)
        self.acts = IntentDesk(self, undo_seconds)
        self.collector = CollectorWatch(self, start_collector, tried=bool(notice))
        self.examine = examine
        self._notice = notice
        self._asked_to_quit = False
        self._wake = asyncio.Event()
        self._bindings = bindings_map("app", self.keymap)
        for paint in PAINTS.values():
            self.register_theme(paint.theme)
        self._no_color = bool(os.environ.get("NO_COLOR"))
        chosen = theme or self.preferences.now.theme or TERMINAL
        self.paint = paint_named(chosen, no_color=self._no_color)
        self.theme = self.paint.theme.name
        self.set_class(ascii_only, "-ascii")

    def on_mount(self) -> None:
        """Show the fleet and start the loops."""
        self.push_screen(self.fleet_screen)
        if self._notice:
            self.push_screen(WelcomeScreen(self._notice))
        chosen = self.preferences.now
        self.fleet_screen.table.set_columns(chosen.columns, wide=chosen.wide)
        self.fleet_screen.table.selection = Selection(group=chosen.group)
        for name, loop in (
            ("follow", self._follow()),
            ("pull", self._pull()),
            ("heartbeat", self._heartbeat()),
        ):
            self.run_worker(loop, name=name, group=name, exit_on_error=False)

    def takes_keys(self) -> bool:
        """Take keys once the fleet is drawn."""
        return self.fleet_screen in self.screen_stack and self.fleet_screen.is_laid_out

    def on_key(self, event: Key) -> None:
        """Say why a key that acts does nothing when read-only."""
        screen = self.screen
        if isinstance(screen, FleetUIScreen) and not isinstance(screen.focused, Input):
            scopes = (screen.scope, *screen.scopes)
            for action in self.keymap.withheld:
                if event.key in action.keys and action.scope in scopes:
                    self.say(f"read-only: {action.command} is not to be had here")

    # -- the loops: each owned here, named, and ended with the app -----------------------------

    async def _follow(self) -> None:
        while True:
            changed: set[int] = set()
            try:
                async with asyncio.timeout(STORE_DEADLINE_SECONDS):
                    if self.state.loaded:
                        view = await self.store.follow(self.state.revision)
                    else:
                        view = await self.store.fleet()
                if self.frozen:
                    self.behind = len(view.rows)
                    self.state.look_alive(view)
                else:
                    changed = self.state.apply(view)
                self._tell(changed)
            except Exception as error:  # noqa: BLE001 - any trouble of the store is shown, never fatal
                self._trouble(error)
            self.acts.advance()
            await asyncio.sleep(TICK_SECONDS)

    async def _pull(self) -> None:
        while True:
            self._wake.clear()
            screen = self.screen
            try:
                if isinstance(screen, FleetUIScreen) and screen.is_laid_out and not self.frozen:
                    async with asyncio.timeout(STORE_DEADLINE_SECONDS):
                        await screen.pull()
            except Exception as error:  # noqa: BLE001 - the same
                self._trouble(error)
            try:
                await asyncio.wait_for(self._wake.wait(), PULL_SECONDS)
                # Let the cursor come to rest: a held key must not read every row it passes.
                await asyncio.sleep(CURSOR_REST_SECONDS)
            except TimeoutError:
                pass

    async def _heartbeat(self) -> None:
        while True:
            try:
                async with asyncio.timeout(STORE_DEADLINE_SECONDS):
                    until = self.state.now() + HEARTBEAT_LIFE_SECONDS * self.state.speed
                    await self.store.watch(self.viewer, self.fleet_screen.table.cursor_id, until)
                    await self.acts.look_after()
                await self.read_decisions()
                await self.collector.look_after()
                self.state.write_trouble = None
            except StoreFullError as error:
                self.state.write_trouble = sanitise(str(error), 200)
            except Exception as error:  # noqa: BLE001 - the same
                self._trouble(error)
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def read_decisions(self) -> None:
        """Read which findings were acknowledged or snoozed, here or elsewhere."""
        async with asyncio.timeout(STORE_DEADLINE_SECONDS):
            records = await self.store.findings()
        self.state.quiet = quiet_instances(records, self.state.now())

    def wake(self) -> None:
        """Read for the screen that is shown soon, without waiting for the next pull."""
        self._wake.set()

    def _tell(self, changed: set[int]) -> None:
        screen = self.screen
        if isinstance(screen, ConfirmDialog):
            screen.fleet_changed()
            self.fleet_screen.fleet_changed(changed)
        elif isinstance(screen, FleetUIScreen) and screen.is_laid_out:
            screen.fleet_changed(changed)

    def _trouble(self, error: Exception) -> None:
        if isinstance(error, TimeoutError):
            error = TimeoutError(f"no answer within {STORE_DEADLINE_SECONDS:.0f} s")
        self.state.fail(error)
        screen = self.screen
        if isinstance(screen, FleetUIScreen) and screen.is_laid_out:
            screen.draw_bars()

    # -- reading -------------------------------------------------------------------------------

    async def read_subject(self, instance_id: int) -> Subject | None:
        """Read all that the inspector shows of an instance."""
        row = self.state.row(instance_id)
        if row is None:
            return None
        now = self.state.now()
        return Subject(
            row=row,
            reading=await self.store.reading(instance_id),
            instance=await self.store.instance(instance_id),
            samples=await self.store.samples(instance_id, now - SPARK_HOURS * 3600),
            place=Peers(self.state.rows.values(), now).place_of(row),
            now=now,
        )

    def write_terminal(self, sequence: str) -> None:
        """Send a sequence that is no drawing, unless the terminal is lent out."""
        if self._driver is not None and not self.lent:
            self._driver.write(sequence)

    def work(self, work: Coroutine[Any, Any, None], name: str, group: str) -> None:
        """Run a worker of a name and group; what goes wrong in it never ends the app."""
        self.run_worker(work, name=name, group=group, exit_on_error=False)

    def say(self, text: str, *, severity: str = "information") -> None:
        """Show a short note; never read as markup."""
        words = self.glyphs.plain(sanitise(text, 300))
        level = "error" if severity == "error" else "information"
        self.notify(words, severity=level, markup=False, timeout=6 if level == "error" else 4)  # type: ignore[arg-type]  # one of textual's three words

    # -- actions of the registry ---------------------------------------------------------------

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(HelpScreen(self.glyphs, self.keymap))

    # -- the command line ------------------------------------------------------------------------

    def action_command(self) -> None:
        """Open the command line."""
        self.command_line()

    def command_line(self, *, dangerous_only: bool = False) -> None:
        """Open the command line on the actions of this screen, or on those that act."""
        screen = self.screen
        if not isinstance(screen, FleetUIScreen):
            return
        scopes = dict.fromkeys((screen.scope, *screen.scopes, "app"))
        offered = [
            action
            for scope in scopes
            for action in self.keymap.actions(scope)
            if action.id not in NO_COMMANDS and (action.dangerous or not dangerous_only)
        ]
        line = CommandLine(offered, self._argument_values, self.glyphs)
        self.push_screen(line, self._run_command)

    def _argument_values(self, kind: str, begun: str) -> list[str]:
        rows = self.state.rows.values()
        match kind:
            case "column":
                values = [column.name for column in COLUMNS]
            case "theme":
                values = list(PAINTS)
            case "group":
                values = ["none", *GROUPINGS]
            case "filter":
                return completions(begun, rows)
            case "instance":
                values = [str(row.instance_id) for row in rows]
                values += [row.label for row in rows if row.label]
            case _:
                values = []
        return [value for value in values if value.startswith(begun.strip())]

    async def _run_command(self, command: Command | None) -> None:
        if command is None:
            return
        action = command.action
        node: DOMNode = self.screen
        if action.scope == "app":
            node = self
        elif action.scope == "log":
            node = self.screen.query_one(LogPane)
        elif action.scope == "lists":
            node = self.screen.focused or self.screen
        if not command.argument:
            await self.run_action(call_of(action), default_namespace=node)
            return
        method = getattr(node, f"action_{action.with_argument}", None)
        if method is not None:
            method(command.argument)

    # -- how it looks --------------------------------------------------------------------------

    def prefer(self, **changes: object) -> None:
        """Keep a choice of the operator for the next time."""
        trouble = self.preferences.keep(msgspec.structs.replace(self.preferences.now, **changes))
        if trouble:
            self.say(f"this choice lasts until you quit: {trouble}", severity="error")

    def action_theme_menu(self) -> None:
        """Choose the colours."""
        choices = [Choice(name, name, THEME_NOTES[name]) for name in PAINTS]
        self.push_screen(
            Menu("colours", choices, self.glyphs, current=self.paint.name), self._theme_chosen
        )

    def _theme_chosen(self, name: str | None) -> None:
        if name is not None:
            self.action_choose_theme(name)

    def action_choose_theme(self, name: str) -> None:
        """Draw in the colours of a theme from now on."""
        if name not in PAINTS:
            self.say(f"there is no theme {name}: " + " ".join(PAINTS))
            return
        if self._no_color:
            self.say("NO_COLOR is set: only attributes are used")
        self.paint = paint_named(name, no_color=self._no_color)
        self.theme = self.paint.theme.name
        for screen in self.screen_stack:
            if isinstance(screen, FleetUIScreen):
                screen.look_changed()
        self.prefer(theme=name)

    def action_utc(self) -> None:
        """Show times in UTC, or local ones."""
        self.prefer(utc=not self.preferences.now.utc)
        self.say("times are " + ("UTC" if self.preferences.now.utc else "local"))
        for view in self.screen.query(LogView):
            view.utc = self.preferences.now.utc
            view.forget()
        self._draw_again()

    def _draw_again(self) -> None:
        screen = self.screen
        if isinstance(screen, FleetUIScreen) and screen.is_laid_out:
            screen.fleet_changed(set())
        self.wake()

    def action_freeze(self) -> None:
        """Let the screen stand still, or catch up."""
        self.frozen = not self.frozen
        self.state.freeze(still=self.frozen)
        self.behind = 0
        self._draw_again()

    def action_refresh(self) -> None:
        """Read the store now; look for a collector, and let the doctor look again."""
        screen = self.screen
        if isinstance(screen, SettingsScreen):
            screen.look_again()
        if self.state.loaded and not self.state.lease_held:
            self.collector.start()
        self.wake()

    def action_mouse(self) -> None:
        """Take the mouse, or leave it to the terminal."""
        driver = self._driver
        enable = getattr(driver, "_enable_mouse_support", None)
        disable = getattr(driver, "_disable_mouse_support", None)
        if enable is None or disable is None:
            self.say("this terminal has no mouse")
            return
        self._mouse = not self._mouse
        (enable if self._mouse else disable)()
        self.say("the mouse is " + ("the console's" if self._mouse else "the terminal's: select"))

    def action_save(self) -> None:
        """Save what the screen shows to a file."""
        screen = self.screen
        if isinstance(screen, FleetUIScreen):
            self.shell.save(*screen.saved())

    # -- going places --------------------------------------------------------------------------

    def action_show_fleet(self) -> None:
        """Go to the fleet."""
        while len(self.screen_stack) > 1 and self.screen is not self.fleet_screen:
            self.pop_screen()

    def action_show_pulse(self) -> None:
        """Go to the charts."""
        self._show(PulseScreen(ascii_only=self.glyphs.ascii_only))

    def action_show_logs(self) -> None:
        """Go to the logs of the marked instances, else of the selected one."""
        self.show_logs(self.fleet_screen.targets())

    def show_logs(self, ids: Sequence[int]) -> LogsScreen:
        """Go to the logs of instances."""
        screen = LogsScreen(self.state.clock, self.glyphs, self.keymap, ids=ids)
        self._show(screen)
        return screen

    def action_show_failures(self) -> None:
        """Go to the failures."""
        self._show(FailuresScreen())

    def action_show_hosts(self) -> None:
        """Go to the machines."""
        self._show(HostsScreen())

    def action_show_settings(self) -> None:
        """Go to the settings and the doctor."""
        self._show(SettingsScreen())

    def show_evidence(self, instance_id: int, finding: Finding) -> None:
        """Go to the log line that proves a finding; to the instance's page when none does."""
        place = next((e for e in finding.evidence if e.source.startswith("/")), None)
        if place is None:
            self.say("its proof is no log line: see the page")
            self.push_screen(InstanceScreen(instance_id, ascii_only=self.glyphs.ascii_only))
            return
        screen = LogsScreen(
            self.state.clock, self.glyphs, self.keymap, ids=[instance_id], place=place
        )
        self.push_screen(screen)

    def action_show_activity(self) -> None:
        """Go to the activity."""
        self._show(ActivityScreen())

    def _show(self, screen: FleetUIScreen) -> None:
        if type(self.screen) is type(screen):
            return
        self.action_show_fleet()
        self.push_screen(screen)

    def leave(self, screen: FleetUIScreen) -> None:
        """Go back from a screen, unless it has been left already."""
        if self.screen is screen and screen is not self.fleet_screen:
            self.pop_screen()

    def action_undo(self) -> None:
        """Take back what is pending."""
        self.acts.take_back()

    def action_redraw(self) -> None:
        """Draw everything anew, whatever the terminal shows now."""
        self.forget_frame()
        self.screen.refresh(layout=True)

    def action_no_act(self) -> None:
        """Ctrl+c never acts."""
        self.say("q quits; ctrl+c does nothing here")

    def action_leave(self) -> None:
        """Back one level; at the top, quit. A pending destroy makes it ask once."""
        if self.fleet_screen not in self.screen_stack:
            return
        if self.screen is not self.fleet_screen:
            self.pop_screen()
        elif self.fleet_screen.step_back():
            return
        elif self.acts.pending is not None and not self._asked_to_quit:
            self._asked_to_quit = True
            word = self.acts.pending.intents[0].verb.value
            self.say(f"a {word} is pending: q again quits and takes it back")
        else:
            self.acts.pending = None
            self.exit()
