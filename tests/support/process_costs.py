"""What the benchmarks read of processes, and how they say whether a goal is met."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pids: list[int]) -> float:
    """Return user and system time of processes."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def cpu_seconds_with_ended(pids: list[int]) -> float:
    """Return user and system time of processes and of the children they outlived."""
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))
    return total / TICKS


class Machine:
    """What the cores are busy with from now on; `parts` are CPU seconds by name."""

    def __init__(self, parts: Mapping[str, Callable[[], float]]) -> None:
        self._parts = parts
        self._cores = os.cpu_count() or 1
        self._before = {name: spent() for name, spent in parts.items()}
        self._idle, self._began = _idle_seconds(), time.monotonic()

    def shares(self) -> dict[str, float]:
        """Return % of one core by part, for all else on the machine, and what is idle."""
        lasted = time.monotonic() - self._began
        idle = _idle_seconds() - self._idle
        spent = {name: now() - self._before[name] for name, now in self._parts.items()}
        spent["all else"] = max(0.0, self._cores * lasted - idle - sum(spent.values()))
        spent["idle"] = idle
        return {name: seconds / lasted * 100 for name, seconds in spent.items()}


def _idle_seconds() -> float:
    """Return the idle time of all cores, waiting for disks included."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return (int(fields[4]) + int(fields[5])) / TICKS


def pss_mib(pids: list[int]) -> float:
    """Return the memory of processes, shared pages counted in part."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / 1024


def percentile(values: Sequence[float], share: float) -> float:
    """Return a value of the sorted list in milliseconds."""
    return sorted(values)[int(share * (len(values) - 1))] * 1000 if values else float("nan")


def verdict(goal: str, figure: float, limit: float) -> str:
    """Return one line: the goal, the figure, whether it is met."""
    return f"{'met   ' if figure <= limit else 'MISSED'} {goal}: {figure:.3g} (<= {limit:.3g})"
