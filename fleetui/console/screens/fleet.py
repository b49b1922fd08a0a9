"""The fleet screen: table, inspector, log pane, chart."""

import msgspec
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.events import DescendantBlur, DescendantFocus, Key
from textual.suggester import Suggester
from textual.widgets import Input, Static

from fleetui.console.arranging import GROUPINGS
from fleetui.console.binding import bindings_map
from fleetui.console.chart_drawing import reduce_points
from fleetui.console.columns import BY_NAME, COLUMNS
from fleetui.console.filter_completion import completions
from fleetui.console.fleet_state import FleetState
from fleetui.console.glyphs import Glyphs
from fleetui.console.inspection import Subject, describe
from fleetui.console.keymap import Keymap
from fleetui.console.modals.columns import ColumnsDialog
from fleetui.console.modals.menu import Choice, Menu
from fleetui.console.ordering import Selection
from fleetui.console.palette import Piece
from fleetui.console.screens.base import FleetUIScreen
from fleetui.console.screens.instance import InstanceScreen, RawScreen
from fleetui.console.size_mode import SizeMode, size_mode
from fleetui.console.widgets.chart import Chart
from fleetui.console.widgets.fleet_table import READING_SECONDS, FleetTable
from fleetui.console.widgets.header import flags, totals_line
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.lines_view import LinesView
from fleetui.console.widgets.log_pane import LogPane
from fleetui.console.widgets.log_view import LogView
from fleetui.console.widgets.prompt import PromptLine
from fleetui.domain.host import SshState
from fleetui.domain.intent import Verb
from fleetui.domain.query import Query, QueryError, parse_query, valid_words
from fleetui.domain.reading import FleetRow

CHART_HOURS = 6.0
TREND_SECONDS = 120.0
TRENDS_AT_ONCE = 12
TREND_POINTS = 12
DEAREST_FIRST = frozenset({"cost", "proof"})


