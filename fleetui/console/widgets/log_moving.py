"""Moving in the log pane: lines, pages, ends, times, and what is loaded on the way."""

from fleetui.console import figures
from fleetui.console.clock_words import typed_time
from fleetui.console.line_source import LineSource
from fleetui.console.log_source import LogSource
from fleetui.console.widgets.log_pane_parts import LogPaneParts
from fleetui.domain.text import sanitise

NEAR_PAGES = 3
"""So many pages before the loaded lines end, more are loaded."""


class LogMoving(LogPaneParts):
    """Moves the reader, and loads what comes near."""

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
