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


def wrap(text: str, width: int, limit: int = 12) -> list[str]:
    """Break a text into at most `limit` lines of at most `width` cells, at blanks if it can.

    What does not fit into them is left out: the cost depends on what is shown, not on how long
    a hostile text is.
    """
    width = max(width, 1)
    lines: list[str] = []
    line = ""
    for word in text[: width * limit * 2].split():
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
