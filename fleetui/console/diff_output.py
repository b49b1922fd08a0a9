"""Between textual's compositor and the terminal: sends changed cells only.

It stands on internals of the pinned textual version. Whatever does not look as expected is left
to textual's own output.
"""

import asyncio
import time
from collections.abc import Mapping

from rich.color import ColorSystem
from rich.console import Console, RenderableType
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from fleetui.console.frame_diff import FrameDiff, StyleCodes


class CellUpdate(LayoutUpdate):
    """A ready sequence, in the place of an update of textual's."""

    def __init__(self, sequence: str) -> None:
        super().__init__([], Region())
        self._sequence = sequence

    def render_segments(self, console: Console) -> str:
        """Return the sequence."""
        del console
        return self._sequence


class DiffOutputApp(App[None]):
    """An app whose terminal gets changed cells only."""

    diff_output = True
    lent = False
    """Whether the terminal is somebody else's for now: nothing may be written to it."""

    BACKLOG = 1
    """With so many frames still on their way to the terminal, the next one waits."""
    LOOK_AGAIN_SECONDS = 0.05

    def forget_frame(self) -> None:
        """Write the next frame whole: the terminal may show something else."""
        if (frame := self._frame) is not None:
            frame.forget()
        if self._flush_is_due and self.is_running:
            # Lines that were painted and not yet sent are forgotten as well.
            self.screen.refresh()

    def paint_lines(self, widget: Widget, lines: Mapping[int, Strip]) -> bool:
        """Show lines of a widget's content, by their place in it, without textual's compositor.

        The compositor renders every widget that touches the bounds of what changed; this costs
        the changed lines alone, and does not wait for its timer. They are sent once the handler
        that painted them is done. False when they must be left to the compositor.
        """
        if not self._may_paint(widget):
            return False
        assert self._frame is not None  # noqa: S101 - `_may_paint` saw it
        region, offset = widget.content_region, widget.content_offset
        filters = widget.get_line_filters()
        background = widget.background_colors[1] if filters else None
        for y, strip in lines.items():
            if y >= region.height or strip.cell_length > region.width:
                return False
            for line_filter in filters:
                assert background is not None  # noqa: S101 - there is a filter
                strip = strip.apply_filter(line_filter, background)  # noqa: PLW2901 - step by step
            widget._styles_cache.set_dirty(Region(offset.x, offset.y + y, region.width, 1))  # noqa: SLF001 - what the compositor kept of the line is old
            if not self._frame.put(region.x, region.y + y, [strip]):
                return False
        if not self._flush_is_due:
            self._flush_is_due = True
            asyncio.get_running_loop().call_soon(self._flush_painted)
        return True

    def _may_paint(self, widget: Widget) -> bool:
        screen = self.screen
        return (
            self._may_write()
            and not self.lent
            and self._frame is not None
            and self._frame_size == (self.size.width, self.size.height)
            and widget.screen is screen
            and not widget._repaint_required  # noqa: SLF001 - all of it is due anyway
            and not widget._scroll_required  # noqa: SLF001 - the same
            and not screen._layout_required  # noqa: SLF001 - it may stand elsewhere soon
            and not screen._scroll_required  # noqa: SLF001 - the same
        )

    def _flush_painted(self) -> None:
        self._flush_is_due = False
        if self._frame is None or self.lent or not self._may_write():
            self.forget_frame()
            self.screen.refresh()
            return
        sequence = self._take()
        if sequence:
            super()._display(self.screen, CellUpdate(sequence))

    _frame: FrameDiff | None = None
    _flush_is_due = False
    _codes: StyleCodes | None = None
    _frame_size: tuple[int, int] | None = None
    _behind_since: float | None = None
    _slowest_seconds = 0.0
    _frames_joined = 0

    @property
    def behind_seconds(self) -> float:
        """Since when the terminal has not taken what is drawn; 0 while it keeps up."""
        return 0.0 if self._behind_since is None else time.monotonic() - self._behind_since

    def link_trouble(self) -> str:
        """Say that the terminal does not keep up; empty while it does."""
        return f"terminal {self.behind_seconds:.0f} s behind" if self.behind_seconds >= 1 else ""

    def link_words(self) -> str:
        """Say how the terminal keeps up."""
        if not self._frames_joined:
            return "keeps up"
        return f"{self._frames_joined} frames joined, at most {self._slowest_seconds:.1f} s behind"

    def _set_pointer_shape(self, shape: str) -> None:
        """Leave the mouse pointer alone: its shape is not worth a byte, nor a wait."""
        del shape

    def _backlog(self) -> int:
        writer = getattr(self._driver, "_writer_thread", None)
        queue = getattr(writer, "_queue", None)
        return 0 if queue is None else int(queue.qsize())

    def _flush_late_frame(self) -> None:
        """Send what was held back as one frame once the terminal has taken the ones before."""
        if self._behind_since is None:
            return
        if self._frame is None or self._codes is None or self.lent:
            # Whoever has the terminal now leaves it for a whole new frame.
            self._behind_since = None
            self.forget_frame()
            return
        if self._backlog() >= self.BACKLOG:
            self.set_timer(self.LOOK_AGAIN_SECONDS, self._flush_late_frame)
            return
        self._slowest_seconds = max(self._slowest_seconds, self.behind_seconds)
        self._behind_since = None
        sequence = self._frame.take(self._codes)
        if sequence:
            super()._display(self.screen, CellUpdate(sequence))

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if self.lent:
            self.forget_frame()
            return
        if not self._may_diff(renderable):
            self.forget_frame()
            super()._display(screen, renderable)
            return
        assert isinstance(renderable, LayoutUpdate | ChopsUpdate)  # noqa: S101 - `_may_diff` saw it
        sequence = self._sequence(renderable)
        if sequence is None:
            self.forget_frame()
            super()._display(screen, renderable)
        elif self._behind_since is not None:
            self.post_display_hook()
        elif sequence:
            super()._display(screen, CellUpdate(sequence))
        else:
            self.post_display_hook()

    def _may_diff(self, renderable: RenderableType | None) -> bool:
        return isinstance(renderable, LayoutUpdate | ChopsUpdate) and self._may_write()

    def _may_write(self) -> bool:
        return (
            self.diff_output
            and not self._batch_count
            and self._running
            and not self._closed
            and self._driver is not None
            and not self._driver.is_inline
            and not self.is_headless
        )

    def _sequence(self, update: LayoutUpdate | ChopsUpdate) -> str | None:
        """Return what to write, or `None` when the update must be left to textual."""
        if self._frame is None:
            self._frame = FrameDiff()
            self._codes = StyleCodes(self.console._color_system or ColorSystem.TRUECOLOR)  # noqa: SLF001 - as Strip.render does
        if self._frame_size != self.size:
            self._frame.forget()
            self._frame_size = (self.size.width, self.size.height)
        assert self._codes is not None  # noqa: S101 - made with the frame
        if not _put(self._frame, update):
            return None
        return self._take()

    def _take(self) -> str:
        """Return what to write now: nothing while the terminal is behind."""
        assert self._frame is not None and self._codes is not None  # noqa: S101, PT018 - as above
        if self._behind_since is not None or self._backlog() >= self.BACKLOG:
            # The terminal is slow: frames join, and nothing here ever waits for it.
            self._frames_joined += 1
            if self._behind_since is None:
                self._behind_since = time.monotonic()
                self.set_timer(self.LOOK_AGAIN_SECONDS, self._flush_late_frame)
            return ""
        return self._frame.take(self._codes)


def _put(frame: FrameDiff, update: LayoutUpdate | ChopsUpdate) -> bool:
    if isinstance(update, LayoutUpdate):
        return all(
            frame.put(update.region.x, y, strips)
            for y, strips in enumerate(update.strips, update.region.y)
        )
    for y, x1, x2 in update.spans:
        line, ends = update.chops[y], update.chop_ends[y]
        for end, (x, strip) in zip(ends, line.items(), strict=False):
            if strip is None or x > x2 or end <= x1:
                continue
            # As textual does: a strip that ends beyond the span is cut at the span's end.
            part = strip if x >= x1 and end <= x2 else strip.crop(0, min(end, x2) - x)
            if not frame.put(x, y, [part]):
                return False
    return True


def paint_lines(widget: Widget, lines: Mapping[int, Strip]) -> bool:
    """Show lines of a widget at once; false when the app leaves that to textual."""
    app = widget.app
    return isinstance(app, DiffOutputApp) and app.paint_lines(widget, lines)
