"""One instance's details on the whole screen, for narrow terminals."""

import msgspec
from textual.app import ComposeResult

from fleetui.console.inspection import Subject, describe
from fleetui.console.screens.base import FleetUIScreen
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.lines_view import LinesView


class DetailsScreen(FleetUIScreen):
    """The inspector as a screen of its own."""

    def __init__(self, instance_id: int) -> None:
        super().__init__()
        self.instance_id = instance_id
        self.subject: Subject | None = None

    def compose(self) -> ComposeResult:
        """Lay out the bars and the lines."""
        yield LineBar(id="header")
        yield LinesView(id="details")
        yield LineBar(id="footer")

    def on_mount(self) -> None:
        """The lines scroll."""
        self.query_one(LinesView).focus()

    async def pull(self) -> None:
        """Read the instance."""
        self.subject = await self.console_app.read_subject(self.instance_id)
        self._draw()

    def fleet_changed(self, changed: set[int]) -> None:
        """Draw with the present ages."""
        super().fleet_changed(changed)
        self._draw()

    def _draw(self) -> None:
        view = self.query_one(LinesView)
        app = self.console_app
        if self.subject is None:
            return
        row = app.state.row(self.instance_id) or self.subject.row
        subject = msgspec.structs.replace(self.subject, row=row, now=app.state.now())
        view.show(describe(subject, view.inner_width, app.glyphs))

    def on_lines_view_leave(self) -> None:
        """Back to the fleet."""
        self.app.pop_screen()
