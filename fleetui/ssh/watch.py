"""Whether somebody looks at a host, and how those who wait learn that it changed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Watch:
    """A flag that tells interested jobs when it changes."""

    def __init__(self) -> None:
        self.watched = False
        self._listeners: list[Callable[[], None]] = []

    @contextmanager
    def told(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call `listener` at each change, while the context lasts."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def set(self, *, watched: bool) -> None:
        """Set the flag; tells the listeners when it changed."""
        if watched != self.watched:
            self.watched = watched
            self.tell()

    def tell(self) -> None:
        """Tell the listeners that a look is worth it now, watched or not."""
        for listener in tuple(self._listeners):
            listener()
