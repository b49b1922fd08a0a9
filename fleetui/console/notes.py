"""What the console said lately: the newest in the footer for some seconds, all of it kept. Pure."""

from collections import deque

import msgspec

from fleetui.console.fitting import cells, fit
from fleetui.console.glyphs import Glyphs
from fleetui.console.palette import Piece

NOTE_SECONDS = 5.0
ERROR_SECONDS = 10.0
MOST_KEPT = 200


class Note(msgspec.Struct, frozen=True):
    """One thing that was said: at fleet time `at`, shown until `until` (monotonic seconds)."""

    at: float
    until: float
    text: str
    is_error: bool = False


class Notes:
    """The newest notes of this console; none of them covers anything."""

    def __init__(self) -> None:
        self.kept: deque[Note] = deque(maxlen=MOST_KEPT)
        """All of them, the newest first."""

    def add(self, text: str, *, at: float, now: float, is_error: bool = False) -> Note:
        """Keep a note and show it for a while."""
        seconds = ERROR_SECONDS if is_error else NOTE_SECONDS
        note = Note(at, now + seconds, text, is_error)
        self.kept.appendleft(note)
        return note

    def fresh(self, now: float) -> list[Note]:
        """Return the notes that are to be shown still, errors first, then the newest."""
        shown = [note for note in self.kept if note.until > now]
        return sorted(shown, key=lambda note: not note.is_error)

    def line(self, now: float, width: int, glyphs: Glyphs) -> list[Piece]:
        """Return the footer's words for `width` cells; empty when nothing is to be said."""
        fresh = self.fresh(now)
        if not fresh:
            return []
        note, others = fresh[0], len(fresh) - 1
        tone = "bad bold" if note.is_error else "strong"
        sign = glyphs["failed"] if note.is_error else glyphs["info"]
        text = f" {sign} {note.text}"
        more: list[Piece] = [(f"  +{others} more", "dim")] if others else []
        if others or cells([(text, tone)]) > width:
            more += [("  !", "key bold"), (" shows all", "dim")]
        room = max(width - cells(more) - 1, 10)
        if cells([(text, tone)]) > room:
            text = fit(text, room, more=glyphs["more"])
        return [(text, tone), *more]
