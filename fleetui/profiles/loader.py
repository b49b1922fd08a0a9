"""Profiles from TOML files: the built-in ones, and the operator's own beside or instead of them.

A name is looked for in the operator's folder first, then among the built-in files; a path is
taken as it is. The operator's file either replaces the built-in one of the same name, or extends
it by beginning with `extends = "NAME"`. `include = ["NAME", ...]` adds the rules of other files.
Any `rules.toml` in the operator's folder is added to whatever profile is loaded.
"""

import re
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import msgspec

from fleetui.domain.stage import Stage
from fleetui.profiles.model import STREAM_KINDS, Action, Profile, ProfileError, StreamSpec
from fleetui.profiles.rules import read_rules, slow_rules
from fleetui.profiles.toml_lines import TomlLines

OPERATOR_RULES = "rules.toml"

_NAME = re.compile(r"[\w-]+\Z")
_PLACE = re.compile(r"\(at line (\d+),")
_LONG_NUMBER = re.compile(r"\d{1000}")
_DEEPEST = 8
_SPACE = 32
_HIGHEST_PORT = 65535
_NEWEST_CUDA = 99
_LARGEST = 1e18
"""Of any figure in a profile; neither infinity nor what is no number lies below it."""
_KEYS = {
    "name", "extends", "include", "streams", "rule", "stage_limits", "silence_limits",
    "process_names", "probe_paths", "status_port", "actions", "file_sizes", "input_bytes",
    "image_cuda",
}  # fmt: skip


@dataclass(frozen=True)
class _Source:
    """One TOML file and whether its author is the operator."""

    name: str
    text: str
    user: bool
    folder: Traversable | Path = field(compare=False)


def load(name_or_path: str | Path, user_folder: Path | None = None) -> Profile:
    """Load a profile by name (`cuzk`, `generic`) or by path.

    Raises:
        ProfileError: a file is missing, is not TOML, or says something that cannot be used; the
            text names the file, the line and the rule.
    """
    source = _find(name_or_path, user_folder)
    profile = _read(source, user_folder, chain=())
    if user_folder is not None and (user_folder / OPERATOR_RULES).is_file():
        extra = _open(user_folder / OPERATOR_RULES, user=True)
        data = _parse(extra)
        unknown = sorted(set(data) - {"rule"})
        if unknown:
            message = f"no such key: {unknown[0]}; it holds [[rule]] tables only"
            raise _error(extra, unknown[0], message)
        added = read_rules(data, extra.name, extra.text, user=True)
        taken = {rule.id for rule in added}
        kept = tuple(rule for rule in profile.rules if rule.id not in taken)
        warnings = (*profile.warnings, *slow_rules(added, extra.name, extra.text))
        profile = _with(profile, {"rules": (*kept, *added), "warnings": warnings})
    return profile


def _find(name_or_path: str | Path, user_folder: Path | None, *, own: bool = True) -> _Source:
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or not _NAME.match(text):
        return _open(Path(name_or_path), user=True)
    if own and user_folder is not None and (user_folder / f"{text}.toml").is_file():
        return _open(user_folder / f"{text}.toml", user=True)
    built_in = resources.files(__package__ or "fleetui.profiles")
    if not (built_in / f"{text}.toml").is_file():
        known = sorted(
            entry.name.removesuffix(".toml")
            for entry in built_in.iterdir()
            if entry.name.endswith(".toml")
        )
        message = f"no profile {text!r}; the built-in ones are {', '.join(known)}"
        raise ProfileError(message)
    content = (built_in / f"{text}.toml").read_text("utf-8")
    return _Source(f"{text}.toml", content, user=False, folder=built_in)


def _named(source: _Source, key: str, name: str, user_folder: Path | None) -> _Source:
    """Find the file that another one names; it can extend built-in ones only."""
    try:
        return _find(name, user_folder, own=key == "include")
    except ProfileError as error:
        why = str(error)
        own = None if user_folder is None else user_folder / f"{name}.toml"
        if key == "extends" and own is not None and _NAME.match(name) and own.is_file():
            why = f"{own} is your own: only a built-in profile can be extended, {why}"
        raise _error(source, name, f"{key} = {name!r}: {why}") from error


