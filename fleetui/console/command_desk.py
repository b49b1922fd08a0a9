"""The command line: what it offers on a screen, what may follow a word, and how one is run."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.dom import DOMNode

from fleetui.console.action import Action
from fleetui.console.arranging import GROUPINGS
from fleetui.console.binding import call_of
from fleetui.console.columns import COLUMNS
from fleetui.console.palette import PAINTS
from fleetui.console.screens.base import FleetUIScreen
from fleetui.console.screens.target_acts import TargetActs
from fleetui.domain.reading import FleetRow
from fleetui.domain.role import Role

if TYPE_CHECKING:
    from fleetui.console.app import FleetApp
    from fleetui.console.modals.command import Command

NO_COMMANDS = frozenset({"app.command", "app.no_act", "fleet.acts", "instance.acts"})
LOOKS = (
    "nvidia-smi --query-gpu=name,driver_version,utilization.gpu,memory.used --format=csv",
    "df -h",
    "free -m",
    "uptime",
    "ps -eo pid,stat,etime,rss,args --sort=-rss | head -20",
    "tail -n 20 /tmp/cuzk.log",
    "dmesg -T | tail -20",
    "uname -r",
)
"""Commands that are offered to be run on hosts."""


class CommandDesk:
    """Opens the command line on the actions of the screen that is shown."""

    def __init__(self, app: "FleetApp") -> None:
        self._app = app
        self._over: FleetUIScreen | None = None
        """The screen that the command line was opened over."""

    def open(self, *, acts_only: bool = False, text: str = "", notice: str = "") -> None:
        """Open it on the actions of this screen, or on those that act.

        `text` is typed already, and `notice` says what was wrong with it.
        """
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
            if action.id not in NO_COMMANDS and (not acts_only or _acts(action, screen))
        ]
        self._over = screen
        if isinstance(screen, TargetActs):
            screen.held = screen.targets()
        line = CommandLine(
            offered, self._argument_values, self._app.glyphs, text=text, notice=notice
        )
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
            case "label":
                values = self._of_targets(lambda row: row.label)
            case "blacklist":
                values = self._of_targets(lambda row: row.finding_summary)
            case "command":
                values = [*self._app.acts.ran, *LOOKS]
            case _:
                values = []
        values = list(dict.fromkeys(values))
        return [value for value in values if value.startswith(begun.strip())]

    def _of_targets(self, words: Callable[[FleetRow], str | None]) -> list[str]:
        """Return what is said of the screen's targets."""
        ids = self._over.targets() if self._over is not None else []
        rows = self._app.state.rows
        return [text for item in ids if item in rows and (text := words(rows[item]))]

    async def _run(self, command: "Command | None") -> None:
        screen = self._app.screen
        try:
            if command is not None:
                await self._do(command)
        finally:
            if isinstance(screen, TargetActs) and not self._app.screen.has_class("command"):
                screen.held = None

    async def _do(self, command: "Command") -> None:
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


def _acts(action: Action, screen: FleetUIScreen) -> bool:
    """Tell whether an action is one of those that a screen does to its targets."""
    own = action.scope in (screen.scope, *screen.scopes)
    return own and action.needs is not Role.VIEWER
