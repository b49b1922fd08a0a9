"""`fleetui bundle ID`: all that is known of an instance in one archive, secrets masked."""

import asyncio
import json
import os
import tarfile
import tempfile
import zipfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from fleetui import __version__
from fleetui.domain.codec import to_builtins
from fleetui.domain.redaction import Redactor
from fleetui.domain.snapshot import Snapshot
from fleetui.domain.stream import StreamId
from fleetui.reports.inquest import InquestError, diagnose_instance, notes_on
from fleetui.store.interface import ViewerStore

_WINDOW = 4 * 1024 * 1024
_MOST_ENTRIES = 20_000
_LONGEST_LINE = 1024 * 1024
_GZIP_LEVEL = 6
"""Half the time of the default, and logs are hardly larger by it."""


async def write_bundle(
    store: ViewerStore,
    instance_id: int,
    target: Path,
    now: float,
    *,
    secret_names: frozenset[str] = frozenset(),
) -> None:
    """Write logs, rows, reading, findings, snapshots, events and audit to `target`.

    A name that ends in `.zip` gives a zip file, any other a gzipped tar. The file is made for its
    owner alone. `secret_names` are variables whose values are masked whatever they look like.

    Raises:
        InquestError: nothing is known of the instance, or the file exists already.
        OSError: it cannot be written.
    """
    name = f"fleetui-{instance_id}"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / name
        root.mkdir()
        await _facts(store, instance_id, root, now, secret_names)
        for position in await store.streams(instance_id):
            for generation in range(1, position.generation + 1):
                redactor = Redactor(names=secret_names)
                await _log(store, position.stream, generation, root / "logs", redactor)
        for snapshot in await store.snapshots(instance_id):
            _snapshot(snapshot, root / "snapshots")
        await asyncio.to_thread(_pack, root, target)


def default_name(instance_id: int, now: float) -> Path:
    """Return the archive's name when none was given."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    return Path(f"fleetui-{instance_id}-{stamp}.tar.gz")


async def _facts(
    store: ViewerStore, instance_id: int, root: Path, now: float, secret_names: frozenset[str]
) -> None:
    diagnosis = await diagnose_instance(store, instance_id)
    rows = [row for row in (await store.fleet()).rows if row.instance_id == instance_id]
    instance = await store.instance(instance_id)
    machine_id = instance.machine_id if instance is not None else None
    audit = await store.audit(limit=_MOST_ENTRIES)
    documents: dict[str, Any] = {
        "diagnosis": diagnosis,
        "reading": await store.reading(instance_id),
        "instance": instance,
        "row": rows[0] if rows else None,
        "findings": await store.findings(instance_id=instance_id, resolved=True),
        "machine": await store.machine_marks(machine_id) if machine_id is not None else (),
        "intents": await store.intents(instance_id=instance_id, limit=_MOST_ENTRIES),
        "audit": [entry for entry in audit if entry.instance_id == instance_id],
        "events": await store.events(instance_id=instance_id, limit=_MOST_ENTRIES),
        "samples": await store.samples(instance_id, 0.0),
    }
    for name, value in documents.items():
        plain = _masked(to_builtins(value), secret_names)
        text = json.dumps(plain, ensure_ascii=False, indent=1)
        (root / f"{name}.json").write_text(text + "\n", "utf-8")
    stamp = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
    notes = "\n".join(await notes_on(store, instance_id, now))
    (root / "README.txt").write_text(
        f"What FleetUI {__version__} knows of instance {instance_id} at {stamp}.\n"
        "Times are epoch seconds. Keys, tokens and passwords are masked with ***.\n"
        "logs/PATH.GENERATION holds each life of each file; `fleetui diagnose FILE --stream KIND`"
        f" reads one.\n\n{notes}\n",
        "utf-8",
    )


async def _log(
    store: ViewerStore, stream: StreamId, generation: int, folder: Path, redactor: Redactor
) -> None:
    """Write one life of a file, its secrets masked, line by line; bytes stay what they are."""
    path = folder / f"{_plain(stream.path)}.{generation}"
    with tempfile.TemporaryFile() as file:
        rest = b""
        async for data in _bytes(store, stream, generation):
            whole, end, rest = (rest + data).rpartition(b"\n")
            if len(rest) > _LONGEST_LINE:
                # Cut at a blank, so that no secret is torn apart.
                head, blank, rest = rest.rpartition(b" ")
                whole, end = whole + end + head, blank
            await asyncio.to_thread(_write, file, redactor, whole, end)
        await asyncio.to_thread(_write, file, redactor, rest, b"")
        if not file.tell():
            return
        file.seek(0)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as kept:
            while block := file.read(_WINDOW):
                kept.write(block)


def _write(file: BinaryIO, redactor: Redactor, part: bytes, end: bytes) -> None:
    if part or end:
        text = redactor.text(part.decode("utf-8", "surrogateescape"))
        file.write(text.encode("utf-8", "surrogateescape") + end)


async def _bytes(store: ViewerStore, stream: StreamId, generation: int) -> AsyncIterator[bytes]:
    newest = await store.log_window(stream, generation=generation, size=1)
    if newest is None:
        return
    at = newest.first_offset
    while at < newest.end_offset:
        end = min(at + _WINDOW, newest.end_offset)
        window = await store.log_window(stream, generation=generation, end=end, size=end - at)
        if window is not None and window.data:
            yield window.data
        at = end


def _snapshot(snapshot: Snapshot, folder: Path) -> None:
    stamp = datetime.fromtimestamp(snapshot.at, UTC).strftime("%Y%m%dT%H%M%SZ")
    own = folder / f"{stamp}-{snapshot.snapshot_id}"
    own.mkdir(parents=True)
    whole = "" if snapshot.whole else " (cut short)"
    (own / "REASON.txt").write_text(f"{snapshot.reason}{whole}\n", "utf-8")
    for number, section in enumerate(snapshot.sections):
        name = f"{number:02d}-{_plain(section.name).replace('/', '_')}"[:120]
        (own / f"{name}.txt").write_text("\n".join(section.lines) + "\n", "utf-8")


def _plain(path: str) -> str:
    """Return a path from outside as one that stays below our folder."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    return "/".join(part.replace("\0", "_")[:200] for part in parts) or "unnamed"


def _masked(value: Any, names: frozenset[str]) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return Redactor(names=names).text(value)
    if isinstance(value, list | tuple):
        return [_masked(item, names) for item in value]
    if isinstance(value, dict):
        return {key: _masked(item, names) for key, item in value.items()}
    return value


def _pack(root: Path, target: Path) -> None:
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        message = f"{target} exists already; name another file with -o"
        raise InquestError(message) from error
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            if target.suffix == ".zip":
                with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                    for path in sorted(root.rglob("*")):
                        archive.write(path, path.relative_to(root.parent))
            else:
                with tarfile.open(fileobj=file, mode="w:gz", compresslevel=_GZIP_LEVEL) as tar:
                    tar.add(root, root.name)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
