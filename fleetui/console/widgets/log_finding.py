"""Finding in the log pane: searches, errors, warnings, and showing only what passes."""

import time
from collections.abc import Iterator

from fleetui.console.line_filter import LineFilter, line_filter, trouble_lines, warning_lines
from fleetui.console.line_source import LineSource
from fleetui.console.slices import SLICE_SECONDS, found_in_slices
from fleetui.console.widgets.log_pane_parts import LogPaneParts


class LogFinding(LogPaneParts):
    """Goes to lines by what they say."""

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
        self._find(trouble_lines(), direction, "error")

    def action_warning(self, direction: int) -> None:
        """Go to the next line that warns, or worse."""
        self._find(warning_lines(), direction, "warning")

    def _find(self, wanted: LineFilter, direction: int, what: str) -> None:
        steps = self.view.ring.find(wanted, self._start(direction) + direction, direction)
        begun = time.monotonic()
        # What is near is found before the next key that was typed ahead.
        for found in steps:
            if found is not None:
                self._reveal(found)
                return
            if time.monotonic() - begun > SLICE_SECONDS:
                break
        if self.source is not None:
            self._work(self._find_on(self.source, steps, wanted, direction, what), "search")

    async def _find_on(
        self,
        source: LineSource,
        steps: Iterator[int | None],
        wanted: LineFilter,
        direction: int,
        what: str,
    ) -> None:
        ring = self.view.ring
        found = await found_in_slices(steps)
        if found is None:
            await self._find_far(source, wanted, direction, what)
        elif ring is self.view.ring:
            self._reveal(found)

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
