"""The log pane: lines of one file or several, their title, the prompt and the keys."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Key
from textual.message import Message
from textual.widgets import Input

from fleetui.console import figures
from fleetui.console.binding import bindings_map
from fleetui.console.clock_words import typed_time
from fleetui.console.fitting import cells
from fleetui.console.glyphs import Glyphs
from fleetui.console.keymap import Keymap
from fleetui.console.line_filter import TROUBLE, LineFilter, line_filter
from fleetui.console.log_ring import is_trouble, is_warning
from fleetui.console.log_source import LineSource, LogSource, stream_name
from fleetui.console.older_parts import OlderParts
from fleetui.console.palette import Piece
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.log_tabs import tabs
from fleetui.console.widgets.log_view import GUTTERS, TAG_CELLS, LogView
from fleetui.console.widgets.prompt import PromptLine
from fleetui.domain.clock import Clock
from fleetui.domain.text import sanitise
from fleetui.store.interface import ViewerStore

SEARCH_DEADLINE_SECONDS = 120.0
NEAR_PAGES = 3
"""So many pages before the loaded lines end, more are loaded."""
PROMPTS = {
    "search": "search: words or an expression; a capital letter makes case matter; !not",
    "filter": "show only the lines with: words or an expression; !not; empty shows all",
    "time": "go to a time: 14:05, 2026-03-12 07:04, 15m (ago)",
}


class LogPane(Vertical):
    """Follows what its source brings; never moves what somebody reads."""

    class Close(Message):
        """The operator wants back to the table."""

    class Full(Message):
        """The operator wants the log on the whole screen, or back."""

    class Copy(Message):
        """A text for the clipboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Said(Message):
        """Something to tell the operator."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, clock: Clock, glyphs: Glyphs, keymap: Keymap) -> None:
        super().__init__(id="log-pane")
        self._bindings = bindings_map("log", keymap)
        self._clock = clock
        self._speed = float(getattr(clock, "speed", 1.0))
        self._glyphs = glyphs
        self.view = LogView(glyphs, id="log")
        self.source: LineSource | None = None
        self.older_parts: OlderParts | None = None
        """Who fetches what is not stored of a file."""
        self.title = ""
        self.prompt = PromptLine(hints=(("enter", "go"), ("escape", "close")), id="search")
        self._prompt_for = "search"
        self._loading = False

    def compose(self) -> ComposeResult:
        """Title, prompt, lines."""
        yield LineBar(id="log-title")
        yield self.prompt
        yield self.view

    @property
    def file(self) -> LogSource | None:
        """The source, when it is one instance's files."""
        return self.source if isinstance(self.source, LogSource) else None

    async def pull(self, store: ViewerStore, instance_id: int) -> None:
        """Read what came to an instance's log since."""
        file = self.file
        if file is None or file.instance_id != instance_id:
            self.view.waiting = f"no log of {instance_id} is stored yet"
            self.source = LogSource(store, instance_id, speed=self._speed)
        await self.advance()

    def show_source(self, source: LineSource, *, title: str = "", waiting: str = "") -> None:
        """Show the lines of another source, from its end."""
        self.source, self.title = source, title
        self.view.waiting = waiting
        self.view.show(source.ring)

    async def advance(self) -> None:
        """Read what came to the source since."""
        source = self.source
        if source is None or self._loading:
            return
        ring = source.ring
        full = len(ring) >= ring.capacity and not self.view.follow
        changed = False if full else await source.advance(following=self.view.follow)
        if source is not self.source or self._loading:
            return
        self.view.tags, self.view.span = source.tags, source.span
        if source.ring is not self.view.ring:
            self.view.show(source.ring)
        elif changed:
            self.view.grown()
        else:
            self.view.settle()
        self.draw_title()

    def saved(self) -> tuple[str, str]:
        """Return a file name and the loaded lines as they are drawn."""
        ring = self.view.ring
        file = self.file
        name = "lines.log"
        if file is not None and file.shown is not None:
            name = f"{file.instance_id}-{stream_name(file.shown.stream).replace('/', '_')}"
            name = name if "." in name else name + ".log"
        lines = [self.view.text_of(number) for number in range(ring.first, ring.end)]
        return name, "\n".join(lines) + "\n"

    # -- the title -----------------------------------------------------------------------------

    def draw_title(self) -> None:
        """Draw the files, the shown one marked, and where the reader is."""
        self.query_one("#log-title", LineBar).show(*self._title())

    def _title(self) -> tuple[list[Piece], list[Piece]]:
        source, file = self.source, self.file
        if source is None or (file is not None and file.shown is None):
            return [(f" {self.title or 'log'}", "title")], []
        right = self._state(source)
        if file is None or file.shown is None:
            count = f"{len(source.ring)} lines "
            return [(f" {self._glyphs.plain(self.title)} ", "strong")], [*right, (count, "dim")]
        shown = file.shown
        age = None if shown.last_byte_at is None else self._clock.now() - shown.last_byte_at
        length = f"  {figures.size(shown.offset)}  {figures.age(age)} "
        right.append((self._glyphs.plain(length), "dim"))
        left: list[Piece] = [(f" {file.instance_id} ", "strong")]
        room = self.query_one("#log-title", LineBar).room_beside(right) - cells(left)
        streams = [item.stream for item in sorted(file.streams, key=lambda i: i.stream.path)]
        names = [self._glyphs.plain(stream_name(stream)) for stream in streams]
        if shown.stream in streams:
            left += tabs(names, streams.index(shown.stream), room, self._glyphs["more"])
        return left, right

    def _state(self, source: LineSource) -> list[Piece]:
        view = self.view
        right: list[Piece] = []
        if source.keep is not None:
            right.append((self._glyphs.plain(f"only {source.keep.text}  "), "warn bold"))
        elif view.search is not None:
            right.append((self._glyphs.plain(f"/{view.search.text}  "), "key"))
        if isinstance(source, LogSource) and source.dropped:
            right.append((f"{figures.size(source.dropped)} not kept  ", "warn"))
        if isinstance(source, LogSource) and source.lost:
            right.append((self._glyphs.plain(f"{source.lost}  "), "warn"))
        if self._loading:
            right.append(("looking…  " if not self._glyphs.ascii_only else "looking  ", "busy"))
        if view.follow and source.at_end:
            right.append(("following", "ok"))
        elif source.at_end:
            right.append((f"+{view.unseen} lines below, G follows", "warn"))
        else:
            right.append((f"at {self._percent(source)}, G goes to the end", "warn"))
        return right

    def _percent(self, source: LineSource) -> str:
        entry = self.view.ring.entry(self.view.top_line)
        if source.span is None or entry is None:
            return figures.UNKNOWN
        low, high = source.span
        return figures.percent((entry[1] - low) / max(high - low, 1))

    # -- the prompt ----------------------------------------------------------------------------

    def _ask(self, purpose: str) -> None:
        self._prompt_for = purpose
        self.prompt.placeholder = self._glyphs.plain(PROMPTS[purpose])
        self.prompt.value = ""
        self.prompt.open()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Do what the prompt was opened for."""
        event.stop()
        self.prompt.close(self.view)
        match self._prompt_for:
            case "filter":
                self.action_show_only(event.value)
            case "time":
                self.action_to_time(event.value)
            case _:
                self.action_look_for(event.value)

    def on_key(self, event: Key) -> None:
        """Esc in the prompt closes it; in the search's it also forgets the search."""
        if event.key == "escape" and self.prompt.is_open:
            event.stop()
            event.prevent_default()
            if self._prompt_for == "search":
                self.view.set_search(None)
            self.prompt.close(self.view)
            self.draw_title()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something is typed, no key of the log acts."""
        if isinstance(self.screen.focused, Input):
            return False
        return super().check_action(action, parameters)

    # -- moving --------------------------------------------------------------------------------

    def action_line(self, lines: int) -> None:
        """Move by lines."""
        self.view.scroll_lines(lines)
        self._moved()

    def action_page(self, pages: int) -> None:
        """Move by pages."""
        self.action_line(pages * max(self.view.page - 1, 1))

    def action_top(self) -> None:
        """Show the oldest line that is stored."""
        source = self.source
        if source is not None:
            self._work(self._to_start(source), "to the start")

    async def _to_start(self, source: LineSource) -> None:
        await source.to_start()
        if source is self.source:
            if source.ring is not self.view.ring:
                self.view.show(source.ring)
            self.view.grown()
            self.view.go_top()

    def action_bottom(self) -> None:
        """Show the newest line and follow."""
        source = self.source
        if source is None or source.at_end:
            self.view.go_end()
            self.draw_title()
        else:
            self._work(self._to_end(source), "to the end")

    async def _to_end(self, source: LineSource) -> None:
        await source.to_end()
        if source is self.source:
            self.view.show(source.ring)

    def action_follow(self) -> None:
        """Follow new lines, or stay."""
        if self.view.follow:
            self.view.follow = False
            self.draw_title()
        else:
            self.action_bottom()

    def action_shift(self, cells: int) -> None:
        """Scroll sideways."""
        self.view.shift(cells)

    def action_shift_half(self, direction: int) -> None:
        """Scroll sideways by half a screen."""
        self.view.shift(direction * max(self.view.size.width // 2, 1))

    def _moved(self) -> None:
        self.draw_title()
        source, view = self.source, self.view
        if source is None or self._loading:
            return
        if view.top_line - view.ring.first < NEAR_PAGES * view.page and not view.follow:
            self._work(self._load_older(source), "older lines")
        elif not source.at_end and view.unseen < NEAR_PAGES * view.page:
            self._work(self._load_newer(source), "newer lines")

    async def _load_older(self, source: LineSource) -> None:
        count = await source.older()
        if source is not self.source:
            return
        at_top = self.view.top_line <= self.view.ring.first
        if not count and at_top and isinstance(source, LogSource) and source.left_out:
            count = await self._fetch_older(source)
        if source is self.source and count:
            self.view.grown()

    async def _fetch_older(self, source: LogSource) -> int:
        """Have a part fetched that was never stored; returns how many lines came."""
        if self.older_parts is None or source.shown is None:
            return 0
        much = figures.size(source.left_out)
        self.post_message(self.Said(f"{much} before this are not stored: asking the host for some"))
        trouble = await self.older_parts.fetch(source.instance_id, source.shown.stream.path)
        if trouble:
            source.gives_up = True
            self.post_message(self.Said(f"nothing older can be shown: {trouble}"))
        return await source.older()

    async def _load_newer(self, source: LineSource) -> None:
        count = await source.newer()
        if source is self.source and count:
            self.view.grown()

    # -- finding -------------------------------------------------------------------------------

    def action_search(self) -> None:
        """Ask what to look for."""
        self._ask("search")

    def action_filter(self) -> None:
        """Ask which lines to show."""
        self._ask("filter")

    def action_look_for(self, text: str) -> None:
        """Highlight a search and go to its next match."""
        wanted = line_filter(text)
        self.view.set_search(wanted)
        if wanted is not None:
            if wanted.is_text and any(sign in text for sign in "\\[(*+?{|"):
                self.post_message(self.Said("no expression of RE2: looked for as it is"))
            self.action_next_match(1)

    def action_next_match(self, direction: int) -> None:
        """Go to the next match, also beyond what is loaded."""
        if self.view.search is not None:
            self._find(self.view.search, direction, "match")

    def action_error(self, direction: int) -> None:
        """Go to the next line that speaks of an error."""
        found = self.view.ring.next_trouble(self._start(direction), direction)
        if found is not None:
            self._reveal(found)
        else:
            self._find(TROUBLE, direction, "error")

    def action_warning(self, direction: int) -> None:
        """Go to the next line that warns."""
        found = self.view.ring.find(
            lambda line: is_warning(line) or is_trouble(line),
            self._start(direction) + direction,
            direction,
        )
        if found is None:
            self.post_message(self.Said("no further warning in the loaded lines"))
        else:
            self._reveal(found)

    def _find(self, wanted: LineFilter, direction: int, what: str) -> None:
        found = self.view.ring.find(wanted.matches, self._start(direction) + direction, direction)
        source = self.source
        if found is not None or source is None:
            self._reveal(found)
            return
        self._work(self._find_far(source, wanted, direction, what), "search")

    async def _find_far(
        self, source: LineSource, wanted: LineFilter, direction: int, what: str
    ) -> None:
        ring = self.view.ring
        edge = ring.entry(ring.end - 1 if direction > 0 else ring.first)
        start = 0 if edge is None else edge[1] + (len(edge[0]) + 1 if direction > 0 else 0)
        found = await source.find(wanted, start, direction)
        if source is not self.source:
            return
        if found is None:
            word = "further" if direction > 0 else "earlier"
            self.post_message(self.Said(f"no {word} {what}"))
        elif source.ring is not self.view.ring:
            self.view.show(source.ring, at=found)
        else:
            self.view.grown()
            self._reveal(found)

    def _start(self, direction: int) -> int:
        if self.view.mark is not None:
            return self.view.mark
        ring = self.view.ring
        return ring.end if direction < 0 else ring.first - 1

    def _reveal(self, found: int | None) -> None:
        if found is not None:
            self.view.reveal(found)
        self.draw_title()

    def action_matches_only(self) -> None:
        """Show only the search's matches, or all lines round where one is."""
        source = self.source
        if source is not None:
            if source.keep is None and self.view.search is None:
                self.post_message(self.Said("nothing is searched for: / first"))
                return
            self._keep(None if source.keep is not None else self.view.search)

    def action_show_only(self, text: str) -> None:
        """Show only the lines with a text; empty: all."""
        self._keep(line_filter(text))

    def _keep(self, keep: LineFilter | None) -> None:
        source = self.source
        if source is not None:
            self._work(self._set_keep(source, keep), "filter")

    async def _set_keep(self, source: LineSource, keep: LineFilter | None) -> None:
        view = self.view
        following = view.follow
        chosen = view.chosen
        entry = None if chosen is None else view.ring.entry(chosen)
        near = None if following or entry is None else entry[1]
        await source.set_keep(keep, near)
        if source is not self.source:
            return
        view.search = keep or view.search
        view.show(source.ring)
        if near is not None and len(source.ring):
            view.reveal(source.ring.number_at(near))

    # -- times ---------------------------------------------------------------------------------

    def action_time_prompt(self) -> None:
        """Ask which time to go to."""
        self._ask("time")

    def action_to_time(self, text: str) -> None:
        """Go to a time that was typed."""
        at = typed_time(text, self._clock.now(), utc=self.view.utc)
        source = self.source
        if at is None:
            self.post_message(self.Said(f"{sanitise(text, 40)} is no time: 14:05, 15m"))
        elif source is not None:
            self._work(self._go_to_time(source, at), "time")

    def action_minute(self, direction: int) -> None:
        """Go to the minute before or after the first visible line's."""
        source, at = self.source, self.view.time_of(self.view.top_line)
        if source is None or at is None:
            self.post_message(self.Said("these lines carry no time"))
            return
        minute = at // 60 * 60
        wanted = minute + 60 if direction > 0 else minute - (60 if at == minute else 0)
        self._work(self._go_to_time(source, wanted), "time")

    async def _go_to_time(self, source: LineSource, at: float) -> None:
        found = await source.to_time(at)
        if source is not self.source:
            return
        if found is None:
            self.post_message(self.Said("nothing is stored from then on"))
        elif source.ring is not self.view.ring:
            self.view.show(source.ring, at=found)
        else:
            self.view.grown()
            self._reveal(found)

    # -- how lines are drawn ---------------------------------------------------------------------

    def action_wrap(self) -> None:
        """Wrap long lines, or cut them."""
        self.view.wrap = not self.view.wrap
        self.view.left = 0
        self.view.forget()
        self.view.settle()

    def action_gutter(self) -> None:
        """Times off, short, full."""
        place = GUTTERS.index(self.view.times)
        self.view.times = GUTTERS[(place + 1) % len(GUTTERS)]
        self.view.forget()

    def action_tags(self) -> None:
        """Names of a merge's sources off, short, full."""
        widths = list(TAG_CELLS)
        self.view.tag_width = widths[(widths.index(self.view.tag_width) + 1) % len(widths)]
        self.view.forget()

    def action_raw(self) -> None:
        """Show lines as they are, or made readable."""
        self.view.raw = not self.view.raw
        self.view.forget()

    # -- marks, copies ---------------------------------------------------------------------------

    def action_bookmark(self) -> None:
        """Drop or take up a mark on the line."""
        chosen = self.view.chosen
        if chosen is not None:
            self.view.bookmarks ^= {chosen}
            self.view.forget()

    def action_next_bookmark(self) -> None:
        """Go to the next mark, round the end."""
        marks = sorted(mark for mark in self.view.bookmarks if mark >= self.view.ring.first)
        if not marks:
            self.post_message(self.Said("no marks: m drops one"))
            return
        here = self.view.mark if self.view.mark is not None else self.view.ring.first - 1
        self._reveal(next((mark for mark in marks if mark > here), marks[0]))

    def action_copy(self) -> None:
        """Copy the marked line, else the last visible one."""
        chosen = self.view.chosen
        if chosen is not None:
            self.post_message(self.Copy(self.view.text_of(chosen)))

    def action_copy_screen(self) -> None:
        """Copy the visible lines."""
        lines = [self.view.text_of(number) for number in self.view.visible_lines]
        self.post_message(self.Copy("\n".join(lines)))

    # -- files, places ---------------------------------------------------------------------------

    def action_stream(self, step: int) -> None:
        """Show the next log file."""
        file = self.file
        if file is not None:
            self._work(self._choose(file, step), "log file")

    async def _choose(self, file: LogSource, step: int) -> None:
        await file.choose(step)
        if file is self.source:
            self.view.span = file.span
            self.view.show(file.ring)

    def action_previous_life(self) -> None:
        """Show the end of the file's life before this one: the run that crashed."""
        file = self.file
        if file is not None:
            self._work(self._previous_life(file), "previous run")

    async def _previous_life(self, file: LogSource) -> None:
        number = await file.to_previous_life()
        if file is not self.source:
            return
        if number is None:
            self.post_message(self.Said("no earlier run of this file is stored"))
        else:
            self.view.show(file.ring, at=number)

    async def jump(self, path: str, generation: int | None, offset: int | None) -> None:
        """Show a place of a file of the instance."""
        file = self.file
        if file is None:
            return
        await file.pick(path)
        number = None if offset is None else await file.to_offset(offset, generation)
        if file is self.source:
            self.view.span = file.span
            self.view.show(file.ring, at=number)
            self.draw_title()

    def action_full(self) -> None:
        """Ask for the whole screen, or to give it back."""
        self.post_message(self.Full())

    def action_close(self) -> None:
        """Ask to be closed."""
        self.post_message(self.Close())

    def _work(self, work: Coroutine[Any, Any, None], name: str) -> None:
        if self._loading:
            work.close()
            return
        self._loading = True
        self.run_worker(self._guarded(work), name=name, group="log", exit_on_error=False)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            async with asyncio.timeout(SEARCH_DEADLINE_SECONDS):
                await work
        except Exception as error:  # noqa: BLE001 - any trouble of the store is shown, never fatal
            self.post_message(
                self.Said(f"the log cannot be read: {str(error) or type(error).__name__}")
            )
        finally:
            self._loading = False
        self.draw_title()
