"""The keys of one console: the registry with the operator's own keys in place of its."""

import difflib
from collections.abc import Mapping, Sequence

import msgspec
from textual.keys import _character_to_key

from fleetui.console.action import KEY_WORDS, Action
from fleetui.console.actions import ACTIONS, SCOPES
from fleetui.domain.role import Role

FIXED_KEYS = frozenset({"escape", "ctrl+c"})
"""Keys that keep their meaning: the way out, and the one that never acts."""
_NAMED = {word: key for key, word in KEY_WORDS.items()}


class KeymapError(ValueError):
    """The operator's keys cannot be used; the text says which and why."""


class Keymap:
    """Which keys do what. What needs another role than the console's does not exist."""

    def __init__(
        self,
        own: Mapping[str, str | Sequence[str]] | None = None,
        *,
        role: Role = Role.OWNER,
        registry: Sequence[Action] = ACTIONS,
    ) -> None:
        """Put the operator's keys (action id to one or several keys) over the registry's.

        Raises:
            KeymapError: an id or key is not known, or a key would do two things in one place.
        """
        self.role = role
        chosen = {name: _keys(name, keys) for name, keys in (own or {}).items()}
        known = [action.id for action in registry]
        for name in chosen:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                raise KeymapError(
                    f"keys: there is no action {name!r}"
                    + (f"; did you mean {near[0]!r}?" if near else "; docs/keys.md has them all")
                )
        taken = {key for keys in chosen.values() for key in keys}
        everything = tuple(_rebound(action, chosen, taken) for action in registry)
        for action in everything:
            if not action.keys and not action.command_only:
                raise KeymapError(f"keys: {action.id} is left without a key")
        _refuse_doubles(everything)
        self.all = tuple(a for a in everything if role.covers(a.needs))
        self.withheld = tuple(a for a in everything if not role.covers(a.needs))

    def actions(self, scope: str) -> tuple[Action, ...]:
        """Return the actions of a scope."""
        return tuple(action for action in self.all if action.scope == scope)


def _keys(name: str, keys: str | Sequence[str]) -> tuple[str, ...]:
    words = [keys] if isinstance(keys, str) else list(keys)
    if not words:
        raise KeymapError(f"keys: {name} names no key")
    return tuple(_key(name, word) for word in words)


def _key(name: str, word: str) -> str:
    word = word.strip()
    key = _NAMED.get(word, _character_to_key(word) if len(word) == 1 else word)
    if key in FIXED_KEYS:
        raise KeymapError(f"keys: {name}: {word} cannot be given away")
    modified, _, plain = key.rpartition("+")
    known = len(plain) == 1 or plain in KEY_WORDS or plain in _PLAIN_NAMES or _is_function(plain)
    if not known or modified not in ("", "ctrl", "shift", "ctrl+shift"):
        raise KeymapError(f"keys: {name}: there is no key {word!r} (x, ?, f5, ctrl+x, enter, ...)")
    return key


_PLAIN_NAMES = frozenset(
    {"enter", "tab", "space", "home", "end", "insert", "backspace", "delete", "backslash"}
    | {_character_to_key(character) for character in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"}
)


def _is_function(name: str) -> bool:
    return name.startswith("f") and name[1:].isdigit() and 1 <= int(name[1:]) <= 24


def _rebound(action: Action, chosen: Mapping[str, tuple[str, ...]], taken: set[str]) -> Action:
    """Give an action its own keys, or those of the registry that nobody took from it."""
    if action.id in chosen:
        keys = chosen[action.id]
        if action.dangerous and {"backspace", "delete", "enter", "space"} & set(keys):
            raise KeymapError(f"keys: {action.id} acts on the fleet: choose a less common key")
        return msgspec.structs.replace(action, keys=keys)
    same_place = {
        key
        for name, keys in chosen.items()
        for key in keys
        if name.partition(".")[0] in (action.scope, "app") or action.scope == "app"
    }
    return msgspec.structs.replace(
        action, keys=tuple(key for key in action.keys if key not in taken & same_place)
    )


def _refuse_doubles(everything: Sequence[Action]) -> None:
    for scope in SCOPES:
        owner: dict[str, str] = {}
        for action in everything:
            if action.scope != scope:
                continue
            for key in action.keys:
                if key in owner:
                    raise KeymapError(f"keys: {key} would be both {owner[key]} and {action.id}")
                owner[key] = action.id
