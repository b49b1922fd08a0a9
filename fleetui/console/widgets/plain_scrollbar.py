"""A scrollbar of whole cells: no fractional blocks, so it can be drawn everywhere."""

from typing import ClassVar

from textual.scrollbar import ScrollBar, ScrollBarRender


class PlainRender(ScrollBarRender):
    """Draws the thumb in whole cells; a moving thumb repaints less, too."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8


def make_plain(bar: ScrollBar) -> None:
    """Let one scrollbar draw whole cells."""
    # Textual reads it through the instance, so one bar can differ from the class.
    bar.renderer = PlainRender  # type: ignore[misc]  # textual types it as a class variable
