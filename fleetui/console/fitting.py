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
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + more if width > 1 else more
    blanks = " " * (width - length)
    return blanks + text if right else text + blanks


def cells(pieces: list[Piece]) -> int:
    """Count the cells of pieces."""
    return sum(cell_len(text) for text, _ in pieces)


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` cells, at blanks where there are any."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        rest = word
        while cell_len(rest) > width:
            if line:
                lines.append(line)
                line = ""
            head = set_cell_size(rest, width).rstrip()
            if not head:
                break
            lines.append(head)
            rest = rest[len(head) :]
        candidate = f"{line} {rest}" if line else rest
        if cell_len(candidate) > width:
            lines.append(line)
            line = rest
        else:
            line = candidate
    return [*lines, line] if line else lines
