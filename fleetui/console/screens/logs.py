"""Logs: one instance's file, several merged by time, or the fleet's error lines."""

from collections.abc import Sequence

from textual.app import ComposeResult

from fleetui.console.glyphs import Glyphs
from fleetui.console.keymap import Keymap
from fleetui.console.log_merge import ErrorsSource, MergedSource
from fleetui.console.log_source import CONFIG_KIND, LogSource
from fleetui.console.older_parts import OlderParts
from fleetui.console.screens.base import FleetUIScreen
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.log_pane import LogPane
from fleetui.domain.clock import Clock
from fleetui.domain.finding import Evidence
from fleetui.domain.stream import StreamId
from fleetui.store.interface import ViewerStore

ONE, MERGED, ERRORS = "one", "merged", "errors"


class LogsScreen(FleetUIScreen):
    """Screen 3. `mode` is `one`, `merged` or `errors`; `ids` are whose logs are shown.

    With a `place` the first one's log is opened at that line.
    """

    scope = "log"
    scopes = ("logs",)

    def __init__(
        self,
        clock: Clock,
        glyphs: Glyphs,
        keymap: Keymap,
        *,
        ids: Sequence[int],
        place: Evidence | None = None,
    ) -> None:
        super().__init__()
        self.ids = list(ids)
        self.mode = MERGED if len(self.ids) > 1 else ONE
        self.pane = LogPane(clock, glyphs, keymap)
        self._place = place
        self._shown: tuple[str, tuple[int, ...]] | None = None

    def compose(self) -> ComposeResult:
        """Lay out the bars and the pane."""
        yield LineBar(id="header")
        yield self.pane
        yield LineBar(id="footer")

    def on_mount(self) -> None:
        """Keys go to the lines."""
        super().on_mount()
        app = self.console_app
        self.pane.older_parts = OlderParts(app.store, app.actor, app.state.clock)
        self.set_focus(self.pane.view)

    @property
    def is_laid_out(self) -> bool:
        """Whether the widgets exist yet, the nested ones too."""
        return super().is_laid_out and bool(self.query("#log-title"))

    async def pull(self) -> None:
        """Read what came."""
        app = self.console_app
        wanted = (self.mode, tuple(self.ids))
        self.pane.view.utc = app.preferences.now.utc
        if wanted != self._shown:
            await self._open(app.store)
            self._shown = wanted
        await self.pane.advance()
        if self._place is not None:
            place, self._place = self._place, None
            await self.pane.jump(place.source, place.generation, place.offset)

    async def _open(self, store: ViewerStore) -> None:
        rows = self.console_app.state.rows
        names = {item: str(row.label or item) for item, row in rows.items()}
        if self.mode == ERRORS:
            self.pane.show_source(
                ErrorsSource(store, names), title="errors of the whole fleet",
                waiting="no error line in what is stored",
            )  # fmt: skip
        elif self.mode == MERGED:
            streams: list[tuple[StreamId, str]] = []
            for instance_id in self.ids:
                found = [s for s in await store.streams(instance_id) if s.kind != CONFIG_KIND]
                alone = len(self.ids) == 1
                for item in found if alone else found[:1]:
                    name = item.stream.path.rpartition("/")[2]
                    streams.append((item.stream, name if alone else names.get(instance_id, name)))
            source = MergedSource(store, streams)
            more = f" ({source.left_out} left out)" if source.left_out else ""
            title = f"{len(source.tags)} files by time{more}"
            self.pane.show_source(source, title=title, waiting="nothing is stored yet")
        elif self.ids:
            speed = self.console_app.state.speed
            self.pane.show_source(
                LogSource(store, self.ids[0], speed=speed),
                waiting=f"no log of {self.ids[0]} is stored yet",
            )

    def action_mode(self, mode: str) -> None:
        """Show one file, the merge, or the fleet's errors."""
        self.mode = mode
        self.console_app.wake()

    def action_next_instance(self, step: int) -> None:
        """Show the log of the next instance of the fleet's order."""
        order = self.console_app.fleet_screen.table.order
        if not order:
            return
        here = order.index(self.ids[0]) if self.ids and self.ids[0] in order else -1
        self.ids, self.mode = [order[(here + step) % len(order)]], ONE
        self.console_app.wake()

    def on_log_pane_close(self) -> None:
        """Back to where this was opened."""
        self.console_app.leave(self)

    def on_log_pane_full(self) -> None:
        """It has the whole screen already."""

    def on_log_pane_said(self, event: LogPane.Said) -> None:
        """Pass a word of the pane on."""
        self.console_app.say(event.text)

    def on_log_pane_copy(self, event: LogPane.Copy) -> None:
        """Copy what the pane says."""
        self.console_app.shell.copy_text(event.text)

    def saved(self) -> tuple[str, str]:
        """The loaded lines."""
        return self.pane.saved()

    def plain(self) -> str:
        """The visible lines, whole."""
        return self.pane.plain()

    def look_changed(self) -> None:
        """Draw everything in the new colours."""
        self.pane.view.forget()
        super().look_changed()
