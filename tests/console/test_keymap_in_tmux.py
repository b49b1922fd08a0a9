import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetui.console.actions import ACTIONS
from terminal import Tmux

SUPPORT = Path(__file__).parents[1] / "support"
PROBE = """
from textual.app import App
from fleetui.console.actions import ACTIONS
class Keys(App[None]):
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = []
    def on_mount(self):
        self._bindings = type(self._bindings)()
        self.seen = []
        self.said = 0
    def on_key(self, event):
        event.prevent_default(); event.stop()
        self.seen.append(event.key)
        self.query("*").remove()
        self.title = event.key
        from textual.widgets import Static
        self.mount(Static(f"<{len(self.seen)}:{event.key}>", markup=False))
Keys().run()
"""
NAMES = {
    "exclamation_mark": "!", "minus": "-", "plus": "+", "equals_sign": "=",
    "question_mark": "?", "slash": "/", "comma": ",", "full_stop": ".", "escape": "Escape",
    "colon": ":", "ampersand": "&", "at": "@", "backslash": "\\", "left_curly_bracket": "{",
    "right_curly_bracket": "}", "left_square_bracket": "[", "right_square_bracket": "]",
    "apostrophe": "'", "pagedown": "PPage", "pageup": "PPage", "enter": "Enter", "tab": "Tab",
    "space": "Space", "home": "Home", "end": "End", "up": "Up", "down": "Down", "left": "Left",
    "right": "Right", "shift+tab": "BTab", "shift+left": "S-Left", "shift+right": "S-Right",
}  # fmt: skip


def tmux_name(key: str) -> str:
    """Return a key of textual's as tmux's send-keys spells it."""
    if key == "pagedown":
        return "NPage"
    if key.startswith("ctrl+"):
        return "C-" + key.removeprefix("ctrl+")
    if re.fullmatch(r"f\d+", key):
        return key.upper()
    return NAMES.get(key, key)


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    terminal = Tmux()
    yield terminal
    terminal.end()


def test_every_key_of_the_registry_arrives_inside_tmux(tmux: Tmux, tmp_path: Path) -> None:
    script = tmp_path / "keys.py"
    script.write_text(PROBE)
    tmux.start(
        [sys.executable, str(script)], (80, 24), tmp_path, PYTHONPATH=str(SUPPORT),
        TEXTUAL_DISABLE_KITTY_KEY="1", TERM="tmux-256color",
    )  # fmt: skip
    keys = sorted({key for action in ACTIONS for key in action.keys})
    tmux.keys("a")
    tmux.wait_for("<1:a>")
    for number, key in enumerate(keys, 2):
        tmux.keys(tmux_name(key))
        tmux.wait_for(f"<{number}:{key}>")