def _open(path: Path, *, user: bool) -> _Source:
    try:
        return _Source(str(path), path.read_text("utf-8"), user=user, folder=path.parent)
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path}: cannot be read: {error}"
        raise ProfileError(message) from error


def _parse(source: _Source) -> dict[str, Any]:
    try:
        return tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        told = _PLACE.search(str(error))
        line = told[1] if told else source.text.count("\n") + 1
        message = f"{source.name}:{line}: {error}"
        raise ProfileError(message) from error
    except ValueError as error:
        numbered = enumerate(source.text.splitlines(), 1)
        line = next((at for at, text in numbered if _LONG_NUMBER.search(text)), 1)
        message = f"{source.name}:{line}: a number is too long: {error}"
        raise ProfileError(message) from error
    except RecursionError as error:
        lines = source.text.splitlines()
        line = max(range(len(lines)), key=lambda at: lines[at].count("[") + lines[at].count("{"))
        message = f"{source.name}:{line + 1}: lists or tables lie too deep in each other"
        raise ProfileError(message) from error


def _read(source: _Source, user_folder: Path | None, chain: tuple[str, ...]) -> Profile:
    if source.name in chain or len(chain) >= _DEEPEST:
        message = f"{source.name}: includes itself by way of {' -> '.join(chain) or 'itself'}"
        raise ProfileError(message)
    chain = (*chain, source.name)
    data = _parse(source)
    unknown = sorted(set(data) - _KEYS)
    if unknown:
        raise _error(source, unknown[0], f"no such key: {unknown[0]}")
    name = _word(source, data, "name") if "name" in data else Path(source.name).stem
    profile = Profile(name=name, streams=(), rules=())
    if "extends" in data:
        # A file that extends its own name means the built-in one.
        base = _named(source, "extends", _word(source, data, "extends"), user_folder)
        profile = _with(_read(base, user_folder, chain), {"name": profile.name})
    rules = {rule.id: rule for rule in profile.rules}
    warnings = list(profile.warnings)
    for included in _words(source, data, "include"):
        other = _read(_named(source, "include", included, user_folder), user_folder, chain)
        warnings += other.warnings
        for rule in other.rules:
            if rule.id in rules and "extends" not in data:
                raise _error(source, "include", f"two rules have the id {rule.id!r}")
            rules[rule.id] = rule
    own = read_rules(data, source.name, source.text, user=source.user)
    if source.user:
        warnings += slow_rules(own, source.name, source.text)
    for rule in own:
        if rule.id in rules and "extends" not in data:
            raise _error(source, rule.id, f"rule {rule.id!r}: the id is taken by an included file")
        rules[rule.id] = rule
    changes: dict[str, Any] = {"rules": tuple(rules.values()), "warnings": tuple(warnings)}
    changes.update(_settings(source, data, profile))
    return _with(profile, changes)


def _settings(source: _Source, data: dict[str, Any], base: Profile) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if "streams" in data:
        if not isinstance(data["streams"], list):
            raise _error(source, "streams", "streams are written as [[streams]] tables")
        changes["streams"] = tuple(
            _stream(source, number, entry) for number, entry in enumerate(data["streams"])
        )
    for key in ("stage_limits", "silence_limits"):
        if key in data:
            changes[key] = {**getattr(base, key), **_limits(source, data[key], key)}
    for key in ("process_names", "probe_paths"):
        if key in data:
            changes[key] = tuple(_words(source, data, key))
    changes.update(_figures(source, data))
    if "actions" in data:
        if not isinstance(data["actions"], dict):
            raise _error(source, "actions", "actions are written as [actions.NAME] tables")
        scripts = {name: _action(source, name, entry) for name, entry in data["actions"].items()}
        changes["actions"] = {**base.actions, **scripts}
    return changes