class FleetScreen(FleetUIScreen):
    """Screen 1. The table has the focus unless the operator reads a pane or types a filter."""

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
        self.log_pane = LogPane(state.clock, glyphs, keymap)
        self.chart = Chart("fleet proofs/h", ascii_only=glyphs.ascii_only, id="chart")
        self.subject: Subject | None = None
        self._query_error = ""
        self._query_text = ""
        self._query_before = ""
        self._full_from_table = False
        self._trend_at: dict[int, float] = {}

    def compose(self) -> ComposeResult:
        """Lay out the bars and the panes."""
        yield LineBar(id="header")
        yield LineBar(ground="", id="flags")
        yield LineBar(ground="", id="crumbs")
        yield PromptLine(
            placeholder="words  stage=warmup  gpu~4090  rate<min  log>5m  !label~test",
            suggester=_FilterSuggester(self),
            hints=(("enter", "keep"), ("escape", "clear"), ("right", "complete")),
            id="filter",
        )
        yield Static(id="filter-error")
        with Container(id="main"):
            with Vertical(id="left"):
                yield self.table
                yield self.chart
                yield self.log_pane
            yield self.inspector
        yield LineBar(id="footer")

    def on_mount(self) -> None:
        """Start with the cursor in the table."""
        self.set_focus(self.table)
        self._arrange(*self.size)

    @property
    def filter_line(self) -> PromptLine:
        """The line that the filter is typed into."""
        return self.query_one("#filter", PromptLine)

    @property
    def log_view(self) -> LogView:
        """The log pane's lines."""
        return self.log_pane.view

    @property
    def is_laid_out(self) -> bool:
        """Whether the widgets exist yet, the nested ones too."""
        return super().is_laid_out and bool(self.query("#log-title")) and self.log_view.is_attached

    # -- drawing -----------------------------------------------------------------------------

    def fleet_changed(self, changed: set[int]) -> None:
        """Draw what changed, each part only when it looks different."""
        self.table.update_rows(changed)
        self.draw_bars()
        self._draw_inspector()
        if self.chart.display:
            self.chart.advance()

    def draw_bars(self) -> None:
        """Draw header, flags, crumbs, log title and footer."""
        log_focus = self.focused is self.log_view
        self.scope = "log" if log_focus else "lists" if self.focused is self.inspector else "fleet"
        super().draw_bars()
        if self.mode is SizeMode.TOTALS:
            self.query_one("#header", LineBar).show(totals_line(self.state, self.glyphs))
        words = flags(self.state, self.glyphs)
        bar = self.query_one("#flags", LineBar)
        bar.set_class(bool(words), "-some")
        bar.show(words)
        self.query_one("#crumbs", LineBar).show(*self._crumbs())
        self.log_pane.draw_title()

    def look_changed(self) -> None:
        """Draw everything in the new colours."""
        self.table.look_changed()
        self.log_view.forget()
        super().look_changed()

    def _crumbs(self) -> tuple[list[Piece], list[Piece]]:
        selection = self.table.selection
        left: list[Piece] = [(" fleet", "title")]
        if selection.failures_only:
            left.append((f" {self.glyphs['arrow']} only trouble", "warn"))
        if self._query_text:
            left.append((f" {self.glyphs['arrow']} ", "dim"))
            left.append((self.glyphs.plain(self._query_text), "key"))
        if selection.group:
            left.append((f" {self.glyphs['arrow']} by {selection.group}", "title"))
        if self.table.follow:
            left.append((f" {self.glyphs['arrow']} following {self.table.cursor_id}", "active"))
        marked = self.table.marks.live(self.state.rows, self.table.order)
        if marked:
            hidden = len(set(marked).difference(self.table.order))
            unseen = f" ({hidden} hidden)" if hidden else ""
            left.append((f"   {self.glyphs['mark']} {len(marked)} marked{unseen}", "warn bold"))
        shown, known = len(self.table.order), len(self.state.rows)
        title = next(c.title for c in COLUMNS if c.name == selection.sort)
        sign = self.glyphs["down" if selection.descending else "up"]
        right: list[Piece] = [("by ", "dim"), (f"{title} {sign}", "title"), ("   ", "dim")]
        if self.table.order_waits:
            right.insert(0, ("order waits while you read   ", "faint"))
        count = f"{known} instances " if shown == known else f"{shown} of {known} instances "
        return left, [*right, (count, "dim" if shown == known else "strong")]

    def _draw_inspector(self) -> None:
        if not self.inspector.display or self.subject is None:
            return
        row = self.state.row(self.subject.row.instance_id) or self.subject.row
        subject = msgspec.structs.replace(self.subject, row=row, now=self.state.now())
        self.inspector.show(describe(subject, self.inspector.inner_width, self.glyphs))

    # -- sizes -------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Arrange for the new size."""
        self._arrange(*self.size)
        super().on_resize()

    def _arrange(self, width: int, height: int) -> None:
        self.mode = size_mode(width, height)
        for mode in SizeMode:
            self.set_class(mode is self.mode, f"-{mode.value}")
        self.chart.set_class(height >= 40, "-tall")

    # -- reading the store ---------------------------------------------------------------------

    async def pull(self) -> None:
        """Read what inspector, log pane and chart show."""
        store, now = self.console_app.store, self.state.now()
        instance_id = self.table.cursor_id
        if instance_id is None:
            self.subject = None
        elif self.inspector.display:
            self.subject = await self.console_app.read_subject(instance_id)
            self._draw_inspector()
        self.log_view.utc = self.console_app.preferences.now.utc
        if instance_id is not None and self.has_class("-log"):
            await self.log_pane.pull(store, instance_id)
        await self._pull_trends()
        if self.chart.display:
            since = now - CHART_HOURS * 3600
            samples = await store.fleet_samples(since, CHART_HOURS * 3600 / 240)
            totals = self.state.totals()
            self.chart.set_points(
                [(sample.at, sample.proofs_per_hour) for sample in samples],
                totals.proofs_per_hour if totals.measured else None,
                utc=self.console_app.preferences.now.utc,
            )

    async def _pull_trends(self) -> None:
        """Read the trends of a few visible rows at a time, where the column is shown."""
        if not self.table.shows("trend"):
            return
        now = self.state.now()
        stale = [
            item
            for item in self.table.visible_ids()
            if now - self._trend_at.get(item, float("-inf")) > TREND_SECONDS * self.state.speed
        ]
        for instance_id in stale[:TRENDS_AT_ONCE]:
            since = now - CHART_HOURS * 3600
            samples = await self.console_app.store.samples(instance_id, since)
            points = reduce_points([(s.at, s.proofs_per_hour) for s in samples], TREND_POINTS)
            self.table.trends[instance_id] = tuple(value for _, value in points)
            self._trend_at[instance_id] = now
        if stale:
            self.table.repaint_changed()

    # -- the table -----------------------------------------------------------------------------

    def on_fleet_table_moved(self) -> None:
        """Show the selected instance's details soon."""
        self.console_app.wake()

    def on_fleet_table_opened(self) -> None:
        """A double click opens like enter."""
        self.action_open()

    def on_descendant_focus(self, _event: DescendantFocus) -> None:
        """The footer shows the keys of what has the focus."""
        if self.is_laid_out:
            self.draw_bars()

    def on_descendant_blur(self, _event: DescendantBlur) -> None:
        """The same when the focus goes."""
        if self.is_laid_out:
            self.draw_bars()

    def action_cursor(self, rows: int) -> None:
        """Move the cursor by rows."""
        self.table.move(rows)

    def action_cursor_top(self) -> None:
        """Go to the first row."""
        self.table.go(0)

    def action_cursor_bottom(self) -> None:
        """Go to the last row."""
        self.table.go(len(self.table.order) - 1)

    def action_cursor_page(self, pages: int) -> None:
        """Move by pages."""
        self.table.move(pages * max(self.table.page - 1, 1))

    def action_open(self) -> None:
        """Show the instance's page."""
        if self.table.cursor_id is not None:
            page = InstanceScreen(self.table.cursor_id, ascii_only=self.glyphs.ascii_only)
            self.app.push_screen(page)

    def action_raw(self) -> None:
        """Show all that is known of it as JSON."""
        if self.table.cursor_id is not None:
            self.app.push_screen(RawScreen(self.table.cursor_id))

    def action_next_pane(self) -> None:
        """Go into the log pane, else into the inspector."""
        if self.has_class("-log"):
            self.set_focus(self.log_view)
        elif self.inspector.display:
            self.set_focus(self.inspector)

    def action_toggle_inspector(self) -> None:
        """Show or hide the details pane."""
        if self.mode not in (SizeMode.SIDE, SizeMode.BELOW):
            self.console_app.say("no room for the details here: enter opens the page")
            return
        self.toggle_class("-no-inspector")
        self.console_app.wake()

    def action_back(self) -> None:
        """Close the log; when it is closed, clear the filter."""
        if self.filter_line.is_open:
            self._clear_prompt()
        elif self.has_class("-log"):
            self.on_log_pane_close()
        elif self._query_text or self._query_error or self.table.selection.failures_only:
            self._apply("")
            self.filter_line.value = ""
            self._select(failures_only=False)
        else:
            self.action_clear_marks()

    def step_back(self) -> bool:
        """Undo one level: a prompt, the whole-screen log, a focused pane; false at the table."""
        focused = self.focused
        if self.filter_line.is_open:
            self.filter_line.close(self.table)
        elif self.log_pane.prompt.is_open:
            self.log_pane.prompt.close(self.log_view)
        elif self.has_class("-full") and not self._full_from_table:
            self.remove_class("-full")
            self.set_focus(self.log_view)
        elif self.has_class("-full") or focused is self.log_view:
            self.on_log_pane_close()
        elif focused is self.inspector:
            self.set_focus(self.table)
        else:
            return False
        return True

    def on_lines_view_leave(self) -> None:
        """From the inspector back to the table."""
        self.set_focus(self.table)

    # -- filter and order ----------------------------------------------------------------------

    def action_filter(self) -> None:
        """Open the filter's prompt."""
        self._query_before = self._query_text
        self.filter_line.open()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as it is typed."""
        if event.input.id == "filter":
            self._apply(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close the prompt and keep what was typed."""
        event.stop()
        self.filter_line.close(self.table)

    def on_key(self, event: Key) -> None:
        """Esc in the filter's line clears and closes it."""
        if event.key == "escape" and self.filter_line.has_focus:
            event.stop()
            self._clear_prompt()

    def _clear_prompt(self) -> None:
        self.filter_line.value = ""
        self.filter_line.close(self.table)

    def _apply(self, text: str) -> None:
        """Filter by what is valid in the text; when nothing is, as before the prompt opened."""
        error, valid = "", text.strip()
        try:
            parse_query(text)
        except QueryError as wrong:
            error, valid = str(wrong), valid_words(text) or self._query_before
        if error != self._query_error:
            self._query_error = error
            line = self.query_one("#filter-error", Static)
            line.set_class(bool(error), "-some")
            line.update(Content(self.glyphs.plain(f"filter: {error}" if error else "")))
        self._query_text = valid
        self._select(query=parse_query(valid))

    def action_show_only(self, text: str) -> None:
        """Set the filter as if it had been typed."""
        self.filter_line.value = text
        self._apply(text)

    def _select(
        self,
        *,
        query: Query | None = None,
        failures_only: bool | None = None,
        sort: str | None = None,
        descending: bool | None = None,
        group: str | None = None,
    ) -> None:
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

    def action_failures_only(self) -> None:
        """Show only rows with trouble, or all."""
        self._select(failures_only=not self.table.selection.failures_only)

    def action_sort(self, step: int) -> None:
        """Sort by the next column."""
        names = [column.name for column in COLUMNS]
        here = names.index(self.table.selection.sort)
        self._select(sort=names[(here + step) % len(names)])

    def action_invert(self) -> None:
        """Turn the order round."""
        self._select(descending=not self.table.selection.descending)

    def action_sort_menu(self) -> None:
        """Choose the column to sort by; the one in use turns the order round."""
        choices = [Choice(column.name, column.title) for column in COLUMNS]
        menu = Menu("sort by", choices, self.glyphs, current=self.table.selection.sort)
        self.app.push_screen(menu, lambda name: self.action_sort_by(name) if name else None)

    def action_sort_by(self, name: str) -> None:
        """Sort by a column; a second time turns the order round."""
        selection = self.table.selection
        if name not in BY_NAME:
            self.console_app.say(f"there is no column {name}")
        elif name == selection.sort:
            self._select(descending=not selection.descending)
        else:
            self._select(sort=name, descending=name in DEAREST_FIRST)

    def action_group_menu(self) -> None:
        """Choose what to group by."""
        choices = [Choice("", "none"), *(Choice(name, name) for name in GROUPINGS)]
        menu = Menu("group by", choices, self.glyphs, current=self.table.selection.group)
        self.app.push_screen(menu, self._grouped)

    def _grouped(self, name: str | None) -> None:
        if name is not None:
            self.action_group_by(name)

    def action_group_by(self, name: str) -> None:
        """Group by a name of `GROUPINGS`; anything else: no groups."""
        self._select(group=name if name in GROUPINGS else "")
        self.console_app.prefer(group=self.table.selection.group)

    def action_columns(self) -> None:
        """Choose the columns and their order."""
        dialog = ColumnsDialog(self.console_app.preferences.now.columns, self.glyphs)
        self.app.push_screen(dialog, self._columns_chosen)

    def _columns_chosen(self, names: tuple[str, ...] | None) -> None:
        if names is not None:
            self.console_app.prefer(columns=names)
            self.prefer_again()

    def action_wide(self) -> None:
        """Show whole columns, or as many as fit."""
        self.console_app.prefer(wide=not self.console_app.preferences.now.wide)
        self.prefer_again()

    def prefer_again(self) -> None:
        """Show the table as the preferences say."""
        chosen = self.console_app.preferences.now
        self.table.set_columns(chosen.columns, wide=chosen.wide)
        self.draw_bars()

    def action_sideways(self, step: int) -> None:
        """Scroll wide columns."""
        self.table.shift_columns(step)

    def action_follow(self) -> None:
        """Keep the selected row in sight, or let it be."""
        self.table.follow = not self.table.follow
        self.table.put_in_order()
        self.draw_bars()

    def action_go(self, words: str) -> None:
        """Put the cursor on an instance named by id or label."""
        found = next(
            (
                row.instance_id
                for row in self.state.rows.values()
                if words in (str(row.instance_id), row.label)
            ),
            None,
        )
        if found is None:
            self.console_app.say(f"there is no instance {words}")
        elif not self.table.go_to(found):
            self.console_app.say(f"the filter hides {found}")

    # -- marks ---------------------------------------------------------------------------------

    def action_mark(self) -> None:
        """Mark or unmark the row, and go down."""
        if self.table.cursor_id is not None:
            self.table.marks.toggle(self.table.cursor_id)
            self.table.move(1)
            self._marked()

    def action_mark_range(self) -> None:
        """Mark from the last mark to here."""
        if self.table.cursor_id is not None:
            self.table.marks.extend(self.table.order, self.table.cursor_id)
            self._marked()

    def action_mark_all(self) -> None:
        """Mark all that the filter shows."""
        self.table.marks.add(self.table.order)
        self._marked()

    def action_invert_marks(self) -> None:
        """Turn the marks round."""
        self.table.marks.invert(self.table.order)
        self._marked()

    def action_clear_marks(self) -> None:
        """Clear all marks."""
        if self.table.marks.clear():
            self._marked()

    def _marked(self) -> None:
        self.table.touch()
        self.table.repaint_changed()
        self.draw_bars()

    # -- acting --------------------------------------------------------------------------------

    def targets(self) -> list[int]:
        """The ids that an act is for, those of this very moment: the marks, else the cursor."""
        marked = self.table.marks.live(self.state.rows, self.table.order)
        if marked:
            return marked
        return [] if self.table.cursor_id is None else [self.table.cursor_id]

    def action_act(self, verb: str) -> None:
        """Ask before something is done to the targets."""
        self.console_app.acts.ask(Verb(verb), self.targets())

    def action_acts(self) -> None:
        """Choose what is done to the targets."""
        self.console_app.command_line(dangerous_only=True)

    def action_accept_key(self) -> None:
        """Ask before a changed host key is accepted."""
        row = self._cursor_row()
        if row is None:
            return
        if row.ssh is not SshState.HOST_KEY_CHANGED:
            self.console_app.say(f"the host key of {row.instance_id} has not changed")
            return
        self.console_app.acts.ask(Verb.ACCEPT_HOST_KEY, [row.instance_id])

    def action_shell(self) -> None:
        """Open an SSH shell on the selected instance."""
        if self.table.cursor_id is not None:
            self.console_app.shell.open_shell(self.table.cursor_id)

    def action_copy(self) -> None:
        """Copy the selected instance's id."""
        if self.table.cursor_id is not None:
            self.console_app.shell.copy_text(str(self.table.cursor_id))

    def action_copy_ssh(self) -> None:
        """Copy the ssh command of the selected instance."""
        if self.table.cursor_id is not None:
            self.console_app.shell.copy_ssh_command(self.table.cursor_id)

    def _cursor_row(self) -> FleetRow | None:
        cursor = self.table.cursor_id
        return None if cursor is None else self.state.rows.get(cursor)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Refuse what acts while something is typed, whatever key it came by."""
        if action in ("act", "acts", "accept_key", "shell") and isinstance(self.focused, Input):
            return False
        return super().check_action(action, parameters)

    # -- the log -------------------------------------------------------------------------------

    def action_toggle_log(self) -> None:
        """Open the log pane, or close it."""
        if self.has_class("-log"):
            self.on_log_pane_close()
            return
        self.add_class("-log")
        self.set_focus(self.log_view)
        self.console_app.wake()

    def action_log_full(self) -> None:
        """Give the log the whole screen, or take it back."""
        if self.has_class("-log"):
            self.toggle_class("-full")
            self._full_from_table = False
        else:
            self.action_toggle_log()
            self.add_class("-full")
            self._full_from_table = True
        self.set_focus(self.log_view)

    def on_log_pane_full(self) -> None:
        """The same from inside the pane."""
        self.action_log_full()

    def on_log_pane_close(self) -> None:
        """Back to the table."""
        self.remove_class("-log", "-full")
        self.set_focus(self.table)

    def on_log_pane_copy(self, event: LogPane.Copy) -> None:
        """Copy what the pane says."""
        self.console_app.shell.copy_text(event.text)

    def saved(self) -> tuple[str, str]:
        """The table, or the log when it has the focus."""
        if self.focused is self.log_view:
            return self.log_pane.saved()
        return super().saved()

    def on_log_pane_said(self, event: LogPane.Said) -> None:
        """Pass a word of the pane on."""
        self.console_app.say(event.text)


class _FilterSuggester(Suggester):
    """Completes the filter from its fields and the fleet's own values."""

    def __init__(self, screen: FleetScreen) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._screen = screen

    async def get_suggestion(self, value: str) -> str | None:
        """Return the likeliest whole text."""
        found = completions(value, self._screen.state.rows.values())
        return found[0] if found else None
