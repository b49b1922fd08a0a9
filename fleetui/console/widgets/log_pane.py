"""The log pane: lines of one file or several, their title, the prompt and the keys."""

from textual.events import Key
from textual.widgets import Input

from fleetui.console.log_source import LogSource
from fleetui.console.widgets.log_finding import LogFinding
from fleetui.console.widgets.log_looks import LogLooks
from fleetui.console.widgets.log_moving import LogMoving

PROMPTS = {
    "search": "search: words or an expression; a capital letter makes case matter; !not",
    "filter": "show only the lines with: words or an expression; !not; empty shows all",
    "time": "go to a time: 14:05, 2026-03-12 07:04, 15m (ago)",
}


class LogPane(LogMoving, LogFinding, LogLooks):
    """Follows what its source brings; never moves what somebody reads."""

    _prompt_for = "search"

    def _ask(self, purpose: str) -> None:
        self._prompt_for = purpose
        self.prompt.placeholder = self._glyphs.plain(PROMPTS[purpose])
        self.prompt.value = ""
        self.prompt.open()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Do what the prompt was opened for."""
        event.stop()
        self.prompt.close(self.view)
        match self._prompt_for:
            case "filter":
                self.action_show_only(event.value)
            case "time":
                self.action_to_time(event.value)
            case _:
                self.action_look_for(event.value)

    def on_key(self, event: Key) -> None:
        """Esc in the prompt closes it; in the search's it also forgets the search."""
        if event.key == "escape" and self.prompt.is_open:
            event.stop()
            event.prevent_default()
            if self._prompt_for == "search":
                self.view.set_search(None)
            self.prompt.close(self.view)
            self.draw_title()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something is typed, no key of the log acts."""
        if isinstance(self.screen.focused, Input):
            return False
        return super().check_action(action, parameters)

    def action_search(self) -> None:
        """Ask what to look for."""
        self._ask("search")

    def action_filter(self) -> None:
        """Ask which lines to show."""
        self._ask("filter")

    def action_time_prompt(self) -> None:
        """Ask which time to go to."""
        self._ask("time")

    def action_stream(self, step: int) -> None:
        """Show the next log file."""
        file = self.file
        if file is not None:
            self._work(self._choose(file, step), "log file")

    async def _choose(self, file: LogSource, step: int) -> None:
        await file.choose(step)
        if file is self.source:
            self.view.span = file.span
            self.view.show(file.ring)

    def action_previous_life(self) -> None:
        """Show the end of the file's life before this one: the run that crashed."""
        file = self.file
        if file is not None:
            self._work(self._previous_life(file), "previous run")

    async def _previous_life(self, file: LogSource) -> None:
        number = await file.to_previous_life()
        if file is not self.source:
            return
        if number is None:
            self.post_message(self.Said("no earlier run of this file is stored"))
        else:
            self.view.show(file.ring, at=number)

    async def jump(self, path: str, generation: int | None, offset: int | None) -> None:
        """Show a place of a file of the instance."""
        file = self.file
        if file is None:
            return
        await file.pick(path)
        number = None if offset is None else await file.to_offset(offset, generation)
        if file is self.source:
            self.view.span = file.span
            self.view.show(file.ring, at=number)
            self.draw_title()

    def action_full(self) -> None:
        """Ask for the whole screen, or to give it back."""
        self.post_message(self.Full())

    def action_close(self) -> None:
        """Ask to be closed."""
        self.post_message(self.Close())
