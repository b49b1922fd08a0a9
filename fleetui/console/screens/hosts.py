"""Screen 5: the machines with their records, and the money."""

import asyncio
from collections.abc import Sequence
from operator import is_
from typing import Any

from textual.app import ComposeResult
from textual.events import Key
from textual.widgets import Input

from fleetui.console.fitting import clip
from fleetui.console.inspection import Line
from fleetui.console.machine_lines import (
    SORTS,
    Machine,
    heading,
    machine_line,
    record_lines,
)
from fleetui.console.machine_list import MachineList, arranged
from fleetui.console.modals.menu import Choice, Menu
from fleetui.console.money_lines import money_lines
from fleetui.console.screens.lists import ListScreen
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.lines_view import LinesView
from fleetui.console.widgets.prompt import PromptLine
from fleetui.domain.machine_record import MachineRecord
from fleetui.domain.reading import FleetRow
from fleetui.reports.money import money_report

READ_SECONDS = 5.0
MONEY_DAYS = 30


class HostsScreen(ListScreen):
    """The machines; enter shows a machine's instances in the fleet, `d` opens its record."""

    scopes = ("hosts",)

    def __init__(self) -> None:
        super().__init__()
        self._records: tuple[MachineRecord, ...] = ()
        self._read_at = float("-inf")
        self._rows: tuple[FleetRow, ...] = ()
        self._shown: list[Machine] = []
        self._starts: Sequence[int] = ()
        self._arranging = self._is_stale = False
        self._to_first = False
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
        rows = tuple(app.state.rows.values())
        is_same = len(rows) == len(self._rows) and all(map(is_, rows, self._rows))
        if not 0 <= now - self._read_at < READ_SECONDS * app.state.speed:
            self._records = await app.store.machine_records()
            self._read_at = now
            is_same = False
        if is_same:
            self._draw()
        else:
            self._rows = rows
            await self._arrange()

    async def _arrange(self) -> None:
        """Find and sort the machines off the loop; asked for meanwhile, once more."""
        self._is_stale = True
        if self._arranging:
            return
        self._arranging = True
        try:
            while self._is_stale:
                self._is_stale = False
                found = await asyncio.to_thread(
                    arranged, self._records, self._rows, self._words.split(), self._sort
                )
                if self.is_laid_out:
                    self._take(found)
        finally:
            self._arranging = False

    def _arrange_soon(self) -> None:
        self.console_app.work(self._arrange(), "sort machines", "hosts")

    def _take(self, found: list[Machine]) -> None:
        """Show other machines, the cursor on the one it was on."""
        chosen = self._shown[self._place].machine_id if self._shown else None
        self._shown = found
        if not (self._place < len(found) and found[self._place].machine_id == chosen):
            places = (n for n, machine in enumerate(found) if machine.machine_id == chosen)
            self._place = next(places, min(self._place, max(len(found) - 1, 0)))
        if self._to_first:
            self._place, self._to_first = 0, False
        self._draw()

    def _draw(self) -> None:
        app = self.console_app
        view = self.query_one(LinesView)
        width, now, utc = view.inner_width, app.state.now(), app.preferences.now.utc
        search = f"   matching “{self._words}”" if self._words.split() else ""
        count = len(self._shown)
        head: list[Line] = [
            [
                ("hosts", "title bold"),
                (f"   {count} machine{'s' * (count != 1)} by {self._sort}{search}", "dim"),
            ],
            [(heading(width), "title")],
        ]
        if not self._shown:
            nothing = "no machine has all these words" if search else "no machine is known yet"
            head.append([(nothing, "dim")])
        lines = MachineList(
            [self._drawable(line) for line in head],
            self._shown,
            self._open,
            draw=lambda machine: self._drawable(machine_line(machine, width, app.glyphs, now)),
            record=lambda machine: [
                self._drawable(line) for line in record_lines(machine, width, utc=utc)
            ],
        )
        self._starts = lines.starts
        view.show(lines)
        self._show_cursor(view)

    def _show_cursor(self, view: LinesView) -> None:
        view.set_cursor(self._starts[self._place] if self._shown else None)
        if not self._place:
            # The head belongs to the first one.
            view.action_scroll_top()

    def _drawable(self, line: Line) -> Line:
        """Return a line as the terminal can draw it."""
        plain, view = self.console_app.glyphs.plain, self.query_one(LinesView)
        # The margin at the right may be used up, but not by what a scrollbar will cover.
        width = view.size.width - 1 - (len(self._shown) + 2 > view.size.height)
        return [(plain(text), tone) for text, tone in clip(line, width)]

    def on_lines_view_step(self, event: LinesView.Step) -> None:
        """Move among the machines."""
        if self._shown:
            self._place = min(max(self._place + event.step, 0), len(self._shown) - 1)
            self._show_cursor(self.query_one(LinesView))

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
            self._sort, self._to_first = name, True
            self._arrange_soon()

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
            self._arrange_soon()

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
            self._arrange_soon()

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


class MoneyScreen(ListScreen):
    """What burns, what stages, days and instances cost, and what a proof does."""

    scopes = ("money",)

    def __init__(self) -> None:
        super().__init__()
        self._read_at = float("-inf")
        self._report: dict[str, Any] | None = None

    def look_again(self) -> None:
        """Read the books anew."""
        self._read_at = float("-inf")

    async def pull(self) -> None:
        """Read the books now and then."""
        app = self.console_app
        now = app.state.now()
        if self._report is None or not 0 <= now - self._read_at < READ_SECONDS * app.state.speed:
            self._report = await money_report(app.store, app.policy, now, MONEY_DAYS)
            self._read_at = now
        # Drawn each time: the size may be another one.
        head: list[Line] = [[("money", "title bold")]]
        self.put(head + money_lines(self._report, self.inner_width, app.glyphs))

    def action_hosts(self) -> None:
        """Go to the machines."""
        self.app.switch_screen(HostsScreen())

    def action_offers(self) -> None:
        """Go to the market."""
        show_offers(self)
