"""Screen 5's machines: found and sorted off the loop, drawn where they are looked at."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence

from fleetui.console.inspection import Line
from fleetui.console.machine_lines import Machine, machines, sorted_machines
from fleetui.domain.machine_record import MachineRecord
from fleetui.domain.reading import FleetRow
from fleetui.reports.hosts import matching


def arranged(
    records: Sequence[MachineRecord], rows: Sequence[FleetRow], words: Sequence[str], sort: str
) -> list[Machine]:
    """Return the machines that have all the words, sorted by a column of `SORTS`."""
    found = machines(records, rows)
    if words:
        kept = {id(record) for record in matching(records, words)}
        found = [machine for machine in found if _fits(machine, words, kept)]
    return sorted_machines(found, sort)


def _fits(machine: Machine, words: Sequence[str], kept: Collection[int]) -> bool:
    if machine.record is not None:
        return id(machine.record) in kept
    row = machine.rows[0]
    text = f"{machine.machine_id} {row.gpu or ''} {row.geolocation or ''}".casefold()
    return all(word.casefold() in text for word in words)


class MachineList:
    """Lines of a head, of each machine, and of the records of the open ones.

    `draw` makes a machine's line and `record` those below it, once and only for what is shown:
    with thousands of machines a key costs no more than with ten. `starts` has the line of each.
    """

    def __init__(
        self,
        head: Sequence[Line],
        shown: Sequence[Machine],
        opened: Collection[int],
        *,
        draw: Callable[[Machine], Line],
        record: Callable[[Machine], list[Line]],
    ) -> None:
        self._head = head
        self._shown = shown
        self._draw = draw
        self._below: dict[int, list[Line]] = {}
        self._drawn: dict[int, Line] = {}
        self.starts: Sequence[int] = range(len(head), len(head) + len(shown))
        if opened:
            starts, at = [], len(head)
            for place, machine in enumerate(shown):
                starts.append(at)
                if machine.machine_id in opened:
                    self._below[place] = record(machine)
                    at += len(self._below[place])
                at += 1
            self.starts = starts

    def __len__(self) -> int:
        below = sum(len(lines) for lines in self._below.values())
        return len(self._head) + len(self._shown) + below

    def __iter__(self) -> Iterator[Line]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int, /) -> Line:
        if number < len(self._head):
            return self._head[number]
        place = bisect_right(self.starts, number) - 1
        if number > self.starts[place]:
            return self._below[place][number - self.starts[place] - 1]
        if place not in self._drawn:
            self._drawn[place] = self._draw(self._shown[place])
        return self._drawn[place]
