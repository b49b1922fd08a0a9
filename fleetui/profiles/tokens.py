"""Which raw bytes a line must hold for a literal to stand in its text.

Raw lines hold colour codes that literals do not know of. Tracing colours keys, levels, targets
and punctuation, aria2 its brackets and figures (facts: cuzk.md sections 1.1, 4), so a literal is
searched for by the longest piece of it that no such code can cut.
"""

import re

SHORTEST = 2
"""A shorter piece is not worth a search, in characters."""

SELECTIVE = 3
"""What is found by fewer characters is found in many lines."""

_STRONG = 6
_CUT = re.compile(r"([=:{}\[\]()|#\"<>]|[^\x20-\x7e])")
_LEVEL = re.compile(r"\s*(?:trace|debug|info|warn|error)\s+")
_CODE_ENDS = ("m", "k")
_CODE_BEGINS = "\x1b"


def raw_tokens(literal: str) -> tuple[bytes, ...]:
    """Return folded bytes of which every raw line with the literal holds one.

    Empty when no piece of the literal is long enough. A short piece is told apart by the
    character beside it in the literal, or the colour code that may stand between them.
    """
    pieces = _CUT.split(literal.lower())
    best, place = "", 0
    for position in range(0, len(pieces), 2):
        piece = _uncut(pieces[position], pieces[position + 1 : position + 2])
        if len(piece) > len(best):
            best, place = piece, position
    if len(best) < SHORTEST:
        return ()
    if len(best) >= _STRONG:
        return (best.encode(),)
    whole = pieces[place]
    before = pieces[place - 1] if place and whole.startswith(best) else ""
    after = pieces[place + 1] if place + 1 < len(pieces) and whole.endswith(best) else ""
    lefts = (before, *_CODE_ENDS) if before and before.isascii() else ("",)
    rights = (after, _CODE_BEGINS) if after and after.isascii() else ("",)
    return tuple(f"{left}{best}{right}".encode() for left in lefts for right in rights)


def fold(raw: bytes) -> bytes:
    """Return raw bytes in the form that tokens are searched in, of the same length."""
    return raw.translate(_FOLDED)


_FOLDED = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ\t\v\f", b"abcdefghijklmnopqrstuvwxyz   ")


def _uncut(piece: str, following: list[str]) -> str:
    """Return what of a piece surely stands in one: no key before `=`, no level at its head."""
    if following == ["="] and " " in piece:
        piece = piece[: piece.rindex(" ")]
    level = _LEVEL.match(piece)
    if level is not None and level.end() < len(piece):
        piece = max(level.group().strip(), piece[level.end() :], key=len)
    return piece.strip()
