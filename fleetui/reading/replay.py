"""A host kept in a folder, fed through a reader as it was, or would have been, followed.

A folder holds `fs/` (files as on the host), and may hold `probe/` (outputs of tools),
`status.jsonl` (`{"t": seconds, "status": {...}}` a line) and `replay.json` (when each byte was
written: `events` = [seconds, file index, size from then on]).
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from fleetui.domain.stream import LogChunk, StreamId
from fleetui.domain.text import sanitise
from fleetui.logs.timestamps import stamp_of
from fleetui.profiles.model import Profile
from fleetui.reading.probe_output import parse_probe
from fleetui.reading.reader import Reader
from fleetui.reading.status import parse_status

LARGEST_FILE = 64 * 1024 * 1024
"""Of a longer file only the end is read, in bytes."""

_CHUNK = 256 * 1024
_TAIL = 256 * 1024
_KIND_ORDER = ("setup", "bench", "config", "daemon", "curio")

Timing = tuple[float, list[str], list[tuple[float, int, int]]]
"""Epoch seconds of the start, file names, and (seconds, file, size) of each growth."""


class ReplayError(ValueError):
    """The folder is no kept host; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened: bytes of a stream or a status answer."""

    at: float
    chunk: LogChunk | None = None
    kind: str = "log"
    status: bytes | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """A kept host, read into memory. `ends_at` is the newest time in its evidence.

    `unread` says what is there and could not be read, one line each.
    """

    steps: tuple[Step, ...]
    sections: dict[str, str]
    ends_at: float
    unread: tuple[str, ...] = ()


def replay(folder: Path, profile: Profile, instance_id: int = 0) -> tuple[Reader, Host]:
    """Feed a kept host through a new reader; return both.

    Raises:
        ReplayError: the folder holds nothing to read, or its `replay.json` is damaged.
    """
    host = load_host(folder, profile, instance_id)
    reader = Reader(profile, instance_id)
    for step in host.steps:
        feed_step(reader, step)
    if host.sections:
        reader.observe_probe(parse_probe(host.sections, host.ends_at))
    return reader, host


def feed_step(reader: Reader, step: Step) -> None:
    """Feed one step of a kept host."""
    if step.chunk is not None:
        reader.feed(step.chunk, step.kind)
    if step.status is not None:
        try:
            reader.observe_status(parse_status(step.status, step.at), None, step.at)
        except ValueError as error:
            reader.observe_status(None, sanitise(str(error)), step.at)


def load_host(folder: Path, profile: Profile, instance_id: int = 0) -> Host:
    """Read a kept host.

    Raises:
        ReplayError: the folder holds nothing to read, or its `replay.json` is damaged.
    """
    if not folder.is_dir():
        message = f"{folder}: no such folder"
        raise ReplayError(message)
    unread: list[str] = []
    files = _files(folder / "fs", unread)
    sections = _sections(folder / "probe", unread)
    timing = _timing(folder)
    if timing is None:
        ends_at = max((_newest(data, path) for path, data in files.values()), default=0.0)
        steps = _at_once(files, profile, instance_id, ends_at)
        start = ends_at - _length(folder / "status.jsonl")
    else:
        start = timing[0]
        steps = _as_written(files, profile, instance_id, timing)
        ends_at = max((step.at for step in steps), default=start)
    steps += _statuses(folder / "status.jsonl", start)
    if not steps and not sections:
        message = unread[0] if unread else f"{folder}: neither log files nor probe outputs in it"
        raise ReplayError(message)
    steps.sort(key=lambda step: step.at)
    ends_at = max([ends_at, *(step.at for step in steps)])
    return Host(tuple(steps), sections, ends_at, tuple(unread))


def _files(root: Path, unread: list[str]) -> dict[str, tuple[Path, bytes]]:
    """Path on the host to the file here and its bytes; what cannot be read goes to `unread`."""
    files = {}
    for path in sorted(_below(root, unread)):
        try:
            with path.open("rb") as opened:
                opened.seek(max(path.stat().st_size - LARGEST_FILE, 0))
                files["/" + path.relative_to(root).as_posix()] = (path, opened.read())
        except OSError as error:
            unread.append(f"{path}: {error.strerror or error}")
    return files


def _below(root: Path, unread: list[str]) -> Iterator[Path]:
    """Give the plain files below a folder; a link may lead out of the kept host."""

    def complain(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            unread.append(f"{error.filename}: {error.strerror or error}")

    for folder, _, names in os.walk(root, onerror=complain):
        for name in names:
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink():
                yield path


def _sections(folder: Path, unread: list[str]) -> dict[str, str]:
    """Outputs of tools, by name without a suffix that only says the format."""
    sections = {}
    for path in sorted(path for path in _below(folder, unread) if path.parent == folder):
        name = path.stem if path.suffix in (".txt", ".csv", ".log") else path.name
        try:
            sections[name] = path.read_bytes()[:LARGEST_FILE].decode("utf-8", "replace")
        except OSError as error:
            unread.append(f"{path}: {error.strerror or error}")
    return sections


def _timing(folder: Path) -> Timing | None:
    path = folder / "replay.json"
    if not path.is_file():
        return None
    try:
        raw: Any = json.loads(path.read_text("utf-8"))
        start = datetime.fromisoformat(raw["t0"]).timestamp()
        names = [str(name) for name in raw["files"]]
        events = [(float(at), int(file), int(size)) for at, file, size in raw["events"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"{path}: not a replay file: {error!r}"
        raise ReplayError(message) from error
    if any(not 0 <= file < len(names) or size < 0 for _, file, size in events):
        message = f"{path}: an event names no file, or a size below 0"
        raise ReplayError(message)
    return start, names, sorted(events, key=lambda event: event[0])


def _as_written(
    files: dict[str, tuple[Path, bytes]],
    profile: Profile,
    instance_id: int,
    timing: Timing,
) -> list[Step]:
    """Steps with the bytes of each event; of a truncated file only the last life is kept."""
    start, names, events = timing
    sizes = dict.fromkeys(range(len(names)), 0)
    generations = dict.fromkeys(range(len(names)), 1)
    steps: list[Step] = []
    for seconds, file, size in events:
        if size < sizes[file]:
            generations[file] += 1
            sizes[file] = 0
            steps = [
                step
                for step in steps
                if step.chunk is None or step.chunk.stream.path != names[file]
            ]
        _, data = files.get(names[file], (None, b""))
        part = data[sizes[file] : size]
        if part:
            chunk = LogChunk(
                stream=StreamId(instance_id, names[file]),
                generation=generations[file],
                offset=sizes[file],
                data=part,
                at=start + seconds,
            )
            kind = profile.kind_of(names[file]) or "log"
            steps.append(Step(start + seconds, chunk, kind))
        sizes[file] = size
    ends_at = start + max((seconds for seconds, _, _ in events), default=0.0)
    untimed = {name: entry for name, entry in files.items() if name not in names}
    return steps + _at_once(untimed, profile, instance_id, ends_at)


def _at_once(
    files: dict[str, tuple[Path, bytes]], profile: Profile, instance_id: int, at: float
) -> list[Step]:
    """Steps as at first sight of a host: whole files, in the order of a healthy life."""
    kinds = {name: profile.kind_of(name) or "log" for name in files}

    def order(name: str) -> tuple[int, int, str]:
        kind = kinds[name]
        place = _KIND_ORDER.index(kind) if kind in _KIND_ORDER else len(_KIND_ORDER)
        return place, profile.place_of(name), name

    steps = []
    for name in sorted(files, key=order):
        path, data = files[name]
        skipped = max(path.stat().st_size - len(data), 0)
        for begin in range(0, len(data), _CHUNK):
            chunk = LogChunk(
                stream=StreamId(instance_id, name),
                generation=1,
                offset=skipped + begin,
                data=data[begin : begin + _CHUNK],
                at=at,
            )
            steps.append(Step(at, chunk, kinds[name]))
    return steps


def _statuses(path: Path, start: float) -> list[Step]:
    if not path.is_file():
        return []
    steps = []
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            entry: Any = json.loads(line)
            at = start + float(entry["t"])
            body = json.dumps(entry["status"]).encode()
        except (ValueError, KeyError, TypeError):
            continue
        steps.append(Step(at, status=body))
    return steps


def _length(path: Path) -> float:
    """How many seconds the series of status answers lasts."""
    return max((step.at for step in _statuses(path, 0.0)), default=0.0)


def _newest(data: bytes, path: Path) -> float:
    """The newest time that a line carries; without any, when the file was last written."""
    written = path.stat().st_mtime
    for line in reversed(data[-_TAIL:].splitlines()):
        stamp = stamp_of(line[:96], written)
        if stamp is not None:
            return stamp
    return 0.0 if len(data) else written
