"""The log pane: one instance's log files, their title line, the search prompt and the keys."""

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
from fleetui.console.fitting import cells, fit
from fleetui.console.glyphs import Glyphs
from fleetui.console.keymap import Keymap
from fleetui.console.log_source import LogSource, stream_name
from fleetui.console.palette import Piece
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.log_view import LogView
from fleetui.domain.clock import Clock
from fleetui.store.interface import ViewerStore

STORE_DEADLINE_SECONDS = 5.0


def tabs(names: list[str], active: int, room: int, more: str) -> list[Piece]:
    """Return those tabs round the active one that fit into `room` cells; `more`: others hidden."""

    def strip(first: int, last: int) -> list[Piece]:
        pieces: list[Piece] = [(more, "dim")] if first else []
        for place in range(first, last + 1):
            tone = "strong bold@cursor" if place == active else "dim"
            pieces.append((f" {names[place]} ", tone))
        return pieces if last == len(names) - 1 else [*pieces, (more, "dim")]

    first = last = active
    while True:
        wider = [(max(first - 1, 0), last), (first, min(last + 1, len(names) - 1))]
        wider.sort(key=lambda ends: ends[1] - active > active - ends[0])
        fitting = [e for e in wider if e != (first, last) and cells(strip(*e)) <= room]
        if not fitting:
            break
        first, last = fitting[0]
    chosen = strip(first, last)
    if first == last and cells(chosen) > room:
        return [(fit(f" {names[active]} ", max(room, 0), more=more), "strong bold@cursor")]
    return chosen


