"""Lines that reach the diagnosis outside of log streams: kernel ring, status texts, complaints."""

from functools import lru_cache

from fleetui.domain.stream import Fact
from fleetui.domain.text import SafeText
from fleetui.logs.matcher import Matcher
from fleetui.profiles.loader import load
from fleetui.reading.facts import fact_of_look

_REMEMBERED = 4096


@lru_cache(maxsize=1)
def _matcher() -> Matcher:
    return Matcher(load("faults").rules)


def names_fault(kind: str, line: str) -> bool:
    """Whether a fault rule matches a line of this kind."""
    return any(True for _ in _matcher().match(kind, line))


@lru_cache(maxsize=_REMEMBERED)
def facts_of(kind: str, source: str, lines: tuple[SafeText, ...]) -> tuple[Fact, ...]:
    """Return what the fault rules find in `lines`, read as a stream of `kind`.

    Remembered, because the same few lines are looked at with every probe.
    """
    return tuple(
        fact_of_look(rule, kind, source, line=number, text=text, at=None, fields=fields)
        for number, text in enumerate(lines, 1)
        for rule, fields in _matcher().match(kind, text)
    )
