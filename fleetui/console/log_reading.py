"""A log line made easy to read: JSON as words; level, target and fields in tones. Pure."""

import re

import msgspec

from fleetui.console.palette import Piece
from fleetui.console.sgr import pieces_of
from fleetui.domain.text import sanitise

LEVEL_TONES = {
    "trace": "faint", "debug": "dim", "info": "ok", "warn": "warn", "warning": "warn",
    "error": "bad", "err": "bad", "fatal": "bad", "critical": "bad", "panic": "bad",
}  # fmt: skip
_TRACING = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?)?\s*"
    r"(?P<level>TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL)\s+(?P<rest>.*)",
    re.DOTALL,
)
_TARGET = re.compile(r"([\w:./-]+?)(:\s|\s)")
_FIELD = re.compile(r"\b([A-Za-z_][\w.]*)=(\"[^\"]*\"|\S+)")
_TEXT_KEYS = ("message", "msg", "text", "event")
_LEVEL_KEYS = ("level", "severity", "lvl")
_TIME_KEYS = ("timestamp", "time", "ts", "@timestamp")
_TARGET_KEYS = ("target", "logger", "module", "caller")


def readable(raw: bytes) -> list[Piece]:
    """Return the pieces of a raw line, structure shown where it has one."""
    if raw[:1] == b"{":
        pieces = _json(raw)
        if pieces is not None:
            return pieces
    if b"\x1b" in raw or raw[:1] == b"\x00":
        return pieces_of(raw)
    text = sanitise(raw)
    match = _TRACING.match(text)
    if match is None:
        return [(text, "text")]
    level = match["level"]
    pieces = [(match["time"] + " ", "dim")] if match["time"] else []
    pieces.append((level.rjust(5) + " ", LEVEL_TONES[level.casefold()] + " bold"))
    return pieces + _message(match["rest"])


def _message(text: str) -> list[Piece]:
    target = _TARGET.match(text)
    pieces: list[Piece] = []
    if target and "::" in target[1]:
        pieces.append((target[0], "title"))
        text = text[target.end() :]
    return pieces + _fields(text)


def _fields(text: str) -> list[Piece]:
    pieces: list[Piece] = []
    place = 0
    for match in _FIELD.finditer(text):
        if match.start() > place:
            pieces.append((text[place : match.start()], "text"))
        pieces += [(match[1] + "=", "dim"), (match[2], "key")]
        place = match.end()
    if place < len(text):
        pieces.append((text[place:], "text"))
    return pieces


def _json(raw: bytes) -> list[Piece] | None:
    try:
        found = msgspec.json.decode(raw, type=dict[str, object])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    fields = dict(found)
    inner = fields.pop("fields", None)
    if isinstance(inner, dict):
        fields |= inner
    pieces: list[Piece] = []
    time, level, target, text = (
        _take(fields, keys) for keys in (_TIME_KEYS, _LEVEL_KEYS, _TARGET_KEYS, _TEXT_KEYS)
    )
    if time:
        pieces.append((time + " ", "dim"))
    if level:
        tone = LEVEL_TONES.get(level.casefold(), "text")
        pieces.append((level.upper().rjust(5) + " ", tone + " bold"))
    if target:
        pieces.append((target + " ", "title"))
    if text:
        pieces.append((text + " ", "text"))
    for name, value in fields.items():
        pieces += [(sanitise(name, 80) + "=", "dim"), (_value(value) + " ", "key")]
    return pieces


def _take(fields: dict[str, object], keys: tuple[str, ...]) -> str:
    for key in keys:
        if key in fields:
            return _value(fields.pop(key))
    return ""


def _value(value: object) -> str:
    if isinstance(value, str):
        return sanitise(value)
    return sanitise(msgspec.json.encode(value), 400)
