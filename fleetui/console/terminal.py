"""The terminal's settings, made before textual is imported (it reads them at import)."""

import os
import sys
from collections.abc import Mapping, MutableMapping


def prepare_terminal(environ: MutableMapping[str, str]) -> None:
    """Set what textual reads at import, for the terminal at hand; the operator's values win.

    `COLUMNS` and `LINES` are dropped: a stale value would pin the size for ever. Multiplexers
    do not speak the kitty keyboard protocol in full. A link over SSH gets no animation, fewer
    frames and no pixel mouse (facts: tui.md, environment).
    """
    for name in ("COLUMNS", "LINES"):
        environ.pop(name, None)
    environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    environ.setdefault("ESCDELAY", "50")
    if inside_multiplexer(environ):
        environ.setdefault("TEXTUAL_DISABLE_KITTY_KEY", "1")
    if over_ssh(environ):
        environ.setdefault("TEXTUAL_FPS", "15")
        environ.setdefault("TEXTUAL_SMOOTH_SCROLL", "0")


def inside_multiplexer(environ: Mapping[str, str]) -> bool:
    """Tell whether tmux or screen stands between us and the terminal."""
    term = environ.get("TERM", "")
    return bool(environ.get("TMUX") or environ.get("STY")) or term.startswith(("tmux", "screen"))


def over_ssh(environ: Mapping[str, str]) -> bool:
    """Tell whether the terminal is at the other end of an SSH connection."""
    return bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))


def mouse_wanted(environ: Mapping[str, str]) -> bool:
    """Mouse reports cost uplink and take text selection away: off over SSH unless asked for."""
    asked = environ.get("FLEETUI_MOUSE", "")
    return asked not in {"0", "no", "off"} if asked else not over_ssh(environ)


def has_terminal() -> bool:
    """Tell whether keys come from a terminal that is still there.

    One that hung up is none any more. Whoever is not of its session hears nothing of that, and
    textual then asks a dead descriptor for keys without end.
    """
    try:
        return sys.__stdin__ is not None and os.isatty(sys.__stdin__.fileno())
    except (OSError, ValueError):
        return False
