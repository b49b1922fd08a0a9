"""Text cut and padded to cells (wide characters count two)."""

from rich.cells import cell_len, set_cell_size

from fleetui.console.palette import Piece


def fit(text: str, width: int, *, right: bool = False, more: str = "…") -> str:
    """Return exactly `width` cells of the text; a cut text ends in `more`."""
    if width <= 0:
        return ""
    if text.isascii():
        if len(text) > width:
            return text[: width - 1] + more if width > 1 else more
        return text.rjust(width) if right else text.ljust(width)
    text = text[: width * 4]
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + more if width > 1 else more
    blanks = " " * (width - length)
    return blanks + text if right else text + blanks


def cells(pieces: list[Piece]) -> int:
    """Count the cells of pieces."""
    return sum(cell_len(text) for text, _ in pieces)


def clip(line: list[Piece], width: int) -> list[Piece]:
    """Return pieces of at most `width` cells; a cut one ends in `…`."""
    if cells(line) <= width:
        return line
    kept: list[Piece] = []
    left = width - 1
    for text, tone in line:
        if (length := cell_len(text)) > left:
            return [*kept, (set_cell_size(text, max(left, 0)) + "…", tone)]
        kept.append((text, tone))
        left -= length
    return kept


def wrap(text: str, width: int, limit: int = 12) -> list[str]:
    """Break a text into at most `limit` lines of at most `width` cells, at blanks if it can.

    What does not fit into them is left out, and the last line then ends in `…`: the cost depends
    on what is shown, not on how long a hostile text is.
    """
    width = max(width, 1)
    head, rest = text[: width * (limit + 1) * 2], text[width * (limit + 1) * 2 :]
    lines = _wrap(head, width, limit + 1)
    if len(lines) <= limit and (not rest or rest.isspace()):
        return lines
    last = lines[limit - 1] if len(lines) >= limit else lines.pop() if lines else ""
    last = f"{last} …" if cell_len(last) + 2 <= width else fit(f"{last}…", width)
    return [*lines[: limit - 1], last]


def _wrap(text: str, width: int, limit: int) -> list[str]:
    lines: list[str] = []
    line = ""
    for word in text.split():
        rest = word
        while cell_len(rest) > width and len(lines) < limit:
            if line:
                lines.append(line)
                line = ""
            # A character is never wider than two cells: a head this long is wide enough.
            head = set_cell_size(rest[: width * 2], width).rstrip() or rest[0]
            lines.append(head)
            rest = rest[len(head) :]
        candidate = f"{line} {rest}" if line else rest
        if cell_len(candidate) > width:
            lines.append(line)
            line = rest
        else:
            line = candidate
        if len(lines) >= limit:
            return lines[:limit]
    return [*lines, line] if line else lines
