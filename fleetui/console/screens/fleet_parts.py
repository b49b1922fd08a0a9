"""The parts of the fleet screen and how they are laid out; what they do is in its subclasses."""

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.widgets import Static

from fleetui.console.binding import bindings_map
from fleetui.console.fleet_state import FleetState
from fleetui.console.glyphs import Glyphs
from fleetui.console.keymap import Keymap
from fleetui.console.ordering import Selection
from fleetui.console.screens.base import FleetUIScreen
from fleetui.console.size_mode import SizeMode
from fleetui.console.trends import Trends
from fleetui.console.widgets.chart import Chart
from fleetui.console.widgets.filter_line import FilterLine
from fleetui.console.widgets.fleet_table import READING_SECONDS, FleetTable
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.lines_view import LinesView
from fleetui.console.widgets.prompt import PromptLine
from fleetui.domain.query import Query

if TYPE_CHECKING:
    from fleetui.console.inspection import Subject
    from fleetui.console.widgets.log_pane import LogPane
    from fleetui.console.widgets.log_view import LogView


class FleetParts(FleetUIScreen):
    """Table, inspector, log pane and chart, and the bars around them."""

    scope = "fleet"

    def __init__(
        self,
        state: FleetState,
        glyphs: Glyphs,
        keymap: Keymap,
        *,
        reading_seconds: float = READING_SECONDS,
    ) -> None:
        super().__init__()
        self.state = state
        self.glyphs = glyphs
        self.mode = SizeMode.SIDE
        self.table = FleetTable(state, glyphs, reading_seconds=reading_seconds, id="table")
        self.table._bindings = bindings_map("fleet", keymap)  # noqa: SLF001 - built per mode, not per class
        self.inspector = LinesView(id="inspector")
        self._keymap = keymap
        self._log_pane: LogPane | None = None
        self.chart = Chart("fleet proofs/h", ascii_only=glyphs.ascii_only, id="chart")
        self.subject: Subject | None = None
        self.query_text = ""
        """What of the filter's text is valid, and is filtered by."""
        self.query_error = ""
        self._query_before = ""
        self.trends = Trends(state)
        self.table.trends = self.trends.points
        self._full_from_table = False

    def compose(self) -> ComposeResult:
        """Lay out the bars and the panes."""
        yield LineBar(id="header")
        yield LineBar(ground="", id="flags")
        yield LineBar(ground="", id="crumbs")
        yield FilterLine(self.state, id="filter")
        yield Static(id="filter-error")
        with Container(id="main"):
            with Vertical(id="left"):
                yield self.table
                yield self.chart
            yield self.inspector
        yield LineBar(id="footer")

    @property
    def filter_line(self) -> PromptLine:
        """The line that the filter is typed into."""
        return self.query_one("#filter", PromptLine)

    @property
    def log_pane(self) -> "LogPane":
        """The log pane, made on first use; it is on the screen from when it is first opened."""
        if self._log_pane is None:
            from fleetui.console.widgets.log_pane import LogPane  # noqa: PLC0415 - on demand only

            self._log_pane = LogPane(self.state.clock, self.glyphs, self._keymap)
        return self._log_pane

    @property
    def has_log(self) -> bool:
        """Whether the log pane has been opened before."""
        return self._log_pane is not None and self._log_pane.view.is_attached

    @property
    def log_view(self) -> "LogView":
        """The log pane's lines."""
        return self.log_pane.view

    @property
    def in_log(self) -> bool:
        """Whether the log has the focus."""
        return self.has_log and self.focused is self.log_view

    def select(
        self,
        *,
        query: Query | None = None,
        failures_only: bool | None = None,
        sort: str | None = None,
        descending: bool | None = None,
        group: str | None = None,
    ) -> None:
        """Change some of what the table selects and how it is ordered."""
        old = self.table.selection
        self.table.set_selection(
            Selection(
                old.query if query is None else query,
                old.failures_only if failures_only is None else failures_only,
                sort or old.sort,
                old.descending if descending is None else descending,
                old.group if group is None else group,
            )
        )
        self.draw_bars()
