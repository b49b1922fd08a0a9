"""Where an API key may lie, in the official client's order (facts: vast_api.md section 1.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fleetui.domain.secret import Secret

READ_KEY_VARIABLE = "FLEETUI_READ_KEY"
KEY_VARIABLE = "VAST_API_KEY"
_LONGEST_KEY = 4096


@dataclass(frozen=True)
class KeySearch:
    """The keys found and every place looked at, in order.

    `read_key` is for reading calls and may be narrower; without one of its own it is
    `write_key` itself.
    """

    read_key: Secret | None
    write_key: Secret | None
    places: tuple[str, ...]

    def explain(self) -> str:
        """Say where a key was looked for; empty when there is one."""
        if self.read_key is not None:
            return ""
        return (
            "no Vast API key; looked at: "
            + ", ".join(self.places)
            + f". Set {KEY_VARIABLE}, or store a key with `vastai set api-key`;"
            " to look around without one: `fleetui demo`"
        )


def find_keys(environment: Mapping[str, str], home: Path) -> KeySearch:
    """Look the keys up: environment, 2FA session, key file, legacy file.

    `FLEETUI_READ_KEY` names a narrower key for reading; everything else is the official order.
    """
    folder = _config_folder(environment, home) / "vastai"
    paths = [folder / "vast_tfa_key", folder / "vast_api_key", home / ".vast_api_key"]
    read_key = _from_variable(environment, READ_KEY_VARIABLE)
    places = [f"${READ_KEY_VARIABLE}", f"${KEY_VARIABLE}"]
    write_key = _from_variable(environment, KEY_VARIABLE)
    for path in paths:
        places.append(str(path))
        if write_key is None:
            write_key = _from_file(path)
    return KeySearch(read_key or write_key, write_key, tuple(places))


def _config_folder(environment: Mapping[str, str], home: Path) -> Path:
    named = environment.get("XDG_CONFIG_HOME")
    return Path(named) if named else home / ".config"


def _from_variable(environment: Mapping[str, str], name: str) -> Secret | None:
    value = environment.get(name, "").strip()
    return Secret(value) if value else None


def _from_file(path: Path) -> Secret | None:
    """Read a key file; one that is missing, unreadable or no text holds no key."""
    try:
        with path.open("rb") as file:
            value = file.read(_LONGEST_KEY).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return Secret(value) if value else None
