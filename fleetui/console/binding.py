"""Actions of the registry as textual bindings of one node."""

from textual.binding import Binding, BindingsMap
from textual.widget import Widget

from fleetui.console.action import Action
from fleetui.console.actions import SCOPES
from fleetui.console.keymap import Keymap

_OF_SCREENS = frozenset(SCOPES) - {"app", "log", "lists"}


def bindings_map(scope: str, keymap: Keymap) -> BindingsMap:
    """Return the bindings of a scope. Nothing dangerous is a priority binding, ever."""
    return BindingsMap(
        Binding(
            key=key,
            action=call_of(action),
            description=action.title,
            show=False,
            id=action.id if index == 0 else f"{action.id}.{index}",
        )
        for action in keymap.actions(scope)
        for index, key in enumerate(action.keys)
    )


def call_of(action: Action) -> str:
    """Say whose method acts: lists and the log move themselves, the rest is the screen's."""
    match action.scope:
        case "app":
            return f"app.{action.name}"
        case scope if scope in _OF_SCREENS:
            return f"screen.{action.name}"
        case _:
            return action.name


def keymap_of(widget: Widget) -> Keymap:
    """Return the keys of the widget's app."""
    keymap = getattr(widget.app, "keymap", None)
    return keymap if isinstance(keymap, Keymap) else Keymap()
