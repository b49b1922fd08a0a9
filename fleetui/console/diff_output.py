"""Between textual's compositor and the terminal: sends changed cells only.

It stands on internals of the pinned textual version. Whatever does not look as expected is left
to textual's own output.
"""

import time

from rich.color import ColorSystem
from rich.console import Console, RenderableType
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App
from textual.geometry import Region
from textual.screen import Screen

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

    _frame: FrameDiff | None = None
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
        return (
            self.diff_output
            and isinstance(renderable, LayoutUpdate | ChopsUpdate)
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
