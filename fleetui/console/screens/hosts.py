"""Screen 5: the machines with their records, and the money."""

from textual.app import ComposeResult
from textual.events import Key
from textual.widgets import Input

from fleetui.console.inspection import Line
from fleetui.console.machine_lines import (
    SORTS,
    Machine,
    heading,
    machine_line,
    machines,
    record_lines,
    sorted_machines,
)
from fleetui.console.modals.menu import Choice, Menu
from fleetui.console.money_lines import money_lines
from fleetui.console.screens.lists import ListScreen
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.lines_view import LinesView
from fleetui.console.widgets.prompt import PromptLine
from fleetui.domain.machine_record import MachineRecord
from fleetui.reports.hosts import matching
from fleetui.reports.money import money_report

HEAD_LINES = 2
READ_SECONDS = 5.0
MONEY_DAYS = 30


class HostsScreen(ListScreen):
    """The machines; enter shows a machine's instances in the fleet, `d` opens its record."""

    scopes = ("hosts",)

    def __init__(self) -> None:
        super().__init__()
        self._records: tuple[MachineRecord, ...] = ()
        self._read_at = float("-inf")
        self._shown: list[Machine] = []
        self._starts: list[int] = []
        self._place = 0
        self._open: set[int] = set()
        self._words = ""
        self._sort = SORTS[0].name

    def compose(self) -> ComposeResult:
        """Lay out the bars, the lines and the search."""
        yield LineBar(id="header")
        yield LinesView(id="lines")
        yield PromptLine(
            placeholder="machine id, GPU, place, finding, blacklisted: all words must occur",
            hints=(("enter", "keep"), ("escape", "clear")),
            id="search",
        )
        yield LineBar(id="footer")

    def look_again(self) -> None:
        """Read the records anew."""
        self._read_at = float("-inf")

    async def pull(self) -> None:
        """Read the records now and then, and draw with the rows at hand."""
        app = self.console_app
        now = app.state.now()
        if not 0 <= now - self._read_at < READ_SECONDS * app.state.speed:
            self._records = await app.store.machine_records()
            self._read_at = now
        self._draw()

    def _draw(self) -> None:
        app = self.console_app
        words, rows = self._words.split(), app.state.rows.values()
        found = machines(self._records, rows)
        if words:
            kept = {id(record) for record in matching(self._records, words)}
            found = [machine for machine in found if _fits(machine, words, kept)]
        chosen = self._shown[self._place].machine_id if self._shown else None
        self._shown = sorted_machines(found, self._sort)
        ids = [machine.machine_id for machine in self._shown]
        if chosen in ids and self._place < len(ids) and ids[self._place] != chosen:
            self._place = ids.index(chosen)
        self._place = min(self._place, max(len(ids) - 1, 0))
        view = self.query_one(LinesView)
        width = view.inner_width
        search = f"   matching “{self._words}”" if words else ""
        head = f"   {len(ids)} machines by {self._sort}{search}"
        lines: list[Line] = [
            [("hosts", "title bold"), (head, "dim")],
            [(heading(width), "title")],
        ]
        self._starts = []
        for machine in self._shown:
            self._starts.append(len(lines))
            lines.append(machine_line(machine, width, app.glyphs, app.state.now()))
            if machine.machine_id in self._open:
                lines += record_lines(machine, width, utc=app.preferences.now.utc)
        if not self._shown:
            nothing = "no machine has all these words" if words else "no machine is known yet"
            lines.append([(nothing, "dim")])
        self.put(lines)
        view.set_cursor(self._starts[self._place] if self._starts else None)

    def on_lines_view_step(self, event: LinesView.Step) -> None:
        """Move among the machines."""
        self._place = min(max(self._place + event.step, 0), max(len(self._shown) - 1, 0))
        self._draw()

    def on_lines_view_chosen(self) -> None:
        """Show the machine's instances in the fleet; without any, its record here."""
        if not self._shown:
            return
        machine = self._shown[self._place]
        if not machine.rows:
            self.action_record()
            return
        self.console_app.leave(self)
        self.console_app.fleet_screen.action_show_only(f"machine={machine.machine_id}")

    def action_record(self) -> None:
        """Open what is remembered of the machine below its line, or close it."""
        if self._shown:
            self._open ^= {self._shown[self._place].machine_id}
            self._draw()

    def action_sort_menu(self) -> None:
        """Choose what comes first."""
        choices = [Choice(column.name, column.title) for column in SORTS]
        menu = Menu("sort machines by", choices, self.console_app.glyphs, current=self._sort)
        self.app.push_screen(menu, self._sort_by)

    def _sort_by(self, name: str | None) -> None:
        if name is not None:
            self._sort = name
            self._place = 0
            self._draw()

    def action_search(self) -> None:
        """Type words that must occur."""
        line = self.query_one(PromptLine)
        line.value = self._words
        line.open()
        self.draw_bars()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what fits so far."""
        if self.query_one(PromptLine).is_open:
            self._words = event.value
            self._draw()

    def on_input_submitted(self) -> None:
        """Keep the words."""
        self._end_search()

    def on_key(self, event: Key) -> None:
        """Escape clears the search, while one is typed."""
        if event.key == "escape" and self.query_one(PromptLine).is_open:
            event.stop()
            event.prevent_default()
            self._words = ""
            self._end_search()
            self._draw()

    def _end_search(self) -> None:
        self.query_one(PromptLine).close(self.query_one(LinesView))
        self.draw_bars()

    def action_money(self) -> None:
        """Go to the money."""
        self.app.switch_screen(MoneyScreen())

    def action_offers(self) -> None:
        """Go to the market."""
        show_offers(self)


def show_offers(screen: ListScreen) -> None:
    """Go from a screen to the market."""
    from fleetui.console.screens.offers import OffersScreen  # noqa: PLC0415 - the two know each other

    screen.app.switch_screen(OffersScreen())


def _fits(machine: Machine, words: list[str], kept: set[int]) -> bool:
    if machine.record is not None:
        return id(machine.record) in kept
    row = machine.rows[0]
    text = f"{machine.machine_id} {row.gpu or ''} {row.geolocation or ''}".casefold()
    return all(word.casefold() in text for word in words)


class MoneyScreen(ListScreen):
    """What burns, what stages, days and instances cost, and what a proof does."""

    scopes = ("money",)

    def __init__(self) -> None:
        super().__init__()
        self._read_at = float("-inf")

    def look_again(self) -> None:
        """Read the books anew."""
        self._read_at = float("-inf")

    async def pull(self) -> None:
        """Read the books now and then."""
        app = self.console_app
        now = app.state.now()
        if 0 <= now - self._read_at < READ_SECONDS * app.state.speed:
            return
        report = await money_report(app.store, app.policy, now, MONEY_DAYS)
        self._read_at = now
        head: list[Line] = [[("money", "title bold")]]
        self.put(head + money_lines(report, self.inner_width, app.glyphs))

    def action_hosts(self) -> None:
        """Go to the machines."""
        self.app.switch_screen(HostsScreen())

    def action_offers(self) -> None:
        """Go to the market."""
        show_offers(self)
