"""The line that the fleet's filter is typed into."""

from textual.suggester import Suggester

from fleetui.console.fleet_state import FleetState
from fleetui.console.widgets.prompt import PromptLine


class FilterLine(PromptLine):
    """Completes from the filter's fields and the fleet's own values."""

    def __init__(self, state: FleetState, *, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(
            placeholder="words  stage=warmup  gpu~4090  rate<min  log>5m  !label~test",
            suggester=_FilterSuggester(state),
            hints=(("enter", "keep"), ("escape", "clear"), ("right", "complete")),
            id=id,
        )


class _FilterSuggester(Suggester):
    def __init__(self, state: FleetState) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._state = state

    async def get_suggestion(self, value: str) -> str | None:
        """Return the likeliest whole text."""
        from fleetui.console.filter_completion import completions  # noqa: PLC0415 - on demand only

        found = completions(value, self._state.rows.values())
        return found[0] if found else None
