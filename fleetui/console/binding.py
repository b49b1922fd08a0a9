"""Actions of the registry as textual bindings of one node."""

from textual.binding import Binding, BindingsMap

from fleetui.console.actions import Action, actions


def bindings_map(scope: str, *, read_only: bool) -> BindingsMap:
    """Return the bindings of a scope. Nothing dangerous is a priority binding, ever."""
    return BindingsMap(
        Binding(
            key=key,
            action=_call(action),
            description=action.title,
            show=False,
            id=action.id if index == 0 else f"{action.id}.{index}",
        )
        for action in actions(scope, read_only=read_only)
        for index, key in enumerate(action.keys)
    )


def _call(action: Action) -> str:
    """Say whose method acts: lists and the log move themselves, the rest is the screen's."""
    match action.scope:
        case "app":
            return f"app.{action.name}"
        case "fleet":
            return f"screen.{action.name}"
        case _:
            return action.name
