"""The file names in a log's title line."""

from fleetui.console.fitting import cells, fit
from fleetui.console.palette import Piece


def tabs(names: list[str], active: int, room: int, more: str) -> list[Piece]:
    """Return those tabs round the active one that fit into `room` cells; `more`: others hidden."""

    def strip(first: int, last: int) -> list[Piece]:
        pieces: list[Piece] = [(more, "dim")] if first else []
        for place in range(first, last + 1):
            tone = "strong bold@cursor" if place == active else "dim"
            pieces.append((f" {names[place]} ", tone))
        return pieces if last == len(names) - 1 else [*pieces, (more, "dim")]

    first = last = active
    while True:
        wider = [(max(first - 1, 0), last), (first, min(last + 1, len(names) - 1))]
        wider.sort(key=lambda ends: ends[1] - active > active - ends[0])
        fitting = [e for e in wider if e != (first, last) and cells(strip(*e)) <= room]
        if not fitting:
            break
        first, last = fitting[0]
    chosen = strip(first, last)
    if first == last and cells(chosen) > room:
        return [(fit(f" {names[active]} ", max(room, 0), more=more), "strong bold@cursor")]
    return chosen
