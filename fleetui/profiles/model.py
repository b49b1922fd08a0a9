"""What is known of a workload: files, lines, stages, limits, actions."""

import re

import msgspec

from fleetui.domain.stage import Stage
from fleetui.profiles.patterns import Expression

STREAM_KINDS = frozenset(
    {"setup", "bench", "daemon", "curio", "config", "dmesg", "vast", "nvidia_smi", "ssh", "log"}
)
"""Kinds a stream or a rule may name; `log` is a file of an unknown program."""


class ProfileError(ValueError):
    """A profile cannot be used; the text names the file, the line and the rule."""


class StreamSpec(msgspec.Struct, frozen=True):
    """Files of one kind, as absolute shell globs.

    `copies` says that the files hold the same bytes, so that their lines count once. `stage` is
    the stage that any byte in such a file proves.
    """

    kind: str
    patterns: tuple[str, ...]
    copies: bool = False
    stage: Stage | None = None


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of line.

    A line matches when one of the literals in `any` occurs in it (with none given, any line
    may), none of `unless` does, and `pattern`, if given, is found in it; case never matters.
    `stage` is the stage that such a line proves, `signal` a word that the reading acts on,
    `fails` says that the line ends the present stage in failure.
    """

    id: str
    kinds: frozenset[str]
    any: tuple[str, ...]
    pattern: Expression | None = None
    category: str | None = None
    unless: tuple[str, ...] = ()
    stage: Stage | None = None
    signal: str | None = None
    fails: bool = False
    user: bool = False
    """Whether the rule came from the operator's own folder."""

    def reads(self, kind: str) -> bool:
        """Tell whether the rule looks at streams of this kind."""
        return "*" in self.kinds or kind in self.kinds


class Action(msgspec.Struct, frozen=True):
    """A script that mends something on the host; run by `sh` over the live connection."""

    script: str


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """All knowledge of one workload. Limits are seconds."""

    name: str
    streams: tuple[StreamSpec, ...]
    rules: tuple[Rule, ...]
    stage_limits: dict[Stage, float] = {}
    silence_limits: dict[Stage, float] = {}
    process_names: tuple[str, ...] = ()
    probe_paths: tuple[str, ...] = ()
    status_port: int | None = None
    actions: dict[str, Action] = {}
    file_sizes: dict[str, float] = {}
    """Part of a file's name to its size in bytes, for files whose size the log says roughly."""

    input_bytes: float | None = None
    """Size of the proof input in bytes."""

    image_cuda: float | None = None
    """CUDA release that the image's programs were built with."""

    warnings: tuple[str, ...] = ()
    """What the operator's files do that works but is slow; names the file, line and rule."""

    def size_of(self, name: str) -> float | None:
        """Return the known size of a file in bytes."""
        return next((size for part, size in self.file_sizes.items() if part in name), None)

    def stage_of(self, kind: str) -> Stage | None:
        """Return the stage that any byte in a file of this kind proves."""
        return next((spec.stage for spec in self.streams if spec.kind == kind), None)

    def kind_of(self, path: str) -> str | None:
        """Return the kind of the first stream whose pattern covers `path`."""
        for spec in self.streams:
            if any(glob_covers(pattern, path) for pattern in spec.patterns):
                return spec.kind
        return None

    def place_of(self, path: str) -> int:
        """Return the place of the pattern that covers `path` among all patterns, in order."""
        patterns = [pattern for spec in self.streams for pattern in spec.patterns]
        return next(
            (place for place, pattern in enumerate(patterns) if glob_covers(pattern, path)),
            len(patterns),
        )

    def copies_of(self, kind: str) -> bool:
        """Tell whether the files of `kind` are copies of each other."""
        return any(spec.copies for spec in self.streams if spec.kind == kind)


def glob_covers(pattern: str, path: str) -> bool:
    """Tell whether a shell glob covers a path; `*` and `?` never cross a `/`."""
    parts = pattern.split("/")
    names = path.split("/")
    return len(parts) == len(names) and all(
        re.fullmatch(_glob_expression(part), name) for part, name in zip(parts, names, strict=True)
    )


def _glob_expression(part: str) -> str:
    return "".join({"*": "[^/]*", "?": "[^/]"}.get(letter, re.escape(letter)) for letter in part)
