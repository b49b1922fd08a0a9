"""What a log view asks of whoever brings its lines."""

from typing import Protocol

from fleetui.console.line_filter import LineFilter
from fleetui.console.log_ring import LogRing


class LineSource(Protocol):
    """Where a log view's lines come from: a ring that grows at either end on demand."""

    ring: LogRing
    tags: list[str]
    """What each source of a merge is called; empty for a single file."""
    keep: LineFilter | None
    """Only lines that pass this are shown."""

    @property
    def at_end(self) -> bool:
        """Whether the ring reaches the newest line."""

    @property
    def span(self) -> tuple[int, int] | None:
        """The first and the last stored offset, where the lines are of one file."""

    async def advance(self, *, following: bool = True) -> bool:
        """Take in what came since; true when the ring changed."""

    async def older(self) -> int:
        """Load older lines in front; returns how many came."""

    async def newer(self) -> int:
        """Load what follows the ring; returns how many lines came."""

    async def to_end(self) -> None:
        """Show the newest lines."""

    async def to_start(self) -> None:
        """Show the oldest lines that are stored."""

    async def to_time(self, at: float) -> int | None:
        """Show the lines from a time on; returns the number of the first."""

    async def set_keep(self, keep: LineFilter | None, near: int | None) -> None:
        """Show only the lines that pass, near a line's offset; the ring becomes another one."""

    async def find(self, wanted: LineFilter, offset: int, direction: int) -> int | None:
        """Look through the stored lines beyond an offset; returns the number of a match."""
