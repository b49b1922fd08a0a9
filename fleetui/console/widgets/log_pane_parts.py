"""The parts of the log pane, its title, and the work that it waits for."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from fleetui.console import figures
from fleetui.console.binding import bindings_map
from fleetui.console.fitting import cells
from fleetui.console.glyphs import Glyphs
from fleetui.console.keymap import Keymap
from fleetui.console.line_source import LineSource
from fleetui.console.log_source import LogSource, stream_name
from fleetui.console.older_parts import OlderParts
from fleetui.console.palette import Piece
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.log_tabs import tabs
from fleetui.console.widgets.log_view import LogView
from fleetui.console.widgets.prompt import PromptLine
from fleetui.domain.clock import Clock
from fleetui.store.interface import ViewerStore

SEARCH_DEADLINE_SECONDS = 120.0


class LogPaneParts(Vertical):
    """Title, prompt and lines of one source."""

    class Close(Message, namespace="log_pane"):
        """The operator wants back to the table."""

    class Full(Message, namespace="log_pane"):
        """The operator wants the log on the whole screen, or back."""

    class Copy(Message, namespace="log_pane"):
        """A text for the clipboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Said(Message, namespace="log_pane"):
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

    @property
    def is_busy(self) -> bool:
        """Whether what was asked for last is still being read."""
        return self._loading

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

    def draw_title(self) -> None:
        """Draw the files, the shown one marked, and where the reader is."""
        self.query_one("#log-title", LineBar).show(*self._title())

    def _title(self) -> tuple[list[Piece], list[Piece]]:
        source, file = self.source, self.file
        if source is None or (file is not None and file.shown is None):
            return [(f" {self.title or 'log'}", "title")], []
        right = self._state(source)
        if file is None or file.shown is None:
            count = f"  {len(source.ring)} lines "
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

    def _reveal(self, found: int | None) -> None:
        if found is not None:
            self.view.reveal(found)
        self.draw_title()

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
