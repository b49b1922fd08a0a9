"""Categories for which a matched line says it all."""

from collections.abc import Iterator

from fleetui.domain.finding import Finding
from fleetui.reading.findings.clues import Clues, make


def look(clues: Clues) -> Iterator[Finding]:
    """Make one finding of every category that a line names."""
    for category in clues.categories:
        yield make(category, facts=clues.facts(category), count=clues.count(category))
