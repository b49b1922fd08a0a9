"""What an operator chose on the screen and finds again: a small file in the state folder."""

import contextlib
import os
from pathlib import Path

import msgspec


class Preferences(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Choices of the console. Empty means: the console's own choice."""

    columns: tuple[str, ...] = ()
    wide: bool = False
    group: str = ""
    theme: str = ""
    utc: bool = False


class PreferenceFile:
    """Keeps preferences in one file; without a path they last as long as the console.

    A file that cannot be read or written costs the choices, never the console.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.now = self._load()

    def _load(self) -> Preferences:
        if self._path is None:
            return Preferences()
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Preferences)
        except (OSError, msgspec.DecodeError):
            return Preferences()

    def keep(self, preferences: Preferences) -> str:
        """Keep new choices; returns why they cannot be written, empty when they were."""
        self.now = preferences
        if self._path is None:
            return ""
        part = self._path.with_suffix(f".{os.getpid()}.part")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(msgspec.json.format(msgspec.json.encode(preferences)))
            part.replace(self._path)
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink()
            return f"{self._path}: {error.strerror or error}"
        return ""
