"""A line that is typed into: hidden until it is opened."""

from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Input


class PromptLine(Input):
    """An input that takes the focus at once when it opens, and never while it is hidden.

    `hints` are its keys and what they do, for the footer.
    """

    def __init__(
        self,
        *,
        hints: tuple[tuple[str, str], ...],
        placeholder: str = "",
        suggester: Suggester | None = None,
        id: str | None = None,  # noqa: A002 - textual's own name
    ) -> None:
        super().__init__(
            placeholder=placeholder, suggester=suggester, id=id, classes="prompt", compact=True
        )
        self.hints = hints

    @property
    def is_open(self) -> bool:
        """Whether it is shown."""
        return self.has_class("-open")

    def allow_focus(self) -> bool:
        """Refuse the focus while hidden: nobody types into what cannot be seen."""
        return self.is_open and super().allow_focus()

    def open(self) -> None:
        """Show it and take the focus, before the next key is looked at."""
        self.add_class("-open")
        self.screen.set_focus(self)

    def close(self, then: Widget) -> None:
        """Hide it and give the focus to another widget."""
        self.remove_class("-open")
        self.screen.set_focus(then)
