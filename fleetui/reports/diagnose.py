"""`fleetui diagnose`: an inquest into a kept host's folder or into one file.

It runs the very path that the live collector runs: bytes, lines, facts, findings.
"""

import json
import re
import stat
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from fleetui.domain.finding import Finding
from fleetui.domain.host import Probe
from fleetui.domain.stream import LogChunk, StreamId
from fleetui.domain.text import sanitise
from fleetui.profiles.loader import load
from fleetui.profiles.model import Profile
from fleetui.reading.probe_output import parse_probe
from fleetui.reading.reader import Reader
from fleetui.reading.replay import Host, ReplayError, replay
from fleetui.reports.vast_rows import histories, json_values, moment_of, rows_in

STREAMS = ("setup", "bench", "daemon", "curio", "dmesg", "vast", "nvidia_smi", "ssh")
"""What a single file can be a log of."""

_LARGEST_FILE = 512 * 1024 * 1024
_CHUNK = 1024 * 1024
_LOOK_FOR_TEXT = 65_536
_ENOUGH_TO_TELL = 4096
_TEXT_SHARE = 0.9
"""Least part of printable bytes in a log that also has NUL bytes (sparse or cut short)."""
_READ_WHOLE = frozenset({"vast", "nvidia_smi"})
"""Kinds that mean something only as a whole."""
_ROW_FILE = re.compile(r"(?:vast|instance|row)[\w.-]*$")
"""Names under which a row of the API is kept beside a host's files."""
_SAME_KIND = {
    "vast_api": "vast",
    "vast_status": "vast",
    "kernel": "dmesg",
    "nvidia-smi": "nvidia_smi",
    "lotus": "curio",
    "params": "setup",
    "entrypoint": "setup",
}


class DiagnoseError(ValueError):
    """What was asked for cannot be looked into; the text says why."""


class Answer(dict[str, Any]):
    """The fixed form, `{"stage": ..., "findings": [...]}`.

    `lines` were read and `recognised` of them were of a form that is known here: without any, no
    finding is no all-clear. `unread` says what of a folder could not be read.
    """

    lines: int = 0
    recognised: int = 0
    unread: tuple[str, ...] = ()


def diagnose_folder(path: Path) -> Answer:
    """Diagnose a kept host: `fs/` with files as on it, `probe/` with outputs of tools.

    Raises:
        DiagnoseError: the folder holds nothing to read or is damaged.
    """
    try:
        reader, host = replay(path, _profile())
    except (ReplayError, OSError) as error:
        raise DiagnoseError(str(error)) from error
    _take_what_lies_beside(reader, path, host)
    answer = _answer_of_reader(reader, host.ends_at)
    answer.unread = host.unread
    return answer


def _take_what_lies_beside(reader: Reader, folder: Path, host: Host) -> None:
    """Take rows of the API, words of ssh and tables of nvidia-smi that were kept with a host."""
    texts = {name: text.encode() for name, text in host.sections.items()}
    for path in sorted(folder.glob("*.json*")):
        if path.is_file() and _ROW_FILE.match(path.name):
            texts[path.name] = path.read_bytes()[:_LARGEST_FILE]
    for name, data in texts.items():
        if _ROW_FILE.match(name):
            values, _ = json_values(data)
            told = histories(row for value in values for row in rows_in(value))
            # A whole page of rows does not say which of them this host was.
            if len(told) == 1:
                for instance in next(iter(told.values())):
                    reader.observe_row(instance, host.ends_at)
        elif name == "ssh" or (name in ("nvidia-smi", "nvidia_smi") and not _is_answer(data)):
            reader.feed(
                _chunk(Path(f"probe:{name}"), 0, data, host.ends_at), _SAME_KIND.get(name, name)
            )


def _is_answer(data: bytes) -> bool:
    """Whether the probe itself reads it: figures of cards, or a complaint."""
    probe = parse_probe({"nvidia-smi": data.decode("utf-8", "replace")}, None)
    return bool(probe.gpus) or bool(probe.errors)


def diagnose_file(path: Path, stream: str) -> Answer:
    """Diagnose one file, read as a stream of this kind (one of `STREAMS`).

    For `vast` the file may hold what the API answers: a row, a list of rows, a whole page, one
    JSON value a line, or an error.

    Raises:
        DiagnoseError: the file cannot be read or the kind is unknown.
    """
    kind = _SAME_KIND.get(stream, stream)
    if kind not in STREAMS:
        message = f"no stream kind {stream!r}; choose one of {', '.join(STREAMS)}"
        raise DiagnoseError(message)
    at = _look_at(path)
    profile = _profile()
    reader = Reader(profile, 0)
    if kind not in _READ_WHOLE:
        for chunk in _chunks(path, at):
            reader.feed(chunk, kind)
        return _answer_of_reader(reader, at)
    data = b"".join(chunk.data for chunk in _chunks(path, at))
    broken = False
    if kind == "vast":
        values, cut = json_values(data)
        rows = [row for value in values for row in rows_in(value)]
        if rows:
            answer = _answer_of_rows(profile, rows, at)
            answer.unread = tuple(f"{path}: {why}" for why in cut)
            return answer
        broken = bool(cut) or (not values and data.lstrip()[:1] in (b"{", b"["))
        if len(values) != sum(bool(line.strip()) for line in data.splitlines()):
            # An error body over several lines is one line of evidence.
            data = b"\n".join(json.dumps(value).encode() for value in values) or data
    reader.feed(_chunk(path, 0, data, at), kind)
    if kind == "nvidia_smi":
        shown = parse_probe({"nvidia-smi": data.decode("utf-8", "replace")}, at)
        reader.observe_probe(Probe(at=at, gpus=shown.gpus))
    answer = _answer_of_reader(reader, at)
    if broken and not answer["findings"]:
        message = f"{path}: this looks like JSON but is none that can be read"
        raise DiagnoseError(message)
    return answer


