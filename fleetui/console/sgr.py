"""A raw log line as pieces: its SGR colours as tones, everything else of it made safe."""

import re
from functools import lru_cache

from fleetui.console.palette import Piece
from fleetui.domain.text import TEXT_LIMIT, sanitise

_SGR = re.compile(rb"\x1b\[([0-9;:]*)m")
_FOREGROUND = {
    30: "dim", 31: "bad", 32: "ok", 33: "warn", 34: "active", 35: "busy", 36: "key", 37: "text",
    90: "dim", 91: "bad", 92: "ok", 93: "warn", 94: "active", 95: "busy", 96: "key", 97: "strong",
}  # fmt: skip
SHOWN_BYTES = 8192
"""Of a longer line only this much is drawn; the store has the rest."""


def pieces_of(line: bytes) -> list[Piece]:
    """Turn one line into pieces.

    The 16 colours become our tones (which keep their contrast); 256 and true colours are read
    over and dropped; bold and dim are kept.
    """
    if line.startswith(b"\x00"):
        return [(sanitise(line), "busy")]
    line = line[:SHOWN_BYTES]
    if b"\x1b" not in line:
        return [(sanitise(line), "text")]
    pieces: list[Piece] = []
    colour, bold, position = "text", False, 0
    for match in _SGR.finditer(line):
        if match.start() > position:
            _add(pieces, line[position : match.start()], colour, bold=bold)
        colour, bold = _after(match[1], colour, bold=bold)
        position = match.end()
    _add(pieces, line[position:], colour, bold=bold)
    return pieces


def _add(pieces: list[Piece], raw: bytes, colour: str, *, bold: bool) -> None:
    text = raw.decode("ascii") if raw.isascii() else ""
    if not text.isprintable() or not text or len(text) > TEXT_LIMIT:
        text = sanitise(raw)
    if text:
        pieces.append((text, f"{colour} bold" if bold else colour))


@lru_cache(4096)
def _after(parameters: bytes, colour: str, *, bold: bool) -> tuple[str, bool]:
    numbers = [int(part) if part else 0 for part in re.split(rb"[;:]", parameters[:64])]
    index = 0
    while index < len(numbers):
        number = numbers[index]
        if number in (38, 48) and index + 1 < len(numbers):
            index += 3 if numbers[index + 1] == 5 else 5
            continue
        if number == 0:
            colour, bold = "text", False
        elif number == 1:
            bold = True
        elif number == 2:
            colour = "dim"
        elif number == 22:
            bold = False
            colour = "text" if colour == "dim" else colour
        elif number == 39:
            colour = "text"
        elif number in _FOREGROUND:
            colour = _FOREGROUND[number]
        index += 1
    return colour, bold
