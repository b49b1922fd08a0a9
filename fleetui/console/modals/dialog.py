"""What every dialog over a screen is."""

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen, ScreenResultType


class Dialog(ModalScreen[ScreenResultType]):
    """A dialog that closes once: a second answer that was on its way is nobody's.

    Textual's own would take the screen below it away, too.
    """

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with an answer, unless it has closed already."""
        return super().dismiss(result) if self.is_current else AwaitComplete()