def _look_at(path: Path) -> float:
    """Return a file's time; what is too much to look into is refused, not cut."""
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            message = f"{path}: not a file"
            raise DiagnoseError(message)
        if state.st_size > _LARGEST_FILE:
            message = (
                f"{path}: {state.st_size >> 20} MiB are more than the {_LARGEST_FILE >> 20} MiB"
                f" that are looked into; cut it first, e.g. tail -c {_LARGEST_FILE >> 20}M"
            )
            raise DiagnoseError(message)
        with path.open("rb") as file:
            head = file.read(_LOOK_FOR_TEXT)
    except OSError as error:
        message = f"{path}: {error.strerror or error}"
        raise DiagnoseError(message) from error
    if len(head) >= _ENOUGH_TO_TELL and b"\0" in head and _printable(head) < _TEXT_SHARE:
        message = f"{path}: this is binary data, not a log"
        raise DiagnoseError(message)
    return state.st_mtime


def _chunks(path: Path, at: float) -> Iterator[LogChunk]:
    """Give a file's bytes piece by piece, so that a large one is never whole in memory."""
    offset = 0
    try:
        with path.open("rb") as file:
            while offset < _LARGEST_FILE and (data := file.read(_CHUNK)):
                yield _chunk(path, offset, data, at)
                offset += len(data)
    except OSError as error:
        message = f"{path}: {error.strerror or error}"
        raise DiagnoseError(message) from error


def _chunk(path: Path, offset: int, data: bytes, at: float) -> LogChunk:
    stream = StreamId(instance_id=0, path=str(path))
    return LogChunk(stream=stream, generation=1, offset=offset, data=data, at=at)


def _printable(data: bytes) -> float:
    return sum(byte >= 0x20 or byte in b"\t\n\r\x1b" for byte in data) / len(data)


@lru_cache(maxsize=1)
def _profile() -> Profile:
    return load("cuzk")


def answer_text(answer: Answer) -> str:
    """Write an answer for a terminal: the root cause first, its evidence beneath it."""
    lines = [f"Stage reached: {answer['stage']}"]
    findings = answer["findings"]
    if not findings:
        lines.append(no_all_clear(answer) or "Nothing wrong found.")
    for place, finding in enumerate(findings):
        head = "Root cause" if place == 0 and finding["severity"] != "info" else "Also"
        lines += [
            "",
            f"{head}: {finding['category']} ({finding['severity']}, {finding['confidence']:.0%})",
            f"  {finding['summary']}",
            f"  Do: {finding['advice']}",
        ]
        for evidence in finding["evidence"]:
            where = evidence["source"]
            if evidence["line"] is not None:
                where += f":{evidence['line']}"
            lines.append(f"    {where}  {evidence['text']}")
    return "\n".join(lines)


def answer_of(stage: str, findings: Iterable[Finding]) -> Answer:
    """Return the answer in its fixed form: stage reached, findings with the root cause first."""
    return Answer(stage=stage, findings=[_finding(finding) for finding in findings])


def _answer_of_reader(reader: Reader, at: float) -> Answer:
    case = reader.case(at, live=False)
    answer = answer_of(str(case.stage), reader.reading(at, live=False).findings)
    answer.lines = sum(tail.lines for tail in case.tails)
    looks = case.probe is not None and (bool(case.probe.gpus) or bool(case.probe.processes))
    answer.recognised = sum(case.counts.values()) + looks
    return answer


def no_all_clear(answer: Answer) -> str | None:
    """Say why an answer without findings proves nothing, when it does not."""
    if answer["findings"]:
        return None
    if answer.unread:
        return f"No finding, but no all-clear either: {len(answer.unread)} parts cannot be read."
    if answer.recognised:
        return None
    return (
        f"No finding, but no all-clear either: none of the {answer.lines} lines is of a form that"
        " is known here. Is the kind right?"
    )


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "category": finding.category,
        "severity": str(finding.severity),
        "confidence": finding.confidence,
        "summary": str(finding.summary),
        "advice": str(finding.advice),
        "evidence": [
            {"source": proof.source, "line": proof.line, "text": str(proof.text)}
            for proof in finding.evidence
        ],
    }


def _answer_of_rows(profile: Profile, rows: list[dict[str, Any]], written: float) -> Answer:
    told = histories(rows)
    now = moment_of((instance for looks in told.values() for instance in looks), written)
    stage = "boot"
    findings: list[dict[str, Any]] = []
    for instance_id, looks in told.items():
        reader = Reader(profile, instance_id)
        for instance in looks:
            reader.observe_row(instance, now)
        reading = reader.reading(now, live=False)
        stage = str(reading.stage)
        for finding in reading.findings:
            name = f"instance {instance_id}: " if len(told) > 1 else ""
            summary = sanitise(name + finding.summary)
            findings.append(_finding(msgspec.structs.replace(finding, summary=summary)))
    order = {"critical": 0, "warning": 1}
    findings.sort(key=lambda finding: order.get(finding["severity"], 2))
    answer = Answer(stage=stage, findings=findings)
    answer.lines = answer.recognised = len(told)
    return answer
