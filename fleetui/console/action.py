"""One thing the operator can do, as data, and how its keys are printed."""

import msgspec

from fleetui.domain.role import Role


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One thing the operator can do.

    `keys` are textual's key names, the first one is shown. `name` is the method `action_NAME`
    of the scope's screen (or the app). `footer` is its short word there (empty: not shown),
    `rank` orders the footer. A `dangerous` action changes what costs or earns money; it has no
    handy key by accident. An action is not bound at all for who has less than the role it `needs`.
    `word` is its command on the command line, by default the id's last part; `argument` names
    what may follow it (see `console.commands`). `command_only`: it needs no key.
    """

    id: str
    keys: tuple[str, ...]
    name: str
    title: str
    scope: str
    footer: str = ""
    rank: int = 50
    dangerous: bool = False
    role: Role | None = None
    word: str = ""
    argument: str = ""
    with_argument: str = ""
    """The method that takes the argument."""
    command_only: bool = False

    @property
    def needs(self) -> Role:
        """The least role that has it."""
        return self.role or (Role.OPERATOR if self.dangerous else Role.VIEWER)

    @property
    def command(self) -> str:
        """Its word on the command line."""
        return self.word or self.id.partition(".")[2].replace("_", "-")


KEY_WORDS = {
    "question_mark": "?",
    "slash": "/",
    "comma": ",",
    "full_stop": ".",
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "shift+left": "shift+←",
    "shift+right": "shift+→",
    "escape": "esc",
    "colon": ":",
    "ampersand": "&",
    "at": "@",
    "backslash": "\\",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "apostrophe": "'",
    "exclamation_mark": "!",
    "plus": "+",
    "minus": "-",
    "ctrl+p": "^p",
    "ctrl+s": "^s",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "ctrl+d": "^d",
    "ctrl+u": "^u",
    "ctrl+c": "^c",
    "ctrl+l": "^l",
    "ctrl+q": "^q",
    "shift+tab": "shift+tab",
}
_ASCII_WORDS = {"↓": "down", "↑": "up", "←": "left", "→": "right"}


def key_word(key: str, *, ascii_only: bool = False) -> str:
    """Return a key as it is printed."""
    word = KEY_WORDS.get(key, key.upper() if key.startswith("f") and key[1:].isdigit() else key)
    if ascii_only:
        for sign, name in _ASCII_WORDS.items():
            word = word.replace(sign, name)
    return word
