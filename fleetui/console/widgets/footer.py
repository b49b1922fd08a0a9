"""The footer's words: the keys that matter here, from the registry."""

from fleetui.console.actions import actions, key_word
from fleetui.console.glyphs import Glyphs
from fleetui.console.palette import Piece


def footer(scope: str, *, read_only: bool, glyphs: Glyphs, width: int) -> list[Piece]:
    """Return as many key hints of a scope and of the app as fit, by rank."""
    shown = [
        action
        for action in (*actions(scope, read_only=read_only), *actions("app", read_only=read_only))
        if action.footer
    ]
    shown.sort(key=lambda action: action.rank)
    hints = [(key_word(action.keys[0], ascii_only=glyphs.ascii_only), action) for action in shown]
    # Help and quit stay; the least important of the others go first.
    while len(hints) > 2 and sum(len(key) + len(a.footer) + 4 for key, a in hints) > width:
        hints.pop(-3)
    pieces: list[Piece] = []
    for key, action in hints:
        pieces += [
            (f" {key}", "warn bold" if action.dangerous else "key bold"),
            (f" {action.footer}  ", "dim"),
        ]
    return pieces
