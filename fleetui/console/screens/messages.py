"""What is wrong with console and collector now, and what this console said, all of it whole."""

from fleetui.console import figures
from fleetui.console.fitting import wrap
from fleetui.console.inspection import Line
from fleetui.console.screens.lists import ListScreen


class MessagesScreen(ListScreen):
    """Opened from anywhere; what the header and the footer had to cut is whole here."""

    async def pull(self) -> None:
        """Draw from what the console knows."""
        app = self.console_app
        state, width = app.state, max(self.inner_width - 12, 20)
        troubles = (
            ("store", state.trouble),
            ("writing", state.write_trouble),
            ("API", state.walk_error()),
            ("collector", state.health.error if state.health else None),
        )
        lines: list[Line] = [[("what is wrong now", "title bold")]]
        for name, words in troubles:
            if words:
                lines += self._entry(name, words, width, "bad")
        if len(lines) == 1:
            lines.append([("nothing that the console or its collector knows of", "ok")])
        lines += [[], [("what this console said", "title bold")]]
        for note in app.notes.kept:
            at = figures.clock_time(note.at, utc=app.preferences.now.utc)
            lines += self._entry(at, note.text, width, "bad" if note.is_error else "text")
        if not app.notes.kept:
            lines.append([("nothing yet", "dim")])
        self.put(lines)

    def _entry(self, name: str, words: str, width: int, tone: str) -> list[Line]:
        return [
            [((name if not number else "").ljust(12), "dim"), (text, tone)]
            for number, text in enumerate(wrap(words, width))
        ]