class LogPane(Vertical):
    """Follows the selected instance's newest log file; never moves what somebody reads."""

    class Close(Message):
        """The operator wants back to the table."""

    class Full(Message):
        """The operator wants the log on the whole screen, or back."""

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
        self.source: LogSource | None = None

    def compose(self) -> ComposeResult:
        """Title, prompt, lines."""
        yield LineBar(id="log-title")
        yield Input(placeholder="search in the log", id="search", classes="prompt", compact=True)
        yield self.view

    async def pull(self, store: ViewerStore, instance_id: int) -> None:
        """Read what came to the instance's log since."""
        source = self.source
        if source is None or source.instance_id != instance_id:
            source = self.source = LogSource(store, instance_id, speed=self._speed)
        changed = await source.advance(following=self.view.follow)
        if source is not self.source:
            return
        self.view.waiting = f"no log of {instance_id} is stored yet"
        if source.ring is not self.view.ring:
            self.view.show(source.ring)
        elif changed:
            self.view.grown()
        else:
            self.view.settle()
        self.draw_title()

    def draw_title(self) -> None:
        """Draw the files, the shown one marked, and where the reader is."""
        self.query_one("#log-title", LineBar).show(*self._title())

    def _title(self) -> tuple[list[Piece], list[Piece]]:
        source, view = self.source, self.view
        if source is None or source.shown is None:
            return [(" log", "title")], []
        shown = source.shown
        age = None if shown.last_byte_at is None else self._clock.now() - shown.last_byte_at
        right: list[Piece] = []
        if view.search:
            right.append((self._glyphs.plain(f"/{view.search}  "), "key"))
        if source.dropped:
            right.append((f"{figures.size(source.dropped)} not kept  ", "warn"))
        if view.follow:
            right.append(("following", "ok"))
        else:
            right.append((f"+{view.unseen} lines below, G follows", "warn"))
        length = f"  {figures.size(source.end_offset)}  {figures.age(age)} "
        right.append((self._glyphs.plain(length), "dim"))
        left: list[Piece] = [(f" {source.instance_id} ", "strong")]
        room = self.query_one("#log-title", LineBar).room_beside(right) - cells(left)
        streams = [item.stream for item in sorted(source.streams, key=lambda i: i.stream.path)]
        names = [self._glyphs.plain(stream_name(stream)) for stream in streams]
        if shown.stream in streams:
            left += tabs(names, streams.index(shown.stream), room, self._glyphs["more"])
        return left, right

    # -- the prompt ----------------------------------------------------------------------------

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search for what was typed."""
        event.stop()
        self._close_prompt(event.input)
        self.view.set_search(event.value)
        self.action_next_match(1)

    def on_key(self, event: Key) -> None:
        """Esc in the prompt clears and closes it."""
        prompt = self.screen.focused
        if event.key == "escape" and isinstance(prompt, Input):
            event.stop()
            prompt.value = ""
            self.view.set_search("")
            self._close_prompt(prompt)
            self.draw_title()

    def _close_prompt(self, prompt: Input) -> None:
        prompt.remove_class("-open")
        self.view.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something is typed, no key of the log acts."""
        if isinstance(self.screen.focused, Input):
            return False
        return super().check_action(action, parameters)

    # -- moving --------------------------------------------------------------------------------

    def action_line(self, lines: int) -> None:
        """Move by lines."""
        self.view.scroll_lines(lines)
        self.draw_title()

    def action_page(self, pages: int) -> None:
        """Move by pages."""
        self.action_line(pages * max(self.view.page - 1, 1))

    def action_top(self) -> None:
        """Show the oldest loaded line; there, load older ones."""
        at_top = self.view.scroll_offset.y == 0
        self.view.go_top()
        self.draw_title()
        if at_top and self.source is not None:
            self._work(self._load_older(self.source), "older log")

    def action_bottom(self) -> None:
        """Show the newest line and follow."""
        self.view.go_end()
        self.draw_title()

    def action_follow(self) -> None:
        """Follow new lines, or stay."""
        if self.view.follow:
            self.view.follow = False
        else:
            self.view.go_end()
        self.draw_title()

    def action_shift(self, cells: int) -> None:
        """Scroll sideways."""
        self.view.shift(cells)

    def action_shift_half(self, direction: int) -> None:
        """Scroll sideways by half a screen."""
        self.view.shift(direction * max(self.view.size.width // 2, 1))

    def action_stream(self, step: int) -> None:
        """Show the next log file."""
        if self.source is not None:
            self._work(self._choose(self.source, step), "log file")

    def action_search(self) -> None:
        """Open the search's prompt."""
        prompt = self.query_one("#search", Input)
        prompt.add_class("-open")
        prompt.focus()

    def action_next_match(self, direction: int) -> None:
        """Go to the next match."""
        if self.view.search:
            found = self.view.find(self._start(direction) + direction, direction)
            self._reveal(found, f"no {'further' if direction > 0 else 'earlier'} match")

    def action_error(self, direction: int) -> None:
        """Go to the next line that speaks of an error."""
        found = self.view.ring.next_trouble(self._start(direction), direction)
        self._reveal(found, f"no {'further' if direction > 0 else 'earlier'} error")

    def action_full(self) -> None:
        """Ask for the whole screen, or to give it back."""
        self.post_message(self.Full())

    def action_close(self) -> None:
        """Ask to be closed."""
        self.post_message(self.Close())

    def _start(self, direction: int) -> int:
        if self.view.mark is not None:
            return self.view.mark
        ring = self.view.ring
        return ring.end if direction < 0 else ring.first - 1

    def _reveal(self, found: int | None, otherwise: str) -> None:
        if found is None:
            self.post_message(self.Said(f"{otherwise} in the loaded lines"))
        else:
            self.view.reveal(found)
        self.draw_title()

    # -- reading more --------------------------------------------------------------------------

    def _work(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self.run_worker(work, name=name, group=name, exclusive=True, exit_on_error=False)

    async def _load_older(self, source: LogSource) -> None:
        async with asyncio.timeout(STORE_DEADLINE_SECONDS):
            count = await source.older()
        if source is self.source and count:
            self.view.grown()
            self.view.go_top()

    async def _choose(self, source: LogSource, step: int) -> None:
        async with asyncio.timeout(STORE_DEADLINE_SECONDS):
            await source.choose(step)
        if source is self.source:
            self.view.show(source.ring)
            self.draw_title()
