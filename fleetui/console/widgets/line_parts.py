"""Segments of one log line: cut to a width, its matches in another colour. Pure."""

import re
from itertools import dropwhile, pairwise

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from fleetui.console.line_filter import LineFilter
from fleetui.console.palette import Piece

_TIME = re.compile(r"\s*\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,]*(?:Z|[+-]\d\d:?\d\d)?\s*")


def without_time(pieces: list[Piece]) -> list[Piece]:
    """Leave out the time that a line begins with: a gutter shows it."""
    if not pieces or not (match := _TIME.match(pieces[0][0])):
        return pieces
    text, tone = pieces[0]
    rest = [(text[match.end() :], tone), *pieces[1:]]
    # The blank between time and level goes with the time, so that levels stand below each other.
    return list(dropwhile(lambda piece: not piece[0].strip(), rest))


def window(segments: list[Segment], left: int, width: int, blank: Style) -> list[Segment]:
    """Return `width` cells of segments from the cell `left` on, filled up with blanks."""
    if not all(segment.text.isascii() for segment in segments):
        part = Strip(segments).crop(left, left + width)
        return list(part.adjust_cell_length(width, blank))
    shown: list[Segment] = []
    right = left + width
    place = 0
    for segment in segments:
        text = segment.text
        end = place + len(text)
        if end > left and place < right:
            whole = place >= left and end <= right
            inside = text[max(left - place, 0) : right - place]
            shown.append(segment if whole else Segment(inside, segment.style))
        place = end
    rest = right - max(place, left)
    if rest > 0:
        shown.append(Segment(" " * rest, blank))
    return shown


def highlighted(
    segments: list[Segment], wanted: LineFilter, style_of_match: Style
) -> list[Segment]:
    """Return segments in which what is looked for has a style of its own."""
    spans = wanted.spans("".join(segment.text for segment in segments))
    if not spans:
        return segments
    result: list[Segment] = []
    position = 0
    for segment in segments:
        cuts = sorted(
            {0, len(segment.text)}
            | {min(max(edge - position, 0), len(segment.text)) for span in spans for edge in span}
        )
        for begin, end in pairwise(cuts):
            inside = any(a <= position + begin < b for a, b in spans)
            style = style_of_match if inside else segment.style
            result.append(Segment(segment.text[begin:end], style))
        position += len(segment.text)
    return result
