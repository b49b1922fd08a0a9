"""The footer's words: the keys that matter here, from the registry."""

from collections.abc import Sequence

import msgspec

from fleetui.console.action import Action, key_word
from fleetui.console.glyphs import Glyphs
from fleetui.console.keymap import Keymap
from fleetui.console.palette import Piece


def footer(
    scopes: Sequence[str], keymap: Keymap, *, glyphs: Glyphs, width: int, here: str = ""
) -> list[Piece]:
    """Return as many key hints of the scopes and of the app as fit, by rank.

    `here` is the action that leads to where one is already: it is not offered.
    """
    shown = [
        action
        for action in (action for scope in (*scopes, "app") for action in keymap.actions(scope))
        if action.footer and action.keys and action.name != here
    ]
    shown.sort(key=lambda action: action.rank)
    hints = [(key_word(action.keys[0], ascii_only=glyphs.ascii_only), action) for action in shown]
    if "fleet" not in scopes:
        # The console is left from the table only: elsewhere the same key goes back one level.
        hints = [
            (key, _back(action) if action.name == "leave" else action) for key, action in hints
        ]
    while len(hints) > 2 and sum(len(key) + len(a.footer) + 4 for key, a in hints) > width:
        hints.pop(_least(hints))
    pieces: list[Piece] = []
    for key, action in hints:
        pieces += [
            (f" {key}", "warn bold" if action.dangerous else "key bold"),
            (f" {action.footer}  ", "dim"),
        ]
    return pieces


def line_footer(hints: Sequence[tuple[str, str]], glyphs: Glyphs) -> list[Piece]:
    """Return the keys of a line that is typed into: no other key does anything now."""
    pieces: list[Piece] = []
    for key, word in hints:
        pieces += [
            (f" {key_word(key, ascii_only=glyphs.ascii_only)}", "key bold"),
            (f" {word}  ", "dim"),
        ]
    return pieces


def _back(action: Action) -> Action:
    return msgspec.structs.replace(action, footer="back")


def _least(hints: list[tuple[str, Action]]) -> int:
    """Choose what goes first: by rank; what acts stays longer, help and quit stay for good."""
    harmless = [n for n, (_, action) in enumerate(hints[:-2]) if not action.dangerous]
    return harmless[-1] if harmless else len(hints) - 3
