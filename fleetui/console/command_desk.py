"""The command line: what it offers on a screen, what may follow a word, and how one is run."""

from typing import TYPE_CHECKING

from textual.dom import DOMNode

from fleetui.console.arranging import GROUPINGS
from fleetui.console.binding import call_of
from fleetui.console.columns import COLUMNS
from fleetui.console.palette import PAINTS
from fleetui.console.screens.base import FleetUIScreen

if TYPE_CHECKING:
    from fleetui.console.app import FleetApp
    from fleetui.console.modals.command import Command

NO_COMMANDS = frozenset({"app.command", "app.no_act", "fleet.acts"})


class CommandDesk:
    """Opens the command line on the actions of the screen that is shown."""

    def __init__(self, app: "FleetApp") -> None:
        self._app = app

    def open(self, *, dangerous_only: bool = False) -> None:
        """Open it on the actions of this screen, or on those that act."""
        from fleetui.console.modals.command import CommandLine  # noqa: PLC0415 - on demand only

        screen = self._app.screen
        if not isinstance(screen, FleetUIScreen):
            return
        keymap = self._app.keymap
        scopes = dict.fromkeys((screen.scope, *screen.scopes, "app"))
        offered = [
            action
            for scope in scopes
            for action in keymap.actions(scope)
            if action.id not in NO_COMMANDS and (action.dangerous or not dangerous_only)
        ]
        line = CommandLine(offered, self._argument_values, self._app.glyphs)
        self._app.push_screen(line, self._run)

    def _argument_values(self, kind: str, begun: str) -> list[str]:
        rows = self._app.state.rows.values()
        match kind:
            case "column":
                values = [column.name for column in COLUMNS]
            case "theme":
                values = list(PAINTS)
            case "group":
                values = ["none", *GROUPINGS]
            case "filter":
                from fleetui.console.filter_completion import (  # noqa: PLC0415 - on demand only
                    completions,
                )

                return completions(begun, rows)
            case "instance":
                values = [str(row.instance_id) for row in rows]
                values += [row.label for row in rows if row.label]
            case _:
                values = []
        return [value for value in values if value.startswith(begun.strip())]

    async def _run(self, command: "Command | None") -> None:
        if command is None:
            return
        from fleetui.console.widgets.log_pane import LogPane  # noqa: PLC0415 - on demand only

        app, action = self._app, command.action
        node: DOMNode = app.screen
        if action.scope == "app":
            node = app
        elif action.scope == "log":
            node = app.screen.query_one(LogPane)
        elif action.scope == "lists":
            node = app.screen.focused or app.screen
        if not command.argument:
            await app.run_action(call_of(action), default_namespace=node)
            return
        method = getattr(node, f"action_{action.with_argument}", None)
        if method is not None:
            method(command.argument)