def _figures(source: _Source, data: dict[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for key, kind, most in (
        ("status_port", int, _HIGHEST_PORT),
        ("input_bytes", (int, float), _LARGEST),
        ("image_cuda", (int, float), _NEWEST_CUDA),
    ):
        if key in data:
            if not isinstance(data[key], kind) or not _is_size(data[key]) or data[key] > most:
                raise _error(source, key, f"{key} must be a number above 0, at most {most:.0f}")
            changes[key] = data[key]
    if "file_sizes" in data:
        sizes = data["file_sizes"]
        if not isinstance(sizes, dict) or not all(_is_size(size) for size in sizes.values()):
            raise _error(source, "file_sizes", "file_sizes must be a table of bytes")
        changes["file_sizes"] = {name: float(size) for name, size in sizes.items()}
    return changes


def _is_size(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _LARGEST


def _stream(source: _Source, number: int, entry: object) -> StreamSpec:
    def wrong(word: str, text: str) -> ProfileError:
        return _error(source, word, text, table="streams", number=number)

    if not isinstance(entry, dict):
        raise wrong("", "streams are written as [[streams]] tables")
    unknown = sorted(set(entry) - {"kind", "patterns", "copies", "stage"})
    if unknown:
        raise wrong(unknown[0], "a stream has kind, patterns, copies and stage only")
    patterns = entry.get("patterns")
    if not isinstance(entry.get("kind"), str) or not isinstance(patterns, list) or not patterns:
        raise wrong("patterns", "a stream needs a kind and a list of patterns")
    if entry["kind"] not in STREAM_KINDS:
        kinds = ", ".join(sorted(STREAM_KINDS))
        raise wrong("kind", f"no such kind: {entry['kind']!r}; there are {kinds}")
    if not isinstance(entry.get("copies", False), bool):
        raise wrong("copies", "copies must be true or false")
    for pattern in patterns:
        if isinstance(pattern, str) and any(ord(letter) < _SPACE for letter in pattern):
            raise wrong("patterns", f"{pattern!r} holds a control character, as no path should")
        if not isinstance(pattern, str) or not pattern.startswith("/"):
            raise wrong(str(pattern), f"{pattern!r} is not an absolute path or glob")
    stage = entry.get("stage")
    if stage is not None and (not isinstance(stage, str) or stage not in set(Stage)):
        raise wrong("stage", f"no such stage: {stage!r}")
    return StreamSpec(
        entry["kind"],
        tuple(patterns),
        copies=entry.get("copies", False),
        stage=None if stage is None else Stage(stage),
    )


def _limits(source: _Source, table: object, key: str) -> dict[Stage, float]:
    limits: dict[Stage, float] = {}
    if not isinstance(table, dict):
        raise _error(source, key, f"{key} must be a table of seconds")
    for name, seconds in table.items():
        if name not in set(Stage):
            raise _error(source, name, f"{key}: no such stage: {name!r}", table=key)
        if not _is_size(seconds):
            raise _error(source, name, f"{key}: {name} must be seconds above 0", table=key)
        limits[Stage(name)] = float(seconds)
    return limits


def _action(source: _Source, name: str, entry: object) -> Action:
    if isinstance(entry, dict) and set(entry) == {"script"} and isinstance(entry["script"], str):
        return Action(entry["script"])
    if isinstance(entry, dict) and set(entry) == {"file"} and isinstance(entry["file"], str):
        return Action(_action_file(source, name, entry["file"]))
    if isinstance(entry, dict) and set(entry) == {"files"} and _is_words(entry["files"]):
        return Action("\n".join(_action_file(source, name, file) for file in entry["files"]))
    raise _error(source, f"actions.{name}", f"action {name}: give either script, file or files")


def _is_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value) and bool(value)


def _action_file(source: _Source, name: str, file: str) -> str:
    if "/" in file or "\\" in file:
        raise _error(source, file, f"action {name}: the file lies beside the profile")
    try:
        return (source.folder / file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _error(source, file, f"action {name}: {error}") from error


def _word(source: _Source, data: dict[str, Any], key: str) -> str:
    if not isinstance(data[key], str):
        raise _error(source, key, f"{key} must be a name")
    return str(data[key])


def _words(source: _Source, data: dict[str, Any], key: str) -> list[str]:
    words = data.get(key, [])
    if not isinstance(words, list) or any(not isinstance(word, str) for word in words):
        raise _error(source, key, f"{key} must be a list of texts")
    return list(words)


def _error(
    source: _Source, word: str, text: str, *, table: str = "", number: int = 0
) -> ProfileError:
    """Make an error that names the line of a key or of a value with a word."""
    line = TomlLines(source.text).line_of(word, table, number)
    return ProfileError(f"{source.name}:{line}: {text}")


def _with(profile: Profile, changes: dict[str, Any]) -> Profile:
    return msgspec.structs.replace(profile, **changes)
