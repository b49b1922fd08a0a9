"""Text from outside, made safe at the door (DESIGN law 3)."""

import re
import unicodedata

TEXT_LIMIT = 4096
"""Longest text kept for display, in characters. The raw bytes stay in the store."""

_ESCAPES = re.compile(
    r"""
      (?:\x1b\]|\x9d) [^\x07\x1b\x9c\n]* (?:\x07|\x1b\\|\x9c)?      # OSC, ended or cut
    | (?:\x1b[PX^_]|[\x90\x98\x9e\x9f]) [^\x1b\x9c\n]* (?:\x1b\\|\x9c)?  # DCS, SOS, PM, APC
    | (?:\x1b\[|\x9b) [0-?]* [ -/]* [@-~]?                          # CSI
    | \x1b [ -/]* [0-~]?                                            # two-character escapes
    """,
    re.VERBOSE,
)
_PLAIN = re.compile(r"[\x20-\x7e]*\Z")
_DROPPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class SafeText(str):
    """A single line that cannot act on a terminal or a markup parser by its bytes.

    Made only by `sanitise`: no control, escape, format (bidi, zero-width) or unassigned
    characters. Square brackets are kept, so widgets must still draw it without markup.
    """

    __slots__ = ()


def sanitise(raw: str | bytes | bytearray | memoryview, limit: int = TEXT_LIMIT) -> SafeText:
    """Turn outside text into one safe line.

    Escape sequences are removed, tabs and line ends become blanks, every other control,
    format, surrogate, private or unassigned character is dropped, invalid UTF-8 becomes
    U+FFFD, and the result is cut at `limit` characters with an ellipsis.
    """
    text = raw if isinstance(raw, str) else bytes(raw).decode("utf-8", "replace")
    if not _PLAIN.match(text):
        # A cut before the costly work; escapes can at most shorten what is left.
        text = _ESCAPES.sub("", text[: limit * 8])
        text = "".join(_safe_character(character) for character in text)
    if len(text) > limit:
        text = text[: max(limit - 1, 0)] + "…"
    return SafeText(text)


def _safe_character(character: str) -> str:
    if character in "\t\n\r\v\f":
        return " "
    if character.isascii():
        return character if " " <= character <= "~" else ""
    return "" if unicodedata.category(character) in _DROPPED_CATEGORIES else character
