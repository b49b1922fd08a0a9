"""What every screen of ours has: header, footer, and pulls from the store when it is shown."""

import time
from typing import TYPE_CHECKING, cast

from textual.binding import BindingsMap
from textual.screen import Screen

from fleetui.console.binding import bindings_map
from fleetui.console.widgets.footer import footer, line_footer
from fleetui.console.widgets.header import header, totals_line
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.prompt import PromptLine
from fleetui.domain.intent import Intent

if TYPE_CHECKING:
    from fleetui.console.app import FleetApp


class FleetUIScreen(Screen[None]):
    """A screen with our header and footer. It draws when told that the fleet changed."""

    AUTO_FOCUS = ""
    scope = "lists"
    scopes: tuple[str, ...] = ()
    """Other scopes whose actions the command line offers here."""
    shown_by = ""
    """The action that leads here, where the footer of other screens offers it."""

    def __init__(self) -> None:
        super().__init__()
        # Keys come from the action registry only: no focus chain, no stock copy key.
        self._bindings = BindingsMap()

    def on_mount(self) -> None:
        """Take the keys that only this screen has."""
        for scope in self.scopes:
            self._bindings = bindings_map(scope, self.console_app.keymap)

    @property
    def console_app(self) -> "FleetApp":
        """The app, typed."""
        return cast("FleetApp", self.app)

    def fleet_changed(self, changed: set[int]) -> None:
        """Draw what changed; called on each tick while this screen is shown."""
        del changed
        self.draw_bars()

    def saved(self) -> tuple[str, str]:
        """Return a file name and the text that saving this screen writes."""
        return "screen.txt", self.plain() + "\n"

    def plain(self) -> str:
        """Return what is shown as plain text."""
        strips = self._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    def look_again(self) -> None:
        """The operator asks for what is newest: forget what was looked up once."""

    def targets(self) -> list[int]:
        """Return the ids that an act asked for here is for."""
        return []

    def chosen_request(self) -> Intent | None:
        """Return the request under the cursor, if it waits for a collector."""
        return None

    async def pull(self) -> None:
        """Read from the store what only this screen shows."""

    @property
    def is_laid_out(self) -> bool:
        """Whether the widgets exist yet."""
        return self.is_attached and bool(self.query("#footer"))

    def draw_bars(self) -> None:
        """Draw header and footer."""
        app = self.console_app
        width = self.size.width
        bar = self.query_one("#header", LineBar)
        if width < 60:
            bar.show(totals_line(app.state, app.glyphs))
        else:
            bar.show(
                *header(
                    app.state,
                    app.account,
                    role=app.role,
                    glyphs=app.glyphs,
                    width=width,
                    frozen=app.behind if app.frozen else None,
                    link=app.link_trouble(),
                    pace=app.loops.tick_seconds,
                )
            )
        if isinstance(self.focused, PromptLine):
            hints = line_footer(self.focused.hints, app.glyphs)
        else:
            hints = footer(
                (self.scope, *self.scopes),
                app.keymap,
                glyphs=app.glyphs,
                width=width,
                here=self.shown_by,
            )
        pending = app.acts.pending_line()
        note = app.notes.line(time.monotonic(), width, app.glyphs)
        said = [(pending, "warn bold")] if pending else note
        self.query_one("#footer", LineBar).show(said or hints)

    def look_changed(self) -> None:
        """Draw everything in the new colours."""
        self.refresh()
        for widget in self.query("*"):
            widget.refresh()

    def on_screen_resume(self) -> None:
        """Draw what changed meanwhile."""
        if self.is_laid_out:
            # Also those that went meanwhile.
            shown = self.console_app.fleet_screen.table.order
            self.fleet_changed({*self.console_app.state.rows, *shown})
        self.console_app.wake()

    def on_resize(self) -> None:
        """Draw for the new width."""
        self.call_after_refresh(self._redraw)

    def _redraw(self) -> None:
        if self.is_laid_out:
            self.fleet_changed(set())
