"""What the benchmarks read of processes, and how they say whether a goal is met."""

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pids: list[int]) -> float:
    """Return user and system time of processes."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def pss_mib(pids: list[int]) -> float:
    """Return the memory of processes, shared pages counted in part."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / 1024


def percentile(values: list[float], share: float) -> float:
    """Return a value of the sorted list in milliseconds."""
    return sorted(values)[int(share * (len(values) - 1))] * 1000 if values else float("nan")


def verdict(goal: str, figure: float, limit: float) -> str:
    """Return one line: the goal, the figure, whether it is met."""
    return f"{'met   ' if figure <= limit else 'MISSED'} {goal}: {figure:.3g} (<= {limit:.3g})"
