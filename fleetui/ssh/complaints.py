"""What does not work on a live connection, as one text."""

from collections.abc import Callable


class Complaints:
    """Keeps one text for each subject and reports all of them when one changes, `None` for none."""

    def __init__(self, report: Callable[[str | None], None]) -> None:
        self._report = report
        self._texts: dict[str, str] = {}

    def say(self, subject: str, text: str | None) -> None:
        """Take the word on a subject; `None` when all is well with it."""
        if self._texts.get(subject) == text:
            return
        if text is None:
            del self._texts[subject]
        else:
            self._texts[subject] = text
        self._report("; ".join(self._texts.values()) or None)
