"""The console: wires the store to the screens. It reads facts and writes intents, no more."""

import os
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from textual.binding import BindingType
from textual.events import Key
from textual.widgets import Input

from fleetui.console.binding import bindings_map
from fleetui.console.collector_watch import CollectorWatch
from fleetui.console.command_desk import CommandDesk
from fleetui.console.diff_output import DiffOutputApp
from fleetui.console.fleet_state import FleetState
from fleetui.console.glyphs import Glyphs
from fleetui.console.intent_desk import IntentDesk
from fleetui.console.keymap import Keymap
from fleetui.console.notes import Notes
from fleetui.console.ordered_keys import OrderedKeysApp
from fleetui.console.ordering import Selection
from fleetui.console.palette import PAINTS, TERMINAL, paint_named
from fleetui.console.places import PlacesApp
from fleetui.console.preferences import PreferenceFile
from fleetui.console.screens.base import FleetUIScreen
from fleetui.console.screens.fleet import FleetScreen
from fleetui.console.shell import ShellSettings
from fleetui.console.shell_desk import ShellDesk
from fleetui.console.store_loops import PACES, StoreLoops
from fleetui.console.styles import LATER, style_sheets
from fleetui.console.widgets.fleet_table import READING_SECONDS
from fleetui.domain.check import Examine
from fleetui.domain.clock import Clock
from fleetui.domain.market import Market
from fleetui.domain.policy import Policy
from fleetui.domain.role import Role
from fleetui.domain.text import sanitise
from fleetui.store.interface import ViewerStore

if TYPE_CHECKING:
    from fleetui.console.inspection import Subject
    from fleetui.domain.intent import Verb
    from fleetui.reading.peers import Peers

SPARK_HOURS = 6.0
PEERS_SECONDS = 5.0
"""Real seconds for which the paces of the whole fleet are compared with."""
THEME_NOTES = {
    "terminal": "the terminal's own sixteen colours",
    "dark": "for a dark room",
    "light": "for a bright one",
    "safe": "told apart by every eye: blue is well, orange is bad",
    "mono": "no colours: bold, dim, underlined",
}


class FleetApp(PlacesApp, OrderedKeysApp, DiffOutputApp):
    """The operator's screen on one store.

    `actor` goes into every intent; `account` names whose fleet it is. What `role` may not ask for
    has no key, and an intent of it is refused however it came about. `start_collector` starts
    one when none runs and returns why it could not (empty: one runs). `script_of` returns what a
    verb runs on a host (empty: nothing); a request lapses after `expiry_seconds` (fleet time).
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
        role: Role = Role.OWNER,
        ascii_only: bool = False,
        undo_seconds: float = 5.0,
        reading_seconds: float = READING_SECONDS,
        keymap: Keymap | None = None,
        theme: str = "",
        shell: ShellSettings | None = None,
        preferences: PreferenceFile | None = None,
        save_folder: Path | None = None,
        examine: Examine | None = None,
        policy: Policy | None = None,
        market: Market | None = None,
        start_collector: Callable[[], Awaitable[str]] | None = None,
        script_of: Callable[["Verb"], Awaitable[str]] | None = None,
        expiry_seconds: float = 900.0,
    ) -> None:
        sheets = style_sheets()
        super().__init__(css_path=[sheet for sheet in sheets if LATER not in str(sheet)])
        self._sheets_later = [PurePath(sheet) for sheet in sheets if LATER in str(sheet)]
        self.store = store
        self.state = FleetState(clock)
        self.glyphs = Glyphs(ascii_only)
        self.actor = sanitise(actor, 120)
        self.account = sanitise(account, 60)
        self.role = role
        self.keymap = keymap or Keymap(role=role)
        self.preferences = preferences or PreferenceFile()
        self.notes = Notes()
        self._peers: tuple[float, Peers] | None = None
        self.frozen = False
        self.behind = 0
        """While frozen: how many rows have changed since."""
        self._mouse = True
        self.fleet_screen = FleetScreen(
            self.state, self.glyphs, self.keymap, reading_seconds=reading_seconds
        )
        self.shell = ShellDesk(self, shell or ShellSettings(), save_folder)
        self.acts = IntentDesk(self, undo_seconds, script_of)
        self.expiry_seconds = expiry_seconds
        self.collector = CollectorWatch(self, start_collector)
        self.examine = examine
        self.policy = policy or Policy()
        self.market = market
        self._asked_to_quit = False
        self.loops = StoreLoops(self, f"{self.actor} {uuid.uuid4().hex[:8]}")
        self.commands = CommandDesk(self)
        self._bindings = bindings_map("app", self.keymap)
        for paint in PAINTS.values():
            self.register_theme(paint.theme)
        self._no_color = bool(os.environ.get("NO_COLOR"))
        chosen = theme or self.preferences.now.theme or TERMINAL
        self.paint = paint_named(chosen, no_color=self._no_color)
        self.theme = self.paint.theme.name
        self.set_class(ascii_only, "-ascii")

    @property
    def read_only(self) -> bool:
        """Whether nothing at all may be changed from here."""
        return self.role is Role.VIEWER

    def on_mount(self) -> None:
        """Show the fleet and start the loops."""
        self.push_screen(self.fleet_screen)
        chosen = self.preferences.now
        self.fleet_screen.table.set_columns(chosen.columns, wide=chosen.wide)
        self.fleet_screen.table.selection = Selection(group=chosen.group)
        for name, loop in self.loops.all().items():
            self.work(loop(), name, name)

    def push_screen(self, screen: Any, *more: Any, **named: Any) -> Any:  # noqa: ANN401 - textual's own overloads
        """Show a screen over the others; the first of them brings the sheet of dialogs."""
        if self._sheets_later and screen is not self.fleet_screen:
            self.stylesheet.read_all(self._sheets_later)
            self._sheets_later = []
        return super().push_screen(screen, *more, **named)

    def takes_keys(self) -> bool:
        """Take keys once the fleet is drawn."""
        return self.fleet_screen in self.screen_stack and self.fleet_screen.is_laid_out

    def on_key(self, event: Key) -> None:
        """Say why a key does nothing that another role would have."""
        screen = self.screen
        if isinstance(screen, FleetUIScreen) and not isinstance(screen.focused, Input):
            scopes = (screen.scope, *screen.scopes)
            for action in self.keymap.withheld:
                if event.key in action.keys and action.scope in scopes:
                    why = "read-only" if self.read_only else f"role {self.role}"
                    self.say(f"{why}: {action.command} is not to be had here")

    # -- reading -------------------------------------------------------------------------------

    async def read_subject(self, instance_id: int) -> "Subject | None":
        """Read all that the inspector shows of an instance."""
        from fleetui.console.inspection import Subject  # noqa: PLC0415 - after the first paint
        from fleetui.reading.peers import Peers  # noqa: PLC0415 - the same
        from fleetui.reading.summary import fleet_row  # noqa: PLC0415 - the same

        row = self.state.row(instance_id)
        reading = await self.store.reading(instance_id)
        instance = await self.store.instance(instance_id)
        if row is None and instance is not None and reading is not None:
            # It is gone, and what is kept of it is as good as before.
            row = fleet_row(instance, reading, row_seen_at=reading.at, acting=None)
        if row is None:
            return None
        now = self.state.now()
        if self._peers is None or abs(now - self._peers[0]) > PEERS_SECONDS * self.state.speed:
            self._peers = (now, Peers(self.state.rows.values(), now))
        return Subject(
            row=row,
            reading=reading,
            instance=instance,
            samples=await self.store.samples(instance_id, now - SPARK_HOURS * 3600),
            place=self._peers[1].place_of(row),
            now=now,
        )

    def wake(self) -> None:
        """Read for the screen that is shown soon, without waiting for the next pull."""
        self.loops.wake()

    def write_terminal(self, sequence: str) -> None:
        """Send a sequence that is no drawing, unless the terminal is lent out."""
        if self._driver is not None and not self.lent:
            self._driver.write(sequence)

    def work(self, work: Coroutine[Any, Any, None], name: str, group: str) -> None:
        """Run a worker of a name and group; what goes wrong in it never ends the app."""
        self.run_worker(work, name=name, group=group, exit_on_error=False)

    def say(self, text: str, *, severity: str = "information") -> None:
        """Show a short note in the footer; never read as markup."""
        words = self.glyphs.plain(sanitise(text, 300))
        now = time.monotonic()
        note = self.notes.add(words, at=self.state.now(), now=now, is_error=severity == "error")
        self._draw_footer()
        self.set_timer(note.until - now + 0.05, self._draw_footer)

    def _draw_footer(self) -> None:
        """Draw the bars of the screen below the dialogs."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, FleetUIScreen):
                if screen.is_laid_out:
                    screen.draw_bars()
                return

    def action_messages(self) -> None:
        """Show all that was said, and what is wrong now, whole."""
        self.show_messages()

    def action_pace(self, step: int) -> None:
        """Read the store less often, or more often."""
        place = PACES.index(self.loops.tick_seconds) + step
        self.loops.tick_seconds = PACES[min(max(place, 0), len(PACES) - 1)]
        self.say(f"the fleet is read every {self.loops.tick_seconds:g} s")

    # -- actions of the registry ---------------------------------------------------------------

    def action_help(self) -> None:
        """Show the keys."""
        from fleetui.console.modals.help import HelpScreen  # noqa: PLC0415 - on demand only

        self.push_screen(HelpScreen(self.glyphs, self.keymap))

    def action_command(self) -> None:
        """Open the command line."""
        self.commands.open()

    # -- how it looks --------------------------------------------------------------------------

    def prefer(self, **changes: object) -> None:
        """Keep a choice of the operator for the next time."""
        trouble = self.preferences.keep(msgspec.structs.replace(self.preferences.now, **changes))
        if trouble:
            self.say(f"this choice lasts until you quit: {trouble}", severity="error")

    def action_theme_menu(self) -> None:
        """Choose the colours."""
        from fleetui.console.modals.menu import Choice, Menu  # noqa: PLC0415 - on demand only

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
        from fleetui.console.widgets.log_view import LogView  # noqa: PLC0415 - on demand only

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
        self.loops.wake()

    def action_freeze(self) -> None:
        """Let the screen stand still, or catch up."""
        self.frozen = not self.frozen
        self.state.freeze(still=self.frozen)
        self.behind = 0
        self._draw_again()

    def action_refresh(self) -> None:
        """Read the store now; look for a collector, and let the doctor look again."""
        screen = self.screen
        if isinstance(screen, FleetUIScreen):
            screen.look_again()
        if self.state.loaded and not self.state.lease_held:
            self.collector.start()
        self.loops.wake()

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

    def action_undo(self) -> None:
        """Take back what is pending, else what waits for a collector."""
        self.acts.take_back()

    def action_plain(self) -> None:
        """Leave the screen and print its text, for whoever selects with the terminal."""
        screen = self.screen
        if isinstance(screen, FleetUIScreen):
            self.shell.show_plain(screen.plain())

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
